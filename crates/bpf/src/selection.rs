//! Connections that a remedy is applied to, and devices through which they send.

/// A control group: the identifier of its folder, and its level, counted from 0 at the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cgroup {
    /// Number of the folder's inode.
    pub id: u64,
    /// Level in the hierarchy.
    pub level: u8,
}

/// Addresses whose first bits are equal. An IPv4 address counts as the IPv6 address to which it is
/// mapped (`::ffff:0:0/96`, RFC 4291 §2.5.5.2), because the kernel keeps the peer's address of
/// every socket in this form. So `192.0.2.0/24` is the prefix `::ffff:192.0.2.0/120`, and sockets
/// of a dual-stack listener need no rule of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    address: u128,
    length: u8,
}

impl Prefix {
    /// The prefix of all addresses.
    pub const ALL: Self = Self { address: 0, length: 0 };

    /// A prefix of `length` bits. Returns `None` for more than 128 bits, and if a bit behind the
    /// prefix is set.
    #[must_use]
    pub fn new(address: u128, length: u8) -> Option<Self> {
        let is_prefix = length <= 128 && address & !mask(length) == 0;
        is_prefix.then_some(Self { address, length })
    }

    /// The bits of the prefix and their mask in words of 32 bits, as a program loads them from
    /// memory in the network's order of bytes. Words without a bit of the prefix are left out.
    pub(crate) fn words(self) -> impl Iterator<Item = (u32, u32)> {
        let word = |value: u128, index: u32| {
            // The lower 32 bits of a shifted value.
            let [.., a, b, c, d] = (value >> (96 - 32 * index)).to_be_bytes();
            u32::from_ne_bytes([a, b, c, d])
        };
        (0..4)
            .map(move |index| (word(self.address, index), word(mask(self.length), index)))
            .filter(|(_, mask)| *mask != 0)
    }

    /// The key of a map of prefixes (`struct bpf_lpm_trie_key_u8`): the length, and the address.
    pub(crate) fn key(self) -> [u8; 20] {
        let mut key = [0; 20];
        key[..4].copy_from_slice(&u32::from(self.length).to_ne_bytes());
        key[4..].copy_from_slice(&self.address.to_be_bytes());
        key
    }
}

/// Number whose first `length` bits of 128 are set.
fn mask(length: u8) -> u128 {
    u128::MAX.checked_shl(128 - u32::from(length.min(128))).unwrap_or(0)
}

/// Connections by the end at this machine, and by the peer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Local ports; any port if there is none.
    pub ports: Vec<u16>,
    /// Control group of the sockets; any if there is none.
    pub cgroup: Option<Cgroup>,
    /// Prefixes of the peer's address; any address if there is none.
    pub peers: Vec<Prefix>,
    /// Largest amount of data in bytes that is not acknowledged at the end of a write, for copies
    /// and cuts; any if it is absent. For a response that begins with everything acknowledged, it
    /// is the size of the response. Limited by [`MOST_BYTES`].
    pub most_bytes: Option<u32>,
}

/// Largest value of [`Selection::most_bytes`]: half of the sequence numbers are ahead.
pub const MOST_BYTES: u32 = 1 << 30;

impl Selection {
    /// Largest amount of data as an operand of a program.
    pub(crate) fn most_data(&self) -> Option<i32> {
        self.most_bytes.map(|bytes| bytes.min(MOST_BYTES).cast_signed())
    }
}

/// A device, by its number, and the length of its link-layer header in bytes: 14 for Ethernet, 0
/// for a device without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Device {
    /// Number of the device.
    pub index: u32,
    /// Length of the header in bytes.
    pub header: u8,
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    /// The prefix of an IPv4 address.
    fn mapped(address: [u8; 4], length: u8) -> Option<Prefix> {
        let address = Ipv4Addr::from(address).to_ipv6_mapped();
        Prefix::new(address.to_bits(), 96 + length)
    }

    /// Whether a prefix contains an address, by the words that a program compares.
    fn contains(prefix: Prefix, address: Ipv6Addr) -> bool {
        let octets = address.octets();
        let (words, _) = octets.as_chunks::<4>();
        prefix
            .words()
            .zip(words)
            .all(|((value, mask), word)| u32::from_ne_bytes(*word) & mask == value)
    }

    #[test]
    fn a_prefix_has_no_bits_behind_it() {
        assert!(mapped([10, 0, 0, 0], 8).is_some());
        assert_eq!(mapped([10, 0, 0, 1], 8), None);
        assert_eq!(mapped([10, 0, 0, 0], 33), None);
        assert_eq!(Prefix::new(0, 0), Some(Prefix::ALL));
        assert_eq!(Prefix::new(1, 128).map(|prefix| prefix.words().count()), Some(4));
        assert_eq!(Prefix::ALL.words().count(), 0);
    }

    #[test]
    fn a_prefix_contains_the_addresses_with_its_bits() {
        let four = mapped([192, 0, 2, 128], 25).unwrap();
        for (last, expected) in [(127, false), (128, true), (255, true)] {
            let address = Ipv4Addr::new(192, 0, 2, last).to_ipv6_mapped();
            assert_eq!(contains(four, address), expected, "{address}");
        }
        let six: Ipv6Addr = "2001:db8:ffff::".parse().unwrap();
        let six = Prefix::new(six.to_bits(), 48).unwrap();
        for (text, expected) in
            [("2001:db8:ffff::1", true), ("2001:db8:fffe::1", false), ("::ffff:192.0.2.1", false)]
        {
            assert_eq!(contains(six, text.parse().unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn the_key_of_a_map_begins_with_the_length() {
        let key = mapped([192, 0, 2, 0], 24).unwrap().key();
        assert_eq!(key[..4], 120_u32.to_ne_bytes());
        assert_eq!(key[4..], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 192, 0, 2, 0]);
    }
}

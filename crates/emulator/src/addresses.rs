//! Who has which address: blocks of the shared address space, each link's inside one of those of the link around it.
//!
//! RFC 6598 sets 100.64.0.0/10 aside for what is neither the Internet nor somebody's private network. A link in an ordinary
//! namespace takes a block of 2¹⁴ addresses, and the caller's namespace has a route for the whole block into the link. A link
//! that runs inside another takes a sixteenth of the other's block. So every address of every depth is reached by routes
//! that were there before, and nothing is translated.
//!
//! Unlike RFC 4193 §3.2.2, the IPv6 prefix is not drawn at random: these addresses never leave the machine, and each is the
//! IPv4 address behind `fd74:6370:7366::/96`, so one is known from the other.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tun::Prefix;

/// The shared address space.
const SPACE: (Ipv4Addr, u8) = (Ipv4Addr::new(100, 64, 0, 0), 10);
/// The part of it that is `tcpsf serve`'s and `tcpsf proxy`'s.
const OF_HOSTS: (Ipv4Addr, u8) = (Ipv4Addr::new(100, 127, 0, 0), 16);
/// How long the prefix of a link in an ordinary namespace is.
const OUTERMOST: u8 = 18;
/// By how much that of a link inside it is longer.
const STEP: u8 = 4;
/// The smallest block: two addresses beside that of the network and the last.
const INNERMOST: u8 = 30;

/// The addresses of a link and of those inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Block {
    first: Ipv4Addr,
    len: u8,
}

impl Block {
    /// The block of the link of which `inside` is the inner end; `None` for other addresses.
    pub(crate) fn around(inside: Prefix) -> Option<Self> {
        let IpAddr::V4(address) = inside.address() else { return None };
        let len = inside.len();
        let ours = (OUTERMOST..=INNERMOST).contains(&len) && (len - OUTERMOST).is_multiple_of(STEP);
        let block = Self { first: masked(address, len), len };
        (ours && masked(address, SPACE.1) == SPACE.0 && block.inside() == address).then_some(block)
    }

    /// The blocks that a link may take: in an ordinary namespace, or inside the link with the block `around`. None when
    /// that is the smallest.
    pub(crate) fn candidates(around: Option<Self>) -> impl Iterator<Item = Self> {
        let (first, len, next, skipped) = match around {
            None => (SPACE.0, SPACE.1, OUTERMOST, 0),
            // Its own two addresses are in its first part.
            Some(block) => (block.first, block.len, block.len + STEP, 1),
        };
        let count = if next > INNERMOST { 0 } else { 1_u32 << (next - len) };
        let blocks = (skipped..count).map(move |part| {
            let first = Ipv4Addr::from_bits(first.to_bits() | part << (32 - next));
            Self { first, len: next }
        });
        blocks.filter(|block| masked(block.first, OF_HOSTS.1) != OF_HOSTS.0)
    }

    /// Whether an address is in it.
    pub(crate) fn contains(&self, address: IpAddr) -> bool {
        matches!(address, IpAddr::V4(address) if masked(address, self.len) == self.first)
    }

    /// The end in the caller's namespace.
    pub(crate) fn outside(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first.to_bits() | 1)
    }

    /// The end in the command's.
    pub(crate) fn inside(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first.to_bits() | 2)
    }

    /// `address` of this block, with the block's length.
    pub(crate) fn prefixes(&self, address: Ipv4Addr) -> [Option<Prefix>; 2] {
        [Prefix::new(address.into(), self.len), Prefix::new(ipv6(address).into(), 96 + self.len)]
    }

    /// The whole block.
    pub(crate) fn whole(&self) -> [Option<Prefix>; 2] {
        self.prefixes(self.first)
    }
}

/// The same address in IPv6.
pub(crate) fn ipv6(address: Ipv4Addr) -> Ipv6Addr {
    let [a, b, c, d] = address.octets();
    Ipv6Addr::new(0xfd74, 0x6370, 0x7366, 0, 0, 0, u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]))
}

const fn masked(address: Ipv4Addr, len: u8) -> Ipv4Addr {
    Ipv4Addr::from_bits(address.to_bits() & (u32::MAX << (32 - len)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_link_takes_a_part_of_the_one_around_it() {
        let mut around = None;
        let mut taken: Vec<Block> = Vec::new();
        for (inside, len, count) in [
            ("100.64.0.2", 18, 252),
            ("100.64.4.2", 22, 15),
            ("100.64.4.66", 26, 15),
            ("100.64.4.70", 30, 15),
        ] {
            let all: Vec<Block> = Block::candidates(around).collect();
            assert_eq!(all.len(), count);
            let block = all[0];
            assert_eq!(block.inside().to_string(), inside);
            let [v4, v6] = block.prefixes(block.inside());
            assert_eq!(v4.unwrap().to_string(), format!("{inside}/{len}"));
            assert_eq!(v6.unwrap().len(), 96 + len);
            assert_eq!(Block::around(v4.unwrap()), Some(block));
            for outer in &taken {
                assert!(outer.contains(block.outside().into()) && !block.contains(outer.outside().into()));
            }
            taken.push(block);
            around = Some(block);
        }
        assert_eq!(Block::candidates(around).count(), 0);
    }

    #[test]
    fn other_addresses_are_nobodys_inside() {
        for (address, len) in
            [("100.64.0.1", 18), ("100.64.0.2", 24), ("10.64.0.2", 18), ("100.64.0.2", 10), ("::2", 18)]
        {
            assert_eq!(
                Block::around(Prefix::new(address.parse().unwrap(), len).unwrap()),
                None,
                "{address}/{len}"
            );
        }
    }

    #[test]
    fn one_family_is_known_from_the_other() {
        assert_eq!(ipv6(Ipv4Addr::new(100, 64, 0, 2)).to_string(), "fd74:6370:7366::6440:2");
    }
}

//! Address plan of links and hosts. A link takes a block, a link inside another takes a part of its
//! block, and hosts on a TUN device take single addresses.
//!
//! The addresses belong to the shared address space 100.64.0.0/10 (RFC 6598), which is neither
//! public nor private. A link in an ordinary namespace takes a block of 2¹⁴ addresses, and the
//! caller's namespace gets a route for the whole block. A link inside another takes a sixteenth of
//! the outer block. Every address at every depth is thus reached by existing routes, without
//! address translation.
//!
//! Unlike RFC 4193 §3.2.2, the IPv6 prefix is not random, because these addresses never leave the
//! machine. Each IPv6 address consists of `fd74:6370:7366::/96` and the IPv4 address, so either can
//! be computed from the other.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::{Error, Interface, Prefix};

/// The shared address space.
const SPACE: (Ipv4Addr, u8) = (Ipv4Addr::new(100, 64, 0, 0), 10);
/// The part of it for hosts outside a link and for the kernel's ends of their devices.
const HOST_RANGE: (Ipv4Addr, u8) = (Ipv4Addr::new(100, 127, 0, 0), 16);
/// Prefix length of a link in an ordinary namespace.
const OUTERMOST_LEN: u8 = 18;
/// Additional prefix length per nesting level.
const NESTING_BITS: u8 = 4;
/// Prefix length of the smallest block: two addresses beside the network address and the last one.
const INNERMOST_LEN: u8 = 30;

/// Name of the device inside a link's namespace. Programs detect by it that they run inside a link.
pub const INNER_DEVICE: &str = "tcpsf";

/// The address block of a link and of those inside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    first: Ipv4Addr,
    len: u8,
}

impl Block {
    /// The block of the link whose inner end has the address `inside`; `None` for other addresses.
    pub fn of_inner_end(inside: Prefix) -> Option<Self> {
        let IpAddr::V4(address) = inside.address() else { return None };
        let len = inside.len();
        let ours = (OUTERMOST_LEN..=INNERMOST_LEN).contains(&len)
            && (len - OUTERMOST_LEN).is_multiple_of(NESTING_BITS);
        let block = Self { first: masked(address, len), len };
        (ours && masked(address, SPACE.1) == SPACE.0 && block.inside() == address).then_some(block)
    }

    /// The block of the link whose inner end is in the calling thread's namespace; `None` outside a
    /// link.
    ///
    /// # Errors
    /// If the system does not list the addresses of the namespace.
    pub fn of_this_namespace() -> Result<Option<Self>, Error> {
        let Ok(device) = Interface::find(INNER_DEVICE) else { return Ok(None) };
        let addresses = Interface::addresses()?;
        let mut own = addresses.iter().filter(|address| address.interface == device.index());
        Ok(own.find_map(|address| Self::of_inner_end(address.prefix)))
    }

    /// The addresses inside the link that are used neither by its ends nor by links inside it.
    pub fn hosts(&self) -> impl Iterator<Item = Ipv4Addr> + use<> {
        let (first, part) =
            (self.first.to_bits(), 32_u32.saturating_sub(u32::from(self.len + NESTING_BITS)));
        // Hosts have single-address routes, so the last address is no broadcast address. The
        // smallest block has no address left.
        (3..1_u32 << part).map(move |number| Ipv4Addr::from_bits(first | number))
    }

    /// The blocks available to a link: in an ordinary namespace, or inside the link with the block
    /// `around`. There are none inside the smallest block.
    pub fn candidates(around: Option<Self>) -> impl Iterator<Item = Self> {
        let (first, len, next, skipped) = match around {
            None => (SPACE.0, SPACE.1, OUTERMOST_LEN, 0),
            // The first part contains the addresses of the outer link's ends.
            Some(block) => (block.first, block.len, block.len + NESTING_BITS, 1),
        };
        let count = if next > INNERMOST_LEN { 0 } else { 1_u32 << (next - len) };
        let blocks = (skipped..count).map(move |part| {
            let first = Ipv4Addr::from_bits(first.to_bits() | part << (32 - next));
            Self { first, len: next }
        });
        blocks.filter(|block| masked(block.first, HOST_RANGE.1) != HOST_RANGE.0)
    }

    /// Whether the block contains an address.
    pub fn contains(&self, address: IpAddr) -> bool {
        matches!(address, IpAddr::V4(address) if masked(address, self.len) == self.first)
    }

    /// The link's end in the caller's namespace.
    pub fn outside(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first.to_bits() | 1)
    }

    /// The link's end in the command's namespace.
    pub fn inside(&self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first.to_bits() | 2)
    }

    /// `address` in IPv4 and IPv6, each with the prefix length of the block.
    pub fn prefixes(&self, address: Ipv4Addr) -> [Option<Prefix>; 2] {
        [Prefix::new(address.into(), self.len), Prefix::new(ipv6(address).into(), 96 + self.len)]
    }

    /// The prefixes of the whole block, IPv4 and IPv6.
    pub fn whole(&self) -> [Option<Prefix>; 2] {
        self.prefixes(self.first)
    }
}

/// The IPv4 and IPv6 addresses of host `number` outside a link. `last` is 1 for the kernel's end of
/// the device and 2 for the host.
pub const fn host_addresses(number: u8, last: u8) -> [IpAddr; 2] {
    let [a, b, ..] = HOST_RANGE.0.octets();
    let six = Ipv6Addr::new(0xfd74, 0x6370, 0x7366, 1, 0, 0, number as u16, last as u16);
    [IpAddr::V4(Ipv4Addr::new(a, b, number, last)), IpAddr::V6(six)]
}

/// The IPv6 form of an address of the plan.
pub fn ipv6(address: Ipv4Addr) -> Ipv6Addr {
    let [a, b, c, d] = address.octets();
    Ipv6Addr::new(
        0xfd74,
        0x6370,
        0x7366,
        0,
        0,
        0,
        u16::from_be_bytes([a, b]),
        u16::from_be_bytes([c, d]),
    )
}

const fn masked(address: Ipv4Addr, len: u8) -> Ipv4Addr {
    Ipv4Addr::from_bits(address.to_bits() & (u32::MAX << (32 - len)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nested_links_take_a_part_of_the_outer_block() {
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
            assert_eq!(Block::of_inner_end(v4.unwrap()), Some(block));
            for outer in &taken {
                assert!(
                    outer.contains(block.outside().into())
                        && !block.contains(outer.outside().into())
                );
            }
            taken.push(block);
            around = Some(block);
        }
        assert_eq!(Block::candidates(around).count(), 0);
    }

    #[test]
    fn hosts_and_nested_links_share_no_addresses() {
        for (inside, len, first, count) in [
            ("100.64.0.2", 18, "100.64.0.3", 1021),
            ("100.64.4.2", 22, "100.64.4.3", 61),
            ("100.64.4.66", 26, "100.64.4.67", 1),
        ] {
            let block =
                Block::of_inner_end(Prefix::new(inside.parse().unwrap(), len).unwrap()).unwrap();
            let hosts: Vec<Ipv4Addr> = block.hosts().collect();
            assert_eq!((hosts[0].to_string(), hosts.len()), (first.to_owned(), count));
            let taken = |host: &Ipv4Addr| {
                Block::candidates(Some(block)).any(|inner| inner.contains((*host).into()))
            };
            assert!(
                !hosts.iter().any(taken) && hosts.iter().all(|&host| block.contains(host.into()))
            );
        }
        let innermost =
            Block::of_inner_end(Prefix::new("100.64.4.70".parse().unwrap(), 30).unwrap()).unwrap();
        assert_eq!(innermost.hosts().count(), 0);
    }

    #[test]
    fn other_addresses_belong_to_no_block() {
        for (address, len) in [
            ("100.64.0.1", 18),
            ("100.64.0.2", 24),
            ("10.64.0.2", 18),
            ("100.64.0.2", 10),
            ("::2", 18),
        ] {
            assert_eq!(
                Block::of_inner_end(Prefix::new(address.parse().unwrap(), len).unwrap()),
                None,
                "{address}/{len}"
            );
        }
    }

    #[test]
    fn ipv6_address_embeds_the_ipv4_address() {
        assert_eq!(ipv6(Ipv4Addr::new(100, 64, 0, 2)).to_string(), "fd74:6370:7366::6440:2");
    }
}

//! The network outside of this machine, for the addresses of a link (RFC 3022, RFC 2663 §4.1.2).

use crate::exits::{Exit, exits};
use crate::forwarding::{Forwarding, Wanted, allow_at_own};
use crate::nftables::{Hook, Step, Table};
use crate::{Error, Interface, Prefix};

/// Chains that count packets before and after all other rules for forwarded packets.
const FIRST: (&str, i32) = ("first", -1000);
const LAST: (&str, i32) = ("last", 1000);

/// Address translation between a link and the networks of the calling thread's namespace. When the
/// value is dropped, or the process ends, the kernel has its previous state again.
#[derive(Debug)]
pub struct Translation {
    // The order is that of removal: no packet is forwarded without translation.
    _forwarding: Forwarding,
    table: Table,
}

impl Translation {
    /// Translates the source addresses of packets from `prefixes`, which arrive at the interface
    /// `link`, and lets them pass in both directions.
    ///
    /// # Errors
    /// If there is no default route, the privilege is missing, or the kernel has no nftables.
    pub fn new(link: &Interface, prefixes: &[Prefix]) -> Result<Self, Error> {
        let exits = exits_to_other_hosts(Some(link))?;
        let table = Table::new(link.name())?;
        let rules: Vec<_> = prefixes
            .iter()
            .map(|&prefix| {
                [Step::From(prefix), Step::LeavesNotThrough(link.index()), Step::Masquerade]
            })
            .collect();
        let rules: Vec<&[Step]> = rules.iter().map(<[Step; 3]>::as_slice).collect();
        table.add_chain("translate", Hook::SourceTranslation, &rules)?;
        let both = [
            [Step::ArrivedAt(link.index()), Step::Count],
            [Step::LeavesThrough(link.index()), Step::Count],
        ];
        for (chain, priority) in [FIRST, LAST] {
            table.add_chain(chain, Hook::Forward(priority), &[&both[0], &both[1]])?;
        }
        let wanted = exits
            .iter()
            .filter_map(|exit| Some(Wanted { interface: exit.interface()?, is_v6: exit.is_v6 }));
        let wanted: Vec<_> = wanted.collect();
        let forwarding = Forwarding::allow(&wanted)?;
        allow_at_own(link.name())?;
        Ok(Self { _forwarding: forwarding, table })
    }

    /// Returns the number of packets of the link that rules of this machine's firewall have
    /// dropped.
    ///
    /// # Errors
    /// If the system refuses.
    pub fn dropped_packets(&self) -> Result<u64, Error> {
        // Packets that pass between the two readings do not count.
        let last = self.table.counted_packets(LAST.0)?;
        let first = self.table.counted_packets(FIRST.0)?;
        Ok(first.saturating_sub(last))
    }
}

/// Lists the interfaces with routes to other hosts, except `link`.
///
/// # Errors
/// If there is no default route.
fn exits_to_other_hosts(link: Option<&Interface>) -> Result<Vec<Exit>, Error> {
    let own = link.map(Interface::index);
    let exits: Vec<_> = exits()?.into_iter().filter(|exit| Some(exit.interface) != own).collect();
    if exits.iter().any(|exit| exit.is_default) {
        return Ok(exits);
    }
    let error =
        Error::new("reach the network outside of this machine", rustix::io::Errno::NETUNREACH);
    Err(error.with_hint("there is no default route: `ip route`"))
}

/// Checks that the calling thread's namespace reaches the network outside of this machine.
///
/// # Errors
/// If there is no default route.
pub fn check_reach() -> Result<(), Error> {
    exits_to_other_hosts(None).map(drop)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr};

    use super::*;
    use crate::{NetNamespace, Offload, Tun};

    fn device(name: &str, address: [u8; 4], route: Prefix) -> (Tun, Interface) {
        let tun = Tun::open(name, Offload::None).unwrap();
        let interface = tun.interface().unwrap();
        interface.set_up().unwrap();
        interface.add_address(Prefix::new(address.into(), 32).unwrap(), None).unwrap();
        interface.add_route(route).unwrap();
        (tun, interface)
    }

    /// Needs root, as CI has it.
    #[test]
    fn packets_that_other_rules_drop_are_counted() {
        let work = || {
            let block = Prefix::new(IpAddr::V4(Ipv4Addr::new(100, 64, 0, 0)), 18).unwrap();
            let (_outer, _) = device("outer", [198, 51, 100, 1], Prefix::ALL_V4);
            let (inner, link) = device("tcpsf0", [100, 64, 0, 1], block);
            let translation = Translation::new(&link, &[block]).unwrap();
            // An empty IPv4 packet of protocol 59 from 100.64.0.2 to 203.0.113.9.
            let packet =
                [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 59, 0xda, 0x63, 100, 64, 0, 2, 203, 0, 113, 9];
            inner.write(&packet).unwrap();
            assert_eq!(translation.table.counted_packets(LAST.0).unwrap(), 1);
            let firewall = Table::new("firewall").unwrap();
            let rule = [Step::ArrivedAt(link.index()), Step::Drop];
            firewall.add_chain("forward", Hook::Forward(0), &[&rule]).unwrap();
            inner.write(&packet).unwrap();
            inner.write(&packet).unwrap();
            assert_eq!(translation.dropped_packets().unwrap(), 2);
            assert!(Table::new("firewall").unwrap_err().to_string().contains("`firewall`"));
        };
        NetNamespace::new().unwrap().run(work).unwrap();
    }
}

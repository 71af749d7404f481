//! Interfaces through which a network namespace reaches other hosts.

use crate::interface::list;
use crate::netlink::{self, attributes, u16_at, u32_at};
use crate::{Error, Interface};

/// Start of the names of interfaces at the outer ends of links.
pub(crate) const LINKS: &str = "tcpsf";

/// An interface with routes to other hosts, for one IP version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Exit {
    /// The interface index.
    pub(crate) interface: u32,
    /// Whether the routes are for IPv6, otherwise for IPv4.
    pub(crate) is_v6: bool,
    /// Whether one of them is a default route.
    pub(crate) is_default: bool,
}

impl Exit {
    /// The interface. `None` for the outer end of a link, and if the interface was removed.
    pub(crate) fn interface(&self) -> Option<Interface> {
        let interface = Interface::from_fd(netlink::open().ok()?, self.interface).ok()?;
        let number = interface.name().strip_prefix(LINKS).unwrap_or_default();
        number.parse::<u32>().is_err().then_some(interface)
    }
}

/// Lists the exits of the calling thread's namespace, one for each interface and IP version.
///
/// # Errors
/// If the system refuses.
pub(crate) fn exits() -> Result<Vec<Exit>, Error> {
    let routes =
        list("routes", libc::RTM_GETROUTE, libc::RTM_NEWROUTE, &[0; 12], |body| Some(route(body)))?;
    let mut found: Vec<Exit> = routes.into_iter().flatten().collect();
    // A default route precedes the other routes of its interface.
    found.sort_unstable_by_key(|exit| (exit.interface, exit.is_v6, !exit.is_default));
    found.dedup_by_key(|exit| (exit.interface, exit.is_v6));
    Ok(found)
}

/// Parses an `RTM_NEWROUTE` message: the interfaces of a unicast route.
fn route(body: &[u8]) -> Vec<Exit> {
    /// Lengths of `struct rtmsg` and of `struct rtnexthop` without its attributes.
    const ROUTE_BYTES: usize = 12;
    const NEXT_HOP_BYTES: usize = 8;
    let (Some(&[family, len, _, _, _, _, _, kind, ..]), Some(rest)) =
        (body.first_chunk::<ROUTE_BYTES>(), body.get(ROUTE_BYTES..))
    else {
        return Vec::new();
    };
    let is_v6 = match i32::from(family) {
        libc::AF_INET => false,
        libc::AF_INET6 => true,
        _ => return Vec::new(),
    };
    if kind != libc::RTN_UNICAST {
        return Vec::new();
    }
    let mut interfaces = Vec::new();
    for (kind, value) in attributes(rest) {
        match kind {
            libc::RTA_OIF => interfaces.extend(u32_at(value, 0)),
            libc::RTA_MULTIPATH => {
                let mut rest = value;
                while let Some(len) =
                    u16_at(rest, 0).map(usize::from).filter(|&len| len >= NEXT_HOP_BYTES)
                {
                    interfaces.extend(u32_at(rest, 4));
                    rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
                }
            }
            _ => {}
        }
    }
    let exit = |interface| Exit { interface, is_v6, is_default: len == 0 };
    interfaces.into_iter().map(exit).collect()
}

//! The networks outside of this machine: address translation for the link's addresses or, without
//! privilege, a gateway, and the DNS servers of this machine for the command.
//!
//! A DNS server at a loopback address exists only in the caller's network namespace. For such
//! servers a forwarder answers at the outer end of the link, and the command sees another
//! `/etc/resolv.conf` that names it. Other servers are reached through the link.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV6};

use tun::{Error, Interface, Translation};

use crate::dns::{Forwarder, PORT};
use crate::gateway::Relay;
use crate::network::{GatewayParts, Network};

const RESOLV_CONF: &str = "/etc/resolv.conf";

/// The connection of a link to the networks outside. It ends when the value is dropped.
#[derive(Debug)]
pub(crate) struct Reach {
    way: Way,
    /// The list of DNS servers for the command, if it is not the caller's.
    resolv_conf: Option<String>,
    _forwarder: Option<Forwarder>,
}

#[derive(Debug)]
enum Way {
    /// The kernel translates addresses.
    Translation(Translation),
    /// This process has a socket for each connection. A link beside the first one has its relay.
    Gateway { _relay: Option<Relay> },
}

impl Reach {
    pub(crate) fn new(network: &mut Network, mtu: u32) -> Result<Self, Error> {
        if network.user.is_some() {
            return Self::by_gateway(network, mtu);
        }
        let whole = network.block.map(|block| block.whole()).unwrap_or_default();
        let [v4, v6] = whole;
        let v6 = v6.filter(|_| network.ends.outside_v6.is_some());
        let prefixes: Vec<_> = v4.into_iter().chain(v6).collect();
        let translation = Translation::new(&network.outside.interface, &prefixes)?;
        let servers = Servers::of_this_machine(network.ends.outside)?;
        let servers = servers.filter(|servers| !servers.local.is_empty());
        let (resolv_conf, forwarder) = match servers {
            None => (None, None),
            Some(Servers { local, resolv_conf }) => {
                (Some(resolv_conf), Forwarder::start(network.ends.outside, local)?)
            }
        };
        let way = Way::Translation(translation);
        Ok(Self { way, resolv_conf, _forwarder: forwarder })
    }

    fn by_gateway(network: &mut Network, mtu: u32) -> Result<Self, Error> {
        let Some(GatewayParts { gateway, dns }) = network.gateway.take() else {
            let way = Way::Gateway { _relay: None };
            return Ok(Self { way, resolv_conf: None, _forwarder: None });
        };
        let servers = Servers::of_this_machine(network.ends.outside)?;
        let (resolv_conf, forwarder) = match (servers, dns) {
            (Some(Servers { local, resolv_conf }), Some(bound)) if !local.is_empty() => {
                (Some(resolv_conf), Some(Forwarder::with(bound, local)?))
            }
            _ => (None, None),
        };
        let way = Way::Gateway { _relay: Some(Relay::start(gateway, mtu)?) };
        Ok(Self { way, resolv_conf, _forwarder: forwarder })
    }

    /// Whether connections end at a gateway.
    pub(crate) fn is_gateway(&self) -> bool {
        matches!(self.way, Way::Gateway { .. })
    }

    /// The content of the command's `/etc/resolv.conf`, if it is not the caller's.
    pub(crate) fn resolv_conf(&self) -> Option<&str> {
        self.resolv_conf.as_deref()
    }

    /// Packets of the link that rules of this machine's firewall have dropped. `None` if packets of
    /// the link do not pass the firewall.
    pub(crate) fn dropped_packets(&self) -> Result<Option<u64>, Error> {
        match &self.way {
            Way::Translation(translation) => translation.dropped_packets().map(Some),
            Way::Gateway { .. } => Ok(None),
        }
    }
}

/// Whether a DNS server of this machine has an address that only the caller's namespace reaches.
pub(crate) fn needs_forwarder() -> Result<bool, Error> {
    let servers = Servers::of_this_machine(Ipv4Addr::LOCALHOST.into())?;
    Ok(servers.is_some_and(|servers| !servers.local.is_empty()))
}

/// The DNS servers of a `resolv.conf(5)`.
#[derive(Debug, PartialEq, Eq)]
struct Servers {
    /// Servers that only the caller's namespace reaches.
    local: Vec<SocketAddr>,
    /// The file with `forwarder` in place of these servers.
    resolv_conf: String,
}

impl Servers {
    /// The servers of this machine. `None` if it has no list.
    fn of_this_machine(forwarder: IpAddr) -> Result<Option<Self>, Error> {
        match std::fs::read_to_string(RESOLV_CONF) {
            Ok(text) => Ok(Some(Self::of(&text, forwarder))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::new(format!("read `{RESOLV_CONF}`"), error)),
        }
    }

    fn of(text: &str, forwarder: IpAddr) -> Self {
        let (mut local, mut lines) = (Vec::new(), Vec::new());
        let mut has_server = false;
        for line in text.lines() {
            let mut words = line.split_whitespace();
            let server = words.next().filter(|&key| key == "nameserver").and(words.next());
            has_server |= server.is_some();
            match server.and_then(local_address) {
                None => lines.push(line.to_owned()),
                Some(server) => {
                    if local.is_empty() {
                        lines.push(format!("nameserver {forwarder}"));
                    }
                    local.push(server);
                }
            }
        }
        if !has_server {
            // `resolv.conf(5)`: without an entry, the server is that of the local machine.
            local.push(SocketAddr::from(([127, 0, 0, 1], PORT)));
            lines.push(format!("nameserver {forwarder}"));
        }
        Self { local, resolv_conf: lines.join("\n") + "\n" }
    }
}

/// The address of a server that another network namespace does not reach.
fn local_address(text: &str) -> Option<SocketAddr> {
    if let Some((address, zone)) = text.split_once('%') {
        // A link-local address with its interface (RFC 4007 §11).
        let zone = zone.parse().or_else(|_| Interface::find(zone).map(|found| found.index()));
        return Some(SocketAddrV6::new(address.parse().ok()?, PORT, 0, zone.ok()?).into());
    }
    let address: IpAddr = text.parse().ok()?;
    // The unspecified address is this host (RFC 1122 §3.2.1.3), and Linux connects to itself.
    (address.is_loopback() || address.is_unspecified()).then(|| (address, PORT).into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Servers that only the caller reaches are gone, and all other lines remain.
        #[test]
        fn no_local_server_remains(
            text in "((nameserver|search|#)?[ \t]?(127\\.0\\.0\\.[0-9]{1,3}|::1|0\\.0\\.0\\.0|fe80::1%lo|%|192\\.0\\.2\\.1|\\PC{0,8})\n?){0,6}",
        ) {
            let (_, changed) = servers(&text);
            let (local, again) = servers(&changed);
            prop_assert_eq!(local, Vec::<String>::new());
            prop_assert_eq!(&again, &changed);
            let kept = |text: &str| text.lines().filter(|line| !line.contains("nameserver")).count();
            prop_assert_eq!(kept(&text), kept(&changed));
        }
    }

    fn servers(text: &str) -> (Vec<String>, String) {
        let found = Servers::of(text, IpAddr::from([100, 64, 0, 1]));
        (found.local.iter().map(ToString::to_string).collect(), found.resolv_conf)
    }

    #[test]
    fn servers_at_loopback_addresses_are_replaced_once() {
        let (local, text) = servers(
            "# stub\nnameserver 127.0.0.53\nnameserver\t::1\nnameserver 192.0.2.1\nsearch example\noptions edns0\n",
        );
        assert_eq!(local, ["127.0.0.53:53", "[::1]:53"]);
        assert_eq!(
            text,
            "# stub\nnameserver 100.64.0.1\nnameserver 192.0.2.1\nsearch example\noptions edns0\n"
        );
    }

    #[test]
    fn other_servers_remain() {
        let text = "nameserver 192.0.2.1\nnameserver 2001:db8::1 # second\nnameserverx 127.0.0.1\n";
        assert_eq!(servers(text), (vec![], text.to_owned()));
    }

    #[test]
    fn a_file_without_servers_means_the_local_machine() {
        for text in ["", "search example\n", "#nameserver 192.0.2.1\n"] {
            let (local, changed) = servers(text);
            assert_eq!(local, ["127.0.0.1:53"]);
            assert_eq!(changed, format!("{text}nameserver 100.64.0.1\n"));
        }
    }
}

//! Addresses of nodes and ports of flows.

use std::net::Ipv4Addr;

use wire::tcp::Ports;

use super::{CaptureError, VantagePoint};
use crate::plan::Plan;
use crate::scenario::{Opener, Scenario};

/// The hosts of a scenario, and the pair of hosts of each workload.
#[derive(Debug)]
pub(super) struct Addresses {
    /// Addresses and names of the nodes at which flows begin or end.
    hosts: Vec<(Ipv4Addr, String)>,
    /// Pairs of hosts by workload.
    pairs: Vec<Pair>,
}

#[derive(Debug, Clone, Copy)]
struct Pair {
    /// Index of the host that sends data.
    from: usize,
    to: usize,
    opener: Opener,
}

/// The source and destination of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PacketAddresses {
    /// Indexes of hosts.
    pub(super) source: usize,
    pub(super) destination: usize,
    pub(super) ports: Ports,
}

/// The ports of the end that opens: the upper part of the dynamic ports (RFC 6335 §6).
const OPENERS: (u16, u64) = (57_344, 8192);

/// The ports of the listening end. An analyser derives the payload's protocol from some ports;
/// Wireshark assigns no protocol to any of these.
const LISTENERS: (u16, u64) = (49_152, 7168);

impl Addresses {
    pub(super) fn new(scenario: &Scenario, plan: &Plan) -> Result<Self, CaptureError> {
        let mut hosts: Vec<(Ipv4Addr, String)> = Vec::new();
        let nodes = nodes(scenario);
        let mut host = |name: &str| -> Result<usize, CaptureError> {
            if let Some(known) = hosts.iter().position(|(_, host)| host == name) {
                return Ok(known);
            }
            // The address follows from the position among all nodes, so it does not depend on the
            // set of hosts.
            let index = nodes.iter().position(|node| *node == name).unwrap_or(0);
            let address =
                address(index).ok_or(CaptureError::TooManyNodes { nodes: nodes.len() })?;
            hosts.push((address, name.to_owned()));
            Ok(hosts.len() - 1)
        };
        let pairs = scenario.workloads.iter().zip(&plan.workloads).map(|(workload, planned)| {
            Ok(Pair {
                from: host(workload.from())?,
                to: host(workload.to())?,
                opener: planned.opener,
            })
        });
        let pairs = pairs.collect::<Result<_, CaptureError>>()?;
        Ok(Self { hosts, pairs })
    }

    /// Addresses and names of the hosts.
    pub(super) fn hosts(&self) -> impl Iterator<Item = (Ipv4Addr, &str)> {
        self.hosts.iter().map(|(address, name)| (*address, name.as_str()))
    }

    /// Returns true if packets are captured at a host.
    pub(super) fn is_seen(&self, host: usize, vantage_point: VantagePoint) -> bool {
        self.pairs.iter().any(|pair| {
            pair.from == host && vantage_point.is_at(false)
                || pair.to == host && vantage_point.is_at(true)
        })
    }

    pub(super) fn of(&self, host: usize) -> Ipv4Addr {
        self.hosts[host].0
    }

    /// The addresses of a packet of a flow. `back` means that the receiver of the data sent it.
    ///
    /// Ports repeat after 58 million flows.
    pub(super) fn packet_addresses(&self, flow: u64, workload: u16, back: bool) -> PacketAddresses {
        let Pair { from, to, opener } = self.pairs[usize::from(workload)];
        let opens = port(OPENERS, flow);
        let listens = port(LISTENERS, flow / OPENERS.1);
        let (sender, receiver) = match opener {
            Opener::Sender => (opens, listens),
            Opener::Receiver => (listens, opens),
        };
        if back {
            PacketAddresses {
                source: to,
                destination: from,
                ports: Ports { source: receiver, destination: sender },
            }
        } else {
            PacketAddresses {
                source: from,
                destination: to,
                ports: Ports { source: sender, destination: receiver },
            }
        }
    }
}

/// The nodes in order of first mention by a link.
fn nodes(scenario: &Scenario) -> Vec<&str> {
    let mut nodes: Vec<&str> = Vec::new();
    for name in scenario.links.iter().flat_map(|link| [link.from.as_str(), link.to.as_str()]) {
        if !nodes.contains(&name) {
            nodes.push(name);
        }
    }
    nodes
}

/// The address with this index: from 10.0.0.1 on, without those that end in 0 or 255.
fn address(index: usize) -> Option<Ipv4Addr> {
    let last = u8::try_from(index % 254 + 1).ok()?;
    let [high, low] = u16::try_from(index / 254).ok()?.to_be_bytes();
    Some(Ipv4Addr::new(10, high, low, last))
}

/// The port at `number` in a range, which repeats.
fn port((first, count): (u16, u64), number: u64) -> u16 {
    first + u16::try_from(number % count).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_numbered_without_the_ends_of_a_network() {
        assert_eq!(address(0), Some(Ipv4Addr::new(10, 0, 0, 1)));
        assert_eq!(address(253), Some(Ipv4Addr::new(10, 0, 0, 254)));
        assert_eq!(address(254), Some(Ipv4Addr::new(10, 0, 1, 1)));
        assert_eq!(address(254 * 65_536 - 1), Some(Ipv4Addr::new(10, 255, 255, 254)));
        assert_eq!(address(254 * 65_536), None);
    }

    #[test]
    fn flows_have_ports_of_their_own() {
        let addresses = Addresses {
            hosts: vec![],
            pairs: vec![Pair { from: 0, to: 1, opener: Opener::Receiver }],
        };
        let ports = |flow| addresses.packet_addresses(flow, 0, false).ports;
        assert_eq!(ports(0), Ports { source: 49_152, destination: 57_344 });
        assert_eq!(ports(8191), Ports { source: 49_152, destination: 65_535 });
        assert_eq!(ports(8192), Ports { source: 49_153, destination: 57_344 });
        assert_eq!(ports(8192 * 7168), ports(0));
        let back = addresses.packet_addresses(5, 0, true);
        assert_eq!((back.source, back.ports), (1, Ports { source: 57_349, destination: 49_152 }));
    }
}

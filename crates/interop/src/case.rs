//! A series of connections between the host and the kernel's TCP, and the host's addresses.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::{Deserialize, Serialize};

use crate::request::Sizes;

pub(crate) const OURS: IpAddr = IpAddr::V4(Ipv4Addr::new(100, 127, 0, 2));
pub(crate) const OURS_6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd74, 0x6370, 0x7366, 1, 0, 0, 0, 2));
pub(crate) const PORT: u16 = 7;

/// The role of the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The kernel opens the connections.
    Server,
    /// The host opens the connections.
    Client,
}

/// A series of connections.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The role of the host.
    pub ours: Role,
    /// IP version: 4 or 6.
    pub ip: u8,
    /// Settings of the link, as for [`Settings::from_json`].
    #[serde(default)]
    pub link: serde_json::Value,
    /// Kernel settings below `net.ipv4`.
    #[serde(default)]
    pub sysctls: BTreeMap<String, String>,
    /// The kernel's congestion control; `None` for its default.
    #[serde(default)]
    pub congestion: Option<String>,
    /// Whether the kernel acknowledges every segment at once.
    #[serde(default)]
    pub quick_ack: bool,
    /// Whether the host's device segments packets and completes checksums.
    #[serde(default)]
    pub offload: bool,
    /// The host's sender policy.
    pub sender: String,
    /// Options that the host does not use: `sack`, `timestamps`, `scaling`.
    #[serde(default)]
    pub without: Vec<String>,
    /// Limit of half-open connections, beyond which SYNs are answered with cookies. By default it
    /// is not reached.
    #[serde(default)]
    pub half_open: Option<usize>,
    /// Number of connections.
    pub connections: u64,
    /// Maximum number of concurrent connections.
    pub concurrency: usize,
    /// Bytes from the client.
    pub up: Sizes,
    /// Bytes from the server.
    pub down: Sizes,
    /// Random seed.
    #[serde(default)]
    pub seed: u64,
}

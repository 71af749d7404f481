//! The addresses and ports that identify a connection.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

/// The two ends of a connection, as seen by this host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tuple {
    /// The local address.
    pub local: IpAddr,
    /// The peer's address.
    pub remote: IpAddr,
    /// The local port.
    pub local_port: u16,
    /// The peer's port.
    pub remote_port: u16,
}

impl Tuple {
    /// The peer's address and port.
    pub fn remote(&self) -> SocketAddr {
        SocketAddr::new(self.remote, self.remote_port)
    }

    /// The local address and port.
    pub fn local(&self) -> SocketAddr {
        SocketAddr::new(self.local, self.local_port)
    }
}

/// Hashes few, wide integers, because this runs for every packet.
impl Hash for Tuple {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let ports = u32::from(self.local_port) << 16 | u32::from(self.remote_port);
        match (self.local, self.remote) {
            (IpAddr::V4(local), IpAddr::V4(remote)) => {
                state.write_u64(u64::from(local.to_bits()) << 32 | u64::from(remote.to_bits()));
            }
            (local, remote) => [local, remote].hash(state),
        }
        state.write_u32(ports);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    /// A tuple of two documentation addresses (RFC 5737).
    pub(crate) fn tuple(remote_port: u16) -> Tuple {
        let local = IpAddr::from(Ipv4Addr::new(192, 0, 2, 1));
        let remote = IpAddr::from(Ipv4Addr::new(192, 0, 2, 2));
        Tuple { local, remote, local_port: 80, remote_port }
    }
}

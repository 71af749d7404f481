//! Connections that a remedy is applied to, and devices through which they send.

/// A control group: the identifier of its folder, and its level, counted from 0 at the root.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cgroup {
    /// Number of the folder's inode.
    pub id: u64,
    /// Level in the hierarchy.
    pub level: u8,
}

/// Connections by the end at this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Local ports; any port if there is none.
    pub ports: Vec<u16>,
    /// Control group of the sockets; any if there is none.
    pub cgroup: Option<Cgroup>,
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

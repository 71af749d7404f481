//! Connections that a remedy is applied to.

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

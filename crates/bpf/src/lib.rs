//! Remedies for servers that stay as they are, as BPF programs: they change how the kernel sends
//! for a running program, and end with the process that attached them.
//!
//! | remedy | place | type |
//! | --- | --- | --- |
//! | `dup-tail`: a copy of the last segment | egress of a device | [`TailCopies`] |
//! | `rto-min`, `iw`: settings of sockets | sockets of a cgroup | [`SocketSettings`] |
//! | `tail`, `tiny-tail`, `fs`: cuts in what is written | data of these sockets | [`Cut`] |
//!
//! A [`Trial`] assigns connections to remedies at random, by the peer's address, and measures the
//! transfers of all.
//!
//! The programs are written with an [assembler](assembler::Assembler) and specialised when they are
//! loaded. Loaders such as `aya` and `libbpf-rs` take object files, which need a compiler with a
//! BPF backend (clang, or a nightly Rust with `bpf-linker`), and neither is required to build
//! tcpsf.

pub mod assembler;
mod btf;
mod copy;
mod cuts;
mod delayed;
mod kernel;
mod measured;
mod parts;
mod selection;
mod settings;
mod sys;
mod trial;

pub use copy::{Copies, TailCopies};
pub use cuts::{Cut, Cuts, MOST_PIECES};
pub use kernel::{Link, Map, Place, Program};
pub use measured::{End, Group, Measured};
pub use selection::{Cgroup, Device, MOST_BYTES, Prefix, Selection};
pub use settings::{Changed, Settings, SocketSettings};
pub use trial::{Arm, Assigned, Assignment, Trial};

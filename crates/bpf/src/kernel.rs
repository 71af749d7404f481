//! Maps, programs and links of the kernel. Each belongs to its descriptor: the kernel removes it
//! when the last descriptor is closed, also if the process is killed.

use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use tun::Error;

use crate::selection::Prefix;
use crate::sys;

/// Kinds of maps (`enum bpf_map_type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum MapKind {
    /// A hash table.
    Hash = 1,
    /// An array.
    Array = 2,
    /// An array with values of its own for each processor.
    PerCpuArray = 6,
    /// A trie of prefixes, which finds the longest one of an address.
    Prefixes = 11,
    /// A hash table of sockets, whose messages a program sees.
    SocketHash = 18,
    /// A ring of records for user space.
    Ring = 27,
}

/// Bytes of the key of a map of prefixes: the length, and the address.
const PREFIX_KEY_BYTES: u32 = 4 + 16;

/// Elements are allocated when they are added (`BPF_F_NO_PREALLOC`).
const NO_PREALLOCATION: u32 = 1;

/// A map.
#[derive(Debug)]
pub struct Map {
    fd: OwnedFd,
    kind: MapKind,
    value_bytes: u32,
}

impl Map {
    /// Creates an array whose values have `value_bytes` bytes, for each processor.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn array(value_bytes: u32, entries: u32) -> Result<Self, Error> {
        Self::create(MapKind::PerCpuArray, 4, value_bytes, entries)
    }

    /// Creates an array whose values have `value_bytes` bytes, shared by the processors.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn shared_array(value_bytes: u32, entries: u32) -> Result<Self, Error> {
        Self::create(MapKind::Array, 4, value_bytes, entries)
    }

    /// Changes a number of 32 bits in an array that is shared by the processors.
    ///
    /// # Panics
    /// Values of another length are an error of the caller.
    ///
    /// # Errors
    /// Returns an error if there is no such index.
    pub fn set(&self, index: u32, value: u32) -> Result<(), Error> {
        assert_eq!(self.value_bytes, 4, "values of 32 bits");
        sys::update(self.as_fd(), &index.to_ne_bytes(), &value.to_ne_bytes())
            .map_err(|error| Error::new(format!("change value {index} of a BPF map"), error))
    }

    /// Creates a hash table of at most `entries` sockets. Its keys are their cookies.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn sockets(entries: u32) -> Result<Self, Error> {
        Self::create(MapKind::SocketHash, 8, 4, entries)
    }

    /// Creates a hash table of at most `entries` values of `value_bytes` bytes. Its keys are
    /// cookies of sockets.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn by_cookie(value_bytes: u32, entries: u32) -> Result<Self, Error> {
        Self::create(MapKind::Hash, 8, value_bytes, entries)
    }

    /// Creates a trie of at most `entries` prefixes with values of 64 bits. A program looks up the
    /// longest prefix of an address.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn prefixes(entries: u32) -> Result<Self, Error> {
        Self::create(MapKind::Prefixes, PREFIX_KEY_BYTES, 8, entries)
    }

    /// Changes the value of a prefix, or adds it. Both halves change at once for programs.
    ///
    /// # Panics
    /// Another map is an error of the caller.
    ///
    /// # Errors
    /// Returns the error of the system, also if the map is full.
    pub fn set_prefix(&self, prefix: Prefix, halves: [u32; 2]) -> Result<(), Error> {
        assert_eq!(self.kind, MapKind::Prefixes, "a map of prefixes");
        let [first, second] = halves.map(u32::to_ne_bytes);
        sys::update(self.as_fd(), &prefix.key(), &[first, second].concat())
            .map_err(|error| Error::new("change a prefix in a BPF map", error))
    }

    /// Creates a ring of records with this number of bytes, a power of two and a multiple of a
    /// page.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn ring(bytes: u32) -> Result<Self, Error> {
        Self::create(MapKind::Ring, 0, 0, bytes)
    }

    fn create(kind: MapKind, key: u32, value_bytes: u32, entries: u32) -> Result<Self, Error> {
        // The kernel requires this flag for a trie.
        let flags = if kind == MapKind::Prefixes { NO_PREALLOCATION } else { 0 };
        let fd = sys::create_map(kind as u32, key, value_bytes, entries, flags);
        Ok(Self { fd: fd.map_err(|error| refused("create a BPF map", error))?, kind, value_bytes })
    }

    /// Sums a counter of 64 bits over all processors.
    ///
    /// # Panics
    /// Values of another length are an error of the caller.
    ///
    /// # Errors
    /// Returns an error if there is no such index.
    pub fn sum(&self, index: u32) -> Result<u64, Error> {
        assert_eq!(self.value_bytes, 8, "values of 64 bits");
        let mut values = vec![0; 8 * sys::possible_processors()];
        sys::look_up(self.as_fd(), &index.to_ne_bytes(), &mut values)
            .map_err(|error| Error::new(format!("read value {index} of a BPF map"), error))?;
        let (numbers, _) = values.as_chunks::<8>();
        Ok(numbers.iter().map(|bytes| u64::from_ne_bytes(*bytes)).sum())
    }
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Places at which programs run, with their types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Events of the sockets of a cgroup (`BPF_CGROUP_SOCK_OPS`).
    SocketEvents,
    /// Packets that leave through a device (`BPF_TCX_EGRESS`, since Linux 6.6).
    Egress,
    /// Data that programs write to the sockets of a map (`BPF_SK_MSG_VERDICT`).
    Messages,
}

impl Place {
    /// Number in `enum bpf_prog_type`.
    const fn program_type(self) -> u32 {
        match self {
            Self::SocketEvents => 13,
            Self::Egress => 3,
            Self::Messages => 16,
        }
    }

    /// Number in `enum bpf_attach_type`.
    const fn attach_type(self) -> u32 {
        match self {
            Self::SocketEvents => 3,
            Self::Egress => 47,
            Self::Messages => 7,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::SocketEvents => "the sockets of a cgroup",
            Self::Egress => "the egress of a device",
            Self::Messages => "the data of sockets",
        }
    }
}

/// A program that the verifier has accepted.
#[derive(Debug)]
pub struct Program {
    fd: OwnedFd,
    place: Place,
}

impl Program {
    /// Loads a program. `name` is what `bpftool prog` shows, at most 15 bytes of it.
    ///
    /// # Errors
    /// Returns an error without the capabilities `CAP_BPF` and `CAP_NET_ADMIN`, or if the verifier
    /// rejects the program.
    pub fn load(place: Place, name: &CStr, code: &[u8]) -> Result<Self, Error> {
        let loaded = sys::load_program(place.program_type(), place.attach_type(), name, code);
        let fd = loaded.map_err(|(error, log)| {
            let what = format!("load a BPF program for {}", place.name());
            match log.lines().rev().find(|line| !line.starts_with("processed")) {
                Some(last) => Error::new(format!("{what} ({last})"), error),
                None => refused(&what, error),
            }
        })?;
        Ok(Self { fd, place })
    }

    /// Attaches the program to a cgroup, the descriptor of its folder.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn attach_to_cgroup(&self, cgroup: &impl AsFd) -> Result<Link, Error> {
        let fd = sys::create_link(self.fd.as_fd(), sys::target(cgroup), self.place.attach_type());
        let what = format!("attach a BPF program to {}", self.place.name());
        Ok(Link(fd.map_err(|error| refused(&what, error))?))
    }

    /// Attaches the program to the sockets of a map, until the map is freed.
    ///
    /// # Errors
    /// Returns the error of the system.
    pub fn attach_to_sockets(&self, sockets: &Map) -> Result<(), Error> {
        let done = sys::attach_to_map(self.fd.as_fd(), sockets.as_fd(), self.place.attach_type());
        let what = format!("attach a BPF program to {}", self.place.name());
        done.map_err(|error| refused(&what, error))
    }

    /// Attaches the program to the device with this number.
    ///
    /// # Errors
    /// Returns the error of the system. `EINVAL` means that the kernel has no TCX.
    pub fn attach_to_device(&self, device: u32) -> Result<Link, Error> {
        let fd = sys::create_link(self.fd.as_fd(), device, self.place.attach_type());
        let what = format!("attach a BPF program to {}", self.place.name());
        fd.map(Link).map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) => Error::new(what, error)
                .with_hint("programs at the egress of a device need Linux 6.6 or later"),
            _ => refused(&what, error),
        })
    }
}

/// An attached program. It is detached when this value is dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "the descriptor keeps the program attached")]
pub struct Link(OwnedFd);

/// An error of `bpf(2)`, with the usual reason.
fn refused(operation: &str, error: std::io::Error) -> Error {
    let hint = match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => {
            "run the command as root, or give it the capabilities CAP_BPF and CAP_NET_ADMIN"
        }
        Some(libc::ENOSYS) => "the kernel was built without BPF (CONFIG_BPF_SYSCALL)",
        _ => return Error::new(operation, error),
    };
    Error::new(operation, error).with_hint(hint)
}

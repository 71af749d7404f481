//! TUN devices: network interfaces whose other end is a program
//! (`Documentation/networking/tuntap.rst` of Linux).

use std::fs::{File, OpenOptions};
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;

use crate::sys::{self, InterfaceRequest};
use crate::{Error, Interface};

const DEVICE: &str = "/dev/net/tun";

/// Format of the packets that pass between the kernel and the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Offload {
    /// Packets as on a wire: with checksums, and no longer than the interface's MTU.
    #[default]
    None,
    /// Packets with a `struct virtio_net_hdr` of [`Tun::HEADER_LEN`] bytes in front, in both
    /// directions. The receiving side may have to complete TCP checksums and to segment up to 64 kB
    /// of a TCP stream.
    Segmentation,
}

/// The program's end of a TUN device. Reads and writes transfer whole packets and do not block.
///
/// The kernel removes the device when its last descriptor is closed, even if the program is killed.
#[derive(Debug)]
pub struct Tun {
    file: File,
    name: String,
    offload: Offload,
}

impl Tun {
    /// The length of `struct virtio_net_hdr`, in bytes, for [`Offload::Segmentation`].
    pub const HEADER_LEN: usize = 10;

    /// Creates a device in the calling thread's network namespace. `name` may contain one `%d`,
    /// which the kernel replaces by the first free number. If it is empty, the kernel chooses the
    /// name.
    ///
    /// # Errors
    /// If `/dev/net/tun` is missing, the privilege is missing, or the name is in use or longer than
    /// 15 bytes.
    pub fn open(name: &str, offload: Offload) -> Result<Self, Error> {
        let fail = |source: io::Error| {
            let hint = hint(&source);
            // A name with `%d` is a template, so the message does not quote it.
            let template = name.is_empty() || name.contains('%');
            let device =
                if template { "a TUN device".to_owned() } else { format!("TUN device `{name}`") };
            let error = Error::new(format!("make {device}"), source);
            match hint {
                Some(hint) => error.with_hint(hint),
                None => error,
            }
        };
        let mut flags = libc::IFF_TUN | libc::IFF_NO_PI;
        if offload == Offload::Segmentation {
            flags |= libc::IFF_VNET_HDR;
        }
        // The field has 16 bits and is unsigned.
        let mut request = u16::try_from(flags)
            .ok()
            .and_then(|flags| InterfaceRequest::new(name, flags))
            .ok_or_else(|| fail(io::Error::from(io::ErrorKind::InvalidFilename)))?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
            .open(DEVICE)
            .map_err(fail)?;
        sys::tun_set_interface(&file, &mut request).map_err(fail)?;
        let tun = Self { file, name: text(&request), offload };
        if offload == Offload::Segmentation {
            let header = libc::c_int::try_from(Self::HEADER_LEN).unwrap_or_default();
            sys::tun_set_header_len(&tun.file, header).map_err(fail)?;
            sys::tun_set_offload(&tun.file, libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6)
                .map_err(fail)?;
        }
        Ok(tun)
    }

    /// The device of a descriptor that [`open`](Self::open) created, possibly in another process.
    ///
    /// # Errors
    /// If the descriptor belongs to no TUN device.
    pub fn from_fd(fd: OwnedFd) -> Result<Self, Error> {
        let request = sys::tun_interface(&fd)
            .map_err(|source| Error::new("query the TUN device of a descriptor", source))?;
        let offload = if i32::from(request.flags) & libc::IFF_VNET_HDR == 0 {
            Offload::None
        } else {
            Offload::Segmentation
        };
        Ok(Self { file: File::from(fd), name: text(&request), offload })
    }

    /// Converts the device to its descriptor.
    pub fn into_fd(self) -> OwnedFd {
        self.file.into()
    }

    /// The device name assigned by the kernel.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The packet format.
    pub fn offload(&self) -> Offload {
        self.offload
    }

    /// The network interface of the device. The calling thread must be in the device's network
    /// namespace.
    ///
    /// # Errors
    /// If the calling thread is in another namespace.
    pub fn interface(&self) -> Result<Interface, Error> {
        Interface::find(&self.name)
    }

    /// Reads one packet into `buffer` and returns its length, or `None` if there is none. A longer
    /// packet is truncated.
    ///
    /// # Errors
    /// If the device is down or was removed.
    pub fn read(&self, buffer: &mut [u8]) -> Result<Option<usize>, Error> {
        match retrying(|| (&self.file).read(buffer)) {
            Ok(len) => Ok(Some(len)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(Error::new(format!("read from TUN device `{}`", self.name), error)),
        }
    }

    /// Writes one packet. Returns `false` if the kernel currently has no room for it.
    ///
    /// # Errors
    /// If the kernel refuses the packet (no IP version, too short, too long), or the device is down
    /// or was removed.
    pub fn write(&self, packet: &[u8]) -> Result<bool, Error> {
        self.written(packet.len(), retrying(|| (&self.file).write(packet)))
    }

    /// Writes one packet given as several slices. See [`write`](Self::write).
    ///
    /// # Errors
    /// The errors of [`write`](Self::write).
    pub fn write_vectored(&self, parts: &[IoSlice<'_>]) -> Result<bool, Error> {
        let len = parts.iter().map(|part| part.len()).sum();
        self.written(len, retrying(|| (&self.file).write_vectored(parts)))
    }

    fn written(&self, len: usize, result: io::Result<usize>) -> Result<bool, Error> {
        match result {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => {
                Err(Error::new(format!("write {len} bytes to TUN device `{}`", self.name), error))
            }
        }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn retrying(mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

fn text(request: &InterfaceRequest) -> String {
    let end = request.name.iter().position(|&byte| byte == 0).unwrap_or(request.name.len());
    String::from_utf8_lossy(&request.name[..end]).into_owned()
}

fn hint(source: &io::Error) -> Option<&'static str> {
    match source.raw_os_error()? {
        libc::ENOENT | libc::ENODEV | libc::ENXIO => Some(
            "the kernel offers no TUN devices here: `modprobe tun`, or for a container `--device /dev/net/tun`",
        ),
        libc::EPERM => Some(
            "this requires CAP_NET_ADMIN in this network namespace: run it as root, or in a namespace of your own with \
             `unshare --user --map-root-user --net`",
        ),
        libc::EACCES => Some(
            "only root may open `/dev/net/tun` here: run it as root, or allow all users to open it, as most systems do: \
             `chmod 666 /dev/net/tun`",
        ),
        libc::ENOTTY => Some(
            "`/dev/net/tun` is not the TUN device here: `mknod /dev/net/tun c 10 200` makes it",
        ),
        libc::EBUSY => Some("the name is in use: choose another"),
        _ => None,
    }
}

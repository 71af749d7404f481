//! Socket options and control messages of datagrams that rustix has no function for.

use std::io;
use std::mem::MaybeUninit;
use std::net::{Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsFd, AsRawFd};

/// Room for the control messages of a datagram, in bytes: an address and an error, with headers.
const CONTROL_BYTES: usize = 256;

/// A buffer with the alignment of control messages.
#[repr(C, align(8))]
struct Control([MaybeUninit<u8>; CONTROL_BYTES]);

/// The peer address and the control message of a received datagram.
pub(crate) struct Received {
    /// Length of the data in the buffer.
    pub(crate) len: usize,
    pub(crate) name: Option<SocketAddr>,
    pub(crate) message: Option<ControlMessage>,
}

/// A control message of interest.
pub(crate) enum ControlMessage {
    /// The destination of the datagram, before it was redirected.
    Destination(SocketAddr),
    /// The error number and the origin of an error.
    Error { code: i32, origin: u8 },
}

/// Sets an integer option of a socket.
pub(crate) fn set_socket_option(
    socket: impl AsFd,
    level: libc::c_int,
    name: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let len = libc::socklen_t::try_from(size_of::<libc::c_int>()).unwrap_or_default();
    // SAFETY: the kernel reads one integer.
    let result = unsafe {
        libc::setsockopt(socket.as_fd().as_raw_fd(), level, name, (&raw const value).cast(), len)
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Receives one datagram with its control message, without waiting.
pub(crate) fn receive(
    socket: impl AsFd,
    buffer: &mut [u8],
    flags: libc::c_int,
) -> io::Result<Received> {
    let mut control = Control([MaybeUninit::uninit(); CONTROL_BYTES]);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: both are plain data, and all zeros is a valid value.
    let (mut name, mut head): (libc::sockaddr_storage, libc::msghdr) =
        unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    head.msg_name = (&raw mut name).cast();
    head.msg_namelen =
        libc::socklen_t::try_from(size_of::<libc::sockaddr_storage>()).unwrap_or_default();
    head.msg_iov = &raw mut part;
    head.msg_iovlen = 1;
    head.msg_control = control.0.as_mut_ptr().cast();
    // The type of the field depends on the C library.
    head.msg_controllen = CONTROL_BYTES as _;
    // SAFETY: all pointers in `head` are to live buffers of the given lengths.
    let len = unsafe {
        libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut head, flags | libc::MSG_DONTWAIT)
    };
    let len = usize::try_from(len).map_err(|_| io::Error::last_os_error())?;
    let mut message = None;
    // SAFETY: the kernel has written `msg_controllen` bytes of control messages, which the macros
    // walk. The content of a message of these types is the structure that is read.
    unsafe {
        let mut next = libc::CMSG_FIRSTHDR(&raw const head);
        while let Some(found) = next.as_ref() {
            let content = libc::CMSG_DATA(next);
            match (found.cmsg_level, found.cmsg_type) {
                (libc::SOL_IP, libc::IP_ORIGDSTADDR) | (libc::SOL_IPV6, libc::IPV6_ORIGDSTADDR) => {
                    // Both structures begin with the family, and fit into the storage.
                    let mut storage: libc::sockaddr_storage = std::mem::zeroed();
                    let size = if found.cmsg_level == libc::SOL_IP {
                        size_of::<libc::sockaddr_in>()
                    } else {
                        size_of::<libc::sockaddr_in6>()
                    };
                    std::ptr::copy_nonoverlapping(content, (&raw mut storage).cast(), size);
                    message = address(&storage).map(ControlMessage::Destination);
                }
                (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR) => {
                    let error: libc::sock_extended_err =
                        content.cast::<libc::sock_extended_err>().read_unaligned();
                    let code = i32::try_from(error.ee_errno).unwrap_or_default();
                    message = Some(ControlMessage::Error { code, origin: error.ee_origin });
                }
                _ => {}
            }
            next = libc::CMSG_NXTHDR(&raw const head, next);
        }
    }
    Ok(Received { len, name: address(&name), message })
}

/// Converts an address of the kernel. `None` for other families than IPv4 and IPv6.
fn address(storage: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let pointer = &raw const *storage;
    match i32::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the storage is larger and aligned, and any bytes are a valid value.
            let found = unsafe { &*pointer.cast::<libc::sockaddr_in>() };
            let address = u32::from_be(found.sin_addr.s_addr).into();
            Some(SocketAddrV4::new(address, u16::from_be(found.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: as above.
            let found = unsafe { &*pointer.cast::<libc::sockaddr_in6>() };
            let (address, port) =
                (Ipv6Addr::from(found.sin6_addr.s6_addr), u16::from_be(found.sin6_port));
            Some(SocketAddrV6::new(address, port, 0, found.sin6_scope_id).into())
        }
        _ => None,
    }
}

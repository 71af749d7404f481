//! netlink (RFC 3549, `netlink(7)`): one request, or a batch of nfnetlink, and the kernel's
//! response.

use std::io;

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::netlink::{self, SocketAddrNetlink};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

/// Maximum size of one datagram of a response, in bytes. The kernel limits dumps to
/// `NLMSG_GOODSIZE`, or to 32 KiB for large receive buffers.
const RESPONSE_BYTES: usize = 32_768;

const HEADER_BYTES: usize = 16;

/// A request under construction: header, fixed structure, attributes.
#[derive(Debug)]
pub(crate) struct Request {
    bytes: Vec<u8>,
}

impl Request {
    /// A request of type `kind` with `flags` beside `NLM_F_REQUEST`. `fixed` is the fixed structure
    /// of the type.
    pub(crate) fn new(kind: u16, flags: libc::c_int, fixed: &[u8]) -> Self {
        let flags = u16::try_from(flags | libc::NLM_F_REQUEST).unwrap_or(u16::MAX);
        let mut bytes = vec![0; 4];
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(flags.to_ne_bytes());
        // The sequence number, and the port, which the kernel fills in.
        bytes.extend(1_u32.to_ne_bytes());
        bytes.extend(0_u32.to_ne_bytes());
        bytes.extend(fixed);
        let mut request = Self { bytes };
        request.pad();
        request
    }

    /// Appends an attribute.
    pub(crate) fn attribute(&mut self, kind: u16, value: &[u8]) {
        let start = self.begin(kind);
        self.bytes.extend(value);
        self.end(start);
    }

    /// Begins an attribute that contains others. Returns its start.
    pub(crate) fn begin(&mut self, kind: u16) -> usize {
        let start = self.bytes.len();
        self.bytes.extend([0; 2]);
        self.bytes.extend(kind.to_ne_bytes());
        start
    }

    /// Ends the attribute that began at `start`.
    pub(crate) fn end(&mut self, start: usize) {
        let len = u16::try_from(self.bytes.len() - start).unwrap_or(u16::MAX);
        self.bytes[start..start + 2].copy_from_slice(&len.to_ne_bytes());
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    fn finish(&mut self) -> &[u8] {
        let len = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        self.bytes[..4].copy_from_slice(&len.to_ne_bytes());
        &self.bytes
    }

    /// The bytes of the message, with this sequence number.
    pub(crate) fn into_bytes(mut self, sequence: u32) -> Vec<u8> {
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        self.finish();
        self.bytes
    }

    /// Sends the request to the kernel and waits for its completion.
    pub(crate) fn execute(self, socket: impl AsFd) -> io::Result<()> {
        self.execute_with(socket, |_, _| ())
    }

    /// Sends the request and passes each message of the response to `show`: its type, and its
    /// content after the header. The response ends with the end of a list or an acknowledgment, so
    /// the flags must request one of them.
    pub(crate) fn execute_with(
        mut self,
        socket: impl AsFd,
        mut show: impl FnMut(u16, &[u8]),
    ) -> io::Result<()> {
        let socket = socket.as_fd();
        sendto(socket, self.finish(), SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
        let mut answer = vec![0; RESPONSE_BYTES];
        loop {
            let mut rest = receive(socket, &mut answer)?;
            while let Some((kind, body, behind)) = message(rest) {
                rest = behind;
                match i32::from(kind) {
                    libc::NLMSG_DONE => return Ok(()),
                    libc::NLMSG_ERROR => {
                        let code = u32_at(body, 0).map_or(0, u32::cast_signed);
                        return if code == 0 {
                            Ok(())
                        } else {
                            Err(Errno::from_raw_os_error(-code).into())
                        };
                    }
                    _ => show(kind, body),
                }
            }
        }
    }
}

/// Receives messages into a buffer of [`RESPONSE_BYTES`].
fn receive<'a>(socket: BorrowedFd<'_>, answer: &'a mut [u8]) -> io::Result<&'a [u8]> {
    loop {
        match recv(socket, &mut *answer, RecvFlags::empty()) {
            Err(Errno::INTR) => {}
            result => {
                let length = result?.1.min(answer.len());
                return Ok(&answer[..length]);
            }
        }
    }
}

/// Opens a netlink socket for the current network namespace of the calling thread.
pub(crate) fn open() -> io::Result<OwnedFd> {
    // Protocol 0 is `NETLINK_ROUTE`.
    Ok(socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?)
}

/// Opens a netlink socket for the packet filter (nfnetlink) of the calling thread's network
/// namespace.
pub(crate) fn open_netfilter() -> io::Result<OwnedFd> {
    let protocol = Some(netlink::NETFILTER);
    Ok(socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, protocol)?)
}

/// Sends several messages as one datagram. Waits for `acknowledgments` of them, or for the first
/// error.
pub(crate) fn execute_batch(
    socket: impl AsFd,
    batch: &[u8],
    acknowledgments: usize,
) -> io::Result<()> {
    let socket = socket.as_fd();
    sendto(socket, batch, SendFlags::empty(), &SocketAddrNetlink::new(0, 0))?;
    let mut answer = vec![0; RESPONSE_BYTES];
    let mut outstanding = acknowledgments;
    while outstanding > 0 {
        let mut rest = receive(socket, &mut answer)?;
        while let Some((kind, body, behind)) = message(rest) {
            rest = behind;
            if i32::from(kind) != libc::NLMSG_ERROR {
                continue;
            }
            match u32_at(body, 0).map_or(0, u32::cast_signed) {
                0 => outstanding = outstanding.saturating_sub(1),
                code => return Err(Errno::from_raw_os_error(-code).into()),
            }
        }
    }
    Ok(())
}

/// Splits off the first message: its type, its body, and the remaining bytes.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let len = usize::try_from(u32_at(bytes, 0)?).ok()?;
    let kind = u16_at(bytes, 4)?;
    let body = bytes.get(HEADER_BYTES..len)?;
    Some((kind, body, bytes.get(len.next_multiple_of(4)..).unwrap_or_default()))
}

/// Iterates over the attributes in `bytes`, each a type and a value.
pub(crate) fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let len = usize::from(u16_at(rest, 0)?);
        let kind = u16_at(rest, 2)?;
        let value = rest.get(4..len)?;
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

/// Reads a 16-bit number in native byte order.
pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// Reads a 32-bit number in native byte order.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Messages and attributes of any bytes end, and are parts of them, in order.
        #[test]
        fn any_bytes_are_read_to_an_end(bytes in vec(prop_oneof![0_u8..24, any::<u8>()], 0..200)) {
            let (mut rest, mut total) = (&bytes[..], 0);
            while let Some((_, body, behind)) = message(rest) {
                prop_assert!(behind.len() + HEADER_BYTES + body.len() <= rest.len());
                total += HEADER_BYTES + body.len();
                rest = behind;
                let values: usize = attributes(body).map(|(_, value)| 4 + value.len()).sum();
                prop_assert!(values <= body.len());
            }
            prop_assert!(total <= bytes.len());
        }
    }

    #[test]
    fn attributes_round_trip_and_malformed_input_ends_them() {
        let mut request = Request::new(1, 0, &[7; 8]);
        request.attribute(1, b"abc");
        let nest = request.begin(2);
        request.attribute(3, &[4; 4]);
        request.end(nest);
        let bytes = request.finish().to_vec();
        let (kind, body, behind) = message(&bytes).unwrap();
        assert_eq!((kind, behind.len()), (1, 0));
        let found: Vec<_> = attributes(&body[8..]).collect();
        assert_eq!(found[0], (1, &b"abc"[..]));
        assert_eq!(attributes(found[1].1).collect::<Vec<_>>(), [(3, &[4; 4][..])]);
        for cut in 0..bytes.len() {
            assert_eq!(message(&bytes[..cut]), None);
        }
        assert_eq!(attributes(&[1, 0, 0, 0]).count(), 0);
    }
}

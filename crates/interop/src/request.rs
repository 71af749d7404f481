//! Requests of an exchange and the byte streams in both directions. Each connection has its own
//! streams, so that any lost, duplicated, misplaced or foreign byte is detected.

use serde::{Deserialize, Serialize};

/// Length of a request header in bytes: connection number, upload length and download length.
pub(crate) const HEADER_LEN: usize = 24;

/// The request of one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) number: u64,
    /// Bytes from the client after the header.
    pub(crate) up: u64,
    /// Bytes from the server, sent after it has received the whole upload.
    pub(crate) down: u64,
}

/// Bounds of the number of bytes of a connection. It is drawn at random, each order of magnitude
/// equally often.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sizes(pub u64, pub u64);

impl Sizes {
    fn draw(self, number: u64) -> u64 {
        let Self(low, high) = self;
        let random = splitmix(number);
        // Log-uniform, by halving the upper bound a random number of times.
        let halvings = (high / low.max(1)).max(1).ilog2();
        let top = (high >> (random % u64::from(halvings + 1))).max(low);
        let bottom = (top / 2).max(low).min(top);
        bottom + splitmix(random) % (top - bottom + 1)
    }
}

impl Request {
    /// The request of connection `number` of a series.
    pub(crate) fn draw(number: u64, seed: u64, up: Sizes, down: Sizes) -> Self {
        let number = number + (seed << 32);
        Self { number, up: up.draw(splitmix(number)), down: down.draw(splitmix(number) ^ 1) }
    }

    pub(crate) fn to_bytes(self) -> [u8; HEADER_LEN] {
        let mut bytes = [0; HEADER_LEN];
        for (part, value) in bytes.chunks_exact_mut(8).zip([self.number, self.up, self.down]) {
            part.copy_from_slice(&value.to_be_bytes());
        }
        bytes
    }

    pub(crate) fn from_bytes(bytes: &[u8; HEADER_LEN]) -> Self {
        let mut values =
            bytes.chunks_exact(8).map(|part| part.iter().fold(0, |n, &b| n << 8 | u64::from(b)));
        let mut next = || values.next().unwrap_or_default();
        Self { number: next(), up: next(), down: next() }
    }

    /// Whether the server closes right after its response. Otherwise it waits for the client's FIN.
    pub(crate) fn server_closes_first(self) -> bool {
        self.number.is_multiple_of(2)
    }

    /// Whether the client closes its direction before the response.
    pub(crate) fn half_closes(self) -> bool {
        self.number.is_multiple_of(4)
    }

    /// Fills `into` with the client's bytes from offset `at`.
    pub(crate) fn upload(self, at: u64, into: &mut [u8]) {
        fill(self.number, at, into);
    }

    /// Fills `into` with the server's bytes from offset `at`.
    pub(crate) fn download(self, at: u64, into: &mut [u8]) {
        fill(!self.number, at, into);
    }

    /// Whether `bytes` are the client's bytes from offset `at`.
    pub(crate) fn is_upload(self, at: u64, bytes: &[u8]) -> bool {
        matches(self.number, at, bytes)
    }

    /// Whether `bytes` are the server's bytes from offset `at`.
    pub(crate) fn is_download(self, at: u64, bytes: &[u8]) -> bool {
        matches(!self.number, at, bytes)
    }
}

fn fill(stream: u64, from: u64, into: &mut [u8]) {
    let start = splitmix(stream);
    for (at, byte) in (from..).zip(into) {
        *byte = value(start, at);
    }
}

fn matches(stream: u64, from: u64, bytes: &[u8]) -> bool {
    let start = splitmix(stream);
    (from..).zip(bytes).all(|(at, &byte)| byte == value(start, at))
}

fn value(start: u64, at: u64) -> u8 {
    start.wrapping_add(at).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[0]
}

/// Hashes a number (the finalizer of splitmix64).
pub(crate) fn splitmix(number: u64) -> u64 {
    let mut n = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    n = (n ^ n >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    n = (n ^ n >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ n >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_round_trips() {
        let request = Request { number: 7, up: 1 << 40, down: 3 };
        assert_eq!(Request::from_bytes(&request.to_bytes()), request);
    }

    #[test]
    fn sizes_cover_their_range() {
        let sizes = Sizes(10, 1000);
        let drawn: Vec<u64> = (0..10_000).map(|number| sizes.draw(number)).collect();
        assert!(drawn.iter().all(|size| (10..=1000).contains(size)));
        assert!(drawn.iter().any(|&size| size < 20) && drawn.iter().any(|&size| size > 900));
        assert_eq!(Sizes(0, 0).draw(3), 0);
    }

    #[test]
    fn misplaced_bytes_are_detected() {
        let (one, other) =
            (Request { number: 1, up: 0, down: 0 }, Request { number: 2, up: 0, down: 0 });
        let mut bytes = [0; 100];
        one.upload(50, &mut bytes);
        assert!(one.is_upload(50, &bytes));
        assert!(
            !one.is_upload(51, &bytes)
                && !other.is_upload(50, &bytes)
                && !one.is_download(50, &bytes)
        );
    }
}

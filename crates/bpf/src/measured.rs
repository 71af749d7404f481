//! Records of a [`Trial`](crate::Trial): transfers, and ends of connections.

use std::net::Ipv6Addr;

/// Bytes of a record.
pub(crate) const RECORD_BYTES: i16 = 56;

/// Numbers of the groups, which are also those of their counters. A connection has them in the
/// lowest two bits of a word, with the arm in the following six and the trial in the others.
pub(crate) const WITHOUT: u32 = 0;
pub(crate) const REMEDIED: u32 = 1;
pub(crate) const BEFORE: u32 = 2;

/// Group of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// It has no remedy.
    Without,
    /// It has the remedy.
    Remedied,
    /// It was accepted before the trial, and has no remedy.
    Before,
}

/// A measured transfer, or the end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// Cookie of the socket.
    pub connection: u64,
    /// Time from the first packet until everything was acknowledged, or until the connection ended,
    /// in nanoseconds.
    pub duration_ns: u64,
    /// Group of the connection.
    pub group: Group,
    /// Sequence numbers that were acknowledged: bytes, and one more with a FIN.
    pub bytes: u32,
    /// Retransmitted segments of the transfer, or of the whole connection if that has ended.
    pub retransmitted: u32,
    /// DSACKs of the receiver, likewise.
    pub dsacks: u32,
    /// Minimum of the round-trip time in microseconds.
    pub least_rtt_us: u32,
    /// End that the record is for.
    pub end: End,
    /// Number of the trial in which the connection was assigned, of 24 bits.
    pub trial: u32,
    /// Address of the peer; an IPv4 address is mapped to IPv6.
    pub peer: Ipv6Addr,
}

/// End of a transfer or of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// A connection, with a transfer that was not complete.
    Aborted,
    /// A transfer.
    Complete,
    /// A connection, with no transfer under way.
    Connection,
}

/// Numbers of these.
pub(crate) const ABORTED: u32 = 0;
pub(crate) const COMPLETE: u32 = 1;
pub(crate) const CONNECTION: u32 = 2;

impl Measured {
    /// Reads a record, unless it has another length.
    pub(crate) fn read(record: &[u8]) -> Option<Self> {
        let record: &[u8; RECORD_BYTES as usize] = record.try_into().ok()?;
        let (words, _) = record.as_chunks::<4>();
        let word = |at: usize| u32::from_ne_bytes(words[at / 4]);
        let (doubles, _) = record.as_chunks::<8>();
        let double = |at: usize| u64::from_ne_bytes(doubles[at / 8]);
        Some(Self {
            connection: double(0),
            duration_ns: double(8),
            group: match word(16) & 3 {
                REMEDIED => Group::Remedied,
                BEFORE => Group::Before,
                _ => Group::Without,
            },
            bytes: word(20),
            retransmitted: word(24),
            dsacks: word(28),
            least_rtt_us: word(32),
            end: match word(36) {
                COMPLETE => End::Complete,
                CONNECTION => End::Connection,
                _ => End::Aborted,
            },
            trial: word(16) >> 8,
            peer: Ipv6Addr::from_octets(*record.last_chunk()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_its_fields() {
        let mut record = [0; RECORD_BYTES as usize];
        record[..8].copy_from_slice(&7_u64.to_ne_bytes());
        record[8..16].copy_from_slice(&(1_u64 << 40).to_ne_bytes());
        record[40..].copy_from_slice(&Ipv6Addr::LOCALHOST.octets());
        for (at, value) in
            [(16, 9 << 8 | 2 << 2 | 1_u32), (20, 1448), (24, 2), (28, 3), (32, 40_000), (36, 1)]
        {
            record[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        let expected = Measured {
            connection: 7,
            duration_ns: 1 << 40,
            group: Group::Remedied,
            bytes: 1448,
            retransmitted: 2,
            dsacks: 3,
            least_rtt_us: 40_000,
            end: End::Complete,
            trial: 9,
            peer: Ipv6Addr::LOCALHOST,
        };
        assert_eq!(Measured::read(&record), Some(expected));
        assert_eq!(Measured::read(&record[1..]), None);
    }
}

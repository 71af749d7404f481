//! Configuration of the receiving half: the rules for acknowledgments and windows, and the
//! treatment of doubtful segments.

use units::Duration;

/// Rules for acknowledgments and the advertised window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Receiving {
    /// RFC 5681 §4.2 with [`Config::delayed_ack`](super::Config::delayed_ack). The whole receive
    /// buffer is advertised.
    #[default]
    Rfc,
    /// The rules of Linux. They replace `delayed_ack`.
    Linux(LinuxReceiver),
}

impl Receiving {
    /// Parameters of the rules of Linux, if they are in force.
    #[inline]
    pub(crate) const fn linux(&self) -> Option<&LinuxReceiver> {
        match self {
            Self::Rfc => None,
            Self::Linux(linux) => Some(linux),
        }
    }

    /// Returns whether the rules of Linux are in force.
    #[inline]
    pub const fn is_linux(&self) -> bool {
        matches!(self, Self::Linux(_))
    }
}

/// Parameters of a receiver as in Linux. Buffers count the memory of the packets, as there:
/// [`Config::receive_buffer`](super::Config::receive_buffer) is the limit of the memory, at least
/// 2304 bytes.
#[expect(clippy::struct_excessive_bools, reason = "independent differences between versions")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinuxReceiver {
    /// Receive buffer at the beginning, in bytes of memory (second value of `tcp_rmem`). It grows
    /// up to `receive_buffer`.
    pub initial_buffer: u32,
    /// Report duplicate data (`tcp_dsack`, RFC 2883).
    pub dsack: bool,
    /// Largest number of acknowledgments of out-of-order data that one acknowledgment replaces
    /// (`tcp_comp_sack_nr`). Zero sends each.
    pub compressed_acks: u8,
    /// Longest delay of an acknowledgment of out-of-order data (`tcp_comp_sack_delay_ns`).
    pub compression_delay: Duration,
    /// Longest such delay in percent of the round-trip time (`tcp_comp_sack_rtt_percent`).
    pub compression_percent: u8,
    /// Measure the segment size of the peer also with out-of-order segments, as from Linux 6.17 on.
    pub measures_out_of_order: bool,
    /// Move the bound of the growing window (`rcv_ssthresh`) when the first segments show how much
    /// payload the buffer holds. Linux 6.18 does, Linux 6.12 does not.
    pub moves_threshold: bool,
    /// Enlarge the buffer beyond twice the data of a round trip only for a sender in slow start and
    /// for out-of-order data, as from Linux 6.16 on. Earlier versions add 16 segments.
    pub tunes_for_out_of_order: bool,
    /// Drop a segment that ends beyond the window while received data waits to be read, as from
    /// Linux 6.17 on. Otherwise it is accepted as a whole.
    pub drops_beyond_window: bool,
    /// Account for at most 65535 bytes of window without window scaling. From Linux 6.10 on the
    /// window counts with the whole buffer, although the header cannot express it. A second segment
    /// is then acknowledged after a delay instead of at once, until that window is used up.
    pub limits_unscaled_window: bool,
    /// Treat the connection as interactive from the beginning, as an application does with
    /// `TCP_QUICKACK` = 0: the first segments are not acknowledged at once.
    pub interactive: bool,
}

impl LinuxReceiver {
    /// Defaults of Linux 6.18.
    pub const LINUX_6_18: Self = Self {
        initial_buffer: 131_072,
        dsack: true,
        compressed_acks: 44,
        compression_delay: Duration::from_millis(1),
        compression_percent: 5,
        measures_out_of_order: true,
        moves_threshold: true,
        tunes_for_out_of_order: true,
        drops_beyond_window: true,
        limits_unscaled_window: false,
        interactive: false,
    };

    /// Defaults of Linux 6.12.
    pub const LINUX_6_12: Self = Self {
        measures_out_of_order: false,
        moves_threshold: false,
        tunes_for_out_of_order: false,
        drops_beyond_window: false,
        ..Self::LINUX_6_18
    };
}

/// Treatment of segments that only some implementations reject or answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acceptance {
    /// Accept segments without timestamps on a connection that negotiated timestamps. RFC 7323 §3.2
    /// drops them.
    pub missing_timestamps: bool,
    /// Answer an acknowledgment of data that was never sent, as RFC 9293 §3.10.7.4 requires. Linux
    /// 6.18 drops it silently, but its later stable releases (6.18.44 at the latest) answer.
    pub answers_unsent: bool,
}

impl Acceptance {
    /// Rules of the RFCs.
    pub const RFC: Self = Self { missing_timestamps: false, answers_unsent: true };

    /// Rules of Linux up to 6.18.
    pub const LINUX: Self = Self { missing_timestamps: true, answers_unsent: false };
}

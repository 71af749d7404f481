//! Combination of sender policies.

use units::{Duration, Instant};
use wire::SeqNum;

use crate::congestion::{
    AnyController, BackOff, Counting, Fixed, Reno, SantaCruz, Target, Vegas, VegasThresholds,
    WindowRules,
};
use crate::loss::{self, AnyDetector, DupAck, EarlyRetransmit, Sack};
use crate::packets::{Cubic, CubicConfig, PacketController, PacketReno, SlowStartExit};
use crate::recovery::{self, AnyRecovery};
use crate::rtt::RtoConfig;
use crate::segment::{
    Alpha, AnySegmenter, Avoidance, Cut, FixedSize, FullSized, Regime, Tail, VariableSize,
};

mod name;

pub use name::ParseSenderError;

/// A combination of answers to the sender's four questions. It can be parsed from text and printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderPolicy {
    /// Congestion controller.
    pub congestion: Congestion,
    /// Loss detector and recovery.
    pub loss: LossResponse,
    /// RFC 3042: each of the first two duplicate acknowledgments allows a new segment.
    pub limited_transmit: bool,
    /// RFC 5827: fewer duplicates are enough if no more can arrive.
    pub early_retransmit: Option<EarlyRetransmit>,
    /// RFC 3465: the window grows by the bytes acknowledged, in slow start by at most two segments
    /// per acknowledgment. Overrides the connection's [`WindowRules`].
    pub byte_counting: bool,
    /// Segmenter.
    pub framing: Framing,
    /// The last segment of a write is sent a second time, after this delay (zero: at once), as a
    /// precaution. It is not a retransmission, and no other policy knows of it.
    pub tail_copy: Option<Duration>,
    /// Minimum of the retransmission timeout, instead of the configuration's; see
    /// [`rto`](Self::rto).
    pub rto_min: Option<Duration>,
    /// Initial window.
    pub initial_window: InitialWindow,
    /// Loss window, the window of a slow start after a timeout, in full-sized segments (RFC 5681:
    /// 1).
    pub loss_window: u8,
}

/// Name and parameters of a congestion controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Congestion {
    /// Reno's window (RFC 5681).
    Reno,
    /// TCP Vegas.
    Vegas(VegasThresholds),
    /// Constant window, in full-sized segments.
    Fixed(u16),
    /// TCP Santa Cruz.
    SantaCruz(Target),
    /// CUBIC (RFC 9438), with a rule for the end of slow start.
    Cubic(SlowStartExit),
}

/// Information in the peer's acknowledgments, besides the acknowledgment number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feedback {
    /// No further information.
    Cumulative,
    /// SACK blocks (RFC 2018).
    Sack,
    /// The transmission that caused the acknowledgment, and an ACK window: TCP Santa Cruz.
    AckWindow,
}

/// Loss detector together with the recovery algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossResponse {
    /// Three duplicate acknowledgments, then slow start.
    Tahoe,
    /// Three duplicate acknowledgments or the detector of the controller, then fast recovery (RFC
    /// 5681).
    Reno,
    /// Three duplicate acknowledgments, then NewReno's fast recovery (RFC 6582).
    NewReno,
    /// SACK scoreboard (RFC 6675).
    Sack,
    /// SACK scoreboard as in ns-2's `TCP/Sack1` (Fall and Floyd 1996).
    Sack1,
    /// SACK scoreboard and forward acknowledgments (Mathis and Mahdavi 1996).
    Fack,
    /// ACK window of TCP Santa Cruz; like `Sack` if the peer does not support it.
    AckWindow,
    /// RACK (RFC 8985). The sender counts packets, as Linux does; NewReno without SACK.
    Rack(RackOptions),
}

/// Parts of a sender with RACK that can be switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches, each an algorithm")]
pub struct RackOptions {
    /// Tail loss probe (RFC 8985 §7).
    pub tlp: bool,
    /// Proportional Rate Reduction (RFC 9937). Without it the window is reduced at once.
    pub prr: bool,
    /// F-RTO (RFC 5682).
    pub frto: bool,
    /// Undo of spurious reductions by timestamps (RFC 3522) and DSACKs (RFC 3708).
    pub undo: bool,
    /// Pacing at the rate that Linux computes from the window.
    pub pacing: bool,
}

impl RackOptions {
    /// All parts that Linux has without the queueing discipline `fq`.
    pub const LINUX: Self = Self { tlp: true, prr: true, frto: true, undo: true, pacing: false };
    /// RACK, F-RTO and undo, without the parts that a sender name lists.
    pub const ALONE: Self = Self { tlp: false, prr: false, frto: true, undo: true, pacing: false };
}

/// Name and parameters of a segmenter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Full-sized segments.
    Full,
    /// Fixed-size Smart Framing, FS-TCP-SF.
    FixedSize(Regime, Avoidance),
    /// Variable-size Smart Framing, VS-TCP-SF.
    VariableSize(Regime, Alpha),
    /// Full-sized segments, and a cut in the end of a write.
    Tail(Cut),
}

/// Amount that a connection may send before its first acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitialWindow {
    /// Number of full-sized segments, 1 to 10; up to 64 for a sender that counts packets.
    Segments(u8),
    /// RFC 3390: `min(4·SMSS, max(2·SMSS, 4380 bytes))`.
    Rfc3390,
    /// RFC 6928: `min(10·SMSS, max(2·SMSS, 14600 bytes))`.
    Rfc6928,
}

impl InitialWindow {
    /// Initial window in bytes.
    pub fn bytes(self, smss: u32) -> u32 {
        match self {
            Self::Segments(n) => u32::from(n) * smss,
            Self::Rfc3390 => (4 * smss).min((2 * smss).max(4380)),
            Self::Rfc6928 => (10 * smss).min((2 * smss).max(14_600)),
        }
    }

    /// Initial window in packets, for a sender that counts packets. RFC 3390 and RFC 6928 round to
    /// whole segments of `smss` bytes.
    pub fn packets(self, smss: u32) -> u32 {
        match self {
            Self::Segments(n) => u32::from(n),
            Self::Rfc3390 | Self::Rfc6928 => (self.bytes(smss) / smss.max(1)).max(1),
        }
    }
}

impl SenderPolicy {
    /// Classic TCP of the papers: SACK, full-sized segments, an initial window of one.
    pub const CLASSIC: Self = Self {
        congestion: Congestion::Reno,
        loss: LossResponse::Sack,
        limited_transmit: false,
        early_retransmit: None,
        byte_counting: false,
        framing: Framing::Full,
        tail_copy: None,
        rto_min: None,
        initial_window: InitialWindow::Segments(1),
        loss_window: 1,
    };

    /// The sender of Linux: CUBIC with HyStart, RACK-TLP and PRR, an initial window of ten packets.
    pub const LINUX: Self = Self {
        congestion: Congestion::Cubic(SlowStartExit::HyStart),
        loss: LossResponse::Rack(RackOptions::LINUX),
        initial_window: InitialWindow::Segments(10),
        ..Self::CLASSIC
    };

    /// Parts of RACK, if the sender has it and so counts packets.
    pub fn rack(&self) -> Option<RackOptions> {
        match self.loss {
            LossResponse::Rack(options) => Some(options),
            _ => None,
        }
    }

    /// Creates the controller of a sender that counts packets, when its connection is established.
    /// `tick` is the resolution of its clock, and `nxt` is SND.NXT. A policy without CUBIC has
    /// Reno's window.
    pub fn packet_controller(&self, tick: Duration, now: Instant, nxt: SeqNum) -> PacketController {
        match self.congestion {
            Congestion::Cubic(exit) => {
                let config = CubicConfig { tick, exit, ..CubicConfig::HZ_1000 };
                PacketController::Cubic(Cubic::new(&config, now, nxt))
            }
            _ => PacketController::Reno(PacketReno::new(SlowStartExit::None, now, nxt)),
        }
    }

    /// Creates the congestion controller for a connection with this `smss` in bytes. TCP Santa Cruz
    /// needs a peer that reports arrival times; without it the controller is Reno.
    pub fn controller(&self, smss: u32, rules: WindowRules, feedback: Feedback) -> AnyController {
        let initial = self.initial_window.bytes(smss);
        let counting = if self.byte_counting { Counting::Appropriate } else { rules.counting };
        let rules = WindowRules { counting, ..rules };
        let reno = || Reno::new(initial, rules);
        match self.congestion {
            Congestion::SantaCruz(target) if feedback == Feedback::AckWindow => {
                AnyController::other(SantaCruz::new(target, reno()))
            }
            // A sender that counts packets has its own controller.
            Congestion::Reno | Congestion::SantaCruz(_) | Congestion::Cubic(_) => {
                AnyController::Reno(reno())
            }
            Congestion::Vegas(thresholds) => {
                AnyController::other(Vegas::new(initial, rules, thresholds))
            }
            Congestion::Fixed(segments) => {
                AnyController::other(Fixed::new(u32::from(segments) * smss))
            }
        }
    }

    /// Creates the segmenter.
    pub fn segmenter(&self) -> AnySegmenter {
        match self.framing {
            Framing::Full => AnySegmenter::FullSized(FullSized::new(None)),
            Framing::FixedSize(regime, avoidance) => {
                AnySegmenter::FixedSize(FixedSize::new(regime, avoidance, self.loss_window))
            }
            Framing::VariableSize(regime, alpha) => {
                AnySegmenter::VariableSize(VariableSize::new(regime, alpha))
            }
            Framing::Tail(cut) => AnySegmenter::FullSized(FullSized::new(Some(Tail::new(cut)))),
        }
    }

    /// Returns the parameters of the retransmission timeout: `base`, with the minimum of this
    /// sender if it names one. A sender with RACK adds the minimum to the round-trip time, and to
    /// the probe timeout of a single segment, as Linux does. For the others it is the minimum of
    /// RFC 6298 §2.4.
    #[must_use]
    pub fn rto(&self, base: RtoConfig) -> RtoConfig {
        self.rto_min.map_or(base, |min| base.with_min(min))
    }

    /// Creates the loss detector. Cumulative acknowledgments without further information allow only
    /// the counting of duplicates.
    pub fn detector(&self, feedback: Feedback) -> AnyDetector {
        match (self.loss, feedback) {
            (LossResponse::Reno, _) if matches!(self.congestion, Congestion::Vegas(_)) => {
                AnyDetector::Vegas(loss::Vegas::new())
            }
            (_, Feedback::Cumulative) => AnyDetector::DupAck(DupAck::default()),
            (LossResponse::AckWindow, Feedback::AckWindow) => {
                AnyDetector::AckWindow(loss::AckWindow)
            }
            (LossResponse::Sack | LossResponse::AckWindow, _) => AnyDetector::Sack(Sack::RFC),
            (LossResponse::Sack1, _) => AnyDetector::Sack(Sack::COUNTING),
            (LossResponse::Fack, _) => AnyDetector::Sack(Sack::FORWARD),
            _ => AnyDetector::DupAck(DupAck::default()),
        }
    }

    /// Creates the recovery algorithm; `None` for Tahoe. Without SACK on the connection RFC 6675
    /// falls back to NewReno (RFC 6582 §1).
    pub fn recovery(&self, feedback: Feedback) -> Option<AnyRecovery> {
        match (self.loss, feedback) {
            (LossResponse::Tahoe, _) => None,
            (LossResponse::Reno, _) => Some(AnyRecovery::Reno(recovery::Reno::default())),
            (LossResponse::NewReno, _) | (_, Feedback::Cumulative) => {
                Some(AnyRecovery::NewReno(recovery::NewReno::default()))
            }
            (LossResponse::AckWindow, Feedback::AckWindow) => {
                Some(AnyRecovery::AckWindow(recovery::AckWindow))
            }
            (LossResponse::Sack | LossResponse::AckWindow, _) => {
                Some(AnyRecovery::SackPipe(recovery::SackPipe::default()))
            }
            (LossResponse::Sack1, _) => Some(AnyRecovery::Sack1(recovery::Sack1::default())),
            (LossResponse::Fack, _) => Some(AnyRecovery::Fack(recovery::Fack::default())),
            // A sender that counts packets has its own recovery.
            (LossResponse::Rack(_), _) => None,
        }
    }

    /// Returns whether the sender uses reports of out-of-order data.
    pub fn wants_sack(&self) -> bool {
        match self.loss {
            LossResponse::Tahoe | LossResponse::Reno | LossResponse::NewReno => false,
            LossResponse::Sack
            | LossResponse::Sack1
            | LossResponse::Fack
            | LossResponse::Rack(_)
            | LossResponse::AckWindow => true,
        }
    }

    /// Returns whether each further expiry doubles the retransmission timeout (RFC 6298 §5.5). Only
    /// TCP Santa Cruz with `backoff=none` keeps it, and then takes RTT samples of retransmissions.
    pub fn backs_off(&self) -> bool {
        !matches!(self.congestion, Congestion::SantaCruz(target) if target.reading().back_off == BackOff::None)
    }

    /// Returns whether the sender uses the option of TCP Santa Cruz.
    pub fn wants_santa_cruz(&self) -> bool {
        self.loss == LossResponse::AckWindow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vegas_selects_its_own_detector() {
        let alone: SenderPolicy = "vegas(alpha=1, beta=4) / full / iw=1".parse().unwrap();
        assert_eq!(alone.to_string(), "vegas(beta=4) / full / iw=1");
        assert!(matches!(alone.detector(Feedback::Cumulative), AnyDetector::Vegas(_)));
        assert!(matches!(alone.recovery(Feedback::Cumulative), Some(AnyRecovery::Reno(_))));
        let newreno: SenderPolicy = "vegas+newreno / full / iw=1".parse().unwrap();
        assert!(matches!(newreno.detector(Feedback::Sack), AnyDetector::DupAck(_)));
        let sack: SenderPolicy = "vegas+sack / fs(n=4) / iw=1".parse().unwrap();
        assert!(matches!(sack.detector(Feedback::Sack), AnyDetector::Sack(_)));
        assert!(
            matches!(sack.detector(Feedback::Cumulative), AnyDetector::DupAck(_)),
            "as reno+sack without SACK"
        );
    }

    /// As `reno+sack`, it is NewReno where SACK is not negotiated.
    #[test]
    fn fack_needs_sack() {
        let fack: SenderPolicy = "reno+lt+er+fack / vs(n=4) / iw=1".parse().unwrap();
        assert_eq!(fack.to_string(), "reno+fack+lt+er / vs(n=4) / iw=1");
        assert!(fack.wants_sack() && !fack.wants_santa_cruz());
        assert!(matches!(fack.detector(Feedback::Sack), AnyDetector::Sack(Sack::FORWARD)));
        assert!(matches!(fack.recovery(Feedback::Sack), Some(AnyRecovery::Fack(_))));
        assert!(matches!(fack.detector(Feedback::Cumulative), AnyDetector::DupAck(_)));
        assert!(matches!(fack.recovery(Feedback::Cumulative), Some(AnyRecovery::NewReno(_))));
    }

    #[test]
    fn initial_windows_follow_the_rfcs() {
        assert_eq!(InitialWindow::Rfc3390.bytes(1460), 4380);
        assert_eq!(InitialWindow::Rfc3390.bytes(536), 2144);
        assert_eq!(InitialWindow::Rfc6928.bytes(1460), 14_600);
        assert_eq!(InitialWindow::Segments(3).bytes(1000), 3000);
    }
}

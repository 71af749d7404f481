//! A combination of sender policies.

use crate::congestion::{
    AnyController, BackOff, Classic, Counting, Fixed, Reno, SantaCruz, Target, Vegas,
    VegasThresholds, WindowRules,
};
use crate::loss::{self, AnyDetector, DupAck, EarlyRetransmit, Sack};
use crate::recovery::{self, AnyRecovery};
use crate::segment::{Alpha, AnySegmenter, Avoidance, FixedSize, FullSized, Regime, VariableSize};

mod name;

pub use name::ParseSenderError;

/// A combination of answers to the sender's five questions. Parses from text and prints back to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SenderPolicy {
    /// How much may be in flight.
    pub congestion: Congestion,
    /// What is lost, and how fast while recovering.
    pub loss: LossResponse,
    /// RFC 3042: the first two duplicate acknowledgments each let a new segment out.
    pub limited_transmit: bool,
    /// RFC 5827: fewer duplicates are enough where no more can come.
    pub early_retransmit: Option<EarlyRetransmit>,
    /// RFC 3465: the window grows by the bytes acknowledged, up to two segments an acknowledgment
    /// in slow start, whatever the connection's [`WindowRules`] say.
    pub byte_counting: bool,
    /// Where to cut the stream.
    pub framing: Framing,
    /// The initial window.
    pub initial_window: InitialWindow,
    /// The window a slow start after a timeout begins with, in full-sized segments (RFC 5681: 1).
    pub loss_window: u8,
}

/// Which congestion controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Congestion {
    /// RFC 5681.
    Reno,
    /// TCP Vegas.
    Vegas(VegasThresholds),
    /// A constant window of so many full-sized segments.
    Fixed(u16),
    /// TCP Santa Cruz.
    SantaCruz(Target),
}

/// What the peer's acknowledgments say beside their number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feedback {
    /// Nothing.
    Cumulative,
    /// SACK blocks (RFC 2018).
    Sack,
    /// Which transmission caused them, and an ACK window: TCP Santa Cruz.
    AckWindow,
}

/// Which loss detector and which recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossResponse {
    /// Three duplicates, then slow start.
    Tahoe,
    /// Three duplicates, or the controller's own way of noticing a loss; then fast recovery (RFC
    /// 5681).
    Reno,
    /// Three duplicates, then NewReno's fast recovery (RFC 6582).
    NewReno,
    /// The scoreboard (RFC 6675).
    Sack,
    /// The scoreboard as ns-2's `TCP/Sack1` uses it (Fall and Floyd 1996).
    Sack1,
    /// The ACK window of TCP Santa Cruz; as `Sack` where the peer has no such thing.
    AckWindow,
}

/// Which segmenter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Full-sized segments.
    Full,
    /// FS-TCP-SF.
    FixedSize(Regime, Avoidance),
    /// VS-TCP-SF.
    VariableSize(Regime, Alpha),
}

/// How much a connection may send before its first acknowledgment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InitialWindow {
    /// So many full-sized segments, 1 to 10.
    Segments(u8),
    /// RFC 3390: `min(4·SMSS, max(2·SMSS, 4380 bytes))`.
    Rfc3390,
    /// RFC 6928: `min(10·SMSS, max(2·SMSS, 14600 bytes))`.
    Rfc6928,
}

impl InitialWindow {
    /// The window in bytes.
    pub fn bytes(self, smss: u32) -> u32 {
        match self {
            Self::Segments(n) => u32::from(n) * smss,
            Self::Rfc3390 => (4 * smss).min((2 * smss).max(4380)),
            Self::Rfc6928 => (10 * smss).min((2 * smss).max(14_600)),
        }
    }
}

impl SenderPolicy {
    /// The classic TCP of the papers: SACK, full-sized segments, an initial window of one.
    pub const CLASSIC: Self = Self {
        congestion: Congestion::Reno,
        loss: LossResponse::Sack,
        limited_transmit: false,
        early_retransmit: None,
        byte_counting: false,
        framing: Framing::Full,
        initial_window: InitialWindow::Segments(1),
        loss_window: 1,
    };

    /// A congestion controller for a connection with this `smss`. TCP Santa Cruz takes a peer that
    /// says what arrived when; with another it is Reno.
    pub fn controller(&self, smss: u32, rules: WindowRules, feedback: Feedback) -> AnyController {
        let initial = self.initial_window.bytes(smss);
        let counting = if self.byte_counting { Counting::Appropriate } else { rules.counting };
        let rules = WindowRules { counting, ..rules };
        let reno = || Reno::new(initial, rules, Classic);
        match self.congestion {
            Congestion::SantaCruz(target) if feedback == Feedback::AckWindow => {
                AnyController::other(SantaCruz::new(target, reno()))
            }
            Congestion::Reno | Congestion::SantaCruz(_) => AnyController::Reno(reno()),
            Congestion::Vegas(thresholds) => {
                AnyController::other(Vegas::new(initial, rules, thresholds))
            }
            Congestion::Fixed(segments) => {
                AnyController::other(Fixed::new(u32::from(segments) * smss))
            }
        }
    }

    /// A segmenter.
    pub fn segmenter(&self) -> AnySegmenter {
        match self.framing {
            Framing::Full => AnySegmenter::FullSized(FullSized),
            Framing::FixedSize(regime, avoidance) => {
                AnySegmenter::FixedSize(FixedSize::new(regime, avoidance, self.loss_window))
            }
            Framing::VariableSize(regime, alpha) => {
                AnySegmenter::VariableSize(VariableSize::new(regime, alpha))
            }
        }
    }

    /// A loss detector. Where acknowledgments say nothing, duplicates are all there is.
    pub fn detector(&self, feedback: Feedback) -> AnyDetector {
        match (self.loss, feedback) {
            (LossResponse::Reno, _) if matches!(self.congestion, Congestion::Vegas(_)) => {
                AnyDetector::Vegas(Box::new(loss::Vegas::new()))
            }
            (_, Feedback::Cumulative) => AnyDetector::DupAck(DupAck::default()),
            (LossResponse::AckWindow, Feedback::AckWindow) => {
                AnyDetector::AckWindow(loss::AckWindow)
            }
            (LossResponse::Sack | LossResponse::AckWindow, _) => AnyDetector::Sack(Sack::RFC),
            (LossResponse::Sack1, _) => AnyDetector::Sack(Sack::COUNTING),
            _ => AnyDetector::DupAck(DupAck::default()),
        }
    }

    /// The recovery, `None` for Tahoe. Without SACK on the connection RFC 6675 falls back to
    /// NewReno (RFC 6582 §1).
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
        }
    }

    /// Whether the sender makes something of reports of what arrived out of order.
    pub fn wants_sack(&self) -> bool {
        matches!(self.loss, LossResponse::Sack | LossResponse::Sack1 | LossResponse::AckWindow)
    }

    /// Whether the retransmission timer, which times copies too, is backed off when it expires
    /// again and again.
    pub fn backs_off(&self) -> bool {
        !matches!(self.congestion, Congestion::SantaCruz(target) if target.reading().back_off == BackOff::None)
    }

    /// Whether it wants the option of TCP Santa Cruz.
    pub fn wants_santa_cruz(&self) -> bool {
        self.loss == LossResponse::AckWindow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vegas_brings_a_detector_of_its_own() {
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

    #[test]
    fn initial_windows_are_those_of_the_rfcs() {
        assert_eq!(InitialWindow::Rfc3390.bytes(1460), 4380);
        assert_eq!(InitialWindow::Rfc3390.bytes(536), 2144);
        assert_eq!(InitialWindow::Rfc6928.bytes(1460), 14_600);
        assert_eq!(InitialWindow::Segments(3).bytes(1000), 3000);
    }
}

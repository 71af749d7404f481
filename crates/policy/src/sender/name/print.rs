//! Printing of sender policies. Values that equal the default of the grammar are omitted.

use std::fmt;

use units::Duration;

use crate::congestion::{Packets, Target, VegasThresholds};
use crate::loss::EarlyRetransmit;
use crate::packets::SlowStartExit;
use crate::segment::{Alpha, Avoidance, Cut, Regime};
use crate::sender::{Congestion, Framing, InitialWindow, LossResponse, RackOptions, SenderPolicy};

impl fmt::Display for SenderPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.congestion, self.loss) {
            (Congestion::Reno, LossResponse::Tahoe) => f.write_str("tahoe")?,
            (Congestion::Reno, _) => f.write_str("reno")?,
            (Congestion::Vegas(thresholds), _) => write!(f, "{thresholds}")?,
            (Congestion::Fixed(n), _) => write!(f, "fixed(n={n})")?,
            (Congestion::Cubic(exit), _) => f.write_str(match exit {
                SlowStartExit::HyStart => "cubic",
                SlowStartExit::None => "cubic(hystart=off)",
                SlowStartExit::HyStartLateRounds => "cubic(hystart=late)",
                SlowStartExit::HyStartPlusPlus => "cubic(hystart=rfc9406)",
            })?,
            (Congestion::SantaCruz(target), _) => {
                write!(f, "santa-cruz(n={}", Decimal(target.n_op()))?;
                if target.delta() != Target::PAPER.delta() {
                    write!(f, ", delta={}", Decimal(target.delta()))?;
                }
                write!(f, "{})", target.reading())?;
            }
        }
        match self.loss {
            LossResponse::Tahoe | LossResponse::Reno => {}
            LossResponse::NewReno => f.write_str("+newreno")?,
            LossResponse::Sack => f.write_str("+sack")?,
            LossResponse::Sack1 => f.write_str("+sack1")?,
            LossResponse::Fack => f.write_str("+fack")?,
            LossResponse::AckWindow if matches!(self.congestion, Congestion::SantaCruz(_)) => {}
            LossResponse::AckWindow => f.write_str("+ackwindow")?,
            LossResponse::Rack(options) => write!(f, "+rack{options}")?,
        }
        if self.limited_transmit {
            f.write_str("+lt")?;
        }
        match self.early_retransmit {
            None => {}
            Some(EarlyRetransmit::Segments) => f.write_str("+er")?,
            Some(EarlyRetransmit::Bytes) => f.write_str("+er-bytes")?,
        }
        if self.byte_counting {
            f.write_str("+abc")?;
        }
        write!(f, " / {}", Remedies(self))?;
        match self.initial_window {
            InitialWindow::Segments(n) => write!(f, " / iw={n}")?,
            InitialWindow::Rfc3390 => f.write_str(" / iw=rfc3390")?,
            InitialWindow::Rfc6928 => f.write_str(" / iw=rfc6928")?,
        }
        if self.loss_window != 1 {
            write!(f, ", lw={}", self.loss_window)?;
        }
        Ok(())
    }
}

/// The framing and what a sender does besides. Full-sized segments alone have a name.
struct Remedies<'a>(&'a SenderPolicy);

impl fmt::Display for Remedies<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SenderPolicy { framing, tail_copy, rto_min, .. } = self.0;
        let mut before = "";
        if *framing != Framing::Full || tail_copy.is_none() && rto_min.is_none() {
            write!(f, "{framing}")?;
            before = "+";
        }
        if let Some(delay) = tail_copy {
            write!(f, "{before}dup-tail")?;
            if !delay.is_zero() {
                write!(f, "(delay={})", Delay(*delay))?;
            }
            before = "+";
        }
        match rto_min {
            Some(min) => write!(f, "{before}rto-min(ms={})", min.as_nanos() / 1_000_000),
            None => Ok(()),
        }
    }
}

/// A delay in milliseconds, or in a smaller unit of which it has a whole number.
struct Delay(Duration);

impl fmt::Display for Delay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        match (nanos % 1_000_000, nanos % 1000) {
            (0, _) => write!(f, "{}ms", nanos / 1_000_000),
            (_, 0) => write!(f, "{}us", nanos / 1000),
            _ => write!(f, "{nanos}ns"),
        }
    }
}

impl fmt::Display for RackOptions {
    /// Writes the arguments of `rack` that are off, and the words after it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match (self.frto, self.undo) {
            (true, true) => "",
            (false, true) => "(frto=off)",
            (true, false) => "(undo=off)",
            (false, false) => "(frto=off, undo=off)",
        })?;
        f.write_str(if self.tlp { "+tlp" } else { "" })?;
        f.write_str(if self.prr { "+prr" } else { "" })?;
        f.write_str(if self.pacing { "+pacing" } else { "" })
    }
}

impl fmt::Display for VegasThresholds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paper = Self::PAPER;
        let given: Vec<String> = [
            ("alpha", self.alpha(), paper.alpha()),
            ("beta", self.beta(), paper.beta()),
            ("gamma", self.gamma(), paper.gamma()),
        ]
        .iter()
        .filter(|(_, value, default)| value != default)
        .map(|(key, value, _)| format!("{key}={value}"))
        .collect();
        if given.is_empty() {
            f.write_str("vegas")
        } else {
            write!(f, "vegas({})", given.join(", "))
        }
    }
}

impl fmt::Display for Framing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, regime) = match self {
            Self::Full => return f.write_str("full"),
            Self::FixedSize(regime, _) => ("fs", regime),
            Self::VariableSize(regime, _) => ("vs", regime),
            Self::Tail(Cut::Pieces(n)) => return write!(f, "tail(n={n})"),
            Self::Tail(Cut::LastByte) => return f.write_str("tiny-tail"),
        };
        write!(f, "{name}(n={}", regime.segments())?;
        if regime.threshold() != Regime::PAPER.threshold() {
            write!(f, ", min={}", regime.threshold())?;
        }
        match self {
            Self::FixedSize(_, Avoidance::Bytewise) => f.write_str(", avoidance=bytewise")?,
            Self::VariableSize(_, alpha) if *alpha != Alpha::PAPER => {
                let digits = format!("{:06}", alpha.millionths() % 1_000_000);
                write!(f, ", alpha={}.{}", alpha.millionths() / 1_000_000, digits)?;
            }
            _ => {}
        }
        f.write_str(")")
    }
}

/// A number of packets with up to two decimals, without trailing zeros.
pub(super) struct Decimal(pub(super) Packets);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, rest) = (self.0.hundredths() / 100, self.0.hundredths() % 100);
        match (rest, rest % 10) {
            (0, _) => write!(f, "{whole}"),
            (_, 0) => write!(f, "{whole}.{}", rest / 10),
            _ => write!(f, "{whole}.{rest:02}"),
        }
    }
}

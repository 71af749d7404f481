//! Times that a sender's timers depend on, reconstructed from the capture.
//!
//! The round-trip time is estimated as Linux does (`policy::rtt::LinuxRtt`), from the same
//! measurements that the sender has. Between a capture in the middle and the sender, a packet and
//! the answer to it need the lag, which is added.

use policy::loss::TailLossProbe;
use policy::rtt::{LinuxRtoConfig, LinuxRtt};
use units::{Duration, Instant};
use wire::SeqNum;

/// Time within which a sender answers an acknowledgment. It contains the kernel's processing and
/// the burst that one acknowledgment releases. Timers are longer: Linux's shortest is 2 ms
/// (`TCP_TIMEOUT_MIN`).
pub(crate) const REACTION: Duration = Duration::from_millis(1);

/// Minimum of Linux's timeout (`tcp_rto_min_us`), which is also common elsewhere.
pub(crate) const LEAST_TIMEOUT: Duration = Duration::from_millis(200);

/// Least maximum of a timeout (RFC 6298 §2.5).
pub(crate) const LONGEST_TIMEOUT: Duration = Duration::from_secs(60);

/// Number of measurements of the lag whose minimum counts.
const LAGS: usize = 8;

/// Delay of a timer beyond its setting, besides the eighth by which Linux's timer wheel rounds up:
/// two ticks of the slowest common clock (HZ = 250), and processing.
const LATENESS: Duration = Duration::from_millis(10);

/// Trigger of a transmission.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Trigger {
    /// An acknowledgment.
    Acknowledgment,
    /// The application, or a timer.
    #[default]
    Other,
}

/// Times of one sender.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub(crate) struct Timing {
    rtt: LinuxRtt,
    /// Whether the handshake could not be timed, because its segments were sent again.
    is_untimed: bool,
    /// Time from the capture to the sender and back.
    pub(crate) lag: Duration,
    /// Whether the handshake or a timestamp has measured the lag.
    pub(crate) is_lag_known: bool,
    /// Whether the caller has stated that there is none.
    pub(crate) is_lag_stated: bool,
    /// Latest measurements of the lag.
    lags: [Duration; LAGS],
    /// Latest acknowledgment with news.
    pub(crate) news_at: Instant,
    /// Latest acknowledgment that advanced SND.UNA.
    pub(crate) advance_at: Instant,
    /// Latest transmission of data.
    pub(crate) sent_at: Instant,
    /// Whether the timer that runs is that of a tail loss probe, if the sender has probes.
    pub(crate) is_probe_armed: bool,
    /// Trigger of that transmission.
    pub(crate) trigger: Trigger,
}

impl Timing {
    pub(crate) fn new() -> Self {
        Self {
            rtt: LinuxRtt::new(&LinuxRtoConfig::HZ_1000),
            is_untimed: false,
            lag: Duration::ZERO,
            is_lag_known: false,
            is_lag_stated: false,
            lags: [Duration::from_secs(3600); LAGS],
            news_at: Instant::ZERO,
            advance_at: Instant::ZERO,
            sent_at: Instant::ZERO,
            is_probe_armed: false,
            trigger: Trigger::Other,
        }
    }

    /// Takes a round-trip time between the capture and the receiver.
    pub(crate) fn sample(&mut self, rtt: Duration, una: u64, nxt: u64, now: Instant) {
        self.rtt.sample(rtt + self.lag, seq(una), seq(nxt), now);
    }

    /// Takes a measurement of the lag, and takes the minimum of the last ones: some contain a time
    /// for which the sender had nothing to send.
    pub(crate) fn observe_lag(&mut self, measured: Duration) {
        if self.is_lag_stated {
            return;
        }
        self.lags.rotate_right(1);
        self.lags[0] = measured;
        self.lag = self.lags.into_iter().min().unwrap_or(measured);
        self.is_lag_known = true;
    }

    /// Lag of the fastest acknowledgments.
    pub(crate) fn least_lag(&self) -> Duration {
        Duration::from_nanos(self.lag.as_nanos() - self.lag.as_nanos() / 8)
    }

    /// RFC 6298 §5.7: no segment of the handshake could be timed.
    pub(crate) fn after_syn_timeout(&mut self) {
        self.is_untimed = true;
        self.rtt.after_syn_timeout();
    }

    /// Doubles the timeout.
    pub(crate) fn back_off(&mut self) {
        self.rtt.back_off();
    }

    /// Number of doublings of the timeout.
    pub(crate) fn backoff(&self) -> u32 {
        self.rtt.backoff()
    }

    /// Retransmission timeout with back-off.
    pub(crate) fn rto(&self) -> Duration {
        self.rtt.rto()
    }

    /// Retransmission timeout without back-off.
    pub(crate) fn base_rto(&self) -> Duration {
        Duration::from_nanos(self.rto().as_nanos() >> self.rtt.backoff().min(32))
    }

    /// Smoothed round-trip time of the sender.
    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.rtt.srtt()
    }

    /// Minimum round-trip time of the sender.
    pub(crate) fn min_rtt(&self) -> Option<Duration> {
        self.rtt.min_rtt(Instant::ZERO)
    }

    /// Time that is shorter than each timer of the sender: the minimum round-trip time. Before the
    /// first measurement it is known only if the handshake could not be timed.
    pub(crate) fn shortest(&self) -> Option<Duration> {
        self.min_rtt().or_else(|| self.is_untimed.then_some(LEAST_TIMEOUT))
    }

    /// Timeout of a tail loss probe (RFC 8985 §7.2 and Linux's `tcp_schedule_loss_probe`). `single`
    /// says that one segment is outstanding, whose acknowledgment may be delayed.
    pub(crate) fn pto(&self, single: bool) -> Option<Duration> {
        let outstanding = if single { 1 } else { 2 };
        let timeout = TailLossProbe::timeout(self.srtt(), outstanding, LEAST_TIMEOUT);
        self.srtt().map(|_| timeout.min(self.base_rto()))
    }

    /// RACK's reordering window (RFC 8985 §6.2), with Linux's minimum timeout.
    pub(crate) fn reordering_window(&self) -> Duration {
        let quarter = self.min_rtt().map_or(Duration::ZERO, quarter);
        quarter.min(self.srtt().unwrap_or(quarter)) + Duration::from_millis(2)
    }

    /// Trigger of a transmission at `at`. The packets of a burst have one trigger.
    pub(crate) fn trigger_at(&self, at: Instant) -> Trigger {
        let reaction = self.reaction();
        if at.since(self.news_at) <= reaction {
            Trigger::Acknowledgment
        } else if at.since(self.sent_at) <= reaction {
            self.trigger
        } else {
            Trigger::Other
        }
    }

    /// Time for an answer, with the variation of the lag.
    pub(crate) fn reaction(&self) -> Duration {
        REACTION + quarter(self.lag)
    }
}

/// Whether a wait agrees with a timer: at least nine tenths, because the estimate may differ, and
/// at most an eighth more for Linux's timer wheel.
pub(crate) fn fits(waited: Duration, timer: Duration) -> bool {
    let (waited, timer) = (waited.as_nanos(), timer.as_nanos());
    let late = timer.saturating_add(timer / 8).saturating_add(LATENESS.as_nanos());
    waited >= timer - timer / 10 && waited <= late
}

fn quarter(span: Duration) -> Duration {
    Duration::from_nanos(span.as_nanos() / 4)
}

/// Lower 32 bits of a position.
pub(crate) fn seq(position: u64) -> SeqNum {
    SeqNum::new(u32::try_from(position & u64::from(u32::MAX)).unwrap_or(0))
}

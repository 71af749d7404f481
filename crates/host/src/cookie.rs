//! SYN cookies (RFC 4987 §3.6): handshakes without state on the server.
//!
//! Beyond its limit of half-open connections a host keeps no state for a SYN. The sequence number
//! of the SYN-ACK encodes the data needed when the acknowledgment returns. A keyed hash makes it
//! unforgeable:
//!
//! | bits | content |
//! | --- | --- |
//! | 31–27 | the minute, modulo 32 |
//! | 26–24 | the peer's MSS, as an index into a table |
//! | 23–0 | keyed hash of both ends, the peer's sequence number, the minute and the MSS |
//!
//! With timestamps, the lowest bits of the host's timestamp, which the peer echoes, encode window
//! scale, SACK and ECN, as in Linux. Without timestamps neither is negotiated.

use policy::Feedback;
use tcp::{Config, Negotiated};
use units::{Duration, Instant};
use wire::{Mss, Segment, SeqNum, WindowScale};

use crate::secret::Secret;
use crate::tuple::Tuple;

/// Unit of the cookie's age. A cookie is valid in the minute of its creation and in the next one.
const MINUTE: Duration = Duration::from_secs(60);

/// Maximum age of a valid cookie, in minutes.
const MAX_AGE: u32 = 1;

/// MSS values, to which the peer's MSS is rounded down: the smallest supported, the defaults of RFC
/// 9293 §3.7.1, and the values for Ethernet with and without tunnels over IPv4 and IPv6.
const MSS_TABLE: [u16; 8] = [64, 536, 1220, 1340, 1400, 1440, 1460, 8940];

/// Number of low timestamp bits that encode options.
const OPTION_BITS: u32 = 6;
const SACK: u32 = 1 << 4;
const ECN: u32 = 1 << 5;
/// Marks the absence of window scaling. The largest valid shift is 14.
const NO_SCALE: u32 = 15;

/// The cookie for a SYN: the initial sequence number of the SYN-ACK. `None` if the peer's MSS is
/// smaller than all table entries.
pub(crate) fn make(secret: &Secret, tuple: &Tuple, syn: &Segment, now: Instant) -> Option<SeqNum> {
    // RFC 9293 §3.7.1: without the option the MSS is 536 bytes.
    let mss = syn.options.mss.unwrap_or(Mss::DEFAULT_IPV4).get();
    let index = u32::try_from(MSS_TABLE.iter().rposition(|&size| size <= mss)?).ok()?;
    let minute = minute(now);
    let seal = secret.seal(tuple, syn.seq, minute, index);
    Some(SeqNum::new(low_bits(minute) << 27 | index << 24 | seal))
}

/// The timestamp of a SYN-ACK with a cookie: the clock, with the negotiated options in its lowest
/// bits. `scales` tells whether window scaling is negotiated. The value never exceeds the clock, so
/// that later timestamps are not older (RFC 7323 §5). `None` if the clock is too close to zero.
pub(crate) fn stamp(clock: u32, negotiated: &Negotiated, scales: bool) -> Option<u32> {
    let scale = if scales { u32::from(negotiated.send_scale.shift()) } else { NO_SCALE };
    let bits = scale
        | if negotiated.feedback == Feedback::Sack { SACK } else { 0 }
        | if negotiated.ecn { ECN } else { 0 };
    let stamp = clock >> OPTION_BITS << OPTION_BITS | bits;
    if stamp <= clock { Some(stamp) } else { stamp.checked_sub(1 << OPTION_BITS) }
}

/// The options negotiated in the handshake that `segment` completes. `None` if it acknowledges no
/// valid cookie.
pub(crate) fn negotiated(
    secret: &Secret,
    tuple: &Tuple,
    config: &Config,
    segment: &Segment,
    now: Instant,
) -> Option<Negotiated> {
    let cookie = (segment.ack? - 1).value();
    let irs = segment.seq - 1;
    let now = minute(now);
    let age = age(cookie, now);
    let made = now.checked_sub(u64::from(age)).filter(|_| age <= MAX_AGE)?;
    let index = cookie >> 24 & 7;
    if secret.seal(tuple, irs, made, index) != cookie & 0x00ff_ffff {
        return None;
    }
    let peer_mss = Mss::new(MSS_TABLE[usize::try_from(index).ok()?])?;
    let plain = Negotiated {
        peer_mss,
        feedback: Feedback::Cumulative,
        ecn: false,
        timestamps: false,
        send_scale: WindowScale::NONE,
        receive_scale: WindowScale::NONE,
    };
    let Some(echo) = segment.options.timestamps.filter(|_| config.timestamps) else {
        return Some(plain);
    };
    let scale = echo.ecr & 15;
    let scales = scale != NO_SCALE && config.window_scaling;
    Some(Negotiated {
        feedback: if echo.ecr & SACK != 0 && config.sack {
            Feedback::Sack
        } else {
            Feedback::Cumulative
        },
        ecn: echo.ecr & ECN != 0 && config.ecn,
        timestamps: true,
        send_scale: if scales {
            WindowScale::clamped(u8::try_from(scale).unwrap_or(0))
        } else {
            WindowScale::NONE
        },
        receive_scale: if scales {
            WindowScale::for_buffer(config.receive_buffer)
        } else {
            WindowScale::NONE
        },
        ..plain
    })
}

/// Whether the age of the acknowledged number is that of a valid cookie. The hash is not checked.
pub(crate) fn may_be_cookie(segment: &Segment, now: Instant) -> bool {
    segment.ack.is_some_and(|ack| age((ack - 1).value(), minute(now)) <= MAX_AGE)
}

/// Age of a cookie in minutes, modulo 32.
fn age(cookie: u32, now: u64) -> u32 {
    low_bits(now).wrapping_sub(cookie >> 27) & 31
}

fn minute(now: Instant) -> u64 {
    now.as_nanos() / MINUTE.as_nanos()
}

fn low_bits(minute: u64) -> u32 {
    u32::try_from(minute & 31).unwrap_or(0)
}

#[cfg(test)]
mod tests;

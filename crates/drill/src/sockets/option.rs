//! `setsockopt` and `getsockopt`.

use units::Duration;
use wire::Mss;

use super::control::compared;
use super::{Arguments, Kind, Machine, Outcome, Socket};
use crate::script::Value;

/// Options without an effect on what a single connection sends.
const ACCEPTED: [&str; 15] = [
    "SO_REUSEADDR",
    "SO_REUSEPORT",
    "SO_MARK",
    "SO_PRIORITY",
    "SO_RCVLOWAT",
    "SO_BUSY_POLL",
    "SO_ZEROCOPY",
    "TCP_DEFER_ACCEPT",
    "IP_FREEBIND",
    "IP_TTL",
    "IP_TOS",
    "IPV6_TCLASS",
    "IPV6_V6ONLY",
    "IP_RECVERR",
    "IP_MTU_DISCOVER",
];

/// Reason for which an option makes a script not applicable.
pub(crate) fn refused(name: &str) -> Option<&'static str> {
    Some(match name {
        "TCP_FASTOPEN" | "TCP_FASTOPEN_CONNECT" | "TCP_FASTOPEN_KEY" | "TCP_FASTOPEN_NO_COOKIE" => {
            "Fast Open is not implemented"
        }
        "SO_TIMESTAMPING" | "SO_TIMESTAMP" | "SO_TIMESTAMPNS" => "packets are not timestamped",
        "TCP_MD5SIG" | "TCP_MD5SIG_EXT" => "MD5 signatures are not implemented",
        "TCP_AO_ADD_KEY" => "TCP-AO is not implemented",
        "TCP_ULP" => "there are no upper layer protocols",
        "SO_MAX_PACING_RATE" => "packets are not paced",
        _ => return None,
    })
}

impl Machine {
    pub(super) fn setsockopt(&mut self, fd: i64, arguments: Arguments) -> Outcome {
        let words = arguments.words(2);
        let [name] = words.as_slice() else { return Outcome::unclear(arguments.call) };
        if ACCEPTED.contains(name) {
            return Outcome::value(0);
        }
        let Some(Value::Integer(value)) = arguments.get(3).and_then(Value::pointee) else {
            return Outcome::unclear(arguments.call);
        };
        let Some(socket) = self.socket_mut(fd) else { return Outcome::error("EBADF") };
        let is_open = matches!(socket.kind, Kind::Stream(_));
        match set(socket, name, *value) {
            Set::Delays => {
                self.change_delays(fd, name, *value != 0);
                Outcome::value(0)
            }
            // The connection has taken its settings over.
            Set::Setting if is_open => Outcome::NotApplicable(format!(
                "{name} of an open connection cannot be changed yet"
            )),
            Set::Timeouts => {
                self.change_timeouts(fd);
                Outcome::value(0)
            }
            Set::Setting | Set::Done => Outcome::value(0),
            Set::Invalid => Outcome::error("EINVAL"),
            Set::Unknown => {
                Outcome::NotApplicable(format!("the socket option {name} is not supported"))
            }
        }
    }

    /// Hands `TCP_NODELAY`, `TCP_CORK` or `TCP_QUICKACK` of a socket to its connection, if it has
    /// one. Data or an acknowledgment that was held back may then be sent.
    fn change_delays(&mut self, fd: i64, name: &str, on: bool) {
        let now = self.now;
        if let Some((_, endpoint)) = self.stream(fd) {
            match name {
                "TCP_CORK" => endpoint.connection.set_cork(on),
                "TCP_QUICKACK" => endpoint.connection.set_quick_ack(on),
                _ => endpoint.connection.set_no_delay(on),
            }
            endpoint.drain(now);
        }
    }

    /// Hands the time limits of a socket to its connection, if it has one.
    fn change_timeouts(&mut self, fd: i64) {
        let now = self.now;
        if let Some((socket, endpoint)) = self.stream(fd) {
            endpoint.connection.set_timeouts(socket.settings.timeouts(), now);
        }
    }

    pub(super) fn getsockopt(&mut self, fd: i64, arguments: Arguments) -> Outcome {
        let words = arguments.words(2);
        let [name] = words.as_slice() else { return Outcome::unclear(arguments.call) };
        let Some(socket) = self.socket_of(fd) else { return Outcome::error("EBADF") };
        let value = match *name {
            "SO_SNDBUF" => i64::from(socket.send_buffer),
            "SO_RCVBUF" => {
                socket.settings.receive_buffer.unwrap_or(self.settings.receive_buffer).into()
            }
            "TCP_NODELAY" => i64::from(socket.settings.no_delay),
            "TCP_USER_TIMEOUT" => socket
                .settings
                .user_timeout
                .map_or(0, |span| i64::try_from(span.as_nanos() / 1_000_000).unwrap_or(i64::MAX)),
            // Without its own limit a socket has the system's, which it reports as 0.
            "TCP_NOTSENT_LOWAT" => socket.notsent_lowat.map_or(0, i64::from),
            "SO_ACCEPTCONN" => i64::from(self.is_listener(fd)),
            "TCP_MAXSEG" => {
                let (own, open) = (socket.settings.max_segment, socket.kind.clone());
                match (open, own) {
                    (Kind::Stream(index), _) => self.host.endpoints[index].connection.smss().into(),
                    (_, own) => own.unwrap_or(Mss::DEFAULT_IPV4).get().into(),
                }
            }
            "SO_ERROR" => return self.take_error(fd, arguments),
            _ => {
                return Outcome::NotApplicable(format!(
                    "the socket option {name} is not supported"
                ));
            }
        };
        compared(arguments.get(3), value)
    }

    /// `SO_ERROR`: returns the pending error and clears it.
    fn take_error(&mut self, fd: i64, arguments: Arguments) -> Outcome {
        let pending = self.stream(fd).and_then(|(socket, endpoint)| {
            let error = socket.pending_error(endpoint);
            socket.error_taken |= error.is_some();
            error
        });
        let Some(Value::Word(wanted)) = arguments.get(3).and_then(Value::pointee) else {
            return compared(arguments.get(3), pending.map_or(0, number));
        };
        let seen = pending.unwrap_or("0");
        let difference = (seen != wanted).then(|| format!("the error {seen} instead of {wanted}"));
        Outcome::with_differences(0, difference.into_iter().collect())
    }
}

/// Number of an error in Linux.
fn number(error: &str) -> i64 {
    match error {
        "EPIPE" => 32,
        "ECONNRESET" => 104,
        "ETIMEDOUT" => 110,
        "ECONNREFUSED" => 111,
        "EHOSTUNREACH" => 113,
        _ => -1,
    }
}

enum Set {
    /// The socket itself has the value.
    Done,
    /// A connection takes the value over when it opens.
    Setting,
    /// The time limits of the connection have changed.
    Timeouts,
    /// `TCP_NODELAY`, `TCP_CORK` or `TCP_QUICKACK` has changed.
    Delays,
    Invalid,
    Unknown,
}

fn set(socket: &mut Socket, name: &str, value: i64) -> Set {
    let millis = u64::try_from(value).map(Duration::from_millis);
    let count = u32::try_from(value).unwrap_or(0);
    match name {
        // Linux doubles the value, and has a minimum.
        "SO_SNDBUF" | "SO_SNDBUFFORCE" => {
            socket.send_buffer = count.saturating_mul(2).max(4608);
            Set::Done
        }
        "SO_RCVBUF" | "SO_RCVBUFFORCE" => {
            socket.settings.receive_buffer = Some(count.saturating_mul(2).max(2304));
            Set::Setting
        }
        "TCP_NOTSENT_LOWAT" => {
            // The value is unsigned; 0 stands for the system's.
            let value = u32::try_from(value & 0xffff_ffff).unwrap_or(u32::MAX);
            socket.notsent_lowat = Some(value).filter(|&value| value > 0);
            Set::Done
        }
        "TCP_INQ" => {
            socket.reports_inq = value != 0;
            Set::Done
        }
        "TCP_NODELAY" => {
            socket.settings.no_delay = value != 0;
            Set::Delays
        }
        "TCP_CORK" | "TCP_QUICKACK" => Set::Delays,
        "TCP_MAXSEG" => match u16::try_from(value).ok().filter(|&mss| mss >= 88) {
            Some(mss) => {
                socket.settings.max_segment = Mss::new(mss);
                Set::Setting
            }
            None => Set::Invalid,
        },
        "TCP_USER_TIMEOUT" => {
            socket.settings.user_timeout = millis.ok().filter(|span| !span.is_zero());
            Set::Timeouts
        }
        "TCP_SYNCNT" => match u8::try_from(value).ok().filter(|&count| count > 0) {
            Some(count) => {
                socket.settings.syn_retries = Some(count);
                Set::Setting
            }
            None => Set::Invalid,
        },
        "SO_KEEPALIVE" | "TCP_KEEPIDLE" | "TCP_KEEPINTVL" | "TCP_KEEPCNT" => {
            keep_alive(socket, name, count)
        }
        _ => Set::Unknown,
    }
}

fn keep_alive(socket: &mut Socket, name: &str, value: u32) -> Set {
    let options = &mut socket.keep_alive;
    let span = Duration::from_secs(value.into());
    match name {
        "TCP_KEEPIDLE" => options.idle = span,
        "TCP_KEEPINTVL" => options.interval = span,
        "TCP_KEEPCNT" => options.count = u8::try_from(value).unwrap_or(u8::MAX),
        _ => options.on = value != 0,
    }
    let Some(parameters) = tcp::KeepAlive::new(options.idle, options.interval, options.count)
    else {
        return Set::Invalid;
    };
    socket.settings.keep_alive = options.on.then_some(parameters);
    Set::Timeouts
}

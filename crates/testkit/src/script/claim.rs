//! Conditions that a script asserts about the connection.
//!
//! | names | unit |
//! | --- | --- |
//! | `cwnd` `ssthresh` `flight` `mss_c` `smss` `peer_window` | bytes |
//! | `una` `nxt` `max` | sequence numbers, relative to the initial one |
//! | `readable` `writable` `unacknowledged` | bytes |
//! | `in_flight` | segments |
//! | `segments` `bytes` `retransmitted_segments` `retransmitted_bytes` | sent since the beginning |
//! | `copied_segments` | sent a second time by `dup-tail`, included in `segments` |
//! | `fast_retransmits` `timeouts` `syn_timeouts` `ecn_reductions` | counts |
//! | `rto` `srtt` `timer` | durations; `timer` is the time to the next timeout, or `off` |
//! | `state` | `ESTABLISHED` … |
//! | `recovering` | `yes`, `no` |
//! | `icmp` | `none`, `soft`, `hard` |
//!
//! A sender that counts packets also has the names of Linux's `TCP_INFO`:
//!
//! | names | unit |
//! | --- | --- |
//! | `snd_cwnd` `snd_ssthresh` `unacked` `sacked` `lost` `retrans` `reordering` | packets |
//! | `total_retrans` `reord_seen` `delivered` `dsack_dups` `backoff` | counts |
//! | `ca_state` | `Open`, `Disorder`, `Cwr`, `Recovery`, `Loss` |
//! | `min_rtt` | duration |
//!
//! `srtt` may also be `none`.

use std::cmp::Ordering;

use tcp::{Connection, IcmpError, TcpInfo};
use units::{Duration, Instant};

use super::parse::{number, span};
use super::setup::Setup;

/// A condition `name value`, or `name >= value`.
#[derive(Debug, Clone)]
pub(super) struct Claim {
    name: String,
    relation: Relation,
    value: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    Equal,
    NotEqual,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// A quantity in comparable form.
enum Quantity {
    Number(u64),
    Time(Duration),
    Word(String),
}

impl Claim {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let (name, relation, value) = match words[..] {
            [name, value] => (name, Relation::Equal, value),
            [name, relation, value] => (name, relation_of(relation)?, value),
            _ => return Err(format!("`{}` is not `name value` or `name >= value`", text.trim())),
        };
        Ok(Self { name: name.to_owned(), relation, value: value.to_owned() })
    }

    /// Checks the condition.
    ///
    /// # Errors
    /// Returns the actual value if the condition does not hold, or a description if it is invalid.
    pub(super) fn check(
        &self,
        connection: &Connection,
        setup: &Setup,
        now: Instant,
    ) -> Result<(), String> {
        let seen = self.look(connection, setup, now)?;
        let (order, shown) = match &seen {
            Quantity::Number(seen) => (seen.cmp(&number(&self.value)?.into()), seen.to_string()),
            // A duration never equals `off` or `none`.
            Quantity::Time(seen) if matches!(self.value.as_str(), "off" | "none") => {
                (Ordering::Greater, seen.to_string())
            }
            Quantity::Time(seen) => (seen.cmp(&span(&self.value)?), seen.to_string()),
            Quantity::Word(seen) => (seen.cmp(&self.value), seen.clone()),
        };
        let ordered = !matches!(seen, Quantity::Word(_));
        let holds = match self.relation {
            Relation::Equal => order.is_eq(),
            Relation::NotEqual => order.is_ne(),
            Relation::Less => ordered && order.is_lt(),
            Relation::AtMost => ordered && order.is_le(),
            Relation::More => ordered && order.is_gt(),
            Relation::AtLeast => ordered && order.is_ge(),
        };
        if holds { Ok(()) } else { Err(format!("expected {self}, seen {shown}")) }
    }

    fn look(
        &self,
        connection: &Connection,
        setup: &Setup,
        now: Instant,
    ) -> Result<Quantity, String> {
        let snd = connection.send_state();
        let sent = connection.statistics();
        let number = |n: u32| Ok(Quantity::Number(n.into()));
        let word = |word: &str| Ok(Quantity::Word(word.to_owned()));
        let place = |n: wire::SeqNum| number(n.value().wrapping_sub(setup.iss.value()));
        match self.name.as_str() {
            "cwnd" => number(connection.cwnd()),
            "ssthresh" => number(connection.ssthresh()),
            "flight" => number(connection.flight()),
            "mss_c" => number(snd.mss_c),
            "smss" => number(connection.smss()),
            "peer_window" => number(snd.wnd),
            "una" => place(snd.una),
            "nxt" => place(snd.nxt),
            "max" => place(snd.max),
            "readable" => number(connection.readable()),
            "writable" => number(connection.writable()),
            "unacknowledged" => number(connection.unacknowledged()),
            "in_flight" => number(snd.segments),
            "segments" => number(sent.segments),
            "bytes" => Ok(Quantity::Number(sent.bytes)),
            "retransmitted_segments" => number(sent.retransmitted_segments),
            "retransmitted_bytes" => Ok(Quantity::Number(sent.retransmitted_bytes)),
            "copied_segments" => number(connection.copied_segments()),
            "fast_retransmits" => number(sent.fast_retransmits),
            "timeouts" => number(sent.timeouts),
            "syn_timeouts" => number(sent.syn_timeouts),
            "ecn_reductions" => number(sent.ecn_reductions),
            "rto" => Ok(Quantity::Time(connection.rto())),
            "srtt" => {
                connection.srtt().map_or_else(|| word("none"), |srtt| Ok(Quantity::Time(srtt)))
            }
            "timer" if connection.next_timeout() == Instant::NEVER => word("off"),
            "timer" => Ok(Quantity::Time(connection.next_timeout().since(now))),
            "state" => word(&connection.state().to_string()),
            "icmp" => word(match connection.icmp_error() {
                None => "none",
                Some(IcmpError::Soft) => "soft",
                Some(IcmpError::Hard) => "hard",
            }),
            "recovering" => word(if snd.recovering { "yes" } else { "no" }),
            other => match connection.tcp_info(now).and_then(|info| of_info(other, &info)) {
                Some(quantity) => Ok(quantity),
                None => Err(format!("nothing to assert is called `{other}`")),
            },
        }
    }
}

/// Quantity of a sender that counts packets, by its name in Linux's `TCP_INFO`.
fn of_info(name: &str, info: &TcpInfo) -> Option<Quantity> {
    let number = match name {
        "snd_cwnd" => info.snd_cwnd,
        "snd_ssthresh" => info.snd_ssthresh,
        "unacked" => info.unacked,
        "sacked" => info.sacked,
        "lost" => info.lost,
        "retrans" => info.retrans,
        "total_retrans" => info.total_retrans,
        "reordering" => info.reordering,
        "reord_seen" => info.reord_seen,
        "delivered" => info.delivered,
        "dsack_dups" => info.dsack_dups,
        "backoff" => info.backoff,
        "ca_state" => return Some(Quantity::Word(format!("{:?}", info.ca_state))),
        "min_rtt" => return info.min_rtt.map(Quantity::Time),
        _ => return None,
    };
    Some(Quantity::Number(number.into()))
}

fn relation_of(text: &str) -> Result<Relation, String> {
    match text {
        "==" => Ok(Relation::Equal),
        "!=" => Ok(Relation::NotEqual),
        "<" => Ok(Relation::Less),
        "<=" => Ok(Relation::AtMost),
        ">" => Ok(Relation::More),
        ">=" => Ok(Relation::AtLeast),
        other => Err(format!("`{other}` is no relation")),
    }
}

impl std::fmt::Display for Claim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let relation = match self.relation {
            Relation::Equal => "",
            Relation::NotEqual => "!= ",
            Relation::Less => "< ",
            Relation::AtMost => "<= ",
            Relation::More => "> ",
            Relation::AtLeast => ">= ",
        };
        write!(f, "{} {relation}{}", self.name, self.value)
    }
}

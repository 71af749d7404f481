//! Text form of a combination of sender policies.
//!
//! ```text
//! <congestion>[+newreno|+sack|+sack1|+fack|+ackwindow][+lt][+er|+er-bytes][+abc]
//!     / <segmenter> / iw=<window>[, lw=N]
//! <reno|cubic>+rack[+tlp][+prr][+pacing] / <segmenter> / iw=<window>
//! linux[+pacing][ / <segmenter>[ / iw=<window>]]
//!
//! <segmenter> = <full|fs(…)|vs(…)|tail(n=N)|tiny-tail>[+dup-tail[(delay=T)]][+rto-min(ms=N)]
//!
//! reno+sack / fs(n=4) / iw=1
//! tahoe / full / iw=2
//! reno+newreno+lt / vs(n=4, min=4, alpha=1.32) / iw=rfc6928
//! vegas / full / iw=1
//! cubic+rack+tlp+prr / full / iw=10
//! linux / tail(n=4)+dup-tail(delay=5ms)+rto-min(ms=20)
//! ```

use std::str::FromStr;

use thiserror::Error;

use super::SenderPolicy;

mod parse;
mod print;
mod reading;

use parse::parse;

/// Error for a sender name that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("sender `{name}`: {problem}")]
pub struct ParseSenderError {
    name: String,
    problem: String,
}

impl ParseSenderError {
    /// Grammar and example of a sender name, for a hint.
    pub const EXAMPLE: &str = "a sender is `linux`, `<cubic|reno>+rack[+tlp][+prr][+pacing] / …`, or `<tahoe|reno|vegas|santa-cruz|fixed(n=N)>[+newreno|+sack|+sack1|+fack|+ackwindow][+lt][+er|+er-bytes][+abc] / <full|fs(n=4)|vs(n=4)|tail(n=4)|tiny-tail>[+dup-tail[(delay=T)]][+rto-min(ms=N)] / iw=<1…10, with +rack 1…64>`, \
         e.g. `reno+sack / fs(n=4) / iw=1`";
}

impl FromStr for SenderPolicy {
    type Err = ParseSenderError;

    fn from_str(name: &str) -> Result<Self, ParseSenderError> {
        parse(name).map_err(|problem| ParseSenderError { name: name.to_owned(), problem })
    }
}

#[cfg(test)]
mod tests;

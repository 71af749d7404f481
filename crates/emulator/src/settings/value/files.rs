//! Values that name a file, and laws of which one form is a file.

use std::io::Read;

use link::{Jitter, LossTrace, MAX_TEXT_BYTES, RateTrace, TextError, parse_delays, parse_mask};
use units::Duration;

use super::{MAX_DELAY, SettingsError, Value};

impl Value {
    /// Reads a text file of limited size, and parses it. `expected` is the hint of parsing errors.
    fn parse_file<T>(
        &self,
        path: &str,
        parse: impl FnOnce(&str) -> Result<T, TextError>,
        expected: &str,
    ) -> Result<T, SettingsError> {
        let refused = |problem: &str| self.error(&format!("cannot read `{path}`: {problem}"));
        let unreadable = |error: &std::io::Error| {
            // Without the number that Rust appends.
            let text = error.to_string();
            let text = text.split(" (os error").next().unwrap_or_default().to_lowercase();
            refused(&text).with_hint("give the path of a text file")
        };
        let file = std::fs::File::open(path).map_err(|e| unreadable(&e))?;
        let mut bytes = Vec::new();
        file.take(MAX_TEXT_BYTES + 1).read_to_end(&mut bytes).map_err(|e| unreadable(&e))?;
        if bytes.len() as u64 > MAX_TEXT_BYTES {
            let problem = format!("it has more than {MAX_TEXT_BYTES} bytes");
            return Err(refused(&problem).with_hint("give a shorter file"));
        }
        let text = String::from_utf8(bytes)
            .map_err(|_| refused("it is not text in UTF-8").with_hint("give a text file"))?;
        parse(&text).map_err(|e| self.error(&format!("`{path}`, {e}")).with_hint(expected))
    }

    /// Reads the trace of a rate.
    pub(in crate::settings) fn rate_trace(&self) -> Result<RateTrace, SettingsError> {
        let expected =
            "expected a time in ms a line, as in mahimahi, or a time and a rate: `2s 5mbit`";
        self.parse_file(&self.text, RateTrace::parse, expected)
    }

    /// Parses `losses.txt`, or `data:losses.txt` for a trace of TCP segments with data.
    pub(in crate::settings) fn loss_trace(&self) -> Result<LossTrace, SettingsError> {
        let (path, data_only) = match self.text.strip_prefix("data:") {
            Some(path) => (path, true),
            None => (self.text.as_str(), false),
        };
        let expected = "expected `0` or `1` for each packet, with line breaks or commas between";
        let drops = self.parse_file(path, parse_mask, expected)?;
        Ok(LossTrace::new(drops, data_only))
    }

    /// Parses `uniform:5ms`, `normal:5ms`, `pareto:5ms`, `pareto:5ms,3` or `file:delays.txt`.
    pub(in crate::settings) fn jitter(&self) -> Result<Jitter, SettingsError> {
        let (law, rest) = self.pair(':', "a law and its size, such as `normal:5ms`")?;
        let time = |text: &str| self.time(text, MAX_DELAY);
        match law.trim() {
            "uniform" => time(rest).map(Jitter::uniform),
            "normal" => time(rest).map(Jitter::normal),
            "pareto" => {
                let (mean, shape) = rest.split_once(',').unwrap_or((rest, "3"));
                let shape = shape.trim();
                let shape =
                    shape.parse().map_err(|_| self.error(&format!("`{shape}` is not a number")))?;
                Jitter::pareto(time(mean)?, shape).map_err(|e| self.refused(e))
            }
            "file" => {
                let expected = "expected a delay a line, with a unit, such as `1.5ms` or `-200us`";
                let delays = self.parse_file(rest, parse_delays, expected)?;
                let longest = delays.iter().map(|delay| delay.unsigned_abs()).max();
                if longest.is_some_and(|longest| longest > MAX_DELAY.as_nanos()) {
                    let longest = Duration::from_nanos(longest.unwrap_or(0));
                    let problem = format!("`{rest}` has a delay of {longest}, {MAX_DELAY} at most");
                    return Err(self.error(&problem));
                }
                Jitter::samples(delays).map_err(|e| self.refused(e))
            }
            other => Err(self.error(&format!("there is no law `{other}`"))),
        }
    }
}

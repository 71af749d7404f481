//! Parses the values of options.

mod files;

use link::{
    Balanced, Buffer, CoDel, ConfigError, FqCoDel, GilbertElliott, LossModel, Measure, Probability,
    Red, Reorder, TokenBucket,
};
use units::{Duration, Rate, parse_bytes};

use crate::masks::ConnectionMasks;

use super::{MAX_DELAY, Settings, SettingsError};

/// A value and the name of its option.
#[derive(Debug, Clone)]
pub(super) struct Value {
    pub(super) option: String,
    pub(super) text: String,
}

impl Value {
    pub(super) fn error(&self, problem: &str) -> SettingsError {
        let (option, value) = (self.option.clone(), self.text.clone());
        let hint = self.example().map(|example| format!("write it as {example}"));
        SettingsError { option, value, problem: problem.to_owned(), hint }
    }

    /// Examples of the option's value, for the hint of errors without a better one.
    fn example(&self) -> Option<&'static str> {
        let name = self.option.trim_start_matches("--");
        let name = ["up-", "down-"].iter().find_map(|way| name.strip_prefix(way)).unwrap_or(name);
        Some(match name {
            "queue" => "`150kB`, `100packets`, or in chunks as `150kB/256B`",
            "red" => "`30kB,90kB,0.1` or `5packets,15packets`",
            "codel" => "`5ms,100ms`",
            "fq-codel" => "`5ms,100ms` or `5ms,100ms,1024`",
            "balanced" => "`0.4,0.9,25`",
            "loss" | "loss-per-byte" | "duplicate" | "corrupt" => "`0.01` or `1%`",
            "loss-linear" => "`0.01@1500B`",
            "loss-burst" => "`0.01,3`",
            "loss-gilbert" => "`0.01,0.3` or `0.01,0.3,0.8,0.001`",
            "loss-mask" | "loss-mask-all" => "`1,0,0,1`",
            "rate-trace" => "`trace.txt`",
            "police" | "shape" => "`5mbit,15kB`",
            "loss-file" => "`losses.txt`, or as `data:losses.txt` for segments with data only",
            "jitter" | "jitter-reorder" => {
                "`uniform:5ms`, `normal:5ms`, `pareto:5ms` or `file:delays.txt`"
            }
            "reorder" => "`0.01,5ms`",
            _ => return None,
        })
    }

    pub(super) fn refused(&self, error: ConfigError) -> SettingsError {
        self.error(&error.to_string())
    }

    pub(super) fn rate(&self) -> Result<Rate, SettingsError> {
        let hint = "a rate is in bits per second, such as `10mbit` or `10Mb/s`";
        self.text.parse().map_err(|e: units::ParseError| self.error(&e.to_string()).with_hint(hint))
    }

    /// Parses a rate and a burst, `5mbit,15kB`.
    pub(super) fn token_bucket(&self) -> Result<TokenBucket, SettingsError> {
        let (rate, burst) = self.pair(',', "a rate and a burst, such as `5mbit,15kB`")?;
        let rate = Self { text: rate.trim().to_owned(), ..self.clone() };
        let rate = rate.rate().map_err(|e| SettingsError { value: self.text.clone(), ..e })?;
        let burst = self.small(self.bytes(burst.trim())?)?;
        TokenBucket::new(rate, burst).map_err(|e| self.refused(e))
    }

    /// Parses a time of at most `most`.
    pub(super) fn time(&self, text: &str, most: Duration) -> Result<Duration, SettingsError> {
        let hint = "write it with a unit, such as `20ms`";
        let time: Duration = text
            .trim()
            .parse()
            .map_err(|e: units::ParseError| self.error(&e.to_string()).with_hint(hint))?;
        if time > most {
            let problem = format!("`{}` is more than {most}, the most that there is", text.trim());
            return Err(self.error(&problem).with_hint("write a shorter time, such as `20ms`"));
        }
        Ok(time)
    }

    pub(super) fn pair(&self, between: char, wanted: &str) -> Result<(&str, &str), SettingsError> {
        self.text.split_once(between).ok_or_else(|| self.error(&format!("it is not {wanted}")))
    }

    pub(super) fn bytes(&self, text: &str) -> Result<u64, SettingsError> {
        parse_bytes(text).map_err(|e| self.error(&e.to_string()))
    }

    pub(super) fn small(&self, number: u64) -> Result<u32, SettingsError> {
        u32::try_from(number).map_err(|_| self.error(&format!("{number} is too much")))
    }

    /// Parses `0.01` or `1%`.
    pub(super) fn probability(&self, text: &str) -> Result<Probability, SettingsError> {
        let text = text.trim();
        let (digits, scale) = text.strip_suffix('%').map_or((text, 1.0), |digits| (digits, 100.0));
        let number = digits.trim().parse::<f64>();
        let number = number.map_err(|_| self.error(&format!("`{text}` is not a probability")))?;
        Probability::new(number / scale).map_err(|e| self.refused(e))
    }

    /// Parses `100packets`.
    fn packets(text: &str) -> Option<u64> {
        let digits = text.trim();
        let digits = digits.strip_suffix("packets").or_else(|| digits.strip_suffix("packet"))?;
        digits.trim().parse().ok()
    }

    /// Parses `150kB`, `100packets`, or `150kB/256B` for chunks of 256 bytes.
    pub(super) fn buffer(&self) -> Result<Buffer, SettingsError> {
        let buffer = if let Some(packets) = Self::packets(&self.text) {
            Buffer::packets(self.small(packets)?)
        } else if let Some((size, chunk)) = self.text.split_once('/') {
            Buffer::chunks(self.bytes(size)?, self.small(self.bytes(chunk)?)?)
        } else {
            Buffer::bytes(self.bytes(&self.text)?)
        };
        buffer.map_err(|e| self.refused(e))
    }

    /// Parses `30kB,90kB` or `5packets,15packets`, with an optional maximum probability; its
    /// default is 0.1 (Floyd's recommendation of 1997). The weight is the paper's, §VI.
    pub(super) fn red(&self) -> Result<Red, SettingsError> {
        const WEIGHT: f64 = 0.002;
        let wanted =
            "thresholds and a probability, such as `30kB,90kB,0.1` or `5packets,15packets`";
        let (min, rest) = self.pair(',', wanted)?;
        let (max, most) = rest.split_once(',').unwrap_or((rest, "0.1"));
        let most = self.probability(most)?;
        let weight = Probability::new(WEIGHT).map_err(|e| self.refused(e))?;
        let red = match (Self::packets(min), Self::packets(max)) {
            (Some(min), Some(max)) => Red::new(Measure::Packets, min, max, most, weight),
            (None, None) => {
                Red::new(Measure::Bytes, self.bytes(min)?, self.bytes(max)?, most, weight)
            }
            _ => return Err(self.error("one threshold is in packets, the other is not")),
        };
        red.map_err(|e| self.refused(e))
    }

    /// Parses `5ms,100ms`. ECN-capable packets are marked.
    pub(super) fn codel(&self) -> Result<CoDel, SettingsError> {
        self.codel_times(&self.text)
    }

    /// Parses `5ms,100ms` or `5ms,100ms,1024`, the last of which is the number of queues.
    pub(super) fn fq_codel(&self) -> Result<FqCoDel, SettingsError> {
        let commas: Vec<usize> = self.text.match_indices(',').map(|(at, _)| at).collect();
        let (times, flows) = match commas.get(1) {
            Some(&second) => (&self.text[..second], self.text[second + 1..].trim()),
            None => (self.text.as_str(), ""),
        };
        let flows = match flows {
            "" if commas.len() < 2 => FqCoDel::FLOWS,
            _ => flows
                .parse()
                .map_err(|_| self.error(&format!("`{flows}` is not a number of queues")))?,
        };
        FqCoDel::new(self.codel_times(times)?, flows).map_err(|e| self.refused(e))
    }

    fn codel_times(&self, text: &str) -> Result<CoDel, SettingsError> {
        let wanted = "it is not a target and an interval, such as `5ms,100ms`";
        let (target, interval) = text.split_once(',').ok_or_else(|| self.error(wanted))?;
        let time = |text: &str| self.time(text, MAX_DELAY);
        CoDel::new(time(target)?, time(interval)?).map_err(|e| self.refused(e))
    }

    /// Parses `40%,90%,25`.
    pub(super) fn balanced(&self) -> Result<Balanced, SettingsError> {
        let wanted = "two shares of the queue and a number of packets, such as `0.4,0.9,25`";
        let (lower, rest) = self.pair(',', wanted)?;
        let (upper, gap) =
            rest.split_once(',').ok_or_else(|| self.error(&format!("it is not {wanted}")))?;
        let gap = gap.trim();
        let gap =
            gap.parse().map_err(|_| self.error(&format!("`{gap}` is not a number of packets")))?;
        let (lower, upper) = (self.probability(lower)?, self.probability(upper)?);
        Balanced::new(lower, upper, gap).map_err(|e| self.refused(e))
    }

    /// Parses `0.01,0.3,0.8,0.001`. The loss probabilities of the bad and of the good state are 1
    /// and 0 if they are missing, as in netem(8).
    pub(super) fn gilbert(&self) -> Result<GilbertElliott, SettingsError> {
        let parts = self.text.split(',').map(|part| self.probability(part));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let (Some(&good_to_bad), Some(&bad_to_good), 2..=4) =
            (parts.first(), parts.get(1), parts.len())
        else {
            return Err(self.error("it is not two to four probabilities, such as `0.01,0.3`"));
        };
        let bad_loss = parts.get(2).copied().unwrap_or(Probability::ONE);
        let good_loss = parts.get(3).copied().unwrap_or(Probability::ZERO);
        Ok(GilbertElliott { good_to_bad, bad_to_good, bad_loss, good_loss })
    }

    /// Parses `1,0,0`: 1 is lost. `1,0;0,1` has a mask for each of two connections.
    pub(super) fn masks(&self, data_only: bool) -> Result<LossModel, SettingsError> {
        let entry = |entry: &str| match entry.trim() {
            "0" => Ok(false),
            "1" => Ok(true),
            other => Err(self.error(&format!("`{other}` is neither 0 nor 1"))),
        };
        let mask = |text: &str| text.split(',').map(entry).collect::<Result<Vec<_>, _>>();
        if self.text.contains(';') {
            let masks = self.text.split(';').map(mask).collect::<Result<_, _>>()?;
            return Ok(ConnectionMasks::model(masks, data_only));
        }
        let drops = mask(&self.text)?;
        Ok(if data_only { LossModel::Mask(drops) } else { LossModel::PacketMask(drops) })
    }

    /// RFC 791 §3.2: every link carries 68 bytes.
    pub(super) fn path_mtu(&self) -> Result<u32, SettingsError> {
        const RANGE: std::ops::RangeInclusive<u32> = 68..=Settings::MAX_MTU;
        let mtu = self.text.parse().ok().filter(|mtu| RANGE.contains(mtu));
        mtu.ok_or_else(|| self.error("it must be a number of bytes, 68 to 65535"))
    }

    /// Parses `0.01,5ms`.
    pub(super) fn reorder(&self) -> Result<Reorder, SettingsError> {
        let (probability, extra) =
            self.pair(',', "a probability and an extra delay, such as `0.01,5ms`")?;
        let by = self.time(extra, MAX_DELAY)?;
        Ok(Reorder { probability: self.probability(probability)?, by })
    }
}

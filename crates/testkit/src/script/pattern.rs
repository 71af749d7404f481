//! A segment in a script. It is compared with a sent segment, or converted to an arriving one.

use wire::{
    AckWindow, Arrival, Control, CopyNumber, Ecn, Flags, Mss, Options, SackBlocks, SantaCruz,
    Segment, SeqNum, SeqRange, Timestamps, UnscaledWindow, WindowScale,
};

use super::parse::number;
use crate::notation::{self, Origins};

/// The fields of a segment that the script contains.
#[derive(Debug, Clone, Default)]
pub(super) struct Pattern {
    text: String,
    flags: Option<String>,
    /// Start and length of the payload.
    range: Option<(u32, u32)>,
    ack: Option<u32>,
    window: Option<u32>,
    sack: Vec<(u32, u32)>,
    mss: Option<u16>,
    scale: Option<u8>,
    sack_permitted: bool,
    santa_cruz_permitted: bool,
    copy: Option<CopyNumber>,
    /// Arrival that caused the acknowledgment, with a relative sequence number.
    arrival: Option<Arrival>,
    bits: Option<AckWindow>,
    timestamps: Option<(u32, u32)>,
    ecn: Option<Ecn>,
}

/// State of the script's side of the connection, for omitted fields.
#[derive(Debug, Clone, Copy)]
pub(super) struct Peer {
    /// Next sequence number, relative to the initial one.
    pub(super) nxt: u32,
    /// Acknowledgment number, relative to the initial one.
    pub(super) ack: u32,
    /// Window in bytes.
    pub(super) window: u32,
}

impl Pattern {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut pattern = Self { text: text.trim().to_owned(), ..Self::default() };
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("nothing stands after `{word}`"));
            match word {
                "ack" => pattern.ack = Some(number(value()?)?),
                "win" => pattern.window = Some(number(value()?)?),
                "sack" => {
                    pattern.sack = value()?.split(',').map(span_of).collect::<Result<_, _>>()?;
                }
                "mss" => pattern.mss = Some(in_range(value()?, 1, u16::MAX)?),
                "ws" => pattern.scale = Some(in_range(value()?, 0, 14)?),
                "sackOK" => pattern.sack_permitted = true,
                "scOK" => pattern.santa_cruz_permitted = true,
                "copy" => pattern.copy = Some(copy(value()?)?),
                "by" => pattern.arrival = Some(arrival(value()?)?),
                "bits" => pattern.bits = Some(ack_window(value()?)?),
                "ts" => {
                    let stamps = value()?;
                    let (val, ecr) = stamps
                        .split_once(':')
                        .ok_or_else(|| format!("`{stamps}` is not `value:echo`"))?;
                    pattern.timestamps = Some((number(val)?, number(ecr)?));
                }
                _ if ecn_field(word).is_some() => pattern.ecn = ecn_field(word),
                _ if word.contains(':') => pattern.range = Some(payload(word)?),
                _ if word.chars().all(|c| "SFRP.-EW".contains(c)) => {
                    pattern.flags = Some(word.to_owned());
                }
                _ => return Err(format!("`{word}` says nothing of a segment")),
            }
        }
        if pattern.text.is_empty() { Err("no segment".to_owned()) } else { Ok(pattern) }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Compares a segment with the pattern.
    pub(super) fn matches(&self, segment: &Segment, origins: &Origins) -> bool {
        let start = origins.relative_seq(segment.seq);
        let sack: Vec<(u32, u32)> = segment
            .options
            .sack_blocks()
            .iter()
            .map(|block| (origins.relative_ack(block.start()), origins.relative_ack(block.end())))
            .collect();
        let flags_match = match &self.flags {
            Some(flags) => notation::flags(segment) == *flags,
            None => matches!(notation::flags(segment).as_str(), "." | "P."),
        };
        flags_match
            && self
                .range
                .map_or(segment.payload_len == 0, |range| range == (start, segment.payload_len))
            && self.ack.is_none_or(|ack| segment.ack.map(|n| origins.relative_ack(n)) == Some(ack))
            && self.window.is_none_or(|window| origins.window(segment) == window)
            && sack == self.sack
            && self.santa_cruz_matches(segment, origins)
            && self.ecn.is_none_or(|field| segment.flags.ecn() == field)
            && self.options_match(&segment.options, segment.control == Control::Syn)
    }

    /// Compares the option, if the script contains one. An ACK window must always be given.
    fn santa_cruz_matches(&self, segment: &Segment, origins: &Origins) -> bool {
        let option = segment.options.santa_cruz();
        let arrival = option.and_then(|option| option.arrival());
        let relative =
            arrival.map(|a| Arrival { seq: SeqNum::new(origins.relative_ack(a.seq)), ..a });
        let window = option.map(|option| option.window()).filter(|window| !window.is_empty());
        self.copy.is_none_or(|copy| option.and_then(|option| option.data_copy()) == Some(copy))
            && self.arrival.is_none_or(|arrival| relative == Some(arrival))
            && window == self.bits
    }

    /// Option that the script describes.
    fn santa_cruz(&self, origins: &Origins) -> Option<SantaCruz> {
        let option = SantaCruz::new(self.copy);
        match self.arrival {
            Some(arrival) => {
                let arrival = Arrival { seq: origins.ack + arrival.seq.value(), ..arrival };
                Some(option.answering(arrival, self.bits.unwrap_or(AckWindow::EMPTY)))
            }
            None => self.copy.map(|_| option),
        }
    }

    fn options_match(&self, options: &Options, syn: bool) -> bool {
        let stamps = options.timestamps.map(|stamp| (stamp.val, stamp.ecr));
        let says = self.mss.is_some()
            || self.scale.is_some()
            || self.sack_permitted
            || self.santa_cruz_permitted;
        if syn && says {
            return options.mss.map(Mss::get) == self.mss
                && options.window_scale.map(WindowScale::shift) == self.scale
                && options.sack_permitted == self.sack_permitted
                && options.santa_cruz_permitted == self.santa_cruz_permitted
                && stamps == self.timestamps;
        }
        self.timestamps.is_none_or(|expected| stamps == Some(expected))
    }

    /// Returns the arriving segment, and the state of the peer after it.
    pub(super) fn build(&self, peer: Peer, origins: &Origins) -> Result<(Segment, Peer), String> {
        let flags = self.flags.as_deref().unwrap_or(".");
        let control = match flags.trim_matches(['P', '.', '-', 'E', 'W']) {
            "" => Control::None,
            "S" => Control::Syn,
            "F" => Control::Fin,
            "R" => Control::Rst,
            _ => return Err(format!("`{flags}` opens, ends or resets at once")),
        };
        let (start, payload_len) = self.range.unwrap_or((peer.nxt, 0));
        let ack = self.ack.unwrap_or(peer.ack);
        let acknowledges = flags.contains('.');
        let window = self.window.unwrap_or(peer.window);
        let mut sack = SackBlocks::EMPTY;
        for &(from, to) in &self.sack {
            if !SeqRange::new(origins.ack + from, origins.ack + to)
                .is_some_and(|block| sack.push(block))
            {
                return Err(format!("`{from}:{to}` is no block, or one too many"));
            }
        }
        let segment = Segment {
            seq: origins.seq + start,
            ack: acknowledges.then(|| origins.ack + ack),
            control,
            flags: Flags::NONE
                .with(Flags::PSH, flags.contains('P'))
                .with(Flags::ECE, flags.contains('E'))
                .with(Flags::CWR, flags.contains('W'))
                .with_ecn(self.ecn.unwrap_or_default()),
            window: field(
                window,
                if control == Control::Syn { WindowScale::NONE } else { origins.scale },
            )?,
            payload_len,
            options: Options {
                mss: self.mss.and_then(Mss::new),
                window_scale: self.scale.map(WindowScale::clamped),
                sack_permitted: self.sack_permitted,
                santa_cruz_permitted: self.santa_cruz_permitted,
                is_compact: false,
                timestamps: self.timestamps.map(|(val, ecr)| Timestamps { val, ecr }),
                reports: self.santa_cruz(origins).map_or(sack.into(), Into::into),
            },
        };
        let end = SeqNum::new(start + segment.seq_len());
        let after = Peer {
            nxt: SeqNum::new(peer.nxt).latest(end).value(),
            ack: if acknowledges {
                SeqNum::new(peer.ack).latest(SeqNum::new(ack)).value()
            } else {
                peer.ack
            },
            window,
        };
        Ok((segment, after))
    }
}

/// Window field that advertises exactly this window.
fn field(window: u32, scale: WindowScale) -> Result<UnscaledWindow, String> {
    let field = UnscaledWindow::from_bytes(window, scale);
    if field.bytes(scale) == window {
        Ok(field)
    } else {
        Err(format!("a window of {window} can't be said with a scale of {}", scale.shift()))
    }
}

fn ecn_field(word: &str) -> Option<Ecn> {
    [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]
        .into_iter()
        .find(|&field| notation::ecn_name(field) == word)
}

fn copy(text: &str) -> Result<CopyNumber, String> {
    CopyNumber::new(in_range(text, 1, 15)?).ok_or_else(|| format!("`{text}` is no copy"))
}

/// Parses `731.2@5000`.
fn arrival(text: &str) -> Result<Arrival, String> {
    let error = || format!("`{text}` is not `number.copy@microseconds`");
    let (segment, at) = text.split_once('@').ok_or_else(error)?;
    let (seq, number_of) = segment.split_once('.').ok_or_else(error)?;
    Ok(Arrival { seq: SeqNum::new(number(seq)?), copy: copy(number_of)?, at: number(at)? })
}

/// Parses `50/00011111`.
fn ack_window(text: &str) -> Result<AckWindow, String> {
    let error = || format!("`{text}` is not `bytes/bits`, of bits for a multiple of 50 bytes");
    let (bytes, bits) = text.split_once('/').ok_or_else(error)?;
    let units = number(bytes)?;
    let granularity = u8::try_from(units / AckWindow::UNIT)
        .ok()
        .filter(|_| units.is_multiple_of(AckWindow::UNIT));
    let window: Vec<u8> = bits
        .as_bytes()
        .chunks(8)
        .map(|byte| {
            byte.iter().zip(0..).fold(0, |all, (&bit, at)| all | u8::from(bit == b'1') << (7 - at))
        })
        .collect();
    let valid = bits.bytes().all(|bit| matches!(bit, b'0' | b'1'));
    granularity
        .filter(|_| valid)
        .and_then(|granularity| AckWindow::new(granularity, &window))
        .ok_or_else(error)
}

/// Parses `731:1096`.
fn span_of(text: &str) -> Result<(u32, u32), String> {
    let (start, end) =
        text.split_once(':').ok_or_else(|| format!("`{text}` is not `start:end`"))?;
    Ok((number(start)?, number(end)?))
}

/// Parses `1:366(365)` to start and length.
fn payload(text: &str) -> Result<(u32, u32), String> {
    let error = || format!("`{text}` is not `start:end(length)`");
    let (range, len) = text.strip_suffix(')').and_then(|t| t.split_once('(')).ok_or_else(error)?;
    let ((start, end), len) = (span_of(range)?, number(len)?);
    if end.checked_sub(start) == Some(len) { Ok((start, len)) } else { Err(error()) }
}

fn in_range<N: Copy + TryFrom<u32> + PartialOrd + std::fmt::Display>(
    text: &str,
    least: N,
    most: N,
) -> Result<N, String> {
    match N::try_from(number(text)?) {
        Ok(n) if n >= least && n <= most => Ok(n),
        _ => Err(format!("`{text}` is not between {least} and {most}")),
    }
}

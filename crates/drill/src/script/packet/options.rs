//! Options of TCP in the notation of scripts.

use std::fmt;

use crate::cursor::{Cursor, Read};

/// An option of a TCP segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TcpOption {
    /// Maximum segment size in bytes.
    Mss(u16),
    /// Shift of the window scale.
    WindowScale(u8),
    /// SACK permitted.
    SackPermitted,
    /// SACK blocks as pairs of edges.
    Sack(Vec<(u32, u32)>),
    /// Timestamps: value and echo.
    Timestamps(u32, u32),
    /// No operation.
    Nop,
    /// End of the list.
    End,
    /// Fast Open with its cookie, or an experimental one.
    FastOpen(String),
    /// MD5 signature.
    Md5(String),
    /// Byte counters of accurate ECN.
    AccurateEcn(String),
}

impl fmt::Display for TcpOption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mss(mss) => write!(f, "mss {mss}"),
            Self::WindowScale(shift) => write!(f, "wscale {shift}"),
            Self::SackPermitted => f.write_str("sackOK"),
            Self::Sack(blocks) => {
                f.write_str("sack")?;
                blocks.iter().try_for_each(|(start, end)| write!(f, " {start}:{end}"))
            }
            Self::Timestamps(val, ecr) => write!(f, "TS val {val} ecr {ecr}"),
            Self::Nop => f.write_str("nop"),
            Self::End => f.write_str("eol"),
            Self::FastOpen(text) | Self::Md5(text) | Self::AccurateEcn(text) => f.write_str(text),
        }
    }
}

/// Reads `<option, …>` or nothing; `None` for `<...>`.
pub(super) fn options(cursor: &mut Cursor) -> Read<Option<Vec<TcpOption>>> {
    if !cursor.eat("<")? {
        return Ok(Some(Vec::new()));
    }
    if cursor.eat("...")? {
        cursor.expect(">")?;
        return Ok(None);
    }
    let mut all = Vec::new();
    if cursor.eat(">")? {
        return Ok(Some(all));
    }
    loop {
        all.push(option(cursor)?);
        if cursor.eat(">")? {
            return Ok(Some(all));
        }
        if !cursor.eat(",")? {
            return cursor.expected("`,` or `>`");
        }
    }
}

fn option(cursor: &mut Cursor) -> Read<TcpOption> {
    cursor.skip_blank()?;
    let start = cursor.clone();
    let name = cursor.word("an option such as `mss 1460`")?;
    Ok(match name {
        "mss" => TcpOption::Mss(cursor.small("a segment size")?),
        "wscale" => TcpOption::WindowScale(cursor.small("a shift")?),
        "sackOK" => TcpOption::SackPermitted,
        "sack" => TcpOption::Sack(blocks(cursor)?),
        "nop" => TcpOption::Nop,
        "eol" => TcpOption::End,
        "TS" => {
            let Some(val) = labelled(cursor, "val")? else { return cursor.expected("`val`") };
            let Some(ecr) = labelled(cursor, "ecr")? else { return cursor.expected("`ecr`") };
            TcpOption::Timestamps(val, ecr)
        }
        "FO" | "FOEXP" => TcpOption::FastOpen(with_digits(cursor, name)?),
        "md5" => TcpOption::Md5(with_digits(cursor, name)?),
        "ECN" => TcpOption::AccurateEcn(counters(cursor)?),
        other => {
            return start.problem(format!(
                "expected an option (mss, wscale, sackOK, sack, TS, nop, eol, FO, FOEXP, md5, \
                 ECN), got `{other}`"
            ));
        }
    })
}

fn labelled(cursor: &mut Cursor, label: &str) -> Read<Option<u32>> {
    if cursor.eat_word(label)? { cursor.small("a 32-bit number").map(Some) } else { Ok(None) }
}

/// Reads an optional number in hexadecimal digits, or a defined word.
fn with_digits(cursor: &mut Cursor, name: &str) -> Read<String> {
    cursor.skip_blank()?;
    let word = cursor.take_while(|c| c.is_ascii_alphanumeric() || c == '_');
    let text = cursor.definition(word).unwrap_or(word);
    Ok(format!("{name} {text}").trim_end().to_owned())
}

fn counters(cursor: &mut Cursor) -> Read<String> {
    let mut text = "ECN".to_owned();
    loop {
        cursor.skip_blank()?;
        let label = cursor.peek_word();
        if !["e0b", "ceb", "e1b"].contains(&label) {
            return Ok(text);
        }
        let value = labelled(cursor, label)?.unwrap_or_default();
        text = format!("{text} {label} {value}");
    }
}

fn blocks(cursor: &mut Cursor) -> Read<Vec<(u32, u32)>> {
    let mut blocks = Vec::new();
    loop {
        let start = cursor.small("a SACK block such as `1001:2001`")?;
        cursor.expect(":")?;
        blocks.push((start, cursor.small("the end of a SACK block")?));
        cursor.skip_blank()?;
        if !cursor.rest().starts_with(|c: char| c.is_ascii_digit()) {
            return Ok(blocks);
        }
    }
}

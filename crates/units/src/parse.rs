//! Reading quantities as people write them.

use thiserror::Error;

/// A quantity that could not be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` is not {wanted}")]
pub struct ParseError {
    text: String,
    wanted: &'static str,
}

impl ParseError {
    pub(crate) fn new(text: &str, wanted: &'static str) -> Self {
        Self { text: text.to_owned(), wanted }
    }
}

/// Reads a size in bytes: `"150kB"`, `"1.5MB"`, `"576B"` (powers of ten), `"64KiB"`, `"1MiB"` (powers of two).
///
/// # Errors
/// When the text has no unit, an unknown one, is negative or does not fit.
pub fn parse_bytes(text: &str) -> Result<u64, ParseError> {
    const UNITS: &[(&str, u64)] = &[
        ("B", 1),
        ("kB", 1_000),
        ("KiB", 1 << 10),
        ("MB", 1_000_000),
        ("MiB", 1 << 20),
        ("GB", 1_000_000_000),
    ];
    scaled(text, UNITS, "a size such as `150kB` or `64KiB`")
}

/// A decimal number and a unit, as a whole number of the smallest unit. Exact: no floating point.
pub(crate) fn scaled(text: &str, units: &[(&str, u64)], wanted: &'static str) -> Result<u64, ParseError> {
    let error = || ParseError::new(text, wanted);
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).ok_or_else(error)?;
    let (number, unit) = (&trimmed[..split], trimmed[split..].trim());
    let &(_, scale) = units.iter().find(|(name, _)| *name == unit).ok_or_else(error)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.len() > 18 {
        return Err(error());
    }
    let digits = |part: &str| if part.is_empty() { Ok(0) } else { part.parse::<u128>() };
    let whole = digits(whole).map_err(|_| error())?;
    let denominator = 10u128.pow(u32::try_from(fraction.len()).map_err(|_| error())?);
    let fraction = digits(fraction).map_err(|_| error())?;
    let value = whole
        .checked_mul(u128::from(scale))
        .and_then(|v| v.checked_add(fraction * u128::from(scale) / denominator))
        .ok_or_else(error)?;
    u64::try_from(value).map_err(|_| error())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_bytes("150kB"), Ok(150_000));
        assert_eq!(parse_bytes("1.5 MB"), Ok(1_500_000));
        assert_eq!(parse_bytes("64KiB"), Ok(65_536));
        for bad in ["150", "kB", "-1kB", ".B", "1e3B", "99999999999999999999GB"] {
            assert!(parse_bytes(bad).is_err(), "{bad} parsed");
        }
        assert_eq!(
            parse_bytes("3 furlongs").unwrap_err().to_string(),
            "`3 furlongs` is not a size such as `150kB` or `64KiB`"
        );
    }
}

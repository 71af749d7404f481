//! Parsing of quantities such as `"20ms"` and `"150kB"`.

use thiserror::Error;

/// A text that is not a valid quantity.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("`{text}` {problem}")]
pub struct ParseError {
    text: String,
    problem: String,
}

impl ParseError {
    /// The text is not a quantity of this kind.
    pub(crate) fn new(text: &str, wanted: &str) -> Self {
        Self::because(text, format!("is not {wanted}"))
    }

    /// The text is a quantity that does not fit.
    pub(crate) fn too_large(text: &str, units: &Units) -> Self {
        Self::because(text, format!("is too large: the most is {}", units.most))
    }

    /// Returns this error with another text.
    pub(crate) fn about(self, text: &str) -> Self {
        Self { text: text.to_owned(), ..self }
    }

    /// The text is invalid for another reason; `problem` completes the message.
    pub(crate) fn because(text: &str, problem: String) -> Self {
        Self { text: text.to_owned(), problem }
    }
}

/// The units of one kind of quantity, and the words for its errors.
pub(crate) struct Units {
    /// Each unit's name and its size in the smallest unit.
    pub(crate) names: &'static [(&'static str, u64)],
    /// The noun phrase after "is not" in the message.
    pub(crate) wanted: &'static str,
    /// The largest valid value, as text for the message.
    pub(crate) most: &'static str,
}

/// Parses a size in bytes: `"150kB"`, `"1.5MB"`, `"576B"` (powers of ten), `"64KiB"`, `"1MiB"`
/// (powers of two).
///
/// # Errors
/// The text has no unit or an unknown one, is negative, or exceeds the range.
pub fn parse_bytes(text: &str) -> Result<u64, ParseError> {
    const UNITS: Units = Units {
        names: &[
            ("B", 1),
            ("kB", 1_000),
            ("KiB", 1 << 10),
            ("MB", 1_000_000),
            ("MiB", 1 << 20),
            ("GB", 1_000_000_000),
        ],
        wanted: "a size such as `150kB` or `64KiB`",
        most: "18446744073GB",
    };
    scaled(text, &UNITS)
}

/// Splits a quantity into its number and its unit; `None` without a unit.
pub(crate) fn number_and_unit(text: &str) -> Option<(&str, &str)> {
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    Some((&trimmed[..split], trimmed[split..].trim()))
}

/// A decimal number and a unit, as a whole number of the smallest unit. Exact: no floating point.
pub(crate) fn scaled(text: &str, units: &Units) -> Result<u64, ParseError> {
    let error = || ParseError::new(text, units.wanted);
    let too_large = || ParseError::too_large(text, units);
    let (number, unit) = number_and_unit(text).ok_or_else(error)?;
    let &(_, scale) = units.names.iter().find(|(name, _)| *name == unit).ok_or_else(error)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.len() > 18 {
        return Err(error());
    }
    let digits = |part: &str| if part.is_empty() { Ok(0) } else { part.parse::<u128>() };
    let whole = digits(whole).map_err(|_| too_large())?;
    let denominator = 10u128.pow(u32::try_from(fraction.len()).map_err(|_| error())?);
    let fraction = digits(fraction).map_err(|_| error())?;
    let value = whole
        .checked_mul(u128::from(scale))
        .and_then(|v| v.checked_add(fraction * u128::from(scale) / denominator))
        .ok_or_else(too_large)?;
    u64::try_from(value).map_err(|_| too_large())
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
            parse_bytes("99999999999999999999GB").unwrap_err().to_string(),
            "`99999999999999999999GB` is too large: the most is 18446744073GB"
        );
        assert_eq!(parse_bytes("18446744073GB"), Ok(18_446_744_073_000_000_000));
        assert_eq!(
            parse_bytes("3 furlongs").unwrap_err().to_string(),
            "`3 furlongs` is not a size such as `150kB` or `64KiB`"
        );
    }
}

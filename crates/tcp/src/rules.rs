//! Rules that few connections have, and the variants of the path of a segment.
//!
//! A test for each rule on this path cost 5 % of all instructions of the connections without them
//! (`benches/NOTES.md`). The functions of the path therefore have a parameter [`RuleSet`], and the
//! compiler makes a variant of each for each set. A connection selects its variant by one byte.

/// Set of rules that may be in force on a connection. A larger set is always correct, but slower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rules {
    /// The rules that all connections have.
    Common,
    /// Also the reports of TCP Santa Cruz.
    Reports,
    /// Also those of Linux, those for the end of a write, and `refuses_data`.
    All,
}

/// Set of rules that a variant of a function contains.
pub(crate) trait RuleSet {
    /// Whether it has the reports of TCP Santa Cruz.
    const REPORTS: bool;
    /// Whether it has the other rules that few connections have.
    const ALL: bool;
}

/// Variant without the rules that few connections have.
pub(crate) enum Common {}

/// Variant with the reports of TCP Santa Cruz.
pub(crate) enum WithReports {}

/// Variant with all rules.
pub(crate) enum AllRules {}

impl RuleSet for Common {
    const REPORTS: bool = false;
    const ALL: bool = false;
}

impl RuleSet for WithReports {
    const REPORTS: bool = true;
    const ALL: bool = false;
}

impl RuleSet for AllRules {
    const REPORTS: bool = true;
    const ALL: bool = true;
}

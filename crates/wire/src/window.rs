//! Segment sizes and windows whose types guarantee their ranges.

use std::num::NonZeroU8;

/// Maximum segment size in bytes of payload, at least 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mss(u16);

impl Mss {
    /// Default for a peer that sent no MSS option over IPv4 (RFC 9293 §3.7.1).
    pub const DEFAULT_IPV4: Self = Self(536);
    /// Minimum that leaves room for data with 40 bytes of options. Common implementations use it if
    /// a peer announces less.
    pub const LEAST: Self = Self(48);
    /// Maximum segment size of an Ethernet path over IPv4 without options.
    pub const ETHERNET_IPV4: Self = Self(1460);

    /// Creates a segment size. Returns `None` if `bytes` is zero.
    pub const fn new(bytes: u16) -> Option<Self> {
        if bytes == 0 { None } else { Some(Self(bytes)) }
    }

    /// Size in bytes.
    pub const fn get(self) -> u16 {
        self.0
    }

    /// Size in bytes, with the width of windows.
    pub const fn bytes(self) -> u32 {
        self.0 as u32
    }

    /// The larger of the two.
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }

    /// The smaller of the two.
    pub fn min(self, other: Self) -> Self {
        Self(self.0.min(other.0))
    }
}

/// Window scale shift, 0 to 14 (RFC 7323 §2.3). It is kept plus one, so that `Option<WindowScale>`
/// in every segment is one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WindowScale(NonZeroU8);

impl Default for WindowScale {
    fn default() -> Self {
        Self::NONE
    }
}

impl WindowScale {
    /// No scaling.
    pub const NONE: Self = Self::of(0);
    /// Maximum shift.
    pub const MAX: Self = Self::of(14);

    const fn of(shift: u8) -> Self {
        Self(NonZeroU8::MIN.saturating_add(shift))
    }

    /// RFC 7323 §2.3: a shift above 14 is replaced by 14.
    pub const fn clamped(shift: u8) -> Self {
        if shift > 14 { Self::MAX } else { Self::of(shift) }
    }

    /// Smallest shift with which a buffer of `bytes` can be advertised completely.
    pub const fn for_buffer(bytes: u32) -> Self {
        let mut shift = 0;
        while shift < 14 && (bytes >> shift) > u16::MAX as u32 {
            shift += 1;
        }
        Self::of(shift)
    }

    /// Shift in bits.
    pub const fn shift(self) -> u8 {
        self.0.get() - 1
    }
}

/// Window field of the header, before scaling.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct UnscaledWindow(u16);

impl UnscaledWindow {
    /// Creates the field with this value.
    pub const fn new(value: u16) -> Self {
        Self(value)
    }

    /// Largest field that advertises no more than `bytes` with `scale`.
    pub fn from_bytes(bytes: u32, scale: WindowScale) -> Self {
        Self(u16::try_from(bytes >> scale.shift()).unwrap_or(u16::MAX))
    }

    /// Value of the field.
    pub const fn value(self) -> u16 {
        self.0
    }

    /// Window in bytes: at most 2³⁰ − 1.
    pub const fn bytes(self, scale: WindowScale) -> u32 {
        (self.0 as u32) << scale.shift()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn window_never_exceeds_the_buffer(bytes in 0..1u32 << 30, shift in 0..20u8) {
            let scale = WindowScale::clamped(shift);
            let promised = UnscaledWindow::from_bytes(bytes, scale).bytes(scale);
            prop_assert!(promised <= bytes);
        }

        #[test]
        fn buffer_fits_its_scale(bytes in 0..1u32 << 30) {
            let scale = WindowScale::for_buffer(bytes);
            prop_assert!(u16::try_from(bytes >> scale.shift()).is_ok());
        }
    }

    #[test]
    fn mss_is_not_zero() {
        assert_eq!(Mss::new(0), None);
    }
}

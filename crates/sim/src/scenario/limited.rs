//! Numbers of TCP settings that have limits. A value that exists is within them.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use wire::Mss;

use super::text::{Bytes, Size, Text};

/// A segment size from 8 to 65495 bytes.
///
/// 65495 payload bytes and two headers of 20 fill an IPv4 packet (RFC 791 §3.1). RFC 1191 §7.1
/// knows no link below 68 bytes, so a minimum of 8 is generous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "u16", into = "u16")]
pub struct SegmentSize(Mss);

impl SegmentSize {
    const LEAST: u16 = 8;
    const MOST: u16 = 65_495;
    pub(super) const ETHERNET_IPV4: Self = Self(Mss::ETHERNET_IPV4);

    /// The segment size.
    pub fn get(self) -> Mss {
        self.0
    }
}

impl TryFrom<u16> for SegmentSize {
    type Error = String;

    fn try_from(bytes: u16) -> Result<Self, String> {
        let valid = Mss::new(bytes).filter(|_| (Self::LEAST..=Self::MOST).contains(&bytes));
        let (least, most) = (Self::LEAST, Self::MOST);
        valid
            .map(Self)
            .ok_or_else(|| format!("{bytes} is not a segment size from {least} to {most}"))
    }
}

impl From<SegmentSize> for u16 {
    fn from(size: SegmentSize) -> Self {
        size.0.get()
    }
}

impl JsonSchema for SegmentSize {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "SegmentSize".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": Self::LEAST, "maximum": Self::MOST })
    }
}

/// Declares a number of bytes with limits, which a scenario has as a size.
macro_rules! limited {
    ($(#[$doc:meta])* $Name:ident($number:ty) from $least:literal to $most:expr, $problem:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(try_from = "Size", into = "Size")]
        pub struct $Name($number);

        impl $Name {
            /// The number of bytes.
            pub fn get(self) -> $number {
                self.0
            }
        }

        impl TryFrom<Size> for $Name {
            type Error = &'static str;

            fn try_from(size: Size) -> Result<Self, &'static str> {
                let bytes = <$number>::try_from(size.bytes()).ok();
                bytes.filter(|bytes| ($least..=$most).contains(bytes)).map(Self).ok_or($problem)
            }
        }

        impl From<$Name> for Size {
            fn from(limited: $Name) -> Self {
                Text(Bytes(limited.0.into()))
            }
        }

        impl JsonSchema for $Name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($Name).into()
            }

            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                generator.subschema_for::<Size>()
            }
        }
    };
}

/// The largest window: RFC 7323 §2.3.
const MAX_WINDOW: u32 = 1 << 30;

limited!(
    /// A slow start threshold.
    Threshold(u32) from 1 to MAX_WINDOW, "must be from 1 B to 1 GiB, the largest window"
);

limited!(
    /// The size of a receiver's buffer.
    ReceiveBuffer(u32) from 0 to MAX_WINDOW, "must be at most 1 GiB, the largest window"
);

limited!(
    /// The size of a packet's headers.
    Header(u16) from 1 to u16::MAX, "must be from 1 B to 65535 B"
);

impl ReceiveBuffer {
    /// The buffer of a configuration.
    pub(super) fn of(config: &tcp::Config) -> Self {
        Self(config.receive_buffer.min(MAX_WINDOW))
    }
}

impl Header {
    /// IP and TCP headers without options.
    pub(super) const NS2: Self = Self(40);
}

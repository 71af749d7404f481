//! Description of one packet as plain values.

use analysis::packet::Other;
use analysis::{ExplainedPacket, Explanation, Role};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use units::Instant;

use super::columns::seconds;

/// Makes a dictionary. `start` is the time of the first packet.
pub(super) fn dict<'py>(
    py: Python<'py>,
    explanation: &Explanation,
    start: Instant,
) -> PyResult<Bound<'py, PyDict>> {
    let found = PyDict::new(py);
    match explanation {
        Explanation::Other(other) => found.set_item("content", content(*other))?,
        Explanation::Tcp(packet) => {
            found.set_item("content", "tcp")?;
            packet_items(&found, packet, start)?;
        }
    }
    Ok(found)
}

/// Word for a packet that is not analysed, as in the counts.
fn content(other: Other) -> &'static str {
    match other {
        Other::LinkType => "unknown_link_type",
        Other::NotIp => "not_ip",
        Other::NotTcp => "other_protocols",
        Other::Fragment => "fragments",
        Other::CutShort => "cut_short",
        Other::Malformed => "malformed",
    }
}

fn packet_items(
    found: &Bound<'_, PyDict>,
    packet: &ExplainedPacket,
    start: Instant,
) -> PyResult<()> {
    found.set_item("at_s", seconds(packet.at.since(start)))?;
    found.set_item("source", packet.source.to_string())?;
    found.set_item("destination", packet.destination.to_string())?;
    found.set_item("flow", packet.flow)?;
    found.set_item("direction", packet.direction)?;
    found.set_item("flags", packet.flags.clone())?;
    found.set_item("seq", packet.seq)?;
    found.set_item("payload_bytes", packet.payload)?;
    found.set_item("ack", packet.ack)?;
    found.set_item("sack_blocks", packet.sack_blocks)?;
    found.set_item("role", packet.role.map(Role::name))?;
    found.set_item("flight_bytes", packet.flight)?;
    let effect = packet.effect.as_ref();
    found.set_item("advances", effect.map(|effect| effect.advances))?;
    found.set_item("acked_bytes", effect.map(|effect| effect.acked))?;
    found.set_item("duplicate", effect.map(|effect| effect.duplicate))?;
    found.set_item("dsack", effect.map(|effect| effect.dsack))?;
    found.set_item("unseen", effect.map(|effect| effect.unseen))?;
    found.set_item("window_bytes", effect.map(|effect| effect.window))?;
    found.set_item("updates_window", effect.map(|effect| effect.updates_window))
}

//! The values of the TCP profiles, for the reference page. `sim` defines them.

use pyo3::prelude::*;
use sim::scenario::{Growth, Halving, Profile, RttSample, TcpSettings};

/// The name of each profile and its values by the keys of `[tcp]`, as in a scenario. Values that a
/// profile does not define are absent.
#[pyfunction]
pub(crate) fn profiles() -> Vec<(&'static str, Vec<(&'static str, String)>)> {
    [("ns2", Profile::Ns2), ("bsd", Profile::Bsd), ("rfc", Profile::Rfc)]
        .map(|(name, profile)| (name, values(&profile.settings())))
        .into()
}

fn values(settings: &TcpSettings) -> Vec<(&'static str, String)> {
    let text = |value: &str| format!("\"{value}\"");
    let mut values = vec![
        ("mss", settings.mss.get().to_string()),
        ("rto_initial", text(&settings.rto_initial.to_string())),
        ("rto_min", text(&settings.rto_min.to_string())),
        ("rto_max", text(&settings.rto_max.to_string())),
        ("tick", text(&settings.tick.to_string())),
        (
            "rtt_sample",
            text(match settings.rtt_sample {
                RttSample::Window => "window",
                RttSample::Ack => "ack",
            }),
        ),
        (
            "growth",
            text(match settings.growth {
                Growth::Ack => "ack",
                Growth::Bytes => "bytes",
            }),
        ),
        (
            "halving",
            text(match settings.halving {
                Halving::Flight => "flight",
                Halving::Window => "window",
            }),
        ),
        ("ack_every", settings.ack_every.to_string()),
        ("ack_delay", text(&settings.ack_delay.to_string())),
        ("receive_buffer", text(&format!("{}B", settings.receive_buffer))),
        ("nagle", settings.nagle.to_string()),
        ("timestamps", settings.timestamps.to_string()),
        ("ecn", settings.ecn.to_string()),
        ("send_jitter", text(&settings.send_jitter.to_string())),
    ];
    if let Some(bytes) = settings.ssthresh_initial {
        values.push(("ssthresh_initial", text(&format!("{bytes}B"))));
    }
    if let Some(header) = settings.header {
        values.push(("header", text(&format!("{header}B"))));
    }
    values
}

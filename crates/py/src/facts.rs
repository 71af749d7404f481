//! Facts that models written in Python receive, as read-only objects.
//!
//! `tcpsf.python_models` has their documentation for users.

use std::sync::Arc;

use policy::{AckSample, Growth, LossSample};
use pyo3::prelude::*;
use sim::tables::time_s;
use sim::{PacketName, PacketNames};
use units::{Duration, Instant};

/// 2⁻⁶⁴, exactly representable.
const DRAW_STEP: f64 = 5.421_010_862_427_522e-20;

/// A packet that is offered to a link.
#[pyclass(frozen, subclass, module = "tcpsf._core")]
pub(crate) struct PacketFacts {
    now: Instant,
    packet: link::Offered,
    draw: u64,
    at: Arc<Place>,
}

/// The link of a model, and the names of the packets on it.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) link: String,
    pub(crate) names: PacketNames,
}

impl PacketFacts {
    pub(crate) fn of_loss(facts: &link::LossFacts, at: &Arc<Place>) -> Self {
        let link::LossFacts { now, packet, draw } = *facts;
        Self { now, packet, draw, at: Arc::clone(at) }
    }

    fn name(&self) -> PacketName<'_> {
        self.at.names.of(&self.packet, self.draw)
    }
}

#[pymethods]
impl PacketFacts {
    #[getter]
    fn time_s(&self) -> f64 {
        time_s(self.now)
    }

    #[getter]
    fn time_ns(&self) -> u64 {
        self.now.as_nanos()
    }

    #[getter]
    fn link(&self) -> &str {
        &self.at.link
    }

    #[getter]
    fn workload(&self) -> &str {
        self.name().workload
    }

    #[getter]
    fn flow_index(&self) -> u64 {
        self.name().flow_index
    }

    #[getter]
    fn packet(&self) -> u64 {
        self.name().packet
    }

    #[getter]
    fn is_forward(&self) -> bool {
        self.name().is_forward
    }

    #[getter]
    fn size_bytes(&self) -> u32 {
        self.packet.bytes
    }

    #[getter]
    fn has_data(&self) -> bool {
        self.packet.data
    }

    #[getter]
    fn ecn_capable(&self) -> bool {
        self.packet.ecn_capable
    }

    #[getter]
    fn draw(&self) -> f64 {
        uniform(self.draw)
    }
}

/// A packet that arrives at the queue of a link.
#[pyclass(frozen, extends = PacketFacts, module = "tcpsf._core")]
pub(crate) struct QueueFacts {
    facts: link::QueueFacts,
}

impl QueueFacts {
    pub(crate) fn new(facts: &link::QueueFacts, at: &Arc<Place>) -> PyClassInitializer<Self> {
        let link::QueueFacts { now, packet, draw, .. } = *facts;
        let packet = PacketFacts { now, packet, draw, at: Arc::clone(at) };
        PyClassInitializer::from(packet).add_subclass(Self { facts: *facts })
    }
}

#[pymethods]
impl QueueFacts {
    #[getter]
    fn queue_bytes(&self) -> u64 {
        self.facts.queue.bytes
    }

    #[getter]
    fn queue_packets(&self) -> u64 {
        self.facts.queue.packets
    }

    #[getter]
    fn capacity_bytes(&self) -> Option<u64> {
        self.facts.buffer.limit_bytes()
    }

    #[getter]
    fn capacity_packets(&self) -> Option<u32> {
        self.facts.buffer.limit_packets()
    }

    #[getter]
    fn fits(&self) -> bool {
        self.facts.fits
    }

    #[getter]
    fn idle_s(&self) -> f64 {
        self.facts.idle_since.map_or(0.0, |since| seconds(self.facts.now.since(since)))
    }
}

/// The beginning of a connection.
#[pyclass(frozen, module = "tcpsf._core")]
pub(crate) struct ControllerStart(pub(crate) policy::congestion::ControllerStart);

#[pymethods]
impl ControllerStart {
    #[getter]
    fn smss(&self) -> u32 {
        self.0.smss
    }

    #[getter]
    fn initial_window(&self) -> u32 {
        self.0.initial_window
    }

    #[getter]
    fn ssthresh(&self) -> u32 {
        self.0.rules.ssthresh
    }
}

/// An acknowledgment.
#[pyclass(frozen, module = "tcpsf._core")]
pub(crate) struct AckFacts {
    pub(crate) sample: AckSample,
    /// The growth that the acknowledgment allows the window, if any.
    pub(crate) growth: Option<Growth>,
}

#[pymethods]
impl AckFacts {
    #[getter]
    fn time_s(&self) -> f64 {
        time_s(self.sample.now)
    }

    #[getter]
    fn acked_bytes(&self) -> u32 {
        self.sample.acked
    }

    #[getter]
    fn smss(&self) -> u32 {
        self.sample.smss
    }

    #[getter]
    fn flight(&self) -> u32 {
        self.sample.flight()
    }

    #[getter]
    fn rtt_s(&self) -> Option<f64> {
        self.sample.rtt.map(seconds)
    }

    #[getter]
    fn app_limited(&self) -> bool {
        self.sample.app_limited
    }

    #[getter]
    fn step_bytes(&self) -> u32 {
        match self.growth {
            Some(Growth::Standard { step, .. }) => step,
            _ => 0,
        }
    }

    #[getter]
    fn per_rtt_bytes(&self) -> u32 {
        match self.growth {
            Some(Growth::Standard { per_rtt, .. }) => per_rtt,
            _ => 0,
        }
    }

    #[getter]
    fn least_cwnd(&self) -> Option<u32> {
        match self.growth {
            Some(Growth::Window(bytes)) => Some(bytes),
            _ => None,
        }
    }
}

/// A loss, a timeout or a mark.
#[pyclass(frozen, module = "tcpsf._core")]
pub(crate) struct ReductionFacts(pub(crate) LossSample);

#[pymethods]
impl ReductionFacts {
    #[getter]
    fn time_s(&self) -> f64 {
        time_s(self.0.now)
    }

    #[getter]
    fn smss(&self) -> u32 {
        self.0.smss
    }

    #[getter]
    fn flight(&self) -> u32 {
        self.0.flight
    }

    #[getter]
    fn loss_window(&self) -> u32 {
        self.0.loss_window
    }

    #[getter]
    fn duplicates(&self) -> u32 {
        self.0.duplicates
    }

    #[getter]
    fn already_reduced(&self) -> bool {
        self.0.already_reduced
    }
}

/// The largest double that is not above `draw` · 2⁻⁶⁴. For a probability p that is a double,
/// `uniform(draw) < p` is then equivalent to `draw` · 2⁻⁶⁴ < p, the rule of the built-in models.
#[expect(clippy::cast_precision_loss, reason = "the bits beyond 53 are cleared before")]
fn uniform(draw: u64) -> f64 {
    let excess = (u64::BITS - f64::MANTISSA_DIGITS).saturating_sub(draw.leading_zeros());
    (draw >> excess << excess) as f64 * DRAW_STEP
}

fn seconds(duration: Duration) -> f64 {
    time_s(Instant::ZERO + duration)
}

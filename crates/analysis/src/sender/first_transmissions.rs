//! First transmissions as a sender knows them: sizes, outcomes, and the test for a policer.

use units::Duration;

use super::event::Data;
use super::originals::Sizes;
use super::outcome::Outcomes;
use super::policer::{Policing, RoundTrips, policing};
use super::{Sender, timing};
use crate::kind::Has;

impl Sender {
    /// Sizes of the segments of a packet.
    pub(super) fn sizes(&self, data: &Data) -> Sizes {
        Sizes::of(data, self.is_mss_known.then_some(self.mss()))
    }

    /// Whether new data follows the latest one before a timer of the sender can have expired.
    #[inline]
    pub(super) fn follows(&self, data: &Data) -> bool {
        let Some(latest_at) = self.originals.latest_at() else { return false };
        let wait = data.at.since(latest_at);
        wait <= timing::REACTION || wait <= self.shortest_timer()
    }

    /// Shortest timer after a transmission.
    fn shortest_timer(&self) -> Duration {
        match self.timing.pto(self.outstanding.segments().all <= 1) {
            Some(pto) if self.tail_loss_probes() != Has::No => pto,
            Some(_) => self.timing.base_rto(),
            None => timing::REACTION,
        }
    }

    /// Outcomes of first transmissions.
    pub(crate) fn outcomes(&mut self) -> &mut Outcomes {
        &mut self.originals.outcomes
    }

    /// Result of the test for a policer, and its rate in bytes per second.
    pub(crate) fn policing(&self) -> (Policing, Option<f64>) {
        let (Some(mean), Some(deviation)) =
            (self.round_trips.mean_s(), self.round_trips.deviation_s())
        else {
            return (Policing::Untested, None);
        };
        let (first, observations) = self.originals.outcomes.observations();
        policing(first, observations, RoundTrips { mean, deviation })
    }
}

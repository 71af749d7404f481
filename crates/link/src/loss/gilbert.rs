//! Loss by a two-state Markov chain with a loss probability in each state.
//!
//! E. N. Gilbert, "Capacity of a Burst-Noise Channel", BSTJ 39 (1960), has one state without loss.
//! E. O. Elliott, "Estimates of Error Rates for Codes on Burst-Noise Channels", BSTJ 42 (1963), has
//! losses in both. The manual page netem(8) calls the parameters p, r, 1−h and 1−k.

use crate::probability::{Probability, Uniform};

/// The Gilbert–Elliott model.
///
/// The channel is in a good or in a bad state. Each packet is lost with the probability of the
/// state that it finds. The state may then change, once per packet and independently of the loss.
/// The first packet finds the bad state with the long-term probability p / (p + r).
///
/// Losses of all packets in the bad state and none in the good state give the model of
/// [`Burst`](crate::Burst), which takes other parameters and uses its draws in another way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GilbertElliott {
    /// p: the probability of the change from the good to the bad state.
    pub good_to_bad: Probability,
    /// r: the probability of the change from the bad to the good state.
    pub bad_to_good: Probability,
    /// 1−h: the loss probability in the bad state.
    pub bad_loss: Probability,
    /// 1−k: the loss probability in the good state.
    pub good_loss: Probability,
}

/// The state of the channel.
#[derive(Debug)]
pub(crate) struct GilbertElliottState {
    model: GilbertElliott,
    /// `None` before the first packet.
    bad: Option<bool>,
}

impl GilbertElliottState {
    pub(crate) fn new(model: GilbertElliott) -> Self {
        Self { model, bad: None }
    }

    /// Advances the chain by one packet. Returns true if the packet is lost. The parts of one draw
    /// decide on the loss and on the change of the state.
    pub(crate) fn advance(&mut self, draw: u64) -> bool {
        let GilbertElliott { good_to_bad, bad_to_good, bad_loss, good_loss } = self.model;
        let mut uniform = Uniform::new(draw);
        let bad = match self.bad {
            Some(bad) => bad,
            None => uniform.hits(good_to_bad.among(bad_to_good)),
        };
        let (probability, change) =
            if bad { (bad_loss, bad_to_good) } else { (good_loss, good_to_bad) };
        let lost = uniform.hits(probability);
        self.bad = Some(bad != uniform.hits(change));
        lost
    }
}

//! The conditions under which the receivers of a workload may act ahead of time.

use link::Buffer;

use crate::plan::{Plan, PlannedWorkload};
use crate::scenario::Opener;

/// The link that carries the acknowledgments of a workload with look-ahead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReturnLink {
    /// The link has an infinite rate and an unlimited buffer: it only delays.
    DelayOnly,
    /// The link has a rate. Acknowledgments enter it in order of time.
    WithRate,
}

/// The return link of each workload whose receivers may act ahead of time; `None` for others.
///
/// Data must take one link and acknowledgments another, and on both only the buffer may decide on
/// packets. All workloads that use the return link must have the same paths and meet the same
/// conditions.
pub(super) fn return_links(plan: &Plan) -> Vec<Option<ReturnLink>> {
    let follows_flows = plan.samples.as_ref().is_some_and(|samples| !samples.workloads.is_empty());
    if !plan.traced.is_empty() || follows_flows {
        return vec![None; plan.workloads.len()];
    }
    let of = |workload: &PlannedWorkload| {
        let back = *workload.back.first()?;
        let mut beside = plan.workloads.iter().filter(|other| other.uses(back));
        beside.all(|other| other.shares_paths_with(workload) && allows_lookahead(plan, other)).then(
            || match plan.links[back].config.rate {
                None => ReturnLink::DelayOnly,
                Some(_) => ReturnLink::WithRate,
            },
        )
    };
    plan.workloads.iter().map(of).collect()
}

fn allows_lookahead(plan: &Plan, workload: &PlannedWorkload) -> bool {
    let ([there], [back]) = (workload.forward.as_slice(), workload.back.as_slice()) else {
        return false;
    };
    let [data, answers] = [there, back].map(|&link| &plan.links[link].config);
    let opens = workload.handshake && workload.opener == Opener::Receiver;
    // At a handshake timeout a receiver may send a segment that belongs before one it has sent
    // ahead of time.
    let keeps_order = !workload.handshake;
    let delays_only = answers.rate.is_none() && answers.buffer == Buffer::Unlimited;
    // The link's own time is ahead of the time at which samples are taken.
    let is_sampled = plan.samples.as_ref().is_some_and(|samples| samples.links.contains(back));
    // With a rate, no two packets arrive at once. Packets with and without look-ahead then keep
    // their order.
    data.is_plain()
        && data.rate.is_some()
        && answers.is_plain()
        && workload.tcp.ack_every == Some(1)
        && !opens
        && (delays_only || answers.rate.is_some() && keeps_order && !is_sampled)
}

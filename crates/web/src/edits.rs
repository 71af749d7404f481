//! Packets that a user drops and delays, as settings of a scenario.
//!
//! A packet is named by its link and its number among the packets that this link receives as their
//! first. A drop is an entry of the link's loss mask. A delay is a change of the link's delay for
//! the nanosecond in which the packet leaves the line, so the scenario's file repeats it.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use sim::Scenario;
use sim::scenario::{Link, LinkChange, Loss, Text};
use sim::watched::{Fate, FlowChoice, WatchedFlow, WatchedPacket};
use units::{Duration, Instant};

use crate::error::Refusal;

/// Maximum number of packets that can be delayed: each needs a run of its own.
const MOST_DELAYED: usize = 32;

/// Longest additional delay.
const LONGEST_DELAY: Duration = Duration::from_secs(60);

/// Largest number of a packet on its link.
const LAST_POSITION: u32 = 1 << 20;

/// A packet on its first link.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PacketPlace {
    /// Name of the link.
    pub link: String,
    /// Number of the packet on this link, from 0.
    pub position: u32,
}

/// A packet that is delayed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Delayed {
    /// Name of the link.
    pub link: String,
    /// Number of the packet on this link, from 0.
    pub position: u32,
    /// Additional delay in nanoseconds.
    pub by_ns: u64,
}

/// Changes of a flow by the user.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Edits {
    /// Packets that are dropped.
    #[serde(default)]
    pub drops: Vec<PacketPlace>,
    /// Packets that are delayed.
    #[serde(default)]
    pub delays: Vec<Delayed>,
}

/// Runs the scenario with the edits. Returns the scenario that has them, and its flow.
pub(crate) fn run(
    mut scenario: Scenario,
    seed: u64,
    choice: FlowChoice,
    edits: &Edits,
) -> Result<(Scenario, WatchedFlow), Refusal> {
    drop_packets(&mut scenario, &edits.drops)?;
    let mut left = delays(&scenario, &edits.delays)?;
    let mut found = WatchedFlow::run(&scenario, seed, choice)?;
    // A delay changes only later packets, so the earliest packet is delayed first.
    while let Some((packet, by)) = take_earliest(&mut left, &found.packets) {
        let Some(departure) = departure(&packet, found.delays[packet.link]) else { continue };
        delay_at(&mut scenario.links[packet.link], departure, by);
        found = WatchedFlow::run(&scenario, seed, choice)?;
    }
    Ok((scenario, found))
}

fn link_named(scenario: &Scenario, name: &str) -> Result<usize, Refusal> {
    scenario.links.iter().position(|link| link.name == name).ok_or_else(|| {
        Refusal::new(format!("edits: there is no link `{name}`"), "use the link of a packet")
    })
}

/// Drops packets by masks, which stand for all packets of a link.
fn drop_packets(scenario: &mut Scenario, drops: &[PacketPlace]) -> Result<(), Refusal> {
    let mut masks: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
    for PacketPlace { link, position } in drops {
        if *position > LAST_POSITION {
            let error = format!("edits: packet {position} of link `{link}`: too large a number");
            return Err(Refusal::new(error, "drop a packet that the flow has"));
        }
        masks.entry(link_named(scenario, link)?).or_default().insert(*position);
    }
    for (index, positions) in masks {
        let link = &mut scenario.links[index];
        if link.loss.as_ref().is_some_and(|loss| !is_empty_mask(loss)) {
            let error = format!("edits: link `{}` has losses of its own", link.name);
            return Err(Refusal::new(error, "remove `loss` from the scenario's link"));
        }
        let last = positions.last().copied().unwrap_or(0);
        let entries: Vec<_> =
            (0..=last).map(|each| if positions.contains(&each) { "1" } else { "0" }).collect();
        link.loss = Some(mask(&entries.join(","))?);
    }
    Ok(())
}

/// A mask that drops nothing, as in a scenario that is a template for losses.
fn is_empty_mask(loss: &Loss) -> bool {
    matches!(loss, Loss::Mask(mask) if !mask.drops.contains('1'))
}

fn mask(drops: &str) -> Result<Loss, Refusal> {
    let loss = json!({"kind": "mask", "drops": drops, "all_packets": true});
    serde_json::from_value(loss)
        .map_err(|error| Refusal { error: format!("edits: {error}"), hint: None })
}

/// Delays by link and position.
fn delays(
    scenario: &Scenario,
    delays: &[Delayed],
) -> Result<BTreeMap<(usize, u32), Duration>, Refusal> {
    if delays.len() > MOST_DELAYED {
        let error = format!("edits: {} packets are delayed", delays.len());
        return Err(Refusal::new(error, &format!("delay at most {MOST_DELAYED}")));
    }
    let mut found = BTreeMap::new();
    for Delayed { link, position, by_ns } in delays {
        let index = link_named(scenario, link)?;
        let Link { changes, jitter, reorder, cells, .. } = &scenario.links[index];
        let varies = !changes.is_empty() || jitter.is_some() || reorder.is_some();
        if varies || cells.is_some() {
            let error = format!("edits: link `{link}` has no constant delay");
            return Err(Refusal::new(error, "remove `changes`, `jitter`, `reorder` and `cells`"));
        }
        let by = Duration::from_nanos(*by_ns);
        if by.is_zero() || by > LONGEST_DELAY {
            let error = format!("edits: a delay of {by} is not above 0 s and at most 60 s");
            return Err(Refusal::new(error, "delay the packet by less"));
        }
        found.insert((index, *position), by);
    }
    Ok(found)
}

/// Removes the delay of the packet that is sent first. Delays of packets that do not exist remain.
fn take_earliest(
    left: &mut BTreeMap<(usize, u32), Duration>,
    packets: &[WatchedPacket],
) -> Option<(WatchedPacket, Duration)> {
    let key = |packet: &WatchedPacket| (packet.link, packet.position);
    let packet = packets.iter().find(|packet| left.contains_key(&key(packet)))?;
    left.remove(&key(packet)).map(|by| (*packet, by))
}

/// The time at which a packet leaves the line of its only link; `None` if it does not arrive.
fn departure(packet: &WatchedPacket, delay: Duration) -> Option<Instant> {
    match packet.ended {
        Some((at, Fate::Arrived)) => Some(Instant::ZERO + at.since(Instant::ZERO + delay)),
        Some((_, Fate::Dropped(_))) | None => None,
    }
}

/// Adds a delay for the nanosecond of a departure.
fn delay_at(link: &mut Link, departure: Instant, by: Duration) {
    let since = |at: Instant| at.since(Instant::ZERO);
    let usual = link.delay.0;
    let mut changes: BTreeMap<Duration, Duration> = link
        .changes
        .iter()
        .map(|change| (change.at.0, change.delay.map_or(usual, |delay| delay.0)))
        .collect();
    let (at, after) = (since(departure), since(departure) + Duration::from_nanos(1));
    changes.insert(at, usual + by);
    changes.entry(after).or_insert(usual);
    let change = |(at, delay)| LinkChange {
        at: Text(at),
        delay: Some(Text(delay)),
        rate: None,
        buffer: None,
        loss: None,
    };
    link.changes = changes.into_iter().map(change).collect();
}

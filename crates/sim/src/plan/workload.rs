//! Workloads with their routes, rates, senders and TCP settings resolved.

use policy::SenderPolicy;
use policy::congestion::ControllerFactory;
use units::{Duration, Instant};

use super::PlannedLink;
use crate::convert::float;
use crate::routes::Routes;
use crate::scenario::{
    Greedy, Header, KeyPath, Opener, Poisson, Scenario, ScenarioError, TcpSettings, Time,
    Transfers, Workload,
};
use crate::sizes::SizeSampler;

/// The largest number of endless flows in a workload; more would not fit in memory.
const MOST_GREEDY: u32 = 10_000_000;

/// A workload of the plan.
#[derive(Debug, Clone)]
pub struct PlannedWorkload {
    /// The workload's name.
    pub name: String,
    /// The links of the forward path, in order.
    pub forward: Vec<usize>,
    /// The links of the return path, in order.
    pub back: Vec<usize>,
    /// The starts and sizes of the flows.
    pub demand: Demand,
    /// The senders to choose from, at least one.
    pub choices: Vec<Choice>,
    /// TCP settings of both ends.
    pub tcp: TcpSettings,
    /// Connections are opened and closed with SYN and FIN.
    pub handshake: bool,
    /// The end that opens the connection.
    pub opener: Opener,
    /// The factory of the senders' congestion controllers; `None` for those that the senders name.
    pub controller: Option<ControllerFactory>,
}

impl PlannedWorkload {
    /// Returns true if the workload's data or acknowledgments take this link.
    pub(crate) fn uses(&self, link: usize) -> bool {
        self.forward.contains(&link) || self.back.contains(&link)
    }

    /// Returns true if both workloads have the same forward and return paths.
    pub(crate) fn shares_paths_with(&self, other: &Self) -> bool {
        (&self.forward, &self.back) == (&other.forward, &other.back)
    }
}

/// A sender and its share of the flows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// Index in [`crate::Plan::senders`].
    pub sender: usize,
    /// Zero or more. The sum over a workload's choices is above zero.
    pub share: f64,
}

/// The starts and sizes of a workload's flows.
#[derive(Debug, Clone, PartialEq)]
pub enum Demand {
    /// Endless flows, each starting uniformly within `spread` of `start`.
    Greedy {
        /// The number of flows.
        flows: u32,
        /// The earliest start.
        start: Instant,
        /// The length of the interval of starts.
        spread: Duration,
    },
    /// Finite flows that start as a Poisson process.
    Poisson {
        /// Mean number of starts per second.
        per_second: f64,
        /// The distribution of sizes.
        sizes: SizeSampler,
    },
    /// Listed flows with equal time between their starts.
    Transfers {
        /// The size of each flow in bytes.
        sizes: Vec<u64>,
        /// The start of the first flow.
        start: Instant,
        /// The time from one start to the next.
        spacing: Duration,
        /// The lengths of the records that the application writes; empty if it writes a flow's
        /// data at once.
        records: Vec<u32>,
    },
}

impl Demand {
    /// The number of endless flows, all of which are active at the same time.
    pub(crate) fn endless(&self) -> u32 {
        match self {
            Self::Greedy { flows, .. } => *flows,
            Self::Poisson { .. } | Self::Transfers { .. } => 0,
        }
    }

    /// Lengths of the records that the application writes, again and again.
    pub(crate) fn records(&self) -> &[u32] {
        match self {
            Self::Transfers { records, .. } => records,
            Self::Greedy { .. } | Self::Poisson { .. } => &[],
        }
    }
}

impl PlannedWorkload {
    pub(super) fn new(
        scenario: &Scenario,
        index: usize,
        links: &[PlannedLink],
        routes: &Routes,
        senders: &mut Vec<SenderPolicy>,
    ) -> Result<Self, ScenarioError> {
        let workload = &scenario.workloads[index];
        let path = KeyPath::element("workload", index);
        let (forward, back) = paths(workload, &path, routes)?;
        // Without any rate or delay a flow would send forever within one instant.
        let takes_time = |&link: &usize| {
            let config = &links[link].config;
            config.rate.is_some() || config.rate_trace.is_some() || !config.delay.is_zero()
        };
        let problem = "the way there and back takes no time: no link on it has a rate or a delay";
        path.require(forward.iter().chain(&back).any(takes_time), problem)?;
        let demand = demand(workload, &path, scenario.duration.0, links, &forward)?;
        let tcp = scenario.tcp.resolve(workload.tcp(), &path)?;
        let known = if workload.tcp().rtt_initial.is_some() { &path } else { &KeyPath::default() };
        known.key("tcp").key("rtt_initial").require(
            tcp.rtt_initial.is_none() || !*workload.handshake(),
            "contradicts handshake = true, which measures the round-trip time",
        )?;
        check_buffers(workload.name(), &demand, &tcp, links, &forward)?;
        Ok(Self {
            name: workload.name().clone(),
            demand,
            choices: choices(workload, &path, &tcp, senders)?,
            tcp,
            handshake: *workload.handshake(),
            opener: *workload.opener(),
            controller: None,
            forward,
            back,
        })
    }

    /// The name of the random stream for the starts of flows.
    pub fn arrivals_stream(&self) -> String {
        format!("{}/arrivals", self.name)
    }

    /// The name of the random stream for sizes.
    pub fn sizes_stream(&self) -> String {
        format!("{}/sizes", self.name)
    }

    /// The name of the random stream for the choice of senders.
    pub fn senders_stream(&self) -> String {
        format!("{}/senders", self.name)
    }

    /// The name of the random stream for send jitter.
    pub fn jitter_stream(&self) -> String {
        format!("{}/jitter", self.name)
    }

    pub(super) fn stream_names(&self) -> [String; 4] {
        [self.arrivals_stream(), self.sizes_stream(), self.senders_stream(), self.jitter_stream()]
    }
}

/// Refuses a buffer on the forward path that cannot hold the workload's largest packet: it would
/// drop each of them.
fn check_buffers(
    name: &str,
    demand: &Demand,
    tcp: &TcpSettings,
    links: &[PlannedLink],
    forward: &[usize],
) -> Result<(), ScenarioError> {
    /// IP and TCP headers without options, in bytes.
    const LEAST_HEADER: u16 = 40;
    let mss = tcp.mss.get().bytes();
    let payload = match demand {
        Demand::Transfers { sizes, .. } => {
            let largest = sizes.iter().copied().max().unwrap_or(0);
            u32::try_from(largest).unwrap_or(u32::MAX).min(mss)
        }
        Demand::Greedy { .. } | Demand::Poisson { .. } => mss,
    };
    let packet = payload + u32::from(tcp.header.map_or(LEAST_HEADER, Header::get));
    for &link in forward {
        let config = &links[link].config;
        // If the packet in service is not counted, an idle line accepts any packet.
        if config.has_rate() && config.counts_in_service && !config.buffer.holds(packet) {
            let problem =
                format!("cannot hold a packet of workload `{name}`, which has {packet} bytes");
            let hint = "it would drop every packet: make the buffer larger, or `tcp.mss` smaller";
            return Err(KeyPath::element("link", link)
                .key("buffer")
                .error(&problem)
                .with_hint(hint));
        }
    }
    Ok(())
}

fn paths(
    workload: &Workload,
    path: &KeyPath,
    routes: &Routes,
) -> Result<(Vec<usize>, Vec<usize>), ScenarioError> {
    let from = path.key("from").find(workload.from(), routes.nodes(), "node")?;
    let to = path.key("to").find(workload.to(), routes.nodes(), "node")?;
    path.key("to").require(from != to, "must be another node than `from`")?;
    let forward = routes.path(from, to).ok_or_else(|| {
        path.key("to").error(&format!("no path from `{}` to `{}`", workload.from(), workload.to()))
    })?;
    let back = routes.path(to, from).ok_or_else(|| {
        let problem = format!(
            "no return path from `{}` to `{}` for acknowledgments",
            workload.to(),
            workload.from()
        );
        path.key("from").error(&problem)
    })?;
    Ok((forward, back))
}

fn demand(
    workload: &Workload,
    path: &KeyPath,
    duration: Duration,
    links: &[PlannedLink],
    forward: &[usize],
) -> Result<Demand, ScenarioError> {
    match workload {
        Workload::Greedy(workload) => greedy(workload, path, duration),
        Workload::Poisson(workload) => {
            let sizes = workload.sizes.sampler(&path.key("sizes"))?;
            let per_second = arrival_rate(workload, path, &sizes, links, forward)?;
            Ok(Demand::Poisson { per_second, sizes })
        }
        Workload::Transfers(workload) => transfers(workload, path, duration),
    }
}

fn greedy(workload: &Greedy, path: &KeyPath, duration: Duration) -> Result<Demand, ScenarioError> {
    let start = start(workload.start, path, duration)?;
    let flows = workload.flows;
    let problem = format!("{flows} is not a number from 1 to {MOST_GREEDY}");
    path.key("flows").require((1..=MOST_GREEDY).contains(&flows), &problem)?;
    Ok(Demand::Greedy { flows, start, spread: workload.spread.unwrap_or_default().0 })
}

fn transfers(
    workload: &Transfers,
    path: &KeyPath,
    duration: Duration,
) -> Result<Demand, ScenarioError> {
    let start = start(workload.start, path, duration)?;
    path.key("sizes").require(!workload.sizes.is_empty(), "must not be empty")?;
    for (i, &size) in workload.sizes.iter().enumerate() {
        path.key("sizes").index(i).require(size >= 1, "must be at least 1 byte")?;
    }
    let spacing = workload.spacing.unwrap_or_default().0;
    let records = workload.records.clone().unwrap_or_default();
    for (i, &length) in records.iter().enumerate() {
        path.key("records").index(i).require(length >= 1, "must be at least 1 byte")?;
    }
    Ok(Demand::Transfers { sizes: workload.sizes.clone(), start, spacing, records })
}

/// The earliest start of a flow.
fn start(
    start: Option<Time>,
    path: &KeyPath,
    duration: Duration,
) -> Result<Instant, ScenarioError> {
    let start = start.unwrap_or_default().0;
    let problem = format!("{start} is not before the end of the run, {duration}");
    path.key("start").require(start < duration, &problem)?;
    Ok(Instant::ZERO + start)
}

/// Flows per second: the given rate, or the load times the link's rate over the mean size in bits.
fn arrival_rate(
    workload: &Poisson,
    path: &KeyPath,
    sizes: &SizeSampler,
    links: &[PlannedLink],
    forward: &[usize],
) -> Result<f64, ScenarioError> {
    let (key, per_second) = match (workload.load, workload.rate) {
        (Some(load), None) => {
            path.key("load").positive(load)?;
            let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
            let of = workload.of.as_deref().ok_or_else(|| {
                path.key("of").error("missing; `load` needs the name of the link it refers to")
            })?;
            let link = path.key("of").find(of, &names, "link")?;
            if !forward.contains(&link) {
                let on_path: Vec<&str> = forward.iter().map(|&link| names[link]).collect();
                let error = path.key("of").error(&format!("`{of}` is not on the way of the data"));
                return Err(error.with_hint(&format!("on the way: {}", on_path.join(", "))));
            }
            let rate = links[link].config.mean_rate().ok_or_else(|| {
                path.key("of").error(&format!(
                    "`{of}` is infinitely fast, so no load can be a share of its rate"
                ))
            })?;
            ("load", load * float(rate.bits_per_sec()) / (8.0 * sizes.mean()))
        }
        (None, Some(rate)) => {
            path.key("of").require(workload.of.is_none(), "goes with `load`, not with `rate`")?;
            ("rate", path.key("rate").positive(rate)?)
        }
        (None, None) => return Err(path.error("needs `load` (with `of`) or `rate`")),
        (Some(_), Some(_)) => return Err(path.error("has `load` and `rate`; give one")),
    };
    // Time has a resolution of 1 ns; with more than one start per nanosecond the process would not
    // be Poisson.
    let problem = format!("means {per_second:e} flows per second, which is out of range");
    path.key(key).require(per_second > 1e-9 && per_second < 1e9, &problem)?;
    Ok(per_second)
}

/// The senders of a workload. New ones are added to `known`.
fn choices(
    workload: &Workload,
    path: &KeyPath,
    tcp: &TcpSettings,
    known: &mut Vec<SenderPolicy>,
) -> Result<Vec<Choice>, ScenarioError> {
    let mut add = |policy: SenderPolicy, share: f64| {
        let sender = known.iter().position(|other| *other == policy).unwrap_or_else(|| {
            known.push(policy);
            known.len() - 1
        });
        Choice { sender, share }
    };
    match (workload.sender(), workload.senders()) {
        (Some(name), None) => Ok(vec![add(sender(name, &path.key("sender"))?, 1.0)]),
        (None, Some(shares)) => {
            let list = path.key("senders");
            let mut sum = 0.0;
            let mut choices = Vec::with_capacity(shares.len());
            for (i, share) in shares.iter().enumerate() {
                let path = list.index(i);
                let problem = format!("{} is not zero or more", share.share);
                path.key("share")
                    .require(share.share >= 0.0 && share.share.is_finite(), &problem)?;
                sum += share.share;
                choices.push(add(sender(&share.sender, &path.key("sender"))?, share.share));
            }
            list.require(sum > 0.0 && sum.is_finite(), "the shares must have a sum above zero")?;
            Ok(choices)
        }
        (None, None) if tcp.profile.is_linux() => Ok(vec![add(tcp.profile.config().sender, 1.0)]),
        (None, None) => Err(path.error("needs `sender` or `senders`")),
        (Some(_), Some(_)) => Err(path.error("has `sender` and `senders`; give one")),
    }
}

/// Parses the name of a sender.
fn sender(name: &str, path: &KeyPath) -> Result<SenderPolicy, ScenarioError> {
    name.parse().map_err(|error: policy::ParseSenderError| {
        path.error(&error.to_string()).with_hint("for example `reno+sack / fs(n=4) / iw=1`")
    })
}

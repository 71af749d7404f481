//! A checked scenario: names are indexes, profiles are settings, loads are rates.
//!
//! Code that uses a [`Plan`] need not check again. Checks follow the order of the file, and the
//! first error is reported with its path.

mod cells;
mod workload;

use link::LinkConfig;
use policy::SenderPolicy;
use units::{Duration, Instant};

pub use self::workload::{Choice, Demand, PlannedWorkload};
use crate::routes::Routes;
use crate::scenario::{KeyPath, Scenario, ScenarioError};
use crate::streams::shared_stream;

/// The default of `drain` for scenarios with random arrivals.
const DRAIN: Duration = Duration::from_secs(1000);

/// A scenario ready to run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The name of the scenario, used in results.
    pub name: String,
    /// The end of the statistics, and of the run unless it drains.
    pub duration: Duration,
    /// The end of the warm-up. Flows that start later are recorded, and link statistics begin
    /// here.
    pub warm_up: Instant,
    /// The longest time after `duration` for which the run continues, until the finite flows that
    /// started before are complete.
    pub drain: Duration,
    /// The links, in the scenario's order.
    pub links: Vec<PlannedLink>,
    /// The workloads, in the scenario's order.
    pub workloads: Vec<PlannedWorkload>,
    /// The distinct senders, in order of first mention.
    pub senders: Vec<SenderPolicy>,
    /// The quantities to sample.
    pub samples: Option<PlannedSamples>,
    /// Indexes of the workloads whose packets are recorded.
    pub traced: Vec<usize>,
}

/// A link of the plan.
#[derive(Debug, Clone)]
pub struct PlannedLink {
    /// The link's name.
    pub name: String,
    /// The link's configuration.
    pub config: LinkConfig,
}

/// Regular samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedSamples {
    /// The sampling interval.
    pub every: Duration,
    /// Indexes of the workloads whose flows are sampled.
    pub workloads: Vec<usize>,
    /// Indexes of the links whose queues are sampled.
    pub links: Vec<usize>,
}

impl Plan {
    /// Checks the scenario and resolves its names, profiles and loads.
    ///
    /// # Errors
    /// The first error in the scenario, with its path.
    pub fn new(scenario: &Scenario) -> Result<Self, ScenarioError> {
        let root = KeyPath::default();
        root.key("name").require(!scenario.name.is_empty(), "must not be empty")?;
        let printable = !scenario.name.contains(char::is_control);
        root.key("name").require(printable, "must not contain control characters")?;
        let (duration, warm_up) = (scenario.duration.0, scenario.warm_up.0);
        root.key("duration").require(!duration.is_zero(), "must be above zero")?;
        let problem = format!("{warm_up} is not before the end, {duration}");
        root.key("warm_up").require(warm_up < duration, &problem)?;
        let mut links = links(scenario)?;
        let routes = routes(scenario)?;
        root.key("workload")
            .require(!scenario.workloads.is_empty(), "there must be at least one")?;
        let workload_names: Vec<&str> =
            scenario.workloads.iter().map(|workload| workload.name().as_str()).collect();
        check_names("workload", &workload_names)?;
        let mut senders = Vec::new();
        let workloads = (0..scenario.workloads.len())
            .map(|index| PlannedWorkload::new(scenario, index, &links, &routes, &mut senders))
            .collect::<Result<Vec<_>, _>>()?;
        check_streams(&links, &workloads)?;
        cells::connect(&mut links, &workloads)?;
        let trace = root.key("trace");
        let traced = scenario.trace.iter().enumerate();
        let traced = traced.map(|(i, name)| trace.index(i).find(name, &workload_names, "workload"));
        let arrives_at_random =
            |workload: &PlannedWorkload| matches!(workload.demand, Demand::Poisson { .. });
        let default_drain =
            if workloads.iter().any(arrives_at_random) { DRAIN } else { Duration::ZERO };
        Ok(Self {
            name: scenario.name.clone(),
            duration,
            warm_up: Instant::ZERO + warm_up,
            drain: scenario.drain.map_or(default_drain, |drain| drain.0),
            samples: samples(scenario, &workload_names)?,
            traced: traced.collect::<Result<_, _>>()?,
            links,
            workloads,
            senders,
        })
    }

    /// The end of the statistics.
    pub fn end(&self) -> Instant {
        Instant::ZERO + self.duration
    }

    /// The latest end of the run.
    pub fn limit(&self) -> Instant {
        self.end() + self.drain
    }

    /// The time before which the flows of a workload start. Random arrivals continue while the run
    /// drains, so that the load stays the same.
    pub fn end_of_starts(&self, workload: &PlannedWorkload) -> Instant {
        match workload.demand {
            Demand::Poisson { .. } => self.limit(),
            Demand::Greedy { .. } | Demand::Transfers { .. } => self.end(),
        }
    }

    /// Returns true if a flow that starts at this time has a row of its own.
    pub fn counts(&self, start: Instant) -> bool {
        self.warm_up <= start && start < self.end()
    }
}

impl PlannedLink {
    fn streams(&self) -> [String; 4] {
        [self.loss_stream(), self.early_stream(), self.reorder_stream(), self.jitter_stream()]
    }

    /// The name of the random stream for losses.
    pub fn loss_stream(&self) -> String {
        loss_stream(&self.name)
    }

    /// The name of the random stream for early drops and marks.
    pub fn early_stream(&self) -> String {
        early_stream(&self.name)
    }

    /// The name of the random stream for reordering.
    pub fn reorder_stream(&self) -> String {
        format!("{}/reorder", self.name)
    }

    /// The name of the random stream for jitter.
    pub fn jitter_stream(&self) -> String {
        format!("{}/jitter", self.name)
    }
}

/// The name of the random stream for losses on a link.
pub(crate) fn loss_stream(link: &str) -> String {
    format!("{link}/loss")
}

/// The name of the random stream for early drops and marks on a link.
pub(crate) fn early_stream(link: &str) -> String {
    format!("{link}/early")
}

fn links(scenario: &Scenario) -> Result<Vec<PlannedLink>, ScenarioError> {
    KeyPath::default()
        .key("link")
        .require(!scenario.links.is_empty(), "there must be at least one")?;
    let names: Vec<&str> = scenario.links.iter().map(|link| link.name.as_str()).collect();
    check_names("link", &names)?;
    let plan = |(index, link): (usize, &crate::scenario::Link)| {
        let path = KeyPath::element("link", index);
        path.key("from").require(!link.from.is_empty(), "a node needs a name")?;
        path.key("to").require(!link.to.is_empty(), "a node needs a name")?;
        path.key("to").require(link.to != link.from, "a link must lead to another node")?;
        Ok(PlannedLink { name: link.name.clone(), config: link.config(&path)? })
    };
    scenario.links.iter().enumerate().map(plan).collect()
}

fn routes(scenario: &Scenario) -> Result<Routes, ScenarioError> {
    let mut routes =
        Routes::new(scenario.links.iter().map(|link| (link.from.as_str(), link.to.as_str())));
    let names: Vec<&str> = scenario.links.iter().map(|link| link.name.as_str()).collect();
    for (index, route) in scenario.routes.iter().enumerate() {
        let path = KeyPath::element("route", index);
        let from = path.key("from").find(&route.from, routes.nodes(), "node")?;
        let to = path.key("to").find(&route.to, routes.nodes(), "node")?;
        let via = path.key("via");
        let links =
            route.via.iter().enumerate().map(|(i, name)| via.index(i).find(name, &names, "link"));
        let links = links.collect::<Result<Vec<_>, _>>()?;
        routes.set(from, to, links).map_err(|error| via.error(&error.to_string()))?;
    }
    Ok(routes)
}

fn samples(
    scenario: &Scenario,
    workloads: &[&str],
) -> Result<Option<PlannedSamples>, ScenarioError> {
    let Some(samples) = &scenario.samples else { return Ok(None) };
    let links: Vec<&str> = scenario.links.iter().map(|link| link.name.as_str()).collect();
    let path = KeyPath::default().key("samples");
    path.key("every").require(!samples.every.0.is_zero(), "must be above zero")?;
    let resolve = |key: &str, what: &str, wanted: &[String], known: &[&str]| {
        let find = |(i, name): (usize, &String)| path.key(key).index(i).find(name, known, what);
        wanted.iter().enumerate().map(find).collect::<Result<Vec<_>, _>>()
    };
    Ok(Some(PlannedSamples {
        every: samples.every.0,
        workloads: resolve("workloads", "workload", &samples.workloads, workloads)?,
        links: resolve("links", "link", &samples.links, &links)?,
    }))
}

/// Checks that names are unique and contain no `/`, which streams (`web/sizes`) and samples
/// (`greedy/3`) use.
fn check_names(list: &str, names: &[&str]) -> Result<(), ScenarioError> {
    for (index, name) in names.iter().enumerate() {
        let path = KeyPath::element(list, index).key("name");
        path.require(!name.is_empty(), "must not be empty")?;
        let plain = !name.contains(|c: char| c == '/' || c.is_control());
        path.require(plain, "must not contain `/` or control characters")?;
        let problem = format!("`{name}` is the name of {list}[{}] already", first(names, name));
        path.require(first(names, name) == index, &problem)?;
    }
    Ok(())
}

fn first(names: &[&str], name: &str) -> usize {
    names.iter().position(|other| *other == name).unwrap_or(names.len())
}

fn check_streams(
    links: &[PlannedLink],
    workloads: &[PlannedWorkload],
) -> Result<(), ScenarioError> {
    let mut names: Vec<String> = links.iter().flat_map(PlannedLink::streams).collect();
    for workload in workloads {
        names.extend(workload.stream_names());
    }
    match shared_stream(names.iter().map(String::as_str)) {
        None => Ok(()),
        Some((a, b)) => {
            let problem = format!("`{a}` and `{b}` would share one stream of random numbers");
            Err(ScenarioError::new("", &problem).with_hint("rename one of the two"))
        }
    }
}

#[cfg(test)]
mod tests;

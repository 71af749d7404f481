//! Models of a run that the caller implements: loss models, queue disciplines and congestion
//! controllers.
//!
//! They cannot be part of a scenario, which is data. [`Simulation::with_models`] takes them besides
//! the scenario.
//!
//! [`Simulation::with_models`]: crate::Simulation::with_models

use link::{CustomDiscipline, CustomLoss, Discipline, Factory, LossModel, Offered};
use policy::congestion::ControllerFactory;
use units::hash::fnv;

use crate::plan::{Plan, PlannedLink, early_stream, loss_stream};
use crate::scenario::{KeyPath, Scenario, ScenarioError};
use crate::streams::{LinkDraws, Seed, flow_index};

/// Factories of the models that the caller of a run implements, by name of link or workload.
#[derive(Debug, Clone, Default)]
pub struct CustomModels {
    /// Loss models, by link.
    pub losses: Vec<(String, Factory<dyn CustomLoss>)>,
    /// Queue disciplines, by link.
    pub disciplines: Vec<(String, Factory<dyn CustomDiscipline>)>,
    /// Congestion controllers of senders, by workload. Each connection has its own controller.
    pub controllers: Vec<(String, ControllerFactory)>,
}

impl CustomModels {
    /// Puts the models in a plan.
    ///
    /// # Errors
    /// If there is no link or workload of a name, or the link has such a model already.
    pub(crate) fn apply(&self, plan: &mut Plan) -> Result<(), ScenarioError> {
        for (name, factory) in &self.losses {
            let path = KeyPath::default().key("loss");
            let (index, link) = link(plan, &path, name)?;
            if link.config.loss != LossModel::None {
                return Err(taken(&path, name, "loss model", &format!("link[{index}].loss")));
            }
            let later = link.config.changes.configs_mut();
            for loss in later.map(|config| &mut config.loss).chain([&mut link.config.loss]) {
                if *loss == LossModel::None {
                    *loss = LossModel::Custom(factory.clone());
                }
            }
        }
        for (name, factory) in &self.disciplines {
            let path = KeyPath::default().key("queue");
            let (index, link) = link(plan, &path, name)?;
            if link.config.port.is_some() {
                return Err(taken(&path, name, "port of cells", &format!("link[{index}].cells")));
            }
            if link.config.discipline != Discipline::DropTail {
                let key = format!("link[{index}].buffer");
                return Err(taken(&path, name, "queue discipline", &key));
            }
            let later = link.config.changes.configs_mut().map(|config| &mut config.discipline);
            for discipline in later.chain([&mut link.config.discipline]) {
                if *discipline == Discipline::DropTail {
                    *discipline = Discipline::Custom(factory.clone());
                }
            }
        }
        let workloads: Vec<String> = plan.workloads.iter().map(|each| each.name.clone()).collect();
        for (name, factory) in &self.controllers {
            let path = KeyPath::default().key("controllers");
            let index = path.find(name, &workloads, "workload")?;
            plan.workloads[index].controller = Some(factory.clone());
        }
        Ok(())
    }
}

/// The index and the link of this name.
fn link<'p>(
    plan: &'p mut Plan,
    path: &KeyPath,
    name: &str,
) -> Result<(usize, &'p mut PlannedLink), ScenarioError> {
    let names: Vec<&str> = plan.links.iter().map(|link| link.name.as_str()).collect();
    let index = path.find(name, &names, "link")?;
    Ok((index, &mut plan.links[index]))
}

/// The error of a link whose model would be replaced.
fn taken(path: &KeyPath, name: &str, what: &str, key: &str) -> ScenarioError {
    path.error(&format!("link `{name}` already has a {what}"))
        .with_hint(&format!("remove it from the scenario: `{key}`"))
}

/// The names of the packets on a link, to describe a packet that a model sees.
///
/// A packet offered to a link does not carry its name, which would cost every run. The name follows
/// from the flow's identity and the packet's draw, whose functions are bijections.
#[derive(Debug, Clone)]
pub struct PacketNames {
    /// Names of workloads in order, each with its hash.
    workloads: Vec<(String, u64)>,
    draws: LinkDraws,
}

/// The flow of a packet, and the packet's number in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketName<'n> {
    /// The name of the workload.
    pub workload: &'n str,
    /// The number of the flow in its workload, from 0, in order of starting.
    pub flow_index: u64,
    /// The number of the packet in its flow, from 0; both directions count together.
    pub packet: u64,
    /// The end that sends the flow's data has sent the packet.
    pub is_forward: bool,
}

impl PacketNames {
    /// The names of the packets that a loss model of `link` sees.
    pub fn of_loss(scenario: &Scenario, seed: Seed, link: &str) -> Self {
        Self::new(scenario, seed.link_draws(&loss_stream(link)))
    }

    /// The names of the packets that a discipline of `link` sees.
    pub fn of_queue(scenario: &Scenario, seed: Seed, link: &str) -> Self {
        Self::new(scenario, seed.link_draws(&early_stream(link)))
    }

    fn new(scenario: &Scenario, draws: LinkDraws) -> Self {
        let names = scenario.workloads.iter().map(|workload| workload.name().clone());
        Self { workloads: names.map(|name| (name.clone(), fnv(&name))).collect(), draws }
    }

    /// The name of a packet that the link has received, with the draw for the decision on it.
    pub fn of(&self, packet: &Offered, draw: u64) -> PacketName<'_> {
        let (path, is_back) = (packet.path >> 1, packet.path & 1);
        let workload = usize::try_from(path).ok().and_then(|index| self.workloads.get(index));
        let (workload, hash) = workload.map_or(("", 0), |(name, hash)| (name.as_str(), *hash));
        let identity = packet.flow ^ is_back;
        PacketName {
            workload,
            flow_index: flow_index(hash, identity),
            packet: self.draws.serial(identity, draw),
            is_forward: is_back == 0,
        }
    }
}

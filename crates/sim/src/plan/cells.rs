//! Links that lead to a port: they deliver a packet with its first cell.

use super::{PlannedLink, PlannedWorkload};
use crate::scenario::{KeyPath, ScenarioError};

/// Enables cut-through on the links in front of ports.
///
/// A port reassembles packets, since its cells are no longer evenly spaced: a second port behind it
/// would need each cell's time. A link delivers either to ports only or to other links only.
pub(super) fn connect(
    links: &mut [PlannedLink],
    workloads: &[PlannedWorkload],
) -> Result<(), ScenarioError> {
    // For each link: a port that it leads to, and whether it also leads elsewhere.
    let mut ahead: Vec<(Option<usize>, bool)> = vec![(None, false); links.len()];
    for path in workloads.iter().flat_map(|workload| [&workload.forward, &workload.back]) {
        for (hop, &link) in path.iter().enumerate() {
            match path.get(hop + 1).filter(|&&next| links[next].config.port.is_some()) {
                Some(&port) => ahead[link].0 = Some(port),
                None => ahead[link].1 = true,
            }
        }
    }
    for (number, (port, elsewhere)) in ahead.into_iter().enumerate() {
        let Some(port) = port else { continue };
        let path = KeyPath::element("link", number);
        let port = &links[port].name;
        if links[number].config.port.is_some() {
            let problem =
                format!("a port cannot lead to another port, `{port}`: its cells are interleaved");
            let hint =
                "put a link without a buffer of `cells` between the two: there packets are whole";
            return Err(path.key("buffer").key("cells").error(&problem).with_hint(hint));
        }
        if elsewhere {
            let problem = format!(
                "leads to the port `{port}` and to somewhere else, so to cells and to packets"
            );
            return Err(path
                .error(&problem)
                .with_hint("give what goes to the port a link of its own"));
        }
        let config = &links[number].config;
        for (key, given) in [
            ("changes", !(config.delay_changes.is_empty() && config.changes.is_empty())),
            ("jitter", config.jitter.is_some()),
            ("reorder", config.reorder.is_some()),
        ] {
            let problem = format!(
                "does not go with cells that come in order: the link leads to the port `{port}`"
            );
            path.key(key).require(!given, &problem)?;
        }
        links[number].config.cut_through = true;
    }
    Ok(())
}

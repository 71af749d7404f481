//! Static routes: the links that a packet takes from one node to another.
//!
//! The path has the fewest hops. Among paths of equal length the one whose links come first in the
//! scenario is chosen, compared link by link. A breadth-first search that tries links in their
//! order finds exactly that path. An explicit route replaces the search for its own pair of nodes
//! and no other.

use std::collections::{BTreeMap, VecDeque};

use thiserror::Error;

/// A graph of nodes and directed links, both identified by index.
#[derive(Debug, Clone, Default)]
pub(crate) struct Routes {
    /// Node names in order of first mention.
    nodes: Vec<String>,
    /// The start and end nodes of each link.
    links: Vec<(usize, usize)>,
    explicit: BTreeMap<(usize, usize), Vec<usize>>,
}

/// An invalid explicit route.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum RouteError {
    /// The route has no links.
    #[error("has no link")]
    Empty,
    /// A link does not start where the previous one ends.
    #[error("link {position} of the route starts at `{starts}`, but the packet is at `{at}`")]
    Gap {
        /// The link's position in the route, from 0.
        position: usize,
        /// The end of the previous link.
        at: String,
        /// The start of the link.
        starts: String,
    },
    /// The route ends at another node.
    #[error("ends at `{ends}` instead of `{wanted}`")]
    End {
        /// The node at which it ends.
        ends: String,
        /// The node at which it should end.
        wanted: String,
    },
    /// The route contains a link twice.
    #[error("takes one link twice")]
    Loop,
    /// The pair of nodes already has an explicit route.
    #[error("there is another route for the same two nodes")]
    Duplicate,
}

impl Routes {
    /// The graph of `links`, each given by the names of the nodes it joins.
    pub(crate) fn new<'a>(links: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut graph = Self::default();
        for (from, to) in links {
            let ends = (graph.intern(from), graph.intern(to));
            graph.links.push(ends);
        }
        graph
    }

    /// Names of the nodes, in order of first mention.
    pub(crate) fn nodes(&self) -> &[String] {
        &self.nodes
    }

    /// The index of the node called `name`.
    pub(crate) fn node(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node == name)
    }

    /// Sets the links `via` as the route from `from` to `to`.
    ///
    /// # Errors
    /// If `via` is not a path from `from` to `to`, or the pair already has an explicit route.
    pub(crate) fn set(
        &mut self,
        from: usize,
        to: usize,
        via: Vec<usize>,
    ) -> Result<(), RouteError> {
        if via.is_empty() {
            return Err(RouteError::Empty);
        }
        let mut at = from;
        for (position, &link) in via.iter().enumerate() {
            let (starts, ends) = self.links[link];
            if starts != at {
                let (at, starts) = (self.nodes[at].clone(), self.nodes[starts].clone());
                return Err(RouteError::Gap { position, at, starts });
            }
            if via[..position].contains(&link) {
                return Err(RouteError::Loop);
            }
            at = ends;
        }
        if at != to {
            return Err(RouteError::End {
                ends: self.nodes[at].clone(),
                wanted: self.nodes[to].clone(),
            });
        }
        if self.explicit.insert((from, to), via).is_some() {
            return Err(RouteError::Duplicate);
        }
        Ok(())
    }

    /// The links from `from` to `to`, in order; `None` if there is no path.
    pub(crate) fn path(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        self.explicit.get(&(from, to)).cloned().or_else(|| self.shortest(from, to))
    }

    fn shortest(&self, from: usize, to: usize) -> Option<Vec<usize>> {
        // The link by which a node was first reached.
        let mut reached: Vec<Option<usize>> = vec![None; self.nodes.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            if at == to {
                break;
            }
            for (link, &(starts, ends)) in self.links.iter().enumerate() {
                if starts == at && ends != from && reached[ends].is_none() {
                    reached[ends] = Some(link);
                    queue.push_back(ends);
                }
            }
        }
        let mut path = Vec::new();
        let mut at = to;
        while at != from {
            let link = reached[at]?;
            path.push(link);
            at = self.links[link].0;
        }
        path.reverse();
        Some(path)
    }

    fn intern(&mut self, name: &str) -> usize {
        self.node(name).unwrap_or_else(|| {
            self.nodes.push(name.to_owned());
            self.nodes.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fewest_hops_then_order_of_links() {
        let graph =
            Routes::new([("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("d", "a"), ("b", "d")]);
        let node = |name| graph.node(name).unwrap();
        assert_eq!(graph.path(node("a"), node("d")), Some(vec![0, 1]));
        assert_eq!(graph.path(node("c"), node("b")), Some(vec![3, 4, 0]));
        assert_eq!(Routes::new([("a", "b")]).path(1, 0), None);
    }

    #[test]
    fn explicit_routes_must_join_up() {
        let mut graph = Routes::new([("a", "b"), ("b", "d"), ("a", "c"), ("c", "d"), ("d", "a")]);
        let (a, d) = (graph.node("a").unwrap(), graph.node("d").unwrap());
        assert_eq!(graph.set(a, d, vec![2, 3]), Ok(()));
        assert_eq!(graph.path(a, d), Some(vec![2, 3]));
        assert_eq!(graph.set(a, d, vec![0, 1]), Err(RouteError::Duplicate));
        assert_eq!(graph.set(d, a, vec![]), Err(RouteError::Empty));
        assert_eq!(
            graph.set(d, a, vec![4, 1]).unwrap_err().to_string(),
            "link 1 of the route starts at `b`, but the packet is at `a`"
        );
        assert_eq!(
            graph.set(d, a, vec![4, 0]).unwrap_err().to_string(),
            "ends at `b` instead of `a`"
        );
        assert_eq!(graph.set(d, a, vec![4, 0, 1, 4]), Err(RouteError::Loop));
    }

    /// All simple paths, by exhaustive search.
    fn all_paths(links: &[(usize, usize)], from: usize, to: usize) -> Vec<Vec<usize>> {
        let mut found = Vec::new();
        let mut open = vec![(from, vec![], vec![from])];
        while let Some((at, path, seen)) = open.pop() {
            if at == to {
                found.push(path);
                continue;
            }
            for (link, &(starts, ends)) in links.iter().enumerate() {
                if starts == at && !seen.contains(&ends) {
                    let (mut path, mut seen) = (path.clone(), seen.clone());
                    path.push(link);
                    seen.push(ends);
                    open.push((ends, path, seen));
                }
            }
        }
        found
    }

    proptest! {
        #[test]
        fn no_path_is_shorter_or_earlier(links in prop::collection::vec((0usize..6, 0usize..6), 1..14)) {
            let names: Vec<String> = (0..6).map(|n| n.to_string()).collect();
            let graph = Routes::new(links.iter().map(|&(f, t)| (names[f].as_str(), names[t].as_str())));
            let links: Vec<_> = graph.links.clone();
            for from in 0..graph.nodes().len() {
                for to in (0..graph.nodes().len()).filter(|&to| to != from) {
                    let best = all_paths(&links, from, to).into_iter().min_by_key(|p| (p.len(), p.clone()));
                    prop_assert_eq!(graph.path(from, to), best);
                }
            }
        }
    }
}

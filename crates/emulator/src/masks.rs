//! Loss masks of consecutive connections: many experiments with explicit losses share one link.

use std::collections::HashMap;
use std::sync::Arc;

use link::{CustomLoss, Factory, LossFacts, LossModel};

/// A loss model with a mask for each connection.
///
/// The n-th connection, in the order of its first counted packet, has the n-th mask. A connection
/// without a mask loses nothing. A hash of 64 bits of the addresses and ports
/// identifies a connection.
#[derive(Debug)]
pub(crate) struct ConnectionMasks {
    masks: Arc<[Vec<bool>]>,
    data_only: bool,
    /// Number of the mask of a connection, and of its next entry.
    positions: HashMap<u64, (usize, usize)>,
}

impl ConnectionMasks {
    /// Creates the model. With `data_only` an entry stands for a TCP segment with data, otherwise
    /// for any packet.
    pub(crate) fn model(masks: Vec<Vec<bool>>, data_only: bool) -> LossModel {
        let masks: Arc<[Vec<bool>]> = masks.into();
        LossModel::Custom(Factory::new(move || {
            let masks = Arc::clone(&masks);
            let state = Self { masks, data_only, positions: HashMap::new() };
            Box::new(state) as Box<dyn CustomLoss>
        }))
    }
}

impl CustomLoss for ConnectionMasks {
    fn loses(&mut self, facts: &LossFacts) -> bool {
        if self.data_only && !facts.packet.data {
            return false;
        }
        let number = self.positions.len();
        let is_new = !self.positions.contains_key(&facts.packet.flow);
        if is_new && number >= self.masks.len() {
            return false;
        }
        let (mask, next) = self.positions.entry(facts.packet.flow).or_insert((number, 0));
        let lost = self.masks.get(*mask).and_then(|mask| mask.get(*next)).copied();
        *next += 1;
        lost.unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use link::Offered;
    use units::Instant;

    use super::*;

    fn outcomes(data_only: bool, packets: &[(u64, bool)]) -> Vec<bool> {
        let masks = vec![vec![true, false], vec![false, true]];
        let masks: Arc<[Vec<bool>]> = masks.into();
        let mut model = ConnectionMasks { masks, data_only, positions: HashMap::new() };
        let loses = |&(flow, data): &(u64, bool)| {
            let packet = Offered { data, flow, ..Offered::default() };
            model.loses(&LossFacts { now: Instant::ZERO, packet, draw: 0 })
        };
        packets.iter().map(loses).collect()
    }

    #[test]
    fn each_connection_has_its_mask() {
        let packets = [(7, true), (9, true), (9, true), (7, true), (9, true), (3, true), (7, true)];
        assert_eq!(outcomes(true, &packets), [true, false, true, false, false, false, false]);
    }

    #[test]
    fn segments_without_data_use_up_entries_only_of_a_mask_of_all_packets() {
        let packets = [(7, false), (9, true), (7, true)];
        assert_eq!(outcomes(true, &packets), [false, true, false]);
        assert_eq!(outcomes(false, &packets), [true, false, false]);
    }
}

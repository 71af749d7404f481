//! Changes of the configuration while packets are in the link.

use units::{Duration, Instant, Serializer};

use super::Link;
use super::extensions::{Early, Extensions};
use crate::config::{Discipline, LinkChanges, LinkConfig};
use crate::decision::QueueParameters;
use crate::error::ConfigError;
use crate::packet::InFlight;
use crate::path::{Extra, Path, Queued};

impl<P> Link<P> {
    /// The configuration of the link, with all changes so far.
    pub fn config(&self) -> &LinkConfig {
        &self.config
    }

    /// Changes the configuration at `now`. No packet is dropped by the change.
    ///
    /// - The packet in transmission ends at the old rate. Packets that wait are sent at the new
    ///   rate. Without a rate, all of them leave at once.
    /// - Packets that leave the line after the change have the new delay. If it is shorter, they
    ///   overtake earlier packets. With CoDel, the packet in transmission keeps the old delay.
    /// - Packets in the queue stay there, also if they exceed a smaller limit.
    /// - A loss already decided stays decided. A part of the configuration that does not change
    ///   keeps its state. A chain of burst losses, the average of RED, the state of CoDel and the
    ///   recovery periods of balanced discard also remain if their parameters change.
    ///
    /// `changes` of the configuration that lie in the past count as made. Afterwards,
    /// [`next_delivery`](Self::next_delivery) may be earlier than before, and
    /// [`newest_mut`](Self::newest_mut) is not defined until the next offer.
    ///
    /// # Errors
    /// If the change adds or removes CoDel, or alters cells, FQ-CoDel, a shaper or a trace of the
    /// rate. The link is unchanged then.
    pub fn reconfigure(&mut self, now: Instant, config: LinkConfig) -> Result<(), ConfigError> {
        self.advance_to(now);
        let config = LinkChanges::at(config, self.now);
        self.config.check_change(&config)?;
        self.change_to(Box::new(config));
        Ok(())
    }

    /// Makes the changes of the configuration up to `now`.
    pub(super) fn make_changes(&mut self, now: Instant) {
        while let Some(extensions) = self.extensions.as_deref()
            && let Some(at) = extensions.next_change.filter(|at| *at <= now)
        {
            self.advance_clock(at);
            self.apply_verdicts();
            let config = LinkChanges::at((*self.config).clone(), at);
            self.change_to(Box::new(config));
        }
    }

    fn change_to(&mut self, config: Box<LinkConfig>) {
        let (waiting, floor) = self.take_waiting();
        let from = std::mem::replace(&mut self.config, config);
        self.loss.change(&from.loss, &self.config.loss);
        self.loss_point = self.config.loss_point;
        self.delay = self.config.delay;
        let mut extensions = Extensions::build(&self.config);
        if let Some(old) = self.extensions.take() {
            extensions.continue_from(*old, &from, &self.config);
        }
        let LinkConfig { delay, delay_changes, jitter, reorder, .. } = &*self.config;
        let mut path = Path::adjustable(*delay, delay_changes, jitter.as_ref(), *reorder);
        path.begin_at(floor);
        extensions.path = Some(path);
        self.extensions = Some(Box::new(extensions));
        self.queue.set_buffer(self.config.buffer, self.config.counts_in_service);
        if self.config.rate != from.rate {
            self.change_rate();
        }
        self.put_waiting(waiting);
    }

    /// Removes the packets that have not left the line from those with a known delivery. Returns
    /// them in order of departure, with the random parts of their delays, and the last delivery of
    /// the packets before them.
    fn take_waiting(&mut self) -> (Vec<(InFlight<P>, Extra, Duration)>, Instant) {
        let now = self.now;
        let (mut queued, mut floor) = (Vec::new(), Instant::ZERO);
        if let Some(extensions) = self.extensions.as_deref_mut()
            && let Some(path) = &mut extensions.path
        {
            path.queued.retire(now);
            (queued, floor) = path.queued.packets();
        }
        let kept: Vec<(Instant, u32)> = self
            .queue
            .residents()
            .filter_map(|(departure, bytes, lost)| (!lost).then_some((departure, bytes)))
            .collect();
        let mut waiting = Vec::with_capacity(kept.len());
        // From the last to the first: of packets with one delivery time, the last accepted is last.
        for (position, &(departure, bytes)) in kept.iter().enumerate().rev() {
            let (delivery, extra, late) = if let Some(packet) = queued.get(position) {
                (packet.delivery, packet.extra, packet.late)
            } else {
                // Without a path, the delay is constant.
                let none = Extra::default();
                (self.delivery_time(departure, bytes, none), none, Duration::ZERO)
            };
            let behind = self.in_flight.partition_point(|packet| packet.delivery <= delivery);
            let Some(packet) = behind.checked_sub(1).and_then(|at| self.in_flight.remove(at))
            else {
                continue;
            };
            debug_assert_eq!((packet.delivery, packet.bytes), (delivery, bytes));
            waiting.push((packet, extra, late));
        }
        waiting.reverse();
        (waiting, floor)
    }

    /// Reschedules the packets that wait for the line, and begins to use the new rate.
    fn change_rate(&mut self) {
        let now = self.now;
        let framing = self.config.framing;
        let free_at = self.queue.in_service_until().unwrap_or(Instant::ZERO);
        self.line = self.config.rate.map(|rate| Serializer::busy_until(rate, free_at));
        let line = &mut self.line;
        self.queue.reschedule(now, |position, departure, bytes| match line {
            // An infinitely fast line holds no packet.
            None => now,
            Some(_) if position == 0 => departure,
            Some(line) => line.send(now, framing.line_bytes(bytes)),
        });
    }

    /// Returns the packets to the link, with their new delivery times.
    fn put_waiting(&mut self, waiting: Vec<(InFlight<P>, Extra, Duration)>) {
        let residents: Vec<Instant> = self
            .queue
            .residents()
            .filter_map(|(departure, _, lost)| (!lost).then_some(departure))
            .collect();
        for ((packet, extra, late), departure) in waiting.into_iter().zip(residents) {
            let delivery = self.delivery_time(departure, packet.bytes, extra) + late;
            self.in_flight.push_back(InFlight { delivery, ..packet });
            if let Some(extensions) = self.extensions.as_deref_mut()
                && let Some(path) = &mut extensions.path
            {
                path.queued.push(Queued { departure, delivery, extra, late });
            }
        }
        // Stable: packets with one delivery time stay in order.
        self.in_flight.make_contiguous().sort_by_key(|packet| packet.delivery);
        self.advance_clock(self.now);
    }
}

impl<P> Extensions<P> {
    /// Takes the state of the features that continue after a change of the configuration.
    fn continue_from(&mut self, old: Self, from: &LinkConfig, to: &LinkConfig) {
        match (old.early, &to.discipline) {
            (Early::Red(mut state), Discipline::Red(red)) => {
                state.change(*red, to.mean_rate());
                self.early = Early::Red(state);
            }
            (Early::Balanced(mut state), Discipline::Balanced(balanced)) => {
                state.change(*balanced, to.buffer.capacity());
                self.early = Early::Balanced(state);
            }
            (Early::Custom(state), discipline) if *discipline == from.discipline => {
                self.early = Early::Custom(state);
            }
            _ => {}
        }
        if from.loss == to.loss {
            self.loss = old.loss;
        }
        if from.police == to.police {
            self.policer = old.policer;
        }
        // A shaper and a trace are fixed.
        self.transmitter = old.transmitter;
        if let Some(mut deferred) = old.deferred {
            let codel = match &to.discipline {
                Discipline::CoDel(codel) => Some(codel.parts()),
                _ => None,
            };
            deferred.queue.change(QueueParameters {
                rate: to.rate.filter(|_| from.rate != to.rate),
                buffer: to.buffer,
                counts_in_service: to.counts_in_service,
                codel,
            });
            self.deferred = Some(deferred);
        }
    }
}

impl LinkConfig {
    /// Checks that a link with this configuration can [change](Link::reconfigure) to another one.
    ///
    /// # Errors
    /// If cells, the use of CoDel, FQ-CoDel, a shaper or a trace of the rate differ.
    pub fn check_change(&self, to: &Self) -> Result<(), ConfigError> {
        let fixed = |part| Err(ConfigError::Fixed { part });
        let cells = |config: &Self| (config.framing, config.cut_through, config.port);
        if cells(self) != cells(to) || (to.port.is_some() && self.rate != to.rate) {
            return fixed("a link of cells");
        }
        if self.has_deferred_verdicts() != to.has_deferred_verdicts() {
            return fixed("the use of CoDel");
        }
        let fair = |config: &Self| match config.discipline {
            Discipline::FqCoDel(fair) => Some(fair),
            _ => None,
        };
        if fair(self) != fair(to) {
            return fixed("FQ-CoDel");
        }
        let shaped = |config: &Self| config.rate_trace.is_some() || config.shape.is_some();
        let same =
            (&self.rate, &self.rate_trace, self.shape) == (&to.rate, &to.rate_trace, to.shape);
        if (shaped(self) || shaped(to)) && !same {
            return fixed("a rate trace or a shaper, or the rate beside them,");
        }
        Ok(())
    }
}

//! Sends responses: their text, the ranges of a file that follow it, or a listing in pieces.

use std::os::unix::fs::FileExt;

use units::Instant;

use super::{Entry, Exchange, FileServer, Step};
use crate::stack::Stack;

/// Maximum number of file bytes in memory at once.
pub(super) const CHUNK: usize = 64 << 10;

impl FileServer {
    pub(super) fn send(
        &mut self,
        stack: &mut Stack,
        exchange: &mut Entry<Exchange>,
        budget: &mut usize,
        now: Instant,
    ) -> Step {
        let id = exchange.id;
        if exchange.sent < exchange.text.len() {
            let Ok(taken) = stack.write(id, &exchange.text[exchange.sent..], now) else {
                return Step::Wait;
            };
            exchange.sent += taken;
            if exchange.sent < exchange.text.len() {
                return Step::Wait;
            }
            (exchange.text, exchange.sent) = (Vec::new(), 0);
            return Step::More;
        }
        if exchange.listing.is_some() {
            return self.send_listing(stack, exchange, budget, now);
        }
        let Some((file, at, end)) = &mut exchange.file else { return Step::More };
        if *budget == 0 {
            self.exchanges.defer(exchange);
            return Step::Wait;
        }
        let left = usize::try_from(*end - *at).unwrap_or(usize::MAX);
        let room = stack.writable(id).min(CHUNK).min(*budget).min(left);
        if room == 0 {
            return Step::Wait;
        }
        match file.read_at(&mut self.chunk[..room], *at) {
            Ok(count) if count > 0 => {
                let Ok(taken) = stack.write(id, &self.chunk[..count], now) else {
                    return Step::Wait;
                };
                *at += taken as u64;
                *budget -= taken;
                exchange.finish_part();
                Step::More
            }
            // The file was truncated or cannot be read.
            _ => {
                abort(stack, exchange, now);
                Step::Wait
            }
        }
    }

    /// Generates the next piece of a listing, if the peer is about to have room for it. Unlike file
    /// data, a piece costs work in proportion to its length, and the peer may never read it.
    fn send_listing(
        &mut self,
        stack: &mut Stack,
        exchange: &mut Entry<Exchange>,
        budget: &mut usize,
        now: Instant,
    ) -> Step {
        if *budget == 0 {
            self.exchanges.defer(exchange);
            return Step::Wait;
        }
        // Twice the congestion window: the data in flight, and the data that its acknowledgments
        // release.
        let ahead = stack.connection(exchange.id).map_or(0, |connection| 2 * connection.cwnd());
        if exchange.in_names_queue || stack.writable_ahead(exchange.id, ahead) == 0 {
            return Step::Wait;
        }
        let Some(listing) = &mut exchange.listing else { return Step::More };
        let (piece, is_last) = match listing.next_piece(&mut self.names, now) {
            Ok(Some(next)) => next,
            Ok(None) => {
                exchange.in_names_queue = true;
                self.names_queue.push_back(exchange.id);
                return Step::Wait;
            }
            Err(_) => {
                abort(stack, exchange, now);
                return Step::Wait;
            }
        };
        *budget = budget.saturating_sub(piece.len());
        exchange.text = piece;
        if is_last {
            exchange.listing = None;
        }
        Step::More
    }
}

/// Aborts a response that cannot be completed. An orderly close would make it look complete.
fn abort(stack: &mut Stack, exchange: &mut Entry<Exchange>, now: Instant) {
    exchange.discard_rest();
    stack.abort(exchange.id, now);
}

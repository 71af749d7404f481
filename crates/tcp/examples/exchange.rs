//! Two endpoints exchange a reply over a path of 50 ms each way, whose first data segment is lost.
//!
//! `cargo run -p tcp --example exchange` prints the time with full-sized segments and with framing.

#![expect(clippy::print_stdout, reason = "the example shows its result")]

use std::collections::VecDeque;
use std::error::Error;
use std::sync::Arc;

use tcp::{ByteStream, Config, Connection};
use units::{Duration, Instant};
use wire::{Segment, SeqNum};

const DELAY: Duration = Duration::from_millis(50);

/// One end of the connection, and the packets on their way to it.
struct End {
    stream: ByteStream,
    arriving: VecDeque<(Instant, Segment, Vec<u8>)>,
}

impl End {
    fn new(config: &Arc<Config>, iss: u32) -> Self {
        let connection = Connection::new(Arc::clone(config), SeqNum::new(iss));
        Self { stream: ByteStream::new(connection), arriving: VecDeque::new() }
    }

    /// Returns the time of the next packet or timeout.
    fn next(&self) -> Instant {
        let arrival = self.arriving.front().map_or(Instant::NEVER, |(at, ..)| *at);
        arrival.min(self.stream.next_timeout())
    }

    /// Handles everything that is due.
    fn advance(&mut self, now: Instant) {
        while self.arriving.front().is_some_and(|(at, ..)| *at <= now) {
            if let Some((_, segment, payload)) = self.arriving.pop_front() {
                self.stream.on_segment(&segment, &payload, now);
            }
        }
        if self.stream.next_timeout() <= now {
            self.stream.on_timeout(now);
        }
    }
}

/// Moves the segments of one end to the other, except those with data that `is_lost` selects.
fn transfer(from: &mut End, to: &mut End, now: Instant, mut is_lost: impl FnMut() -> bool) {
    let mut payload = Vec::new();
    while let Some(segment) = from.stream.poll_transmit(now, &mut payload) {
        if segment.payload_len == 0 || !is_lost() {
            to.arriving.push_back((now + DELAY, segment, payload.clone()));
        }
    }
    while from.stream.poll_event().is_some() {}
}

/// Returns the time until the client has the whole reply.
fn time_of_reply(sender: &str, reply: &[u8]) -> Result<Instant, Box<dyn Error>> {
    let config = Arc::new(Config { sender: sender.parse()?, ..Config::default() });
    let (mut client, mut server) = (End::new(&config, 1), End::new(&config, 2));
    server.stream.listen()?;
    client.stream.connect()?;
    let (mut now, mut received, mut written, mut sent) = (Instant::ZERO, Vec::new(), false, 0);
    while received.len() < reply.len() {
        client.advance(now);
        server.advance(now);
        if !written && server.stream.state().is_synchronized() {
            written = server.stream.write(reply)? == reply.len();
        }
        let mut buffer = [0; 2048];
        while let count @ 1.. = client.stream.read(&mut buffer) {
            received.extend_from_slice(&buffer[..count]);
        }
        transfer(&mut client, &mut server, now, || false);
        transfer(&mut server, &mut client, now, || {
            sent += 1;
            sent == 1
        });
        if received.len() < reply.len() {
            now = client.next().min(server.next());
        }
    }
    assert_eq!(received, reply);
    Ok(now)
}

fn main() -> Result<(), Box<dyn Error>> {
    let reply: Vec<u8> = (0..4000_u32).map(|byte| byte.to_le_bytes()[0]).collect();
    for sender in ["reno+sack / full / iw=1", "reno+sack / fs(n=4) / iw=1"] {
        let millis = time_of_reply(sender, &reply)?.as_nanos() / 1_000_000;
        println!("{sender}: {millis} ms");
    }
    Ok(())
}

/// Framing replaces the timeout of a second with a fast retransmit.
#[test]
fn framing_repairs_the_loss_without_the_timer() -> Result<(), Box<dyn Error>> {
    let reply = [7; 4000];
    let full = time_of_reply("reno+sack / full / iw=1", &reply)?;
    let framed = time_of_reply("reno+sack / fs(n=4) / iw=1", &reply)?;
    assert!(full > Instant::ZERO + Duration::from_secs(1));
    assert!(framed < Instant::ZERO + Duration::from_millis(600));
    main()
}

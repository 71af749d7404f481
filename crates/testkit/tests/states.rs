//! Every stimulus in every state, on real connections. The results (next state, sent segments,
//! events) are a snapshot, so that a changed transition is a visible difference. The snapshot was
//! compared line by line with RFC 9293 §3.10.

use std::fmt::Write as _;
use std::sync::Arc;

use tcp::{CloseReason, Config, Connection, Event, State};
use testkit::notation::Origins;
use units::{Duration, Instant};
use wire::{Control, Flags, Mss, Options, Segment, SeqNum, UnscaledWindow};

const ISS: SeqNum = SeqNum::new(u32::MAX - 10);
const IRS: SeqNum = SeqNum::new(7000);
const OURS: Origins = Origins { seq: ISS, ack: IRS, scale: wire::WindowScale::NONE };

/// A connection, and the state of its peer.
struct Rig {
    connection: Connection,
    now: Instant,
    /// Next sequence number of the peer, and the one it expects.
    peer_nxt: SeqNum,
    peer_expects: SeqNum,
    sent: Vec<String>,
    events: Vec<&'static str>,
}

impl Rig {
    fn new() -> Self {
        let config = Config {
            window_scaling: false,
            timestamps: false,
            receive_buffer: 10_000,
            max_timeouts: 2,
            max_syn_timeouts: 2,
            ..Config::default()
        };
        Self {
            connection: Connection::new(Arc::new(config), ISS),
            now: Instant::ZERO,
            peer_nxt: IRS,
            peer_expects: ISS,
            sent: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Returns a new connection in the state of this name.
    fn in_state(name: &str) -> Self {
        let mut rig = Self::new();
        match name {
            "CLOSED" => {}
            "LISTEN" => rig.listen(),
            "SYN-SENT" => rig.connect(),
            "SYN-RECEIVED (listened)" => {
                rig.listen();
                rig.feed(Control::Syn, 0, None, 0);
            }
            "SYN-RECEIVED (connected)" => {
                rig.connect();
                rig.feed(Control::Syn, 0, None, 0);
            }
            "ESTABLISHED" => {
                rig.connect();
                rig.feed(Control::Syn, 0, Some(1), 0);
            }
            "FIN-WAIT-1" => {
                rig = Self::in_state("ESTABLISHED");
                rig.close();
            }
            "FIN-WAIT-2" => {
                rig = Self::in_state("FIN-WAIT-1");
                rig.feed(Control::None, 0, Some(2), 0);
            }
            "CLOSE-WAIT" => {
                rig = Self::in_state("ESTABLISHED");
                rig.feed(Control::Fin, 0, Some(1), 0);
            }
            "CLOSING" => {
                rig = Self::in_state("FIN-WAIT-1");
                rig.feed(Control::Fin, 0, Some(1), 0);
            }
            "LAST-ACK" => {
                rig = Self::in_state("CLOSE-WAIT");
                rig.close();
            }
            "TIME-WAIT" => {
                rig = Self::in_state("FIN-WAIT-2");
                rig.feed(Control::Fin, 0, Some(2), 0);
            }
            other => panic!("no such state: {other}"),
        }
        rig.sent.clear();
        rig.events.clear();
        let expected = name.split(' ').next().unwrap_or_default();
        assert_eq!(rig.connection.state().to_string(), expected, "how {name} is reached");
        rig
    }

    fn connect(&mut self) {
        self.connection.connect().expect("a new connection");
        self.drain();
    }

    fn listen(&mut self) {
        self.connection.listen().expect("a new connection");
        self.drain();
    }

    fn close(&mut self) {
        self.connection.close().expect("an open connection");
        self.drain();
    }

    /// Delivers a segment of the peer at `offset` after its next sequence number. `ack` is relative
    /// to the local initial sequence number.
    fn feed(&mut self, control: Control, offset: u32, ack: Option<u32>, payload_len: u32) {
        let segment = Segment {
            seq: self.peer_nxt + offset,
            ack: ack.map(|ack| ISS + ack),
            control,
            flags: Flags::NONE,
            window: UnscaledWindow::new(5000),
            payload_len,
            options: Options {
                mss: Mss::new(1000).filter(|_| control == Control::Syn),
                ..Options::default()
            },
        };
        if offset == 0 && control != Control::Rst {
            self.peer_nxt += segment.seq_len();
        }
        self.connection.on_segment(&segment, self.now);
        self.drain();
    }

    /// Closes the peer's window.
    fn close_window(&mut self) {
        let segment = Segment {
            seq: self.peer_nxt,
            ack: Some(self.peer_expects),
            control: Control::None,
            flags: Flags::NONE,
            window: UnscaledWindow::new(0),
            payload_len: 0,
            options: Options::default(),
        };
        self.connection.on_segment(&segment, self.now);
        self.drain();
    }

    /// Acknowledgment of everything sent; `None` if nothing has been sent.
    fn ack_of_all(&self) -> Option<u32> {
        Some(self.peer_expects.distance_from(ISS)).filter(|&ack| ack > 0)
    }

    fn timeout(&mut self) {
        self.now = self.connection.next_timeout();
        self.connection.on_timeout(self.now);
        self.drain();
    }

    fn drain(&mut self) {
        loop {
            let silent = self.connection.is_idle();
            let Some(segment) = self.connection.poll_transmit(self.now) else { break };
            assert!(!silent, "sent what it did not have: {}", OURS.show(&segment));
            if segment.control != Control::Rst {
                self.peer_expects = self.peer_expects.latest(segment.seq_end());
            }
            self.sent.push(OURS.show(&segment).to_string());
        }
        while let Some(event) = self.connection.poll_event() {
            self.events.push(match event {
                Event::Connected => "connected",
                Event::PeerClosed => "peer closed",
                Event::Closed(CloseReason::Finished) => "finished",
                Event::Closed(CloseReason::ResetByPeer) => "reset by peer",
                Event::Closed(CloseReason::Refused) => "refused",
                Event::Closed(CloseReason::TimedOut) => "timed out",
                Event::Closed(CloseReason::Aborted) => "aborted",
                Event::Closed(CloseReason::KeepAlive) => "keep-alive",
                Event::Closed(CloseReason::FinWait2) => "FIN-WAIT-2 timed out",
                Event::Closed(CloseReason::Unreachable) => "unreachable",
                Event::Loss(_) => "loss",
            });
        }
    }

    /// Applies the named stimulus. Returns `None` if it is impossible, otherwise the result of the
    /// user call.
    fn meet(&mut self, stimulus: &str) -> Option<&'static str> {
        if !self.is_possible(stimulus) {
            return None;
        }
        if stimulus.ends_with("timeout") || stimulus.starts_with("timeouts") {
            return self.wait(stimulus).then_some("");
        }
        if let Some(succeeded) = self.call(stimulus) {
            self.drain();
            return Some(if succeeded { "" } else { "refused" });
        }
        self.receive(stimulus);
        Some("")
    }

    fn is_possible(&self, stimulus: &str) -> bool {
        let state = self.connection.state();
        match stimulus {
            "SYN-ACK again" => state == State::Established,
            "FIN again" => self.peer_nxt == IRS + 2,
            "persist timeout" => state.is_synchronized() && state.accepts_writes(),
            "TIME-WAIT timeout" => state == State::TimeWait,
            _ => true,
        }
    }

    /// Makes the named call of the user. Returns whether it succeeds; `None` for other stimuli.
    fn call(&mut self, stimulus: &str) -> Option<bool> {
        Some(match stimulus {
            "connect" => self.connection.connect().is_ok(),
            "listen" => self.connection.listen().is_ok(),
            "write" => self.connection.write(50).is_ok(),
            "close" => self.connection.close().is_ok(),
            "abort" => {
                self.connection.abort();
                true
            }
            _ => return None,
        })
    }

    /// Delivers the named segment of the peer.
    fn receive(&mut self, stimulus: &str) {
        let all = self.ack_of_all();
        match stimulus {
            "SYN" => self.feed(Control::Syn, 100, None, 0),
            "SYN-ACK" => self.feed(Control::Syn, 100, all.or(Some(1)), 0),
            "SYN-ACK again" => {
                self.peer_nxt = IRS;
                self.feed(Control::Syn, 0, all, 0);
            }
            "ACK of all" => self.feed(Control::None, 0, all.or(Some(1)), 0),
            "ACK of more" => self.feed(Control::None, 0, Some(50), 0),
            "ACK, old" => self.feed(Control::None, 0, Some(0), 0),
            "data" => self.feed(Control::None, 0, all.or(Some(1)), 100),
            "data out of order" => self.feed(Control::None, 100, all.or(Some(1)), 100),
            "data too far" => self.feed(Control::None, 20_000, all.or(Some(1)), 100),
            "FIN" => self.feed(Control::Fin, 0, all.or(Some(1)), 0),
            "FIN again" => {
                self.peer_nxt = IRS + 1;
                self.feed(Control::Fin, 0, all, 0);
            }
            "RST exact" => self.feed(Control::Rst, 0, None, 0),
            "RST exact, with ACK" => self.feed(Control::Rst, 0, all.or(Some(1)), 0),
            "RST in window" => self.feed(Control::Rst, 100, None, 0),
            "RST outside" => self.feed(Control::Rst, 20_000, None, 0),
            "no ACK bit" => self.feed(Control::None, 0, None, 100),
            other => panic!("no such stimulus: {other}"),
        }
    }

    /// Waits for the named timeout. Returns false if it does not occur.
    fn wait(&mut self, stimulus: &str) -> bool {
        let state = self.connection.state();
        let all = self.ack_of_all();
        match stimulus {
            "retransmission timeout" | "timeouts to the end" => {
                let _ = self.connection.write(50);
                self.drain();
                if state == State::TimeWait || self.connection.next_timeout() == Instant::NEVER {
                    return false;
                }
                self.sent.clear();
                self.timeout();
                if stimulus == "retransmission timeout" {
                    return true;
                }
                while self.connection.next_timeout() != Instant::NEVER {
                    self.sent.clear();
                    self.timeout();
                }
            }
            "delayed-ACK timeout" => {
                self.feed(Control::None, 0, all.or(Some(1)), 100);
                if self.connection.next_timeout() > self.now + Duration::from_millis(200) {
                    return false;
                }
                self.sent.clear();
                self.timeout();
            }
            "persist timeout" => {
                self.close_window();
                let _ = self.connection.write(50);
                self.drain();
                self.sent.clear();
                self.timeout();
            }
            "TIME-WAIT timeout" => self.timeout(),
            other => panic!("no such stimulus: {other}"),
        }
        true
    }
}

const STATES: [&str; 12] = [
    "CLOSED",
    "LISTEN",
    "SYN-SENT",
    "SYN-RECEIVED (listened)",
    "SYN-RECEIVED (connected)",
    "ESTABLISHED",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "CLOSE-WAIT",
    "CLOSING",
    "LAST-ACK",
    "TIME-WAIT",
];

const STIMULI: [&str; 27] = [
    "SYN",
    "SYN-ACK",
    "SYN-ACK again",
    "ACK of all",
    "ACK of more",
    "ACK, old",
    "data",
    "data out of order",
    "data too far",
    "no ACK bit",
    "FIN",
    "FIN again",
    "RST exact",
    "RST exact, with ACK",
    "RST in window",
    "RST outside",
    "connect",
    "listen",
    "write",
    "close",
    "abort",
    "retransmission timeout",
    "timeouts to the end",
    "delayed-ACK timeout",
    "persist timeout",
    "TIME-WAIT timeout",
    "twice: FIN",
];

fn row(state: &str, stimulus: &str) -> Option<String> {
    let mut rig = Rig::in_state(state);
    let mut answer = rig.meet(stimulus.strip_prefix("twice: ").unwrap_or(stimulus))?;
    if stimulus.starts_with("twice: ") {
        rig.sent.clear();
        rig.events.clear();
        answer = rig.meet("FIN again")?;
    }
    let next = rig.connection.state().to_string();
    let next = if state.starts_with(&next) { "·".to_owned() } else { next };
    let sent =
        if rig.sent.is_empty() { String::new() } else { format!("> {}", rig.sent.join(" > ")) };
    let events = rig.events.join(", ");
    Some([&next, answer, &sent, &events].into_iter().filter(|part| !part.is_empty()).fold(
        String::new(),
        |mut line, part| {
            if !line.is_empty() {
                line.push_str("; ");
            }
            line.push_str(part);
            line
        },
    ))
}

#[test]
fn every_state_meets_every_stimulus() {
    let mut table = String::new();
    for state in STATES {
        let _ = writeln!(table, "{state}");
        for stimulus in STIMULI {
            if let Some(row) = row(state, stimulus) {
                let _ = writeln!(table, "    {stimulus:<22}  {row}");
            }
        }
    }
    insta::assert_snapshot!(table);
}

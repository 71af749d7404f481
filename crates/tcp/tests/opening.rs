//! Connections created from a peer's SYN or from a SYN cookie behave like one that listens.

use std::sync::Arc;

use tcp::{CloseReason, Config, Connection, Event, State};
use units::{Duration, Instant};
use wire::{
    Control, Flags, Mss, Options, Segment, SeqNum, Timestamps, UnscaledWindow, WindowScale,
};

const ISS: SeqNum = SeqNum::new(u32::MAX - 10);
/// A sequence number that compares as before the initial value of SND.WL1.
const IRS: SeqNum = SeqNum::new(3_000_000_000);
const NOW: Instant = Instant::from_nanos(5_000_000_000);

fn config() -> Arc<Config> {
    Arc::new(Config { ecn: true, ..Config::default() })
}

fn segment(control: Control, seq: SeqNum, ack: Option<SeqNum>) -> Segment {
    let timestamps = Some(Timestamps { val: 77, ecr: 0 });
    Segment {
        seq,
        ack,
        control,
        flags: Flags::NONE,
        window: UnscaledWindow::new(1000),
        payload_len: 0,
        options: Options { timestamps, ..Options::default() },
    }
}

fn syn() -> Segment {
    let mut syn = segment(Control::Syn, IRS, None);
    syn.flags = Flags::ECE.with(Flags::CWR, true);
    syn.options.mss = Mss::new(900);
    syn.options.window_scale = Some(WindowScale::clamped(3));
    syn.options.sack_permitted = true;
    syn
}

fn events(connection: &mut Connection) -> Vec<Event> {
    std::iter::from_fn(|| connection.poll_event()).collect()
}

/// Returns the segments sent when the peer's window allows all data.
fn writes(connection: &mut Connection) -> Vec<Segment> {
    assert_eq!(connection.write(10_000), Ok(10_000));
    std::iter::from_fn(|| connection.poll_transmit(NOW)).collect()
}

#[test]
fn all_passive_opens_give_the_same_connection() {
    let mut listener = Connection::new(config(), ISS);
    listener.listen().unwrap();
    listener.on_segment(&syn(), NOW);
    let mut accepted = Connection::accept(config(), &syn(), ISS, NOW).unwrap();
    assert_eq!(
        (accepted.state(), accepted.negotiated()),
        (State::SynReceived, listener.negotiated())
    );
    let answer = accepted.poll_transmit(NOW).unwrap();
    assert_eq!(Some(answer), listener.poll_transmit(NOW));
    assert_eq!(answer.options.mss, Some(Mss::ETHERNET_IPV4));

    // The cookie and its options have been returned; the connection itself was dropped.
    let ack = segment(Control::None, IRS + 1, Some(ISS + 1));
    let kept = accepted.negotiated();
    let mut returned = Connection::from_cookie(config(), answer.seq, &ack, kept, NOW).unwrap();
    for connection in [&mut listener, &mut accepted, &mut returned] {
        connection.on_segment(&ack, NOW);
        assert_eq!((connection.state(), connection.send_state().wnd), (State::Established, 8000));
        assert_eq!(events(connection), [Event::Connected]);
    }
    let sent = writes(&mut listener);
    assert!(!sent.is_empty());
    assert_eq!(writes(&mut accepted), sent);
    assert_eq!(writes(&mut returned), sent);
}

#[test]
fn accept_needs_a_syn_and_from_cookie_the_right_ack() {
    for (control, ack) in [
        (Control::None, None),
        (Control::Fin, None),
        (Control::Rst, None),
        (Control::Syn, Some(ISS + 1)),
    ] {
        assert!(Connection::accept(config(), &segment(control, IRS, ack), ISS, NOW).is_none());
    }
    let negotiated = Connection::accept(config(), &syn(), ISS, NOW).unwrap().negotiated();
    let returns = |segment: &Segment| {
        Connection::from_cookie(config(), ISS, segment, negotiated, NOW).is_some()
    };
    let good = segment(Control::None, IRS + 1, Some(ISS + 1));
    assert!(returns(&good));
    assert!(returns(&Segment { control: Control::Fin, ..good }));
    assert!(!returns(&Segment { control: Control::Rst, ..good }));
    assert!(!returns(&Segment { control: Control::Syn, ..good }));
    assert!(!returns(&Segment { ack: None, ..good }));
    assert!(!returns(&Segment { ack: Some(ISS + 2), ..good }));
    assert!(
        !returns(&Segment { options: Options::default(), ..good }),
        "timestamps were agreed on"
    );
}

/// RFC 9293 §3.10.7.4: there is no LISTEN to return to. A SYN is challenged, and the real peer then
/// resets.
#[test]
fn failed_handshake_ends_the_connection() {
    let mut accepted = Connection::accept(config(), &syn(), ISS, NOW).unwrap();
    accepted.poll_transmit(NOW).unwrap();
    let mut other = syn();
    other.seq = IRS + 500;
    accepted.on_segment(&other, NOW);
    let challenge = accepted.poll_transmit(NOW).unwrap();
    assert_eq!((challenge.control, challenge.ack), (Control::None, Some(IRS + 1)));
    assert_eq!(accepted.state(), State::SynReceived);
    accepted.on_segment(&segment(Control::Rst, IRS + 1, None), NOW);
    assert_eq!(events(&mut accepted), [Event::Closed(CloseReason::Refused)]);
    assert_eq!((accepted.state(), accepted.next_timeout()), (State::Closed, Instant::NEVER));
}

#[test]
fn unacknowledged_syn_ack_times_out() {
    let mut accepted = Connection::accept(config(), &syn(), ISS, NOW).unwrap();
    let mut answers = 0;
    let mut now = NOW;
    while accepted.state() != State::Closed {
        answers += std::iter::from_fn(|| accepted.poll_transmit(now)).count();
        now = accepted.next_timeout();
        accepted.on_timeout(now);
    }
    assert_eq!(answers, 1 + usize::from(config().max_syn_timeouts));
    // RFC 9293 §3.8.3.
    assert!(now.since(NOW) >= Duration::from_secs(180));
    assert!(events(&mut accepted).ends_with(&[Event::Closed(CloseReason::TimedOut)]));
}

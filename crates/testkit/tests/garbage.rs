//! Whatever arrives in whatever state, with whatever calls and however much time between: no panic, no endless
//! answer, nothing kept that the buffers have no room for.

use std::sync::Arc;

use proptest::prelude::*;
use proptest::sample::select;
use tcp::{ByteStream, Config, Connection, Negotiated, State};
use testkit::generate::{cases, tcp};
use units::{Duration, Instant};
use wire::{
    Control, Ecn, Flags, Mss, Options, SackBlocks, Segment, SeqNum, SeqRange, Timestamps, UnscaledWindow,
    WindowScale,
};

/// A single feed is answered with no more segments than this.
const MOST_AT_ONCE: u32 = 3_000;

/// A number that is likely to matter: close to where the connection stands, or anything at all.
#[derive(Debug, Clone, Copy)]
enum Number {
    Near(i32),
    Any(u32),
}

impl Number {
    fn resolve(self, base: SeqNum) -> SeqNum {
        match self {
            Self::Near(offset) => SeqNum::new(base.value().wrapping_add_signed(offset)),
            Self::Any(value) => SeqNum::new(value),
        }
    }
}

#[derive(Debug, Clone)]
struct Garbage {
    seq: Number,
    ack: Option<Number>,
    control: Control,
    window: u16,
    payload_len: u32,
    sack: Vec<(Number, u32)>,
    timestamps: Option<(u32, u32)>,
    mss: Option<u16>,
    scale: Option<u8>,
    sack_permitted: bool,
    flags: Flags,
}

#[derive(Debug, Clone)]
enum Stimulus {
    Segment(Garbage),
    /// Time passes, and timers expire, on time or late.
    Wait(Duration),
    NextTimeout,
    Connect,
    Listen,
    Write(u16),
    Read(u16),
    Close,
    Abort,
}

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        3 => (-3i32..4).prop_map(Number::Near),
        2 => (-4000i32..4000).prop_map(Number::Near),
        1 => any::<u32>().prop_map(Number::Any),
    ]
}

prop_compose! {
    fn garbage()(
        (seq, ack) in (number(), prop::option::weighted(0.9, number())),
        control in select(vec![
            Control::None, Control::None, Control::None, Control::None, Control::None, Control::None,
            Control::Syn, Control::Fin, Control::Fin, Control::Rst,
        ]),
        window in prop_oneof![Just(0u16), 0..2000u16, any::<u16>()],
        payload_len in prop_oneof![3 => Just(0u32), 2 => 0..1500u32, 1 => 0..70_000u32],
        sack in prop::collection::vec((number(), 1..3000u32), 0..4),
        timestamps in prop::option::of(prop_oneof![any::<(u32, u32)>(), (0..50u32, 0..50u32)]),
        mss in prop::option::of(1..=u16::MAX),
        scale in prop::option::of(any::<u8>()),
        sack_permitted in any::<bool>(),
        (psh, ece, cwr) in any::<(bool, bool, bool)>(),
        ecn in select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ce]),
    ) -> Garbage {
        let flags = Flags::NONE.with(Flags::PSH, psh).with(Flags::ECE, ece).with(Flags::CWR, cwr).with_ecn(ecn);
        Garbage {
            seq, ack, control, window, payload_len, sack, timestamps, mss, scale, sack_permitted, flags,
        }
    }
}

fn stimulus() -> impl Strategy<Value = Stimulus> {
    prop_oneof![
        20 => garbage().prop_map(Stimulus::Segment),
        3 => (0..100_000u64).prop_map(|millis| Stimulus::Wait(Duration::from_millis(millis))),
        3 => Just(Stimulus::NextTimeout),
        1 => Just(Stimulus::Connect),
        1 => Just(Stimulus::Listen),
        4 => any::<u16>().prop_map(Stimulus::Write),
        3 => any::<u16>().prop_map(Stimulus::Read),
        1 => prop::bool::weighted(0.3).prop_map(|yes| if yes { Stimulus::Close } else { Stimulus::NextTimeout }),
        1 => prop::bool::weighted(0.1).prop_map(|yes| if yes { Stimulus::Abort } else { Stimulus::NextTimeout }),
    ]
}

struct Victim {
    stream: ByteStream,
    config: Arc<Config>,
    now: Instant,
    /// What the connection acknowledges.
    expects: SeqNum,
    payload: Vec<u8>,
}

impl Victim {
    fn new(config: Config, start: u8) -> Self {
        let config = Arc::new(config);
        let (iss, irs) = (SeqNum::new(u32::MAX - 100), SeqNum::new(77));
        let mut connection = Connection::new(Arc::clone(&config), iss);
        match start {
            0 => {}
            1 => connection.listen().expect("a new connection"),
            2 => connection.connect().expect("a new connection"),
            _ => {
                let negotiated = Negotiated::between_equals(&config);
                connection = Connection::established(Arc::clone(&config), iss, irs, negotiated, 30_000);
            }
        }
        let stream = ByteStream::new(connection);
        Self { stream, config, now: Instant::ZERO, expects: irs + 1, payload: Vec::new() }
    }

    fn feed(&mut self, stimulus: &Stimulus) {
        match stimulus {
            Stimulus::Segment(garbage) => {
                let segment = self.segment(garbage);
                let payload = vec![7; segment.payload_len as usize];
                self.stream.on_segment(&segment, &payload, self.now);
            }
            Stimulus::Wait(span) => {
                self.now += *span;
                self.stream.on_timeout(self.now);
            }
            Stimulus::NextTimeout => {
                if self.stream.next_timeout() != Instant::NEVER {
                    self.now = self.now.max(self.stream.next_timeout());
                }
                self.stream.on_timeout(self.now);
            }
            // A call may be refused; that is all it may be.
            Stimulus::Connect => drop(self.stream.connect()),
            Stimulus::Listen => drop(self.stream.listen()),
            Stimulus::Write(bytes) => drop(self.stream.write(&vec![9; (*bytes).into()])),
            Stimulus::Read(bytes) => drop(self.stream.read(&mut vec![0; (*bytes).into()])),
            Stimulus::Close => drop(self.stream.close()),
            Stimulus::Abort => {
                self.stream.abort();
                assert_eq!(self.stream.state(), State::Closed);
            }
        }
    }

    fn segment(&self, garbage: &Garbage) -> Segment {
        let snd = self.stream.send_state();
        let mut sack = SackBlocks::EMPTY;
        for &(start, len) in &garbage.sack {
            let start = start.resolve(snd.una);
            sack.push(SeqRange::new(start, start + len).expect("at least one number"));
        }
        Segment {
            seq: garbage.seq.resolve(self.expects),
            // Mostly what acknowledges something or everything.
            ack: garbage
                .ack
                .map(|ack| ack.resolve(if garbage.window.is_multiple_of(2) { snd.una } else { snd.max })),
            control: garbage.control,
            flags: garbage.flags,
            window: UnscaledWindow::new(garbage.window),
            payload_len: garbage.payload_len,
            options: Options {
                mss: garbage.mss.and_then(Mss::new),
                window_scale: garbage.scale.map(WindowScale::clamped),
                sack_permitted: garbage.sack_permitted,
                timestamps: garbage.timestamps.map(|(val, ecr)| Timestamps { val, ecr }),
                sack,
            },
        }
    }

    fn drain(&mut self) -> Result<(), TestCaseError> {
        let mut sent = 0;
        while let Some(segment) = self.stream.poll_transmit(self.now, &mut self.payload) {
            if segment.control != Control::Rst {
                self.expects = segment.ack.unwrap_or(self.expects);
            }
            sent += 1;
            prop_assert!(sent < MOST_AT_ONCE, "no end of segments");
        }
        while self.stream.poll_event().is_some() {}
        prop_assert!(self.stream.poll_transmit(self.now, &mut self.payload).is_none());
        Ok(())
    }

    fn check(&self) -> Result<(), TestCaseError> {
        let snd = self.stream.send_state();
        prop_assert!(snd.una.at_or_before(snd.nxt) && snd.nxt.at_or_before(snd.max), "{snd:?}");
        prop_assert!(self.stream.readable() <= self.config.receive_buffer);
        prop_assert!(self.stream.unacknowledged() <= self.config.send_buffer);
        prop_assert!(snd.segments <= self.config.send_buffer + 1);
        prop_assert!(self.stream.next_timeout() >= self.now);
        if self.stream.state() == State::Closed {
            prop_assert_eq!(self.stream.next_timeout(), Instant::NEVER);
        }
        Ok(())
    }
}

proptest! {
    #![proptest_config(cases(6000))]

    #[test]
    fn nothing_that_arrives_does_harm(
        config in tcp(),
        start in 0..6u8,
        stimuli in prop::collection::vec(stimulus(), 1..150),
    ) {
        let mut victim = Victim::new(config, start);
        for stimulus in &stimuli {
            victim.feed(stimulus);
            victim.drain()?;
            victim.check()?;
        }
    }
}

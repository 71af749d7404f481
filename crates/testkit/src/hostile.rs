//! One connection against an arbitrary peer or attacker. For any segments in any state, with any
//! calls and delays, there is no panic, no endless answer, and no memory beyond the limits of the
//! buffers.

use std::sync::Arc;

use tcp::{ByteStream, Config, Connection, IcmpError, Negotiated, Receiving, State};
use units::{Duration, Instant};
use wire::{
    AckWindow, Arrival, Control, CopyNumber, Flags, Mss, Options, Report, SackBlocks, SantaCruz,
    Segment, SeqNum, SeqRange, Timestamps, UnscaledWindow, WindowScale,
};

/// Longest payload of a hostile segment, in bytes. Receive offload joins segments beyond 64 KiB.
pub const LONGEST_PAYLOAD: u32 = 70_000;

/// Maximum number of segments in response to one input.
const MAX_AT_ONCE: u32 = 3_000;

/// A number near the state of the connection, or an arbitrary one.
#[derive(Debug, Clone, Copy)]
pub enum Number {
    /// Offset from the state of the connection.
    Near(i32),
    /// Absolute value.
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

/// A segment that may be invalid.
#[derive(Debug, Clone)]
pub struct Garbage {
    /// Sequence number, relative to the expected one.
    pub seq: Number,
    /// Acknowledgment number, relative to SND.UNA or to the highest number sent.
    pub ack: Option<Number>,
    /// SYN, FIN or RST.
    pub control: Control,
    /// Window field of the header.
    pub window: u16,
    /// Number of payload bytes.
    pub payload_len: u32,
    /// SACK blocks: start relative to SND.UNA, and length of at least 1.
    pub sack: Vec<(Number, u32)>,
    /// Option of TCP Santa Cruz instead of SACK blocks.
    pub santa_cruz: Option<Claim>,
    /// Timestamp and its echo.
    pub timestamps: Option<(u32, u32)>,
    /// MSS option, which may be on any segment.
    pub mss: Option<u16>,
    /// Window scale option, which may be on any segment.
    pub scale: Option<u8>,
    /// SACK-permitted option, which may be on any segment.
    pub sack_permitted: bool,
    /// Offer of TCP Santa Cruz, which may be on any segment.
    pub santa_cruz_permitted: bool,
    /// Other control bits and ECN field.
    pub flags: Flags,
}

/// Option of TCP Santa Cruz, true or false. Transmission numbers are taken modulo 16, where 0 means
/// none.
#[derive(Debug, Clone)]
pub struct Claim {
    /// Transmission number of the data.
    pub data_copy: u8,
    /// Sequence number of the arrival, relative to SND.UNA.
    pub seq: Number,
    /// Transmission number of the arrival.
    pub copy: u8,
    /// Arrival time in microseconds.
    pub at: u32,
    /// Granularity in units per bit, 0 for no window.
    pub granularity: u8,
    /// ACK window, omitted if it is too long.
    pub window: Vec<u8>,
}

impl Claim {
    fn option(&self, una: SeqNum, room: usize) -> SantaCruz {
        let option = SantaCruz::new(CopyNumber::new(self.data_copy % 16));
        let Some(copy) = CopyNumber::new(self.copy % 16) else { return option };
        let window = &self.window[..self.window.len().min(room)];
        let window = AckWindow::new(self.granularity, window).unwrap_or(AckWindow::EMPTY);
        option.answering(Arrival { seq: self.seq.resolve(una), copy, at: self.at }, window)
    }
}

/// An input of a connection.
#[derive(Debug, Clone)]
pub enum Stimulus {
    /// A segment arrives.
    Segment(Garbage),
    /// Time passes, and timers expire, on time or late.
    Wait(Duration),
    /// The next timer expires on time.
    NextTimeout,
    /// An ICMP error reports the maximum segment size, and quotes this sequence number.
    TooBig(u16, Number),
    /// An ICMP error quotes this sequence number.
    Icmp(IcmpError, Number),
    /// Active open by the application.
    Connect,
    /// Passive open by the application.
    Listen,
    /// The application writes this number of bytes.
    Write(u16),
    /// The application reads this number of bytes.
    Read(u16),
    /// The application closes the connection.
    Close,
    /// The application aborts the connection.
    Abort,
}

/// Origin of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// New connection.
    Closed,
    /// Passive open.
    Listening,
    /// Active open.
    Connecting,
    /// Created from a SYN.
    Accepted,
    /// Created from a SYN cookie.
    Cookie,
    /// Created without a handshake.
    Established,
}

impl Start {
    /// All origins.
    pub const ALL: [Self; 6] = [
        Self::Closed,
        Self::Listening,
        Self::Connecting,
        Self::Accepted,
        Self::Cookie,
        Self::Established,
    ];
}

/// The connection under test.
#[derive(Debug)]
pub struct Victim {
    stream: ByteStream,
    config: Arc<Config>,
    now: Instant,
    /// Acknowledgment number of the connection.
    expects: SeqNum,
    payload: Vec<u8>,
    /// Maximum number of segments that were in flight.
    segments: usize,
}

impl Victim {
    /// Creates a connection of the given origin.
    pub fn new(config: Config, start: Start) -> Self {
        let config = Arc::new(config);
        let (iss, irs) = (SeqNum::new(u32::MAX - 100), SeqNum::new(77));
        let new = || Connection::new(Arc::clone(&config), iss);
        let connection = match start {
            Start::Closed => new(),
            Start::Listening => {
                let mut connection = new();
                // A new connection can be opened in either way.
                let _ = connection.listen();
                connection
            }
            Start::Connecting => {
                let mut connection = new();
                let _ = connection.connect();
                connection
            }
            Start::Accepted => {
                let syn = opening(Control::Syn, irs, None);
                Connection::accept(Arc::clone(&config), &syn, iss, Instant::ZERO)
                    .unwrap_or_else(new)
            }
            Start::Cookie => {
                let ack = opening(Control::None, irs + 1, Some(iss + 1));
                let agreed = Negotiated::between_equals(&config);
                Connection::from_cookie(Arc::clone(&config), iss, &ack, agreed, Instant::ZERO)
                    .unwrap_or_else(new)
            }
            Start::Established => {
                let agreed = Negotiated::between_equals(&config);
                Connection::established(Arc::clone(&config), iss, irs, agreed, 30_000)
            }
        };
        let stream = ByteStream::new(connection);
        Self {
            stream,
            config,
            now: Instant::ZERO,
            expects: irs + 1,
            payload: Vec::new(),
            segments: 0,
        }
    }

    /// Applies an input and drains the connection.
    ///
    /// # Errors
    /// Returns a description of the violated property.
    pub fn suffer(&mut self, stimulus: &Stimulus) -> Result<(), String> {
        // The origin itself may cause segments.
        self.drain()?;
        self.feed(stimulus)?;
        self.drain()?;
        self.check()
    }

    fn feed(&mut self, stimulus: &Stimulus) -> Result<(), String> {
        let una = self.stream.send_state().una;
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
            Stimulus::TooBig(mss, seq) => {
                let (before, window) = (self.stream.smss(), self.stream.cwnd());
                let mss = Mss::new(*mss).unwrap_or(Mss::LEAST);
                let believed = self.stream.on_packet_too_big(mss, seq.resolve(una), self.now);
                let smss = self.stream.smss();
                if believed != (smss < before) || smss > before {
                    return Err(format!(
                        "a packet too big for {} made {smss} of {before}",
                        mss.get()
                    ));
                }
                if self.stream.cwnd() > window {
                    return Err("a packet too big widened the window".to_owned());
                }
            }
            Stimulus::Icmp(error, seq) => {
                self.stream.on_icmp_error(*error, seq.resolve(una), self.now);
            }
            // A call may be refused, but have no other effect.
            Stimulus::Connect => drop(self.stream.connect()),
            Stimulus::Listen => drop(self.stream.listen()),
            Stimulus::Write(bytes) => drop(self.stream.write(&vec![9; (*bytes).into()])),
            Stimulus::Read(bytes) => {
                self.stream.read(&mut vec![0; (*bytes).into()]);
            }
            Stimulus::Close => drop(self.stream.close()),
            Stimulus::Abort => {
                self.stream.abort();
                if self.stream.state() != State::Closed {
                    return Err(format!("{} after an abort", self.stream.state()));
                }
            }
        }
        Ok(())
    }

    fn segment(&self, garbage: &Garbage) -> Segment {
        let snd = self.stream.send_state();
        let mut sack = SackBlocks::EMPTY;
        for &(start, len) in &garbage.sack {
            let start = start.resolve(snd.una);
            let _ = SeqRange::new(start, start + len).is_some_and(|block| sack.push(block));
        }
        Segment {
            seq: garbage.seq.resolve(self.expects),
            // Half of the acknowledgments are near SND.UNA, the others near the highest number
            // sent.
            ack: garbage.ack.map(|ack| {
                ack.resolve(if garbage.window.is_multiple_of(2) { snd.una } else { snd.max })
            }),
            control: garbage.control,
            flags: garbage.flags,
            window: UnscaledWindow::new(garbage.window),
            payload_len: garbage.payload_len,
            options: Options {
                mss: garbage.mss.and_then(Mss::new),
                window_scale: garbage.scale.map(WindowScale::clamped),
                sack_permitted: garbage.sack_permitted,
                santa_cruz_permitted: garbage.santa_cruz_permitted,
                is_compact: false,
                timestamps: garbage.timestamps.map(|(val, ecr)| Timestamps { val, ecr }),
                reports: match &garbage.santa_cruz {
                    Some(claim) => claim.option(snd.una, 18).into(),
                    None => sack.into(),
                },
            },
        }
    }

    fn drain(&mut self) -> Result<(), String> {
        let mut sent = 0;
        let mut drained = false;
        loop {
            let silent = self.stream.is_idle();
            let Some(segment) = self.stream.poll_transmit(self.now, &mut self.payload) else {
                break;
            };
            if silent || drained {
                return Err(format!(
                    "sent {}: {segment:?}",
                    if drained {
                        "after the send queue was drained"
                    } else {
                        "although the connection was idle"
                    }
                ));
            }
            drained = self.stream.note_if_drained(self.now);
            if segment.control != Control::Rst {
                self.expects = segment.ack.unwrap_or(self.expects);
            }
            sent += 1;
            if sent == MAX_AT_ONCE {
                return Err("no end of segments".to_owned());
            }
            if segment.payload_len > 0 && self.payload.iter().any(|&byte| byte != 9) {
                return Err("something left that was never written".to_owned());
            }
        }
        while self.stream.poll_event().is_some() {}
        if self.stream.poll_transmit(self.now, &mut self.payload).is_some() {
            return Err("something left after a drain".to_owned());
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), String> {
        let (stream, config) = (&self.stream, &self.config);
        let snd = stream.send_state();
        self.segments = self.segments.max(snd.segments as usize);
        // Ring buffers double. A sent segment takes less than 64 bytes. There are at most 256
        // out-of-order ranges (4 kB), and as many pieces of out-of-order data: 20 kB for their
        // descriptors, and at least 32 bytes for each.
        // Linux takes one segment beyond the window.
        let beyond = if config.receiver == Receiving::Rfc { 0 } else { LONGEST_PAYLOAD };
        let receive_buffer = config.receive_buffer.saturating_add(beyond);
        let buffers = 2 * (receive_buffer as usize + config.send_buffer as usize);
        let most = buffers + 2 * 64 * self.segments + 40_000;
        // A buffer that was read keeps its memory, at least 32 bytes, until it is released.
        // Out-of-order data then has its own.
        let spare = stream.spare();
        let claims = [
            (snd.una.at_or_before(snd.nxt) && snd.nxt.at_or_before(snd.max), "una <= nxt <= max"),
            (stream.readable() <= receive_buffer, "what can be read fits the buffer"),
            (
                stream.unacknowledged() <= config.send_buffer,
                "what is unacknowledged fits the buffer",
            ),
            (snd.segments <= config.send_buffer + 1, "no cut is empty"),
            (stream.next_timeout() >= self.now, "no timer is overdue"),
            (
                stream.state() != State::Closed || stream.next_timeout() == Instant::NEVER,
                "no timer runs when it is over",
            ),
            (
                stream.flight() == 0
                    || stream.state() == State::Closed
                    || stream.next_timeout() != Instant::NEVER,
                "a timer runs while something is in flight",
            ),
            (spare <= buffers + 64, "what a release gives back is bounded"),
            (stream.memory() - spare <= most, "memory in use is bounded"),
        ];
        match claims.into_iter().find(|(holds, _)| !holds) {
            None => Ok(()),
            Some((_, claim)) => Err(format!(
                "{claim}: {} {snd:?} readable {} unacknowledged {} timer {} at {} memory {} spare {spare}",
                stream.state(),
                stream.readable(),
                stream.unacknowledged(),
                stream.next_timeout(),
                self.now,
                stream.memory()
            )),
        }
    }
}

/// A segment with all options of a handshake.
fn opening(control: Control, seq: SeqNum, ack: Option<SeqNum>) -> Segment {
    let syn = control == Control::Syn;
    Segment {
        seq,
        ack,
        control,
        flags: Flags::NONE,
        window: UnscaledWindow::new(30_000),
        payload_len: 0,
        options: Options {
            mss: Mss::new(700).filter(|_| syn),
            window_scale: syn.then_some(WindowScale::NONE),
            sack_permitted: syn,
            santa_cruz_permitted: syn,
            is_compact: false,
            timestamps: Some(Timestamps { val: 1, ecr: 0 }),
            reports: Report::None.into(),
        },
    }
}

//! Interprets any bytes as a configuration and inputs of a connection.

use policy::SenderPolicy;
use policy::congestion::{Counting, Halving, WindowRules};
use policy::rtt::RtoConfig;
use tcp::{
    Acceptance, Challenges, Config, DelayedAck, IcmpError, KeepAlive, LinuxReceiver, Receiving,
    RttSamples, SendMemory, Timeouts,
};
use units::Duration;
use wire::{Control, Ecn, Flags, Mss};

use crate::hostile::{Claim, Garbage, Number, Start, Stimulus, Victim};

/// Senders without the option of TCP Santa Cruz.
const SENDERS: [&str; 20] = [
    "reno+sack / full / iw=10",
    "reno+sack / fs(n=4) / iw=1",
    "reno+sack+lt / vs(n=4) / iw=1",
    "reno+newreno+lt / fs(n=4) / iw=2",
    "reno / full / iw=4",
    "tahoe / vs(n=4) / iw=2",
    "reno+sack1 / full / iw=2",
    "fixed(n=6)+sack / full / iw=2",
    "vegas / full / iw=2",
    "vegas+sack / fs(n=4) / iw=1",
    "reno+fack / fs(n=4) / iw=2",
    "cubic+rack+tlp+prr / full / iw=10",
    "reno+rack(frto=off)+tlp / fs(n=4) / iw=2",
    "cubic(hystart=rfc9406)+rack+prr / vs(n=4) / iw=4",
    "linux+pacing",
    "linux / tail(n=4)",
    "linux / tiny-tail+dup-tail+rto-min(ms=20)",
    "reno+sack / tail(n=8)+dup-tail(delay=50ms) / iw=2",
    "reno+newreno / tiny-tail+rto-min(ms=1) / iw=4",
    "reno+rack+tlp / dup-tail(delay=300ms) / iw=2",
];

/// Senders with the option of TCP Santa Cruz.
const SANTA_CRUZ: [&str; 4] = [
    "santa-cruz / full / iw=10",
    "santa-cruz(n=0.01, delta=0) / vs(n=4) / iw=1",
    "reno+ackwindow / fs(n=4) / iw=2",
    "reno+sack / full / iw=4",
];

/// Runs the inputs.
///
/// # Panics
/// Panics if a property of [`crate::hostile`] is violated.
pub fn run(bytes: &[u8]) {
    let mut reader = Reader { bytes, santa_cruz: false };
    let start = Start::ALL[usize::from(reader.byte()) % Start::ALL.len()];
    let config = reader.config();
    reader.santa_cruz = config.santa_cruz;
    let mut victim = Victim::new(config, start);
    while !reader.bytes.is_empty() {
        let stimulus = reader.stimulus();
        if let Err(problem) = victim.suffer(&stimulus) {
            panic!("{stimulus:?}: {problem}");
        }
    }
}

/// Reads values from the front. After the end all values are zero.
struct Reader<'a> {
    bytes: &'a [u8],
    /// Whether segments may have the option of TCP Santa Cruz. Other inputs have no byte for it.
    santa_cruz: bool,
}

impl Reader<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        first
    }

    fn short(&mut self) -> u16 {
        u16::from_be_bytes([self.byte(), self.byte()])
    }

    fn long(&mut self) -> u32 {
        u32::from(self.short()) << 16 | u32::from(self.short())
    }

    /// Returns `None` with a probability of 1 / `one_in`.
    fn unless<T>(&mut self, one_in: u8, take: impl FnOnce(&mut Self) -> T) -> Option<T> {
        (!self.byte().is_multiple_of(one_in)).then(|| take(self))
    }

    fn number(&mut self) -> Number {
        match self.byte() % 4 {
            0 => Number::Any(self.long()),
            1 => Number::Near(i32::from(self.byte()) - 3),
            _ => Number::Near(i32::from(self.short()) - 20_000),
        }
    }

    fn millis(&mut self) -> Duration {
        Duration::from_millis(u64::from(self.short()) + 1)
    }

    /// A buffer size between one byte and about a megabyte.
    fn buffer(&mut self) -> u32 {
        let size = u32::from(self.short()) + 1;
        if self.byte() < 32 { size << 4 } else { size }
    }

    /// Chooses one of the names.
    fn sender(&mut self, names: &[&str]) -> SenderPolicy {
        let name = names[usize::from(self.byte()) % names.len()];
        name.parse().unwrap_or(Config::default().sender)
    }

    fn config(&mut self) -> Config {
        let switches = self.short();
        let on = |bit: u16| switches & 1 << bit != 0;
        let sender = self.sender(if on(14) { &SANTA_CRUZ } else { &SENDERS });
        Config {
            controller: None,
            sender,
            window: WindowRules {
                counting: if on(0) { Counting::Acks } else { Counting::Bytes },
                halving: if on(1) { Halving::Window } else { Halving::Flight },
                ..WindowRules::RFC
            },
            mss: Mss::new(self.short() % 2000).unwrap_or(Mss::DEFAULT_IPV4),
            rto: sender.rto(RtoConfig::RFC),
            rtt_samples: if on(2) { RttSamples::OnePerWindow } else { RttSamples::EveryAck },
            delayed_ack: if on(3) { DelayedAck::OFF } else { DelayedAck::RFC },
            receiver: if on(15) {
                Receiving::Linux(LinuxReceiver::LINUX_6_18)
            } else {
                Receiving::Rfc
            },
            acceptance: if on(15) { Acceptance::LINUX } else { Acceptance::RFC },
            receive_buffer: self.buffer().max(if on(15) { 2304 } else { 0 }),
            send_buffer: self.buffer(),
            // A byte stream does not wake its writer.
            send_memory: SendMemory::Unlimited,
            window_scaling: on(4),
            timestamps: on(5),
            sack: on(6),
            santa_cruz: on(14),
            compact_syn: on(7),
            ecn: on(7),
            nagle: on(8),
            restart_after_idle: on(9),
            window_divisor: if on(10) { 3 } else { 0 },
            msl: self.millis(),
            max_timeouts: self.byte(),
            max_syn_timeouts: self.byte(),
            linear_syn_timeouts: if on(9) { 4 } else { 0 },
            min_mss: if on(10) { Mss::LEAST } else { Mss::DEFAULT_IPV4 },
            challenges: Challenges { count: self.byte() % 16, per: self.millis() },
            timeouts: Timeouts {
                user_timeout: on(11).then(|| self.millis()),
                keep_alive: on(12)
                    .then(|| KeepAlive::new(self.millis(), self.millis(), self.byte() % 8))
                    .flatten(),
                fin_wait_2: on(13).then(|| self.millis()),
            },
        }
    }

    fn garbage(&mut self) -> Garbage {
        let bits = self.byte();
        let on = |bit: u8| bits & 1 << bit != 0;
        let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][usize::from(bits >> 6)];
        let control = match self.byte() % 16 {
            0 => Control::Rst,
            1 | 2 => Control::Syn,
            3..=5 => Control::Fin,
            _ => Control::None,
        };
        Garbage {
            seq: self.number(),
            ack: self.unless(16, Self::number),
            control,
            window: self.short(),
            payload_len: if on(0) { self.short().into() } else { 0 },
            sack: (0..self.byte() % 5)
                .map(|_| (self.number(), u32::from(self.short()) + 1))
                .collect(),
            santa_cruz: if self.santa_cruz { self.unless(4, Self::claim) } else { None },
            timestamps: on(1).then(|| (self.long(), self.long())),
            mss: on(2).then(|| self.short()),
            scale: on(2).then(|| self.byte()),
            sack_permitted: on(2),
            santa_cruz_permitted: on(2) && self.santa_cruz,
            flags: Flags::NONE
                .with(Flags::PSH, on(3))
                .with(Flags::ECE, on(4))
                .with(Flags::CWR, on(5))
                .with_ecn(ecn),
        }
    }

    fn claim(&mut self) -> Claim {
        let copies = self.byte();
        Claim {
            data_copy: copies >> 4,
            copy: copies & 0xf,
            seq: self.number(),
            at: self.long(),
            granularity: self.byte() % 8,
            window: (0..self.byte() % 19).map(|_| self.byte()).collect(),
        }
    }

    fn stimulus(&mut self) -> Stimulus {
        match self.byte() % 32 {
            0..=17 => Stimulus::Segment(self.garbage()),
            18..=19 => Stimulus::Wait(self.millis()),
            20..=22 => Stimulus::NextTimeout,
            23..=25 => Stimulus::Write(self.short()),
            26..=27 => Stimulus::Read(self.short()),
            28 => Stimulus::TooBig(self.short(), self.number()),
            29 => {
                let error = if self.byte() < 128 { IcmpError::Soft } else { IcmpError::Hard };
                Stimulus::Icmp(error, self.number())
            }
            30 => match self.byte() % 4 {
                0 => Stimulus::Connect,
                1 => Stimulus::Listen,
                _ => Stimulus::Close,
            },
            _ => match self.byte() {
                0 => Stimulus::Abort,
                _ => Stimulus::NextTimeout,
            },
        }
    }
}

//! The configuration of the two ends of a flow.

use std::sync::Arc;

use policy::SenderPolicy;
use policy::congestion::{MAX_WINDOW, WindowRules};
use policy::rtt::RtoConfig;
use tcp::{
    Acceptance, Challenges, Config, Connection, DelayedAck, Negotiated, Receiving, Timeouts,
};
use units::Duration;
use wire::{Mss, SeqNum};

use crate::plan::PlannedWorkload;
use crate::scenario::{Opener, TcpSettings, Threshold};

/// The configuration of a workload's flows that use one sender.
#[derive(Debug, Clone)]
pub(crate) struct Endpoints {
    sender: Arc<Config>,
    /// Without the custom controller of `sender`, and otherwise equal.
    receiver: Arc<Config>,
    opener: Option<Opener>,
}

impl Endpoints {
    pub(crate) fn new(workload: &PlannedWorkload, sender: SenderPolicy) -> Self {
        let opener = workload.handshake.then_some(workload.opener);
        let receiver = Arc::new(config(&workload.tcp, sender));
        let sender = if workload.controller.is_some() {
            let controller = workload.controller.clone();
            Arc::new(Config { controller, ..Config::clone(&receiver) })
        } else {
            Arc::clone(&receiver)
        };
        Self { sender, receiver, opener }
    }

    pub(super) fn sender(&self, identity: u64) -> Connection {
        self.end(&self.sender, iss(identity), irs(identity), Opener::Sender)
    }

    pub(super) fn receiver(&self, identity: u64) -> Connection {
        self.end(&self.receiver, irs(identity), iss(identity), Opener::Receiver)
    }

    /// Returns true if the connection is opened by a handshake, and therefore closed as well.
    pub(super) fn has_handshake(&self) -> bool {
        self.opener.is_some()
    }

    /// Makes an end. It opens the connection if the opener is `role`.
    fn end(&self, config: &Arc<Config>, iss: SeqNum, irs: SeqNum, role: Opener) -> Connection {
        let config = Arc::clone(config);
        let Some(opener) = self.opener else {
            let (negotiated, window) = (Negotiated::between_equals(&config), config.receive_buffer);
            return Connection::established(config, iss, irs, negotiated, window);
        };
        let mut end = Connection::new(config, iss);
        // Both calls are valid for a new connection, so neither can fail.
        let _ = if opener == role { end.connect() } else { end.listen() };
        end
    }
}

/// The sender's buffer, in bytes: enough for any window.
pub(super) const SEND_BUFFER: u32 = 1 << 30;

/// The initial sequence number of the end that sends data.
pub(super) fn iss(identity: u64) -> SeqNum {
    word(identity)
}

/// The initial sequence number of the end that receives data.
pub(super) fn irs(identity: u64) -> SeqNum {
    word(identity >> 32)
}

/// Initial sequence numbers are spread over the whole space, so that wrapping is common.
fn word(half: u64) -> SeqNum {
    SeqNum::new(u32::try_from(half & u64::from(u32::MAX)).unwrap_or(0))
}

fn config(tcp: &TcpSettings, sender: SenderPolicy) -> Config {
    // The plan has checked the order of the timeouts.
    let rto = sender.rto(tcp.rto().unwrap_or(RtoConfig::RFC));
    Config {
        sender,
        controller: None,
        window: WindowRules {
            counting: tcp.growth.into(),
            halving: tcp.halving.into(),
            ssthresh: tcp.ssthresh_initial.map_or(MAX_WINDOW, Threshold::get),
        },
        mss: tcp.mss.get(),
        rto,
        rtt_samples: tcp.rtt_sample.into(),
        delayed_ack: DelayedAck { every: tcp.ack_every, timeout: tcp.ack_delay.0 },
        receiver: Receiving::Rfc,
        acceptance: Acceptance::RFC,
        receive_buffer: tcp.receive_buffer.get(),
        send_buffer: SEND_BUFFER,
        window_scaling: tcp.receive_buffer.get() > u32::from(u16::MAX),
        timestamps: tcp.timestamps,
        sack: sender.wants_sack(),
        santa_cruz: sender.wants_santa_cruz(),
        ecn: tcp.ecn,
        nagle: tcp.nagle,
        // A simulated flow has all its data from the start and never idles.
        restart_after_idle: false,
        msl: Duration::from_secs(120),
        // A simulated flow never aborts: its duration is the result.
        max_timeouts: u8::MAX,
        max_syn_timeouts: u8::MAX,
        min_mss: Mss::LEAST,
        challenges: Challenges::DEFAULT,
        timeouts: Timeouts::NONE,
    }
}

//! The configuration of the two ends of a flow.

use std::sync::Arc;

use policy::SenderPolicy;
use policy::congestion::{MAX_WINDOW, WindowRules};
use policy::rtt::RtoConfig;
use tcp::{Config, Connection, LinuxReceiver, Negotiated, Receiving};
use units::{Duration, Instant};
use wire::SeqNum;

use crate::plan::PlannedWorkload;
use crate::scenario::{Opener, TcpSettings, Threshold};

/// The configuration of a workload's flows that use one sender.
#[derive(Debug, Clone)]
pub(crate) struct Endpoints {
    sender: Arc<Config>,
    /// Equal to that of `sender` without its custom controller, unless the hosts differ.
    receiver: Arc<Config>,
    opener: Option<Opener>,
    /// Round-trip time that the sender knows.
    rtt: Option<Duration>,
    /// Lengths of the records that the application writes; none if it writes all data at once.
    records: Arc<[u32]>,
}

impl Endpoints {
    pub(crate) fn new(workload: &PlannedWorkload, sender: SenderPolicy) -> Self {
        let opener = workload.handshake.then_some(workload.opener);
        let common = Arc::new(config(&workload.tcp, sender));
        let sender = if workload.controller.is_some() {
            let controller = workload.controller.clone();
            Arc::new(Config { controller, ..Config::clone(&common) })
        } else {
            Arc::clone(&common)
        };
        let receiver = receiving(&workload.tcp, &common).map_or(common, Arc::new);
        let rtt = workload.tcp.rtt_initial.map(|rtt| rtt.0);
        let records = workload.demand.records().into();
        Self { sender, receiver, opener, rtt, records }
    }

    /// Makes the end that sends data, for a flow that starts at `at`.
    pub(super) fn sender(&self, identity: u64, at: Instant) -> Connection {
        let window = Connection::initial_window(&self.receiver, self.receiver.timestamps);
        let (iss, irs) = (iss(identity), irs(identity));
        let mut sender = self.end(&self.sender, iss, irs, Opener::Sender, window);
        if let Some(rtt) = self.rtt {
            sender.assume_rtt(rtt, at);
        }
        sender
    }

    pub(super) fn receiver(&self, identity: u64) -> Connection {
        let window = Connection::initial_window(&self.sender, self.sender.timestamps);
        self.end(&self.receiver, irs(identity), iss(identity), Opener::Receiver, window)
    }

    /// Lengths of the records that the application writes, again and again. Empty if it writes all
    /// data at once.
    pub(super) fn records(&self) -> &[u32] {
        &self.records
    }

    /// Returns true if the connection is opened by a handshake, and therefore closed as well.
    pub(super) fn has_handshake(&self) -> bool {
        self.opener.is_some()
    }

    /// Makes an end. It opens the connection if the opener is `role`. Without a handshake, `window`
    /// is the window of the other end.
    fn end(
        &self,
        config: &Arc<Config>,
        iss: SeqNum,
        irs: SeqNum,
        role: Opener,
        window: u32,
    ) -> Connection {
        let config = Arc::clone(config);
        let Some(opener) = self.opener else {
            // Both ends have the same options, and buffers of the same size.
            let negotiated = Negotiated::between_equals(&config);
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

/// The configuration of the end that sends data, without a custom controller.
fn config(tcp: &TcpSettings, sender: SenderPolicy) -> Config {
    // The plan has checked the order of the timeouts.
    let rto = sender.rto(tcp.rto().unwrap_or(RtoConfig::RFC));
    let profile = tcp.profile.config();
    let delayed_ack = tcp.delayed_ack();
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
        delayed_ack: delayed_ack.unwrap_or(profile.delayed_ack),
        receiver: receiver(tcp, profile.receiver),
        receive_buffer: tcp.receive_buffer.get(),
        send_buffer: SEND_BUFFER,
        send_memory: tcp.send_memory.into(),
        window_scaling: tcp.receive_buffer.get() > u32::from(u16::MAX),
        timestamps: tcp.timestamps,
        sack: tcp.sack && sender.wants_sack(),
        santa_cruz: sender.wants_santa_cruz(),
        ecn: tcp.ecn,
        nagle: tcp.nagle,
        // A simulated flow never idles. Congestion window validation of Linux has the same switch.
        restart_after_idle: tcp.profile.is_linux(),
        // A simulated flow never aborts: its duration is the result.
        max_timeouts: u8::MAX,
        max_syn_timeouts: u8::MAX,
        ..profile
    }
}

/// The receiver of a profile, unless the settings ask for delayed acknowledgments of their own.
fn receiver(tcp: &TcpSettings, of_profile: Receiving) -> Receiving {
    match of_profile {
        Receiving::Linux(_) if tcp.delayed_ack().is_some() => Receiving::Rfc,
        Receiving::Linux(linux) => {
            Receiving::Linux(LinuxReceiver { interactive: tcp.interactive, ..linux })
        }
        Receiving::Rfc => Receiving::Rfc,
    }
}

/// The configuration of the end that receives data, if its host differs from that of the sender.
fn receiving(tcp: &TcpSettings, sender: &Config) -> Option<Config> {
    let host = tcp.receiver.filter(|receiver| *receiver != tcp.profile)?.config();
    let delayed_ack = tcp.delayed_ack();
    Some(Config {
        rto: host.rto,
        delayed_ack: delayed_ack.unwrap_or(host.delayed_ack),
        receiver: receiver(tcp, host.receiver),
        acceptance: host.acceptance,
        msl: host.msl,
        ..sender.clone()
    })
}

//! Comparison of a live transfer with its simulation: both must send the same packets.
//!
//! Both ends are hosts on TUN devices. Between them are two forwarding kernels and the emulated
//! link. The server sends `size` bytes to its client and closes. The mask determines which data
//! segments are lost.

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use emulator::{Emulation, Job, Settings};
use host::{ConnectionId, Driver, Event, EventKind, Senders, Service, Stack, StackConfig, Tuple};
use policy::SenderPolicy;
use serde::Serialize;
use sim::tables::PacketEvent;
use sim::{Scenario, Simulation, Status};
use tun::{Interface, NetNamespace, Prefix};
use units::{Duration, Instant};

use crate::Result;
use crate::capture::{self, Captured};

const SERVER: IpAddr = IpAddr::V4(Ipv4Addr::new(100, 127, 0, 2));
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::new(100, 127, 0, 6));
const PORT: u16 = 80;
/// One-way delay of the link, in milliseconds.
const DELAY_MS: u64 = 50;
/// Captured bytes of each packet: the headers.
const SNAP_LEN: u32 = 120;

/// Parameters of a transfer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Transfer {
    /// Sender policy.
    pub sender: String,
    /// Bytes to send.
    pub size: u64,
    /// Losses of data segments: `0,1,0` loses the second.
    pub mask: String,
}

/// A packet, with sequence numbers relative to the initial ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Sent {
    /// `S`, `F` or `R` for the control bit that is set; otherwise a dot.
    pub control: char,
    /// Relative sequence number.
    pub seq: u32,
    /// Payload in bytes.
    pub payload: u32,
    /// Relative acknowledgment number.
    pub ack: Option<u32>,
}

/// The packets that one end sent, each with its time in seconds since the first.
pub type SentPackets = Vec<(f64, Sent)>;

/// A live transfer.
#[derive(Debug, Clone, Serialize)]
pub struct Live {
    /// Packets that the server sent.
    pub server: SentPackets,
    /// Packets that the client sent.
    pub client: SentPackets,
    /// Number of packets with a TCP Santa Cruz option.
    pub santa_cruz: usize,
    /// Median timing error of the emulator in seconds, in the worse direction.
    pub error_median_s: f64,
    /// 99th percentile of the timing error in seconds, in the worse direction.
    pub error_p99_s: f64,
}

/// Comparison of a live transfer with its simulation.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// The transfer.
    pub transfer: Transfer,
    /// Packets of both ends in the simulation.
    pub packets: usize,
    /// Retransmitted data segments in the simulation.
    pub resent: usize,
    /// Live packets with a TCP Santa Cruz option.
    pub santa_cruz: usize,
    /// The first difference in control bits, sequence number, length, acknowledgment or order.
    pub difference: Option<String>,
    /// Median delay of a live packet behind the simulated one in seconds, per crossing of the link
    /// since the first packet.
    pub late_median_s: f64,
    /// Maximum delay of a live packet behind the simulated one, in seconds.
    pub late_max_s: f64,
    /// Minimum of that delay in seconds. It is negative if a packet was early.
    pub early_s: f64,
    /// Median timing error of the emulator, in seconds.
    pub error_median_s: f64,
    /// 99th percentile of the timing error, in seconds.
    pub error_p99_s: f64,
}

impl Comparison {
    /// Runs a transfer live and in the simulator.
    ///
    /// # Errors
    /// If the transfer is invalid, or the system refuses.
    pub fn of(transfer: &Transfer, program: &Path) -> Result<Self> {
        let [server, client] = simulated(transfer)?;
        let live = live(transfer, program)?;
        let lateness = |real: &SentPackets, model: &SentPackets| -> Vec<(f64, f64)> {
            real.iter().zip(model).map(|((real, _), (model, _))| (real - model, *model)).collect()
        };
        let mut late = lateness(&live.server, &server);
        late.extend(lateness(&live.client, &client));
        let delay = Duration::from_millis(DELAY_MS).as_nanos();
        #[expect(clippy::cast_precision_loss, reason = "a few milliseconds")]
        let delay = delay as f64 / 1e9;
        let mut each: Vec<f64> = late
            .iter()
            .filter(|(_, at)| *at > delay)
            .map(|(late, at)| late / (at / delay).round())
            .collect();
        each.sort_by(f64::total_cmp);
        let difference = difference("server", &live.server, &server)
            .or_else(|| difference("client", &live.client, &client));
        let mut seen = std::collections::BTreeSet::new();
        let resent =
            server.iter().filter(|(_, sent)| sent.payload > 0 && !seen.insert(sent.seq)).count();
        Ok(Self {
            transfer: transfer.clone(),
            packets: server.len() + client.len(),
            resent,
            santa_cruz: live.santa_cruz,
            difference,
            late_median_s: each.get(each.len() / 2).copied().unwrap_or(f64::NAN),
            late_max_s: late.iter().map(|(late, _)| *late).fold(f64::NEG_INFINITY, f64::max),
            early_s: late.iter().map(|(late, _)| *late).fold(f64::INFINITY, f64::min),
            error_median_s: live.error_median_s,
            error_p99_s: live.error_p99_s,
        })
    }
}

fn difference(end: &str, real: &SentPackets, model: &SentPackets) -> Option<String> {
    let (packets, expected) =
        (real.iter().map(|(_, sent)| sent), model.iter().map(|(_, sent)| sent));
    let at = packets.clone().zip(expected).position(|(real, model)| real != model);
    match at {
        Some(at) => Some(format!(
            "packet {at} of the {end} is {:?}, simulated {:?}",
            real[at].1, model[at].1
        )),
        None if real.len() != model.len() => {
            Some(format!("the {end} sends {} packets, simulated {}", real.len(), model.len()))
        }
        None => None,
    }
}

/// The packets that server and client send in the simulator.
///
/// # Errors
/// If the transfer is invalid.
pub fn simulated(transfer: &Transfer) -> Result<[SentPackets; 2]> {
    let Transfer { sender, size, mask } = transfer;
    let json = format!(
        r#"{{"name": "one", "duration": "1000s", "trace": ["one"], "tcp": {{"profile": "rfc"}},
            "link": [{{"name": "there", "from": "server", "to": "client", "delay": "{DELAY_MS}ms",
                       "loss": {{"kind": "mask", "drops": "{mask}"}}}},
                     {{"name": "back", "from": "client", "to": "server", "delay": "{DELAY_MS}ms"}}],
            "workload": [{{"name": "one", "kind": "transfers", "from": "server", "to": "client", "sizes": [{size}],
                           "start": "0s", "spacing": "1s", "sender": "{sender}", "handshake": true, "opener": "receiver"}}]}}"#
    );
    let scenario = Scenario::from_json(&json)?;
    let mut simulation = Simulation::new(&scenario, 1)?;
    while simulation.advance(100_000) == Status::Running {}
    let packets = simulation.take_packets();
    let mut sequences = [SentPackets::new(), SentPackets::new()];
    for row in 0..packets.len() {
        if packets.event.codes()[row] != PacketEvent::Sent.code() {
            continue;
        }
        let sent = Sent {
            control: packets.control.get(row).and_then(|text| text.chars().next()).unwrap_or('.'),
            seq: packets.seq[row],
            payload: packets.payload_bytes[row],
            ack: packets.ack.get(row),
        };
        sequences[usize::from(packets.from.get(row) == Some("receiver"))]
            .push((packets.time_s[row], sent));
    }
    Ok(sequences.map(relative_to_first))
}

fn relative_to_first(story: SentPackets) -> SentPackets {
    let first = story.first().map_or(0.0, |(at, _)| *at);
    story.into_iter().map(|(at, sent)| (at - first, sent)).collect()
}

/// Runs a transfer on a real wire.
///
/// # Errors
/// If the system refuses.
pub fn live(transfer: &Transfer, program: &Path) -> Result<Live> {
    NetNamespace::new()?.run(|| run_in_namespace(transfer, program))?
}

fn run_in_namespace(transfer: &Transfer, program: &Path) -> Result<Live> {
    NetNamespace::allow_forwarding()?;
    let (tun, _) = host::attach(&[SERVER], 1500, false)?;
    let settings = serde_json::json!({
        "both": {"delay": format!("{DELAY_MS}ms")},
        "down": {"loss-mask": transfer.mask},
    });
    let settings = Settings::from_json(&settings.to_string()).map_err(|e| e.to_string())?;
    let emulation = Emulation::new(&settings, false)?;
    add_route_to_client(emulation.ends().outside)?;
    let files = ["server", "client"].map(scratch);
    let over = AtomicBool::new(false);
    let report = std::thread::scope(|scope| -> Result<_> {
        let (over, file) = (&over, &files[0]);
        let server = scope.spawn(move || {
            let service = Source { size: transfer.size };
            let mut driver = Driver::new(tun, config(&transfer.sender, SERVER)?, service)?;
            driver.process_in_lockstep();
            driver.capture(file, SNAP_LEN)?;
            while !over.load(Ordering::Relaxed) {
                driver.run(Duration::from_millis(50))?;
            }
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(driver.finish_capture()?)
        });
        let command = [
            program.to_string_lossy().as_ref(),
            "fetch",
            &transfer.sender,
            &files[1].to_string_lossy(),
        ]
        .map(str::to_owned);
        let report = emulation.run(&Job { command: command.to_vec(), ..Job::default() });
        over.store(true, Ordering::Relaxed);
        server.join().map_err(|_| "the server panicked")??;
        Ok(report?)
    })?;
    if report.exit_status != 0 {
        return Err(format!("the client failed with status {}", report.exit_status).into());
    }
    let captures = [capture::read(&files[0])?, capture::read(&files[1])?];
    for file in files {
        fs::remove_file(file)?;
    }
    let santa_cruz = captures.iter().flatten().filter(|one| one.outbound && one.santa_cruz).count();
    let [server, client] = captures.map(|capture| sent_packets(&capture));
    let worse = |one: Option<f64>, other: Option<f64>| one.unwrap_or(0.0).max(other.unwrap_or(0.0));
    Ok(Live {
        server,
        client,
        santa_cruz,
        error_median_s: worse(report.up.timing_error_median_s, report.down.timing_error_median_s),
        error_p99_s: worse(report.up.timing_error_p99_s, report.down.timing_error_p99_s),
    })
}

/// Routes the client's packets through the device that has the outer address of the link.
fn add_route_to_client(outside: IpAddr) -> Result<()> {
    let address = Interface::addresses()?.into_iter().find(|a| a.prefix.address() == outside);
    let index = address.ok_or("the link has no outer end")?.interface;
    let interface = ["tcpsf0", "tcpsf1"].map(Interface::find).into_iter().flatten();
    let interface = interface
        .into_iter()
        .find(|one| one.index() == index)
        .ok_or("the link has no outer device")?;
    Ok(interface.add_route(Prefix::new(CLIENT, 32).ok_or("an address has 32 bits")?)?)
}

fn scratch(name: &str) -> PathBuf {
    static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir()
        .join(format!("tcpsf-one-tcp-{}-{number}-{name}.pcapng", std::process::id()))
}

/// The outbound packets of a capture.
fn sent_packets(capture: &[Captured]) -> SentPackets {
    let iss = |outbound| {
        capture
            .iter()
            .find(|one| one.outbound == outbound && one.control == 'S')
            .map_or(0, |one| one.seq)
    };
    let (ours, theirs) = (iss(true), iss(false));
    let sent = |one: &Captured| Sent {
        control: one.control,
        seq: one.seq.wrapping_sub(ours),
        payload: one.payload,
        ack: one.ack.map(|ack| ack.wrapping_sub(theirs)),
    };
    #[expect(clippy::cast_precision_loss, reason = "seconds")]
    let story =
        capture.iter().filter(|one| one.outbound).map(|one| (one.at as f64 / 1e9, sent(one)));
    relative_to_first(story.collect())
}

/// A host configuration that corresponds to the simulator's profile `rfc`.
fn config(sender: &str, address: IpAddr) -> Result<StackConfig> {
    let sender: SenderPolicy = sender.parse()?;
    let mut config = StackConfig::new(vec![address]);
    config.senders = Senders::one(sender);
    config.tcp.sack = sender.wants_sack();
    config.tcp.receive_buffer = 1_000_000;
    config.tcp.restart_after_idle = false;
    Ok(config)
}

/// A server that sends `size` bytes on each connection and closes.
#[derive(Debug)]
struct Source {
    size: u64,
}

impl Service for Source {
    fn start(&mut self, stack: &mut Stack, _now: Instant) {
        stack.listen(PORT);
    }

    fn on_event(&mut self, stack: &mut Stack, event: Event, now: Instant) {
        if let EventKind::Accepted(_) = event.kind {
            let bytes = vec![0; usize::try_from(self.size).unwrap_or(0)];
            // Transfers are smaller than the send buffer.
            let taken = stack.write(event.id, &bytes, now);
            debug_assert_eq!(taken, Ok(bytes.len()));
            stack.close(event.id, now);
        }
    }

    fn on_timeout(&mut self, _stack: &mut Stack, _now: Instant) {}

    fn next_timeout(&self) -> Instant {
        Instant::NEVER
    }

    fn stop(&mut self, stack: &mut Stack, _now: Instant) {
        stack.stop_listening(PORT);
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// A client that reads to the end, and closes after its acknowledgment of the end has been sent.
#[derive(Debug, Default)]
struct Sink {
    close_pending: Option<ConnectionId>,
    closed: bool,
}

impl Service for Sink {
    fn start(&mut self, stack: &mut Stack, now: Instant) {
        let tuple = Tuple { local: CLIENT, remote: SERVER, local_port: 1024, remote_port: PORT };
        // A new stack has room.
        let opened = stack.connect(tuple, now);
        debug_assert!(opened.is_ok());
    }

    fn on_event(&mut self, stack: &mut Stack, event: Event, _now: Instant) {
        let unread: usize = stack.peek(event.id).iter().map(|part| part.len()).sum();
        stack.consume(event.id, unread);
        if stack.is_at_end(event.id) {
            self.close_pending = Some(event.id);
        }
        self.closed |= matches!(event.kind, EventKind::Closed(_));
    }

    fn on_timeout(&mut self, stack: &mut Stack, now: Instant) {
        if let Some(id) = self.close_pending.take() {
            stack.close(id, now);
        }
    }

    fn next_timeout(&self) -> Instant {
        if self.close_pending.is_some() { Instant::ZERO } else { Instant::NEVER }
    }

    fn stop(&mut self, _stack: &mut Stack, _now: Instant) {}

    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// The client's program behind the link: runs a transfer and writes its capture to `file`.
///
/// # Errors
/// If the system refuses.
pub fn fetch(sender: &str, file: &Path) -> Result<()> {
    NetNamespace::allow_forwarding()?;
    let (tun, _) = host::attach(&[CLIENT], 1500, false)?;
    let mut driver = Driver::new(tun, config(sender, CLIENT)?, Sink::default())?;
    driver.process_in_lockstep();
    driver.capture(file, SNAP_LEN)?;
    while !driver.service().closed {
        driver.run(Duration::from_millis(50))?;
    }
    // The last acknowledgment may have to be retransmitted.
    driver.run(Duration::from_millis(4 * DELAY_MS))?;
    Ok(driver.finish_capture()?)
}

//! Packets that arrive.

use tcp::IcmpError;
use wire::{
    Control, Ecn, Flags, Mss, SackBlocks, Segment, SeqNum, SeqRange, Timestamps, UnscaledWindow,
    WindowScale,
};

use super::{Played, Player};
use crate::host::Endpoint;
use crate::matching::Numbers;
use crate::report::Stop;
use crate::script::{EcnField, Event, Icmp, Packet, TcpOption, TcpPacket};

impl Player<'_> {
    pub(super) fn arrive(&mut self, event: &Event, packet: &Packet) -> Played {
        self.trace(&event.text);
        match packet {
            Packet::Tcp(packet) => self.arrive_tcp(event, packet)?,
            Packet::Icmp(packet) => self.arrive_icmp(event, packet)?,
        }
        self.machine.drain();
        self.retry_pending()
    }

    fn arrive_tcp(&mut self, event: &Event, packet: &TcpPacket) -> Played {
        let Some(control) = control(packet) else {
            // The host drops segments with flags that exclude each other.
            self.note(event.line, "flags that exclude each other: dropped".to_owned());
            return Ok(());
        };
        let on_syn = control == Control::Syn;
        let opens = on_syn && !packet.has('.');
        let closed = self.machine.host.tested().is_none_or(|each| each.closed.is_some());
        if opens && closed {
            let segment = self.segment(event, packet, control)?;
            if self.machine.open(&segment) {
                return Ok(());
            }
        }
        if self.machine.host.current.is_none() {
            // A closed connection answers with a reset. Nothing was sent, so its numbers are plain.
            let index = self.machine.host.add(tcp::Config::default());
            self.machine.host.endpoints[index].numbers = Numbers::default();
        }
        if on_syn && let Some(endpoint) = self.machine.host.tested() {
            endpoint.numbers.theirs = SeqNum::new(packet.seq.first);
        }
        let segment = self.segment(event, packet, control)?;
        let (unit, now) = (self.settings.unit, self.machine.now);
        if let Some(endpoint) = self.machine.host.tested() {
            endpoint.deliver(&segment, unit, now);
        }
        Ok(())
    }

    /// Builds the segment from the script's numbers.
    fn segment(
        &mut self,
        event: &Event,
        packet: &TcpPacket,
        control: Control,
    ) -> Result<Segment, Stop> {
        let on_syn = control == Control::Syn;
        let scaled = self.settings.scaled_echoes;
        let nobody = crate::matching::Stamps::default();
        let endpoint = self.machine.host.tested();
        let numbers = endpoint.as_ref().map(|each| each.numbers).unwrap_or_default();
        let stamps = endpoint.as_ref().map_or(&nobody, |each| &each.stamps);
        let options = options(packet, &numbers, |written| match stamps.echo(written, scaled) {
            // The echo of a SYN has no meaning, and 0 stands for none.
            None if on_syn && !packet.has('.') || written == 0 => Ok(written),
            None => Err(Stop::failed(
                event.line,
                format!("the echo {written} is no timestamp that left before"),
            )),
            Some(echo) => Ok(echo),
        })?;
        let window = UnscaledWindow::new(packet.window.unwrap_or(0));
        // Without `ack` the field has the initial sequence number.
        let ack = packet
            .has('.')
            .then(|| numbers.our_live(packet.ack.unwrap_or(0), on_syn && packet.ack.is_some()));
        Ok(Segment {
            seq: numbers.their_live(packet.seq.first, on_syn),
            ack,
            control,
            flags: flags(packet),
            window,
            payload_len: packet.seq.len,
            options,
        })
    }

    fn arrive_icmp(&mut self, event: &Event, packet: &Icmp) -> Played {
        let now = self.machine.now;
        let Some(endpoint) = self.machine.host.tested() else { return Ok(()) };
        let seq = quoted(endpoint, packet);
        let code = packet.code.as_deref();
        let accepted = match (packet.kind.as_str(), code) {
            ("unreachable", Some("frag_needed")) | ("packet_too_big", _) => {
                // IPv6 has a longer header.
                let header = if packet.kind == "packet_too_big" { 60 } else { 40 };
                let mss = packet.mtu.unwrap_or(0).saturating_sub(header);
                let mss = u16::try_from(mss).ok().and_then(Mss::new).unwrap_or(Mss::LEAST);
                endpoint.connection.on_packet_too_big(mss, seq, now)
            }
            ("unreachable", Some("port_unreachable" | "protocol_unreachable")) => {
                endpoint.connection.on_icmp_error(IcmpError::Hard, seq, now)
            }
            ("unreachable" | "time_exceeded" | "parameter_problem", _) => {
                endpoint.connection.on_icmp_error(IcmpError::Soft, seq, now)
            }
            _ => return Err(Stop::not_applicable(event.line, "this ICMP type is not supported")),
        };
        endpoint.drain(now);
        if !accepted {
            self.note(event.line, "the ICMP error was ignored".to_owned());
        }
        Ok(())
    }
}

/// Converts the options of a script. `echo` returns the live value of a timestamp.
fn options(
    packet: &TcpPacket,
    numbers: &Numbers,
    echo: impl Fn(u32) -> Result<u32, Stop>,
) -> Result<wire::Options, Stop> {
    let mut options = wire::Options::default();
    let mut blocks = SackBlocks::EMPTY;
    for option in packet.options.iter().flatten() {
        match option {
            TcpOption::Mss(mss) => options.mss = Mss::new(*mss),
            TcpOption::WindowScale(shift) => {
                options.window_scale = Some(WindowScale::clamped(*shift));
            }
            TcpOption::SackPermitted => options.sack_permitted = true,
            TcpOption::Timestamps(val, written) => {
                options.timestamps = Some(Timestamps { val: *val, ecr: echo(*written)? });
            }
            TcpOption::Sack(pairs) => {
                for (start, end) in pairs {
                    let edge = |number: &u32| numbers.our_live(*number, false);
                    if let Some(block) = SeqRange::new(edge(start), edge(end)) {
                        blocks.push(block);
                    }
                }
            }
            _ => {}
        }
    }
    options.reports = blocks.into();
    Ok(options)
}

/// Sequence number that an ICMP error quotes; by default that of the oldest unacknowledged segment.
fn quoted(endpoint: &Endpoint, packet: &Icmp) -> SeqNum {
    let oldest = endpoint.connection.send_state().una;
    packet.quote.map_or(oldest, |quote| endpoint.numbers.our_live(quote.first, false))
}

/// The one control flag; `None` for two that exclude each other.
fn control(packet: &TcpPacket) -> Option<Control> {
    match (packet.has('S'), packet.has('F'), packet.has('R')) {
        (false, false, false) => Some(Control::None),
        (true, false, false) => Some(Control::Syn),
        (false, true, false) => Some(Control::Fin),
        (false, false, true) => Some(Control::Rst),
        _ => None,
    }
}

fn flags(packet: &TcpPacket) -> Flags {
    let ecn = match packet.ecn {
        Some(EcnField::Is(field)) => field,
        Some(EcnField::Capable) => Ecn::Ect0,
        None => Ecn::NotEct,
    };
    Flags::NONE
        .with(Flags::PSH, packet.has('P'))
        .with(Flags::ECE, packet.has('E'))
        .with(Flags::CWR, packet.has('W'))
        .with_ecn(ecn)
}

//! Server of the three ports over smoltcp's TCP and IPv4. Unlike smoltcp's own TUN device, the
//! device here neither allocates nor copies for a packet.

use std::os::fd::AsFd;

use peers::{CHUNK, REQUEST, REQUESTS, RESPONSE, SERVER, SINK, SOURCE};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use smoltcp::iface::{
    Config, Interface, PollIngressSingleResult, PollResult, SocketHandle, SocketSet,
};
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{Socket, SocketBuffer};
use smoltcp::time::Instant;
use smoltcp::wire::{HardwareAddress, IpCidr};
use tun::{Offload, Tun};

/// Maximum number of packets received before connections are served.
const BATCH: usize = 64;

struct Wire {
    tun: Tun,
    mtu: usize,
    arrived: Vec<u8>,
    leaving: Vec<u8>,
}

struct Arrived<'a>(&'a [u8]);
struct Leaving<'a>(&'a Tun, &'a mut [u8]);

impl Device for Wire {
    type RxToken<'a> = Arrived<'a>;
    type TxToken<'a> = Leaving<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Arrived<'_>, Leaving<'_>)> {
        let len = self.tun.read(&mut self.arrived).expect("the device works")?;
        Some((Arrived(&self.arrived[..len]), Leaving(&self.tun, &mut self.leaving)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Leaving<'_>> {
        Some(Leaving(&self.tun, &mut self.leaving))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = self.mtu;
        capabilities
    }
}

impl RxToken for Arrived<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(self.0)
    }
}

impl TxToken for Leaving<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let packet = &mut self.1[..len];
        let result = f(packet);
        // A packet that the device does not accept is lost; TCP retransmits it.
        let _ = self.0.write(packet).expect("the device works");
        result
    }
}

/// A socket, its port, and byte counts as in `ours.rs`.
struct Peer {
    handle: SocketHandle,
    port: u16,
    asked: usize,
    owed: usize,
}

impl Peer {
    fn serve(&mut self, socket: &mut Socket<'_>, bytes: &mut [u8]) {
        if !socket.is_open() {
            (self.asked, self.owed) = (0, 0);
            socket.listen(self.port).expect("it is closed");
            return;
        }
        while socket.can_recv() {
            let taken = socket.recv_slice(bytes).expect("it has something");
            if self.port == REQUESTS {
                self.asked += taken;
                self.owed += self.asked / REQUEST * RESPONSE;
                self.asked %= REQUEST;
            }
        }
        if self.port == SOURCE {
            while socket.can_send() && socket.send_slice(bytes).expect("it has room") > 0 {}
        } else if self.owed > 0 && socket.can_send() {
            self.owed -= socket.send_slice(&bytes[..self.owed]).expect("it has room");
        }
        if socket.may_send() && !socket.may_recv() && !socket.is_listening() {
            socket.close();
        }
    }
}

fn milliseconds() -> u32 {
    u32::try_from(Instant::now().total_millis() & i64::from(u32::MAX)).unwrap_or(0)
}

fn main() {
    let mtu = peers::option("--mtu", 1500);
    let buffer: usize = peers::option("--buffer", 1 << 20);
    let count: usize = peers::option("--sockets", 4);
    let mut wire = Wire {
        tun: peers::device(Offload::None, mtu),
        mtu: usize::from(mtu),
        arrived: vec![0; 1 << 16],
        leaving: vec![0; 1 << 16],
    };
    let mut interface = Interface::new(Config::new(HardwareAddress::Ip), &mut wire, Instant::now());
    interface.update_ip_addrs(|addresses| {
        addresses.push(IpCidr::new(SERVER.into(), 24)).expect("there is room for one");
    });
    let mut sockets = SocketSet::new(Vec::new());
    // Only the requested port has sockets, because smoltcp examines every socket for each packet.
    let port = peers::option("--port", SOURCE);
    assert!([SOURCE, SINK, REQUESTS].contains(&port), "--port {port}: no such port");
    let mut peers = Vec::new();
    for _ in 0..count {
        let mut socket =
            Socket::new(SocketBuffer::new(vec![0; buffer]), SocketBuffer::new(vec![0; buffer]));
        if !peers::flag("--no-timestamps") {
            socket.set_tsval_generator(Some(milliseconds));
        }
        peers.push(Peer { handle: sockets.add(socket), port, asked: 0, owed: 0 });
    }
    let mut bytes = vec![b'x'; CHUNK];
    for peer in &mut peers {
        peer.serve(sockets.get_mut(peer.handle), &mut bytes);
    }
    peers::ready();
    loop {
        let now = Instant::now();
        let mut taken = 0;
        while taken < BATCH
            && interface.poll_ingress_single(now, &mut wire, &mut sockets)
                != PollIngressSingleResult::None
        {
            taken += 1;
        }
        if taken > 0 {
            for peer in &mut peers {
                peer.serve(sockets.get_mut(peer.handle), &mut bytes);
            }
        }
        while interface.poll_egress(now, &mut wire, &mut sockets) == PollResult::SocketStateChanged
        {
        }
        if taken < BATCH {
            let delay = interface.poll_delay(now, &sockets).map(|delay| Timespec {
                tv_sec: i64::try_from(delay.secs()).unwrap_or(i64::MAX),
                tv_nsec: i64::try_from(delay.micros() * 1000).unwrap_or(0),
            });
            poll(&mut [PollFd::from_borrowed_fd(wire.tun.as_fd(), PollFlags::IN)], delay.as_ref())
                .expect("a wait");
        }
    }
}

//! What the programs here agree on: three ports, one on which a server sends for ever, one on which it takes whatever
//! comes, and one on which it answers requests.

use std::env;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};

use tun::{Offload, Prefix, Tun};

/// The kernel's address on the device.
pub const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// The server's address.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

/// Here a server sends until the peer hangs up.
pub const SOURCE: u16 = 1001;
/// Here it takes what comes.
pub const SINK: u16 = 1002;
/// Here it answers each [`REQUEST`] bytes with [`RESPONSE`].
pub const REQUESTS: u16 = 1003;

/// A small request of HTTP's, with its headers.
pub const REQUEST: usize = 120;
/// A small page, with its headers.
pub const RESPONSE: usize = 1000;

/// What a server hands over at once, and reads at once.
pub const CHUNK: usize = 64 << 10;

/// The value behind `name` on the command line.
pub fn option<T: std::str::FromStr>(name: &str, default: T) -> T {
    let mut words = env::args().skip_while(|word| word != name).skip(1);
    words.next().map_or(default, |word| {
        word.parse().unwrap_or_else(|_| panic!("{name} {word}: no such value"))
    })
}

/// Whether `name` is on the command line.
pub fn flag(name: &str) -> bool {
    env::args().any(|word| word == name)
}

/// A TUN device of the calling thread's network namespace with [`KERNEL`] on it and [`SERVER`] behind it.
pub fn device(offload: Offload, mtu: u16) -> Tun {
    let tun = Tun::open("bench%d", offload).expect("a device");
    let interface = tun.interface().expect("its interface");
    let prefix = Prefix::new(IpAddr::from(KERNEL), 24).expect("at most 32 bits");
    interface.set_mtu(u32::from(mtu)).expect("its MTU");
    interface.add_address(prefix, None).expect("its address");
    interface.set_up().expect("it is up");
    tun
}

/// Tells who started this program that it can be connected to.
pub fn ready() {
    println!("ready");
    std::io::stdout().flush().expect("somebody listens");
}

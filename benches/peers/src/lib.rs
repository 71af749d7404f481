//! Common parts of the programs here. A server has three ports: it sends endlessly on one, discards
//! data on another, and answers requests on the third.

use std::env;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr};

use tun::{Offload, Prefix, Tun};

/// The kernel's address on the device.
pub const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
/// The server's address.
pub const SERVER: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

/// Port on which the server sends until the peer closes.
pub const SOURCE: u16 = 1001;
/// Port on which the server discards what it receives.
pub const SINK: u16 = 1002;
/// Port on which the server answers each [`REQUEST`] bytes with [`RESPONSE`] bytes.
pub const REQUESTS: u16 = 1003;

/// Length of a request in bytes: a small HTTP request with its header fields.
pub const REQUEST: usize = 120;
/// Length of a response in bytes: a small page with its header fields.
pub const RESPONSE: usize = 1000;

/// Bytes that a server writes or reads with one call.
pub const CHUNK: usize = 64 << 10;

/// The value after `name` on the command line, or `default`.
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

/// Creates a TUN device in the calling thread's network namespace, with the address [`KERNEL`] on
/// it and [`SERVER`] behind it.
pub fn device(offload: Offload, mtu: u16) -> Tun {
    let tun = Tun::open("bench%d", offload).expect("a device");
    let interface = tun.interface().expect("its interface");
    let prefix = Prefix::new(IpAddr::from(KERNEL), 24).expect("at most 32 bits");
    interface.set_mtu(u32::from(mtu)).expect("its MTU");
    interface.add_address(prefix, None).expect("its address");
    interface.set_up().expect("it is up");
    tun
}

/// Reports to the parent process that the program accepts connections.
pub fn ready() {
    println!("ready");
    std::io::stdout().flush().expect("somebody listens");
}

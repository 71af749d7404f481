//! A TUN device with the host's addresses behind it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tun::{Error, Interface, Offload, Prefix, Tun};

/// What packets wait in on their way to us, as many as a batch of connections may send at once.
const QUEUE: u32 = 10_000;

/// Makes a device in the calling thread's network namespace. Behind it are `addresses`, or without any a free pair of one
/// of each IP; the kernel gets one beside each. Returns the device and the addresses.
///
/// # Errors
/// When there are no TUN devices, no privilege, or an address is taken.
pub fn attach(addresses: &[IpAddr], mtu: u16, offload: bool) -> Result<(Tun, Vec<IpAddr>), Error> {
    let ours = if addresses.is_empty() { free()? } else { addresses.to_vec() };
    let tun = Tun::open("tcpsf%d", if offload { Offload::Segmentation } else { Offload::None })?;
    let interface = tun.interface()?;
    interface.set_no_link_local()?;
    interface.set_queue_len(QUEUE)?;
    interface.set_mtu(mtu.into())?;
    interface.set_up()?;
    let mut taken = Vec::with_capacity(ours.len());
    for &address in &ours {
        let len = if address.is_ipv4() { 32 } else { 128 };
        let Some(kernel) = Prefix::new(beside(address, &ours), len) else { continue };
        match interface.add_address(kernel, Some(address)) {
            Ok(()) => taken.push(address),
            // A kernel without IPv6 was not asked for it by anybody.
            Err(_) if addresses.is_empty() && address.is_ipv6() => {}
            Err(error) => return Err(error),
        }
    }
    Ok((tun, taken))
}

/// An address of the kernel's for the other end.
fn beside(address: IpAddr, ours: &[IpAddr]) -> IpAddr {
    let at = |step: i8| match address {
        IpAddr::V4(address) => {
            IpAddr::from(Ipv4Addr::from_bits(u32::from(address).wrapping_add_signed(step.into())))
        }
        IpAddr::V6(address) => {
            IpAddr::from(Ipv6Addr::from_bits(u128::from(address).wrapping_add_signed(step.into())))
        }
    };
    // One of the next is not ours, for there are fewer of ours than these.
    [-1, 1, -2, 2, -3, 3, -4, 4].map(at).into_iter().find(|found| !ours.contains(found)).unwrap_or(at(-1))
}

/// RFC 6598, RFC 4193: a pair of addresses that nobody here has, for each IP.
fn free() -> Result<Vec<IpAddr>, Error> {
    let taken: Vec<IpAddr> = Interface::addresses()?.iter().map(|found| found.prefix.address()).collect();
    for number in 0..=255 {
        let kernel = Ipv4Addr::new(100, 127, number, 1);
        if !taken.contains(&kernel.into()) {
            let ours = Ipv4Addr::new(100, 127, number, 2);
            let six = Ipv6Addr::new(0xfd74, 0x6370, 0x7366, 1, 0, 0, number.into(), 2);
            return Ok(vec![ours.into(), six.into()]);
        }
    }
    let error = Error::new("find a free address in 100.127.0.0/16", std::io::ErrorKind::AddrInUse);
    Err(error.with_hint("name one"))
}

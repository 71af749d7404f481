//! Routes of a host with several ways out (multihoming, RFC 1122 §3.3.4): the source address of a
//! packet selects its interface, by rules of policy routing (`ip-rule(8)`).

use std::io;
use std::net::IpAddr;

use crate::interface::{family, octets};
use crate::netlink::Request;
use crate::{Error, Interface};

/// The first of our routing tables and rule priorities. Others use small numbers, and priorities
/// from 32766 on are the kernel's (`ip-rule(8)`).
const FIRST: u32 = 7470;

/// Attributes of rules (`linux/fib_rules.h`).
const FRA_SRC: u16 = 2;
pub(crate) const FRA_PRIORITY: u16 = 6;
pub(crate) const FRA_TABLE: u16 = 15;

/// The metric that the kernel gives to IPv6 routes without one (`IP6_RT_PRIO_USER`).
const DEFAULT_METRIC_V6: u32 = 1024;

impl Interface {
    /// Makes the interface a further way out of the namespace: packets whose source is `address`
    /// leave through it, and those of sockets that are bound to the interface. Without the first
    /// way out, all others do, too. `number` distinguishes the interfaces and is at least 2.
    ///
    /// The namespace keeps the rule when the interface is removed.
    ///
    /// # Errors
    /// If the kernel has no policy routing, or the number is in use.
    pub fn add_source_route(&self, address: IpAddr, number: u8) -> Result<(), Error> {
        let table = FIRST + u32::from(number);
        let metric = if address.is_ipv4() { 0 } else { DEFAULT_METRIC_V6 };
        let result = || {
            self.default_route(address, table, metric)?;
            add_rule(self, address, table)?;
            self.default_route(address, libc::RT_TABLE_MAIN.into(), metric + u32::from(number))
        };
        result().map_err(|e| {
            Error::new(format!("add a way out for {address} through `{}`", self.name()), e)
        })
    }

    /// Adds a default route of the address's family.
    fn default_route(&self, address: IpAddr, table: u32, metric: u32) -> io::Result<()> {
        let scope = libc::RT_SCOPE_LINK;
        let (protocol, kind) = (libc::RTPROT_STATIC, libc::RTN_UNICAST);
        // The attribute has the table.
        let fixed = [family(address), 0, 0, 0, libc::RT_TABLE_UNSPEC, protocol, scope, kind];
        let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let mut request = Request::new(libc::RTM_NEWROUTE, flags, &[&fixed[..], &[0; 4]].concat());
        request.attribute(libc::RTA_TABLE, &table.to_ne_bytes());
        request.attribute(libc::RTA_PRIORITY, &metric.to_ne_bytes());
        request.attribute(libc::RTA_OIF, &self.index().to_ne_bytes());
        request.execute(self.socket())
    }
}

/// Adds a rule: packets from `address` use `table`.
fn add_rule(interface: &Interface, address: IpAddr, table: u32) -> io::Result<()> {
    /// `FR_ACT_TO_TBL` of `linux/fib_rules.h`.
    const TO_TABLE: u8 = 1;
    let octets = octets(address);
    let bits = u8::try_from(8 * octets.len()).unwrap_or(u8::MAX);
    // `struct fib_rule_hdr`: family, length of the destination, of the source, TOS, table, two
    // reserved octets, action, flags.
    let fixed = [family(address), 0, bits, 0, 0, 0, 0, TO_TABLE, 0, 0, 0, 0];
    let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
    let mut request = Request::new(libc::RTM_NEWRULE, flags, &fixed);
    request.attribute(FRA_SRC, &octets);
    request.attribute(FRA_TABLE, &table.to_ne_bytes());
    request.attribute(FRA_PRIORITY, &table.to_ne_bytes());
    request.execute(interface.socket())
}

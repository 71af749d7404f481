//! The two ends of an emulated link: a TUN device in the caller's network namespace, and one in a
//! new namespace without any other exit.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::OwnedFd;

use serde::{Deserialize, Serialize};
use tun::{
    Block, Error, Gateway, INNER_DEVICE, Interface, NetNamespace, Offload, PassedFds, Prefix,
    TcpSockets, Tun, in_namespaces, in_own_namespaces, ipv6,
};

use crate::attached::Attachment;
use crate::dns::{Bound, PORT};
use crate::settings::Settings;

/// The name pattern of devices in the caller's namespace.
const OUTSIDE: &str = "tcpsf%d";
/// The length of a device's transmit queue, in packets. It covers 40 ms of full-sized packets at 1
/// Gb/s, during which the emulator may be descheduled.
const QUEUE_LEN: u32 = 4096;

const PRIVILEGE_HINT: &str = "run it as root; or give the program that the command talks to with \
    `--outside`, then both run in namespaces of your own; or give `--nat` to reach other hosts; or \
    run it all in one: `unshare --user --map-root-user --net`";

/// The namespaces of a link for a caller without privilege.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WithoutPrivilege {
    /// None: the link needs the privilege.
    Refused,
    /// Two namespaces of the user's own.
    OwnNamespaces,
    /// Two namespaces of the user's own, with a gateway at the outer end.
    Gateway {
        /// Whether there are sockets for a DNS forwarder.
        needs_dns: bool,
    },
}

/// A gateway at the outer end, before it has started.
#[derive(Debug)]
pub(crate) struct GatewayParts {
    pub(crate) gateway: Gateway,
    /// The sockets of a DNS forwarder, if this machine needs one.
    pub(crate) dns: Option<Bound>,
}

/// The addresses of the two ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ends {
    /// The IPv4 address in the caller's namespace or, without privilege, in the namespace of the
    /// outside command.
    pub outside: IpAddr,
    /// The IPv4 address in the command's namespace.
    pub inside: IpAddr,
    /// The IPv6 address of the outside end, if the system supports IPv6.
    pub outside_v6: Option<IpAddr>,
    /// The IPv6 address of the inside end, if the system supports IPv6.
    pub inside_v6: Option<IpAddr>,
}

impl Ends {
    /// The addresses as environment variables for commands. The names end with the number of the
    /// link if the command has several; the first link has the number 1 and no suffix.
    pub fn environment(&self, number: usize) -> Vec<(String, String)> {
        let suffix = if number == 1 { String::new() } else { format!("_{number}") };
        let all = [
            ("OUTSIDE", Some(self.outside)),
            ("INSIDE", Some(self.inside)),
            ("OUTSIDE6", self.outside_v6),
            ("INSIDE6", self.inside_v6),
        ];
        let known = all.into_iter().filter_map(|(name, address)| {
            Some((format!("TCPSF_LINK_{name}{suffix}"), address?.to_string()))
        });
        known.collect()
    }
}

/// One end of the link.
#[derive(Debug)]
pub(crate) struct End {
    pub(crate) tun: Tun,
    pub(crate) interface: Interface,
    pub(crate) namespace: NetNamespace,
}

/// Both ends. They are removed when the value is dropped.
#[derive(Debug)]
pub(crate) struct Network {
    pub(crate) outside: End,
    pub(crate) inside: End,
    /// The user namespace that owns the network namespaces, if it is not the caller's.
    pub(crate) user: Option<OwnedFd>,
    pub(crate) ends: Ends,
    /// The address block, if the outer end is in the caller's namespace.
    pub(crate) block: Option<Block>,
    /// The gateway at the outer end, until it starts.
    pub(crate) gateway: Option<GatewayParts>,
    /// The process with which the link ends.
    pub(crate) process: Option<OwnedFd>,
}

impl Network {
    /// Makes the ends in the caller's namespace and a new one, or in the namespaces of a caller
    /// without privilege.
    pub(crate) fn new(settings: &Settings, own: WithoutPrivilege) -> Result<Self, Error> {
        let error = match Self::in_this_namespace(settings) {
            Err(error) if error.is_permission_denied() => error,
            result => return result,
        };
        match own {
            WithoutPrivilege::Refused => {
                Err(Error::new(error.operation(), copy(error.source())).with_hint(PRIVILEGE_HINT))
            }
            WithoutPrivilege::OwnNamespaces => Self::in_new_user_namespace(settings, None),
            WithoutPrivilege::Gateway { needs_dns } => {
                tun::check_reach()?;
                Self::in_new_user_namespace(settings, Some(needs_dns))
            }
        }
    }

    fn in_this_namespace(settings: &Settings) -> Result<Self, Error> {
        let (outside, block, v6) = outside(settings)?;
        let namespace = NetNamespace::new()?;
        let inside = namespace.run(|| inside(settings, block, v6))??;
        let namespace = NetNamespace::from_fd(namespace.into_fd());
        let inside = End { namespace, ..inside };
        Ok(Self {
            outside,
            inside,
            user: None,
            ends: ends(block, v6),
            block: Some(block),
            gateway: None,
            process: None,
        })
    }

    /// Makes the ends in the caller's namespace and an existing one. There the link is the way to
    /// all other hosts, except those that more specific routes reach.
    pub(crate) fn attached(settings: &Settings, attachment: Attachment) -> Result<Self, Error> {
        let Attachment { namespace, process } = attachment;
        let (outside, block, v6) = outside(settings)?;
        let (inside, inside_v6) = namespace.run(|| inside_of_existing(settings, block, v6))??;
        let mut ends = ends(block, v6);
        ends.inside_v6 = ends.inside_v6.filter(|_| inside_v6);
        let inside = End { namespace, ..inside };
        let block = Some(block);
        Ok(Self { outside, inside, user: None, ends, block, gateway: None, process })
    }

    /// Makes the ends in the caller's namespace and in that of `first`'s inside end. The link is a
    /// further way out of it, for packets from its own address.
    ///
    /// `number` is at least 2. The link ends when `end` is readable.
    pub(crate) fn beside(
        settings: &Settings,
        first: &Self,
        number: u8,
        end: OwnedFd,
    ) -> Result<Self, Error> {
        if let Some(user) = &first.user {
            let (outer, inner) = (&first.outside.namespace, &first.inside.namespace);
            let passed = in_namespaces(user, outer, || {
                let (outside, block, v6) = outside(settings)?;
                let inside = inner.run(|| inside_beside(settings, block, v6, number))??;
                pass(outside, inside, &ends(block, v6), Vec::new())
            })?;
            let user = user.try_clone().map_err(|e| Error::new("share a user namespace", e))?;
            return Self::of_passed(user, passed, false, Some(end));
        }
        let (outside, block, v6) = outside(settings)?;
        let namespace = &first.inside.namespace;
        let inside = namespace.run(|| inside_beside(settings, block, v6, number))??;
        let ends = ends(block, v6);
        let (block, process) = (Some(block), Some(end));
        Ok(Self { outside, inside, user: None, ends, block, gateway: None, process })
    }

    /// The TCP sockets in the namespace of the inside end.
    pub(crate) fn inside_sockets(&self) -> Result<TcpSockets, Error> {
        let namespace = &self.inside.namespace;
        let Some(user) = &self.user else {
            return namespace.run(TcpSockets::of_this_namespace)?;
        };
        let passed = in_namespaces(user, namespace, || {
            let fds = TcpSockets::of_this_namespace()?.into_fds();
            Ok(PassedFds { fds, text: String::new() })
        })?;
        Ok(TcpSockets::from_fds(passed.fds))
    }

    /// Makes the ends in a process with a user namespace of its own, with a gateway if `dns` is
    /// given: whether it needs the sockets of a DNS forwarder.
    fn in_new_user_namespace(settings: &Settings, dns: Option<bool>) -> Result<Self, Error> {
        let (user, passed) = in_own_namespaces(|| {
            let gateway = dns.map(|_| Gateway::new()).transpose()?;
            let network = Self::in_this_namespace(settings)?;
            let mut more = gateway.map(Gateway::into_fds).unwrap_or_default();
            if dns == Some(true)
                && let Some(Bound { udp, tcp }) = Bound::at((network.ends.outside, PORT).into())?
            {
                more.splice(0..0, [OwnedFd::from(udp), tcp.into()]);
            }
            pass(network.outside, network.inside, &network.ends, more)
        })?;
        Self::of_passed(user, passed, dns == Some(true), None)
    }

    /// The network of descriptors from [`pass`], in this process. They begin with those of a DNS
    /// forwarder after the ends if it `has_dns`.
    fn of_passed(
        user: OwnedFd,
        passed: PassedFds,
        has_dns: bool,
        process: Option<OwnedFd>,
    ) -> Result<Self, Error> {
        let lost = || Error::new("take over the ends of the link", std::io::ErrorKind::InvalidData);
        let (ends, indexes): (Ends, [u32; 2]) =
            serde_json::from_str(&passed.text).map_err(|_| lost())?;
        let mut fds = passed.fds.into_iter();
        let mut next = || fds.next().ok_or_else(lost);
        let mut end = |index| {
            let (tun, interface, namespace) = (next()?, next()?, next()?);
            Ok::<_, Error>(End {
                tun: Tun::from_fd(tun)?,
                interface: Interface::from_fd(interface, index)?,
                namespace: NetNamespace::from_fd(namespace),
            })
        };
        let [outside, inside] = [end(indexes[0])?, end(indexes[1])?];
        let dns =
            if has_dns { Some(Bound { udp: next()?.into(), tcp: next()?.into() }) } else { None };
        let rest: Vec<_> = fds.collect();
        let gateway = if rest.is_empty() {
            None
        } else {
            Some(GatewayParts { gateway: Gateway::from_fds(rest)?, dns })
        };
        Ok(Self { outside, inside, user: Some(user), ends, block: None, gateway, process })
    }
}

/// Converts both ends, and further descriptors, to what a child process passes back.
fn pass(outside: End, inside: End, ends: &Ends, more: Vec<OwnedFd>) -> Result<PassedFds, Error> {
    let indexes = [outside.interface.index(), inside.interface.index()];
    let text = serde_json::to_string(&(ends, indexes)).map_err(|e| {
        Error::new("pass the ends of the link", std::io::Error::other(e.to_string()))
    })?;
    let fds = [outside, inside]
        .into_iter()
        .flat_map(|end| [end.tun.into_fd(), end.interface.into_fd(), end.namespace.into_fd()]);
    Ok(PassedFds { fds: fds.chain(more).collect(), text })
}

/// A device in the calling thread's namespace.
fn device(name: &str, settings: &Settings) -> Result<End, Error> {
    let tun =
        Tun::open(name, if settings.offload { Offload::Segmentation } else { Offload::None })?;
    let interface = tun.interface()?;
    interface.set_mtu(settings.mtu)?;
    interface.set_queue_len(QUEUE_LEN)?;
    // Without link-local addresses, the link carries only packets that the two sides send. Without
    // IPv6 there are none.
    optional(interface.set_no_link_local())?;
    interface.set_up()?;
    Ok(End { namespace: NetNamespace::current()?, tun, interface })
}

/// The outside end, in the calling thread's namespace, with a free address block. Also returns
/// whether there is IPv6.
fn outside(settings: &Settings) -> Result<(End, Block, bool), Error> {
    let around = Block::of_this_namespace()?;
    if around.is_some() {
        // The caller's namespace belongs to another emulated link: forward packets from inside. The
        // return route exists.
        NetNamespace::allow_forwarding()?;
    }
    let end = device(OUTSIDE, settings)?;
    let taken = Interface::addresses()?;
    let free =
        |block: &Block| !taken.iter().any(|address| block.contains(address.prefix.address()));
    for block in Block::candidates(around).filter(free) {
        let [four, v6] = block.whole();
        // The route reserves the block: of two links that start at once, only one gets it.
        match four.map_or(Ok(()), |four| end.interface.add_route(four)) {
            Err(error) if error.source().kind() == std::io::ErrorKind::AlreadyExists => continue,
            result => result?,
        }
        let outside = block.outside();
        add(&end.interface, Prefix::new(outside.into(), 32))?;
        let has_v6 = optional(add(&end.interface, Prefix::new(ipv6(outside).into(), 128)))?;
        if has_v6 && let Some(v6) = v6 {
            end.interface.add_route(v6)?;
        }
        return Ok((end, block, has_v6));
    }
    let error = Error::new(
        "find a free block of 100.64.0.0/10 for the link",
        std::io::ErrorKind::AddrInUse,
    );
    Err(error.with_hint(if around.is_some() {
        "four links inside each other are the most, and 15 at a time inside one"
    } else {
        "every block has an address or a route in this network namespace: `ip -4 route`"
    }))
}

/// The inside end, in the calling thread's new namespace.
fn inside(settings: &Settings, block: Block, v6: bool) -> Result<End, Error> {
    let end = device(INNER_DEVICE, settings)?;
    let [four, own_six] = block.prefixes(block.inside());
    add(&end.interface, four)?;
    end.interface.add_route(Prefix::ALL_V4)?;
    if v6 {
        add(&end.interface, own_six)?;
        end.interface.add_route(Prefix::ALL_V6)?;
    }
    Ok(end)
}

/// The inside end of a further link, in the calling thread's namespace.
fn inside_beside(settings: &Settings, block: Block, v6: bool, number: u8) -> Result<End, Error> {
    let end = device(&format!("{INNER_DEVICE}-{number}"), settings)?;
    let [four, own_six] = block.prefixes(block.inside());
    add(&end.interface, four)?;
    end.interface.add_source_route(block.inside().into(), number)?;
    if v6 {
        add(&end.interface, own_six)?;
        end.interface.add_source_route(ipv6(block.inside()).into(), number)?;
    }
    Ok(end)
}

/// The inside end, in the calling thread's existing namespace. Also returns whether it has IPv6.
///
/// Its routes are two halves of the address space. They precede a default route of any metric,
/// which is in force again when the device is removed.
fn inside_of_existing(settings: &Settings, block: Block, v6: bool) -> Result<(End, bool), Error> {
    if Interface::find(INNER_DEVICE).is_ok() {
        let operation = "attach a link to a network namespace that is behind a link";
        return Err(Error::new(operation, std::io::ErrorKind::AlreadyExists)
            .with_hint("end the other link first"));
    }
    let end = device(INNER_DEVICE, settings)?;
    let [four, own_six] = block.prefixes(block.inside());
    add(&end.interface, four)?;
    let v6 = v6 && optional(add(&end.interface, own_six))?;
    let halves = |first: IpAddr, second: IpAddr| {
        [Prefix::new(first, 1), Prefix::new(second, 1)].into_iter().flatten()
    };
    let fours = halves(Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(128, 0, 0, 0).into());
    let sixes = halves(Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::from_bits(1 << 127).into());
    for half in fours.chain(sixes.filter(|_| v6)) {
        end.interface.add_route(half)?;
    }
    Ok((end, v6))
}

fn add(interface: &Interface, address: Option<Prefix>) -> Result<(), Error> {
    address.map_or(Ok(()), |address| interface.add_address(address, None))
}

/// Converts errors of a system without IPv6, or with IPv6 disabled, to `false`.
fn optional(result: Result<(), Error>) -> Result<bool, Error> {
    match result {
        Err(error) if error.is_without_ipv6() => Ok(false),
        result => result.map(|()| true),
    }
}

fn ends(block: Block, has_v6: bool) -> Ends {
    let v6 = |address: Ipv4Addr| has_v6.then(|| ipv6(address).into());
    let (outside, inside) = (block.outside(), block.inside());
    Ends {
        outside: outside.into(),
        inside: inside.into(),
        outside_v6: v6(outside),
        inside_v6: v6(inside),
    }
}

fn copy(error: &std::io::Error) -> std::io::Error {
    match error.raw_os_error() {
        Some(code) => std::io::Error::from_raw_os_error(code),
        None => error.kind().into(),
    }
}

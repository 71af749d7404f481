//! nftables through nfnetlink (`linux/netfilter/nf_tables.h`, `nft(8)`), without the program `nft`.
//!
//! Every table has the flag *owner* (Linux 5.12): only the socket that made it can change it, and
//! the kernel removes it when that socket is closed. Nothing therefore remains after a kill.

use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

use crate::netlink::{self, Request, attributes};
use crate::{Error, Prefix};

/// `NFT_TABLE_F_OWNER`.
const OWNER: u32 = 2;
/// Flag of attributes that contain others.
const NESTED: u16 = 0x8000;
/// `NF_DROP` and `NF_ACCEPT`.
const DROP: u32 = 0;
const ACCEPT: u32 = 1;
/// `NFT_FIB_RESULT_ADDRTYPE` and `NFTA_FIB_F_DADDR`.
const FIB_RESULT_ADDRESS_TYPE: u32 = 3;
const FIB_OF_DESTINATION: u32 = 2;

/// Attributes, as `nf_tables.h` numbers them.
mod attribute {
    pub(super) const TABLE_NAME: u16 = 1;
    pub(super) const TABLE_FLAGS: u16 = 2;
    pub(super) const CHAIN_TABLE: u16 = 1;
    pub(super) const CHAIN_NAME: u16 = 3;
    pub(super) const CHAIN_HOOK: u16 = 4;
    pub(super) const CHAIN_POLICY: u16 = 5;
    pub(super) const CHAIN_TYPE: u16 = 7;
    pub(super) const HOOK_NUMBER: u16 = 1;
    pub(super) const HOOK_PRIORITY: u16 = 2;
    pub(super) const RULE_TABLE: u16 = 1;
    pub(super) const RULE_CHAIN: u16 = 2;
    pub(super) const RULE_EXPRESSIONS: u16 = 4;
    pub(super) const ELEMENT: u16 = 1;
    pub(super) const EXPRESSION_NAME: u16 = 1;
    pub(super) const EXPRESSION_DATA: u16 = 2;
    pub(super) const COUNTER_PACKETS: u16 = 2;
}

/// The hook of a base chain, with the priority of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hook {
    /// Source addresses may be translated (`srcnat`, priority 100).
    SourceTranslation,
    /// Forwarded packets, with a priority.
    Forward(i32),
    /// Arriving packets before their route is chosen (`mangle`, priority -150).
    Arrival,
}

/// One step of a rule. A test that fails ends the rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// The packet arrived at the interface with this index.
    ArrivedAt(u32),
    /// The packet leaves through the interface with this index.
    LeavesThrough(u32),
    /// The packet leaves through another interface.
    LeavesNotThrough(u32),
    /// The name of the interface through which the packet leaves does not begin with these bytes.
    LeavesNotThroughNamed(&'static str),
    /// The source address has this prefix.
    From(Prefix),
    /// Counts the packet.
    Count,
    /// Replaces the source address by that of the outgoing interface.
    Masquerade,
    /// Drops the packet.
    Drop,
    /// The name of the interface at which the packet arrived begins with these bytes.
    ArrivedAtNamed(&'static str),
    /// The destination is an address of this network namespace.
    ToThisHost,
    /// The transport protocol, by its IP protocol number.
    Protocol(u8),
    /// The TCP segment has SYN and none of ACK, RST and FIN.
    OpensConnection,
    /// Gives the packet to the connection of its addresses, or else to the transparent socket at
    /// this port of the unspecified address.
    DeliverTo(u16),
    /// Sets the mark of the packet, for policy routing.
    Mark(u32),
    /// Ends the rules of the chain.
    Accept,
}

/// A table of the family `inet`, in the network namespace of the thread that made it. It is removed
/// when the value is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct Table {
    name: String,
    socket: OwnedFd,
}

impl Table {
    /// Makes a table without chains.
    ///
    /// # Errors
    /// If the privilege is missing, the kernel has no nftables or is older than Linux 5.12, or a
    /// table has the name.
    pub(crate) fn new(name: &str) -> Result<Self, Error> {
        let fail = |e| failure(&format!("make nftables table `{name}`"), e);
        let socket = netlink::open_netfilter().map_err(fail)?;
        let table = Self { name: name.to_owned(), socket };
        let mut request = create(libc::NFT_MSG_NEWTABLE);
        request.attribute(attribute::TABLE_NAME, &text(name));
        request.attribute(attribute::TABLE_FLAGS, &OWNER.to_be_bytes());
        table.execute(vec![request]).map_err(fail)?;
        Ok(table)
    }

    /// Converts the table to its socket, with which it is removed.
    pub(crate) fn into_fd(self) -> OwnedFd {
        self.socket
    }

    /// Adds a base chain with rules. Packets that no rule drops pass.
    ///
    /// # Errors
    /// If the kernel lacks a kind of step, or refuses.
    pub(crate) fn add_chain(
        &self,
        chain: &str,
        hook: Hook,
        rules: &[&[Step]],
    ) -> Result<(), Error> {
        let (kind, number, priority) = match hook {
            Hook::SourceTranslation => ("nat", libc::NF_INET_POST_ROUTING, 100),
            Hook::Forward(priority) => ("filter", libc::NF_INET_FORWARD, priority),
            Hook::Arrival => ("filter", libc::NF_INET_PRE_ROUTING, -150),
        };
        let mut request = create(libc::NFT_MSG_NEWCHAIN);
        request.attribute(attribute::CHAIN_TABLE, &text(&self.name));
        request.attribute(attribute::CHAIN_NAME, &text(chain));
        let start = request.begin(attribute::CHAIN_HOOK | NESTED);
        request.attribute(attribute::HOOK_NUMBER, &number.to_be_bytes());
        request.attribute(attribute::HOOK_PRIORITY, &i32::to_be_bytes(priority));
        request.end(start);
        request.attribute(attribute::CHAIN_POLICY, &ACCEPT.to_be_bytes());
        request.attribute(attribute::CHAIN_TYPE, &text(kind));
        let mut requests = vec![request];
        requests.extend(rules.iter().map(|steps| self.rule(chain, steps)));
        self.execute(requests).map_err(|e| self.fail(&format!("add chain `{chain}` to"), e))
    }

    /// Appends a rule to a chain.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn add_rule(&self, chain: &str, steps: &[Step]) -> Result<(), Error> {
        self.execute(vec![self.rule(chain, steps)])
            .map_err(|e| self.fail(&format!("add a rule to chain `{chain}` of"), e))
    }

    /// Returns the sum of the packets that the counters of a chain have counted.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn counted_packets(&self, chain: &str) -> Result<u64, Error> {
        let mut request =
            Request::new(message(libc::NFT_MSG_GETRULE), libc::NLM_F_DUMP, &generic(0));
        request.attribute(attribute::RULE_TABLE, &text(&self.name));
        request.attribute(attribute::RULE_CHAIN, &text(chain));
        let mut sum = 0;
        let result = request.execute_with(&self.socket, |kind, body| {
            if kind == message(libc::NFT_MSG_NEWRULE) {
                let rule = body.get(generic(0).len()..).unwrap_or_default();
                // The kernel applies both names, but ignores the chain in old versions.
                let named = nested(rule, attribute::RULE_CHAIN);
                if named.is_some_and(|name| name.strip_suffix(&[0]) == Some(chain.as_bytes())) {
                    sum += packets(rule);
                }
            }
        });
        result.map_err(|e| self.fail("read the counters of", e))?;
        Ok(sum)
    }

    fn rule(&self, chain: &str, steps: &[Step]) -> Request {
        let mut request = create(libc::NFT_MSG_NEWRULE);
        request.attribute(attribute::RULE_TABLE, &text(&self.name));
        request.attribute(attribute::RULE_CHAIN, &text(chain));
        let start = request.begin(attribute::RULE_EXPRESSIONS | NESTED);
        for step in steps {
            step.write(&mut request);
        }
        request.end(start);
        request
    }

    /// Executes the requests as one transaction.
    fn execute(&self, requests: Vec<Request>) -> io::Result<()> {
        let subsystem = u16::try_from(libc::NFNL_SUBSYS_NFTABLES).unwrap_or_default();
        let edge = |kind: libc::c_int| {
            Request::new(u16::try_from(kind).unwrap_or_default(), 0, &generic(subsystem))
        };
        let count = requests.len();
        let mut all = vec![edge(libc::NFNL_MSG_BATCH_BEGIN)];
        all.extend(requests);
        all.push(edge(libc::NFNL_MSG_BATCH_END));
        let batch: Vec<u8> =
            (1..).zip(all).flat_map(|(sequence, request)| request.into_bytes(sequence)).collect();
        netlink::execute_batch(&self.socket, &batch, count)
    }

    fn fail(&self, operation: &str, source: io::Error) -> Error {
        failure(&format!("{operation} nftables table `{}`", self.name), source)
    }
}

impl Step {
    fn write(self, request: &mut Request) {
        match self {
            Self::ArrivedAt(index) => {
                meta(request, libc::NFT_META_IIF);
                compare(request, libc::NFT_CMP_EQ, &index.to_ne_bytes());
            }
            Self::LeavesThrough(index) => {
                meta(request, libc::NFT_META_OIF);
                compare(request, libc::NFT_CMP_EQ, &index.to_ne_bytes());
            }
            Self::LeavesNotThrough(index) => {
                meta(request, libc::NFT_META_OIF);
                compare(request, libc::NFT_CMP_NEQ, &index.to_ne_bytes());
            }
            Self::LeavesNotThroughNamed(start) => {
                // The register has the name and zeros. The comparison covers its first bytes.
                meta(request, libc::NFT_META_OIFNAME);
                compare(request, libc::NFT_CMP_NEQ, start.as_bytes());
            }
            Self::From(prefix) => source_has(request, prefix),
            Self::Count => expression(request, "counter", |_| ()),
            Self::Masquerade => expression(request, "masq", |_| ()),
            Self::Drop => verdict(request, DROP),
            Self::ArrivedAtNamed(start) => {
                meta(request, libc::NFT_META_IIFNAME);
                compare(request, libc::NFT_CMP_EQ, start.as_bytes());
            }
            Self::ToThisHost => destination_is_local(request),
            Self::Protocol(number) => {
                meta(request, libc::NFT_META_L4PROTO);
                compare(request, libc::NFT_CMP_EQ, &[number]);
            }
            Self::OpensConnection => opens_connection(request),
            Self::DeliverTo(port) => {
                set(request, &port.to_be_bytes());
                // NFTA_TPROXY_FAMILY, NFTA_TPROXY_REG_PORT. Without a family, both are meant.
                expression(request, "tproxy", |request| {
                    request.attribute(1, &libc::NFPROTO_UNSPEC.to_be_bytes());
                    request.attribute(3, &register());
                });
            }
            Self::Mark(value) => {
                set(request, &value.to_ne_bytes());
                // NFTA_META_KEY, NFTA_META_SREG.
                expression(request, "meta", |request| {
                    request.attribute(2, &libc::NFT_META_MARK.to_be_bytes());
                    request.attribute(3, &register());
                });
            }
            Self::Accept => verdict(request, ACCEPT),
        }
    }
}

/// A request of the family `inet` that creates an object, as a part of a batch.
fn create(kind: libc::c_int) -> Request {
    // Tables and chains are new; rules are appended.
    let own = if kind == libc::NFT_MSG_NEWRULE { libc::NLM_F_APPEND } else { libc::NLM_F_EXCL };
    Request::new(message(kind), libc::NLM_F_ACK | libc::NLM_F_CREATE | own, &generic(0))
}

fn message(kind: libc::c_int) -> u16 {
    u16::try_from(libc::NFNL_SUBSYS_NFTABLES << 8 | kind).unwrap_or_default()
}

/// `struct nfgenmsg`: family, version 0, and a number in network byte order.
fn generic(number: u16) -> [u8; 4] {
    let family = u8::try_from(libc::NFPROTO_INET).unwrap_or_default();
    let [high, low] = number.to_be_bytes();
    [family, 0, high, low]
}

fn text(value: &str) -> Vec<u8> {
    [value.as_bytes(), &[0]].concat()
}

fn expression(request: &mut Request, name: &str, write: impl FnOnce(&mut Request)) {
    let element = request.begin(attribute::ELEMENT | NESTED);
    request.attribute(attribute::EXPRESSION_NAME, &text(name));
    let data = request.begin(attribute::EXPRESSION_DATA | NESTED);
    write(request);
    request.end(data);
    request.end(element);
}

fn register() -> [u8; 4] {
    libc::NFT_REG_1.to_be_bytes()
}

/// Loads a property of the packet into the register.
fn meta(request: &mut Request, key: libc::c_int) {
    expression(request, "meta", |request| {
        // NFTA_META_DREG, NFTA_META_KEY.
        request.attribute(1, &register());
        request.attribute(2, &key.to_be_bytes());
    });
}

/// Loads bytes of a header of the packet into the register.
fn load(request: &mut Request, base: libc::c_int, at: u32, len: u32) {
    expression(request, "payload", |request| {
        // NFTA_PAYLOAD_DREG, _BASE, _OFFSET, _LEN.
        request.attribute(1, &register());
        request.attribute(2, &base.to_be_bytes());
        request.attribute(3, &at.to_be_bytes());
        request.attribute(4, &len.to_be_bytes());
    });
}

/// Keeps the bits of the register that `mask` has.
fn mask(request: &mut Request, mask: &[u8]) {
    let len = u32::try_from(mask.len()).unwrap_or_default();
    expression(request, "bitwise", |request| {
        // NFTA_BITWISE_SREG, _DREG, _LEN, _MASK, _XOR.
        request.attribute(1, &register());
        request.attribute(2, &register());
        request.attribute(3, &len.to_be_bytes());
        data(request, 4, mask);
        data(request, 5, &vec![0; mask.len()]);
    });
}

/// Writes a constant to the register.
fn set(request: &mut Request, value: &[u8]) {
    expression(request, "immediate", |request| {
        // NFTA_IMMEDIATE_DREG, NFTA_IMMEDIATE_DATA.
        request.attribute(1, &register());
        data(request, 2, value);
    });
}

/// Ends the evaluation of the chain with a verdict.
fn verdict(request: &mut Request, code: u32) {
    expression(request, "immediate", |request| {
        // The verdict register is 0: NFTA_IMMEDIATE_DREG is 1, NFTA_IMMEDIATE_DATA 2,
        // NFTA_DATA_VERDICT 2, NFTA_VERDICT_CODE 1.
        request.attribute(1, &0_u32.to_be_bytes());
        let data = request.begin(2 | NESTED);
        let verdict = request.begin(2 | NESTED);
        request.attribute(1, &code.to_be_bytes());
        request.end(verdict);
        request.end(data);
    });
}

/// Compares the first bytes of the register.
fn compare(request: &mut Request, operation: libc::c_int, value: &[u8]) {
    expression(request, "cmp", |request| {
        // NFTA_CMP_SREG, NFTA_CMP_OP, NFTA_CMP_DATA.
        request.attribute(1, &register());
        request.attribute(2, &operation.to_be_bytes());
        data(request, 3, value);
    });
}

/// An attribute with bytes for a register (`NFTA_DATA_VALUE`).
fn data(request: &mut Request, kind: u16, value: &[u8]) {
    let start = request.begin(kind | NESTED);
    request.attribute(1, value);
    request.end(start);
}

/// Compares the type of the destination with that of addresses of the namespace.
fn destination_is_local(request: &mut Request) {
    // NFTA_FIB_DREG, NFTA_FIB_RESULT, NFTA_FIB_FLAGS.
    expression(request, "fib", |request| {
        request.attribute(1, &register());
        request.attribute(2, &FIB_RESULT_ADDRESS_TYPE.to_be_bytes());
        request.attribute(3, &FIB_OF_DESTINATION.to_be_bytes());
    });
    compare(request, libc::NFT_CMP_EQ, &u32::from(libc::RTN_LOCAL).to_ne_bytes());
}

/// Compares the control bits of a TCP segment (RFC 9293 §3.1) with SYN alone.
fn opens_connection(request: &mut Request) {
    const FIN_SYN_RST_ACK: u8 = 0x17;
    const SYN: u8 = 0x02;
    load(request, libc::NFT_PAYLOAD_TRANSPORT_HEADER, 13, 1);
    mask(request, &[FIN_SYN_RST_ACK]);
    compare(request, libc::NFT_CMP_EQ, &[SYN]);
}

/// Compares the source address with a prefix, for packets of its IP version.
fn source_has(request: &mut Request, prefix: Prefix) {
    // The source address is at byte 12 of an IPv4 header (RFC 791 §3.1), and at byte 8 of an IPv6
    // header (RFC 8200 §3).
    let (protocol, at, octets) = match prefix.address() {
        IpAddr::V4(address) => (libc::NFPROTO_IPV4, 12_u32, address.octets().to_vec()),
        IpAddr::V6(address) => (libc::NFPROTO_IPV6, 8, address.octets().to_vec()),
    };
    let len = u32::try_from(octets.len()).unwrap_or_default();
    let mask: Vec<u8> = (0..octets.len())
        .map(|at| match usize::from(prefix.len()).saturating_sub(8 * at) {
            bits @ 0..8 => !(u8::MAX >> bits),
            _ => u8::MAX,
        })
        .collect();
    let wanted: Vec<u8> = octets.iter().zip(&mask).map(|(octet, mask)| octet & mask).collect();
    meta(request, libc::NFT_META_NFPROTO);
    compare(request, libc::NFT_CMP_EQ, &[u8::try_from(protocol).unwrap_or_default()]);
    load(request, libc::NFT_PAYLOAD_NETWORK_HEADER, at, len);
    self::mask(request, &mask);
    compare(request, libc::NFT_CMP_EQ, &wanted);
}

/// The content of the first attribute of a type.
fn nested(bytes: &[u8], wanted: u16) -> Option<&[u8]> {
    attributes(bytes).find(|&(kind, _)| kind & !NESTED == wanted).map(|(_, value)| value)
}

/// The packets of all counters of a rule.
fn packets(rule: &[u8]) -> u64 {
    let expressions = nested(rule, attribute::RULE_EXPRESSIONS).unwrap_or_default();
    let counts = attributes(expressions).filter_map(|(_, element)| {
        let name = nested(element, attribute::EXPRESSION_NAME)?;
        let data = nested(element, attribute::EXPRESSION_DATA)?;
        let count = nested(data, attribute::COUNTER_PACKETS)?;
        (name == b"counter\0").then(|| Some(u64::from_be_bytes(count.try_into().ok()?)))?
    });
    counts.sum()
}

fn failure(operation: &str, source: io::Error) -> Error {
    let hint = hint(&source);
    let error = Error::new(operation, source);
    match hint {
        Some(hint) => error.with_hint(hint),
        None => error,
    }
}

fn hint(source: &io::Error) -> Option<&'static str> {
    match source.raw_os_error()? {
        libc::EPERM | libc::EACCES => {
            Some("this requires CAP_NET_ADMIN in this network namespace: run it as root")
        }
        libc::EPROTONOSUPPORT | libc::EOPNOTSUPP | libc::ENOENT => Some(
            "the kernel needs nftables with address translation (CONFIG_NF_TABLES_INET, \
             CONFIG_NFT_NAT, CONFIG_NFT_MASQ): `modprobe -a nf_tables nft_masq`",
        ),
        libc::EINVAL => Some("this requires Linux 5.12"),
        libc::EEXIST => Some("a table of another program has the name: `nft list tables`"),
        _ => None,
    }
}

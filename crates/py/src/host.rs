//! A host on a TUN device: a file server or a proxy. It is driven in slices, so that Python handles
//! Ctrl-C in between.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use host::http::{FileServer, Folder, HttpLimits};
use host::{Alternate, Driver, Limits, Proxy, Record, Senders, Service, StackConfig};
use policy::SenderPolicy;
use policy::rtt::RtoConfig;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use sim::tables::{Column, Nullable, names, time_s};
use tcp::{Config, Profile, UnknownProfile};
use units::{Duration, Instant};

use crate::system_error;
use crate::table::Table;

/// The bytes of a packet that a capture stores: more than the longest header of our packets.
pub(crate) const SNAP_LEN: u32 = 128;

/// A running host.
#[pyclass(module = "tcpsf._core")]
pub(crate) struct Host {
    driver: Driver<Box<dyn Service + Send + Sync>>,
    addresses: Vec<IpAddr>,
    senders: Vec<String>,
}

/// Parses the value of a command-line option as a duration.
pub(crate) fn duration(option: &str, text: &str) -> PyResult<Duration> {
    text.parse().map_err(|error| refusal(format!("`{option}`: {error}"), None))
}

#[pymethods]
#[expect(clippy::needless_pass_by_value, reason = "arguments come from Python as values")]
impl Host {
    /// Makes a device and the host behind it. Invalid settings raise a `ValueError`, an error of
    /// the system a `RuntimeError`. Both have two arguments: the error, and a hint or `None`.
    ///
    /// With `folder` the host serves files, with `upstream` it is a proxy.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "each an option of the command line, by keyword")]
    #[pyo3(signature = (
        *, addresses, port, senders, alternate, max_connections, idle_timeout, lifetime, connect_timeout,
        profile, rto_initial, rto_min, mtu, offload, records, folder, upstream
    ))]
    fn new(
        addresses: Vec<String>,
        port: u16,
        senders: Vec<String>,
        alternate: Option<String>,
        max_connections: usize,
        idle_timeout: &str,
        lifetime: &str,
        connect_timeout: &str,
        profile: Option<&str>,
        rto_initial: Option<&str>,
        rto_min: Option<&str>,
        mtu: u16,
        offload: bool,
        records: bool,
        folder: Option<PathBuf>,
        upstream: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let addresses =
            addresses.iter().map(|text| ip_address(text)).collect::<PyResult<Vec<_>>>()?;
        let mut config = stack_config(profile, Profile::accepting)?;
        config.mtu = mtu;
        config.limits = Limits::of_connections(max_connections);
        config.senders = parsed_senders(&senders, alternate.as_deref())?;
        let senders = config.senders.all().iter().map(SenderPolicy::to_string).collect();
        config.tcp.rto = rto(&config.tcp.rto, rto_initial, rto_min)?;
        config.limits.lifetime = duration("--lifetime", lifetime)?;
        let idle = duration("--idle-timeout", idle_timeout)?;
        let connect = time_to_connect(connect_timeout)?;
        let service: Box<dyn Service + Send + Sync> = match (folder, upstream) {
            (Some(path), _) => {
                let folder = served_folder(&path)?;
                // The server, not the stack, ends connections that are idle between two requests.
                config.limits.idle = config.limits.idle.max(idle + Duration::from_secs(60));
                let limits = HttpLimits { idle, ..HttpLimits::default() };
                Box::new(FileServer::new(folder, port, limits))
            }
            (None, Some(upstream)) => {
                let upstream = socket_addresses(&upstream)?;
                config.limits.idle = idle;
                Box::new(Proxy::new(port, upstream, connect).map_err(|e| refused(&e))?)
            }
            (None, None) => return Err(refusal("nothing to do".to_owned(), None)),
        };
        let (tun, addresses) = host::attach(&addresses, mtu, offload).map_err(|e| refused(&e))?;
        config.addresses.clone_from(&addresses);
        let mut driver = Driver::new(tun, config, service).map_err(|e| refused(&e))?;
        if records {
            driver.stack_mut().keep_records();
        }
        Ok(Self { driver, addresses, senders })
    }

    /// Starts a capture of the first bytes of all packets in a pcapng file. Call it before the
    /// first `run`.
    fn capture(&mut self, path: PathBuf) -> PyResult<()> {
        self.driver.capture(&path, SNAP_LEN).map_err(|e| system_error(e.source()))
    }

    /// Ends the capture and completes the file.
    fn finish_capture(&mut self) -> PyResult<()> {
        self.driver.finish_capture().map_err(|e| system_error(e.source()))
    }

    /// Raises the error that ended the capture early, if there was one; once.
    fn check_capture(&mut self) -> PyResult<()> {
        self.driver.take_capture_error().map_or(Ok(()), |e| Err(system_error(e.source())))
    }

    /// Runs for this time without holding the interpreter's lock. A signal ends it early.
    #[pyo3(signature = (*, milliseconds))]
    fn run(&mut self, py: Python<'_>, milliseconds: u64) -> PyResult<()> {
        let driver = &mut self.driver;
        py.detach(|| driver.run(Duration::from_millis(milliseconds))).map_err(|e| refused(&e))
    }

    /// Stops accepting connections. Open ones continue in further calls of `run`.
    fn stop(&mut self) {
        self.driver.stop();
    }

    /// Resets the connections that are still open.
    fn abort(&mut self) -> PyResult<()> {
        self.driver.abort().map_err(|e| refused(&e))
    }

    /// Returns true if `stop` was called and no connection is open.
    #[getter]
    fn is_stopped(&self) -> bool {
        self.driver.is_stopped()
    }

    /// The addresses of the host.
    #[getter]
    fn addresses(&self) -> Vec<String> {
        self.addresses.iter().map(IpAddr::to_string).collect()
    }

    /// The name of the host's device.
    #[getter]
    fn device(&self) -> String {
        self.driver.tun().name().to_owned()
    }

    /// Seconds since the host was made.
    #[getter]
    fn now_s(&self) -> f64 {
        self.seconds(self.driver.now())
    }

    /// Counters by name.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        let stack = self.driver.stack();
        let all = stack.counters();
        let whole = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        let mut counts = vec![
            ("open_connections", whole(stack.connections())),
            ("buffered_bytes", whole(stack.buffered_bytes())),
            ("accepted_connections", all.accepted),
            ("closed_connections", all.closed),
            ("failed_connections", all.failed),
            ("refused_connections", all.refused),
            ("evicted_connections", all.evicted),
            ("expired_connections", all.expired),
            ("over_budget_segments", all.over_budget),
            ("out_of_order_given_up", all.reneged),
            ("half_open_lost", all.half_open_lost),
            ("syn_cookies_sent", all.cookies_sent),
            ("syn_cookies_taken", all.cookies_taken),
            ("received_packets", all.received_packets),
            ("sent_packets", all.sent_packets),
            ("sent_bytes", all.sent_bytes),
            ("damaged_packets", all.damaged),
            ("dropped_packets", self.driver.dropped()),
            ("fast_retransmits", all.fast_retransmits),
            ("timeouts", all.timeouts),
            ("resets_sent", all.resets_sent),
            ("icmp_believed", all.icmp_believed),
        ];
        counts.extend(self.driver.service().counts());
        counts
    }

    /// Takes the rows of the connections that have ended since the last call.
    fn take_records(&mut self) -> PyResult<Table> {
        let records = self.driver.stack_mut().take_records();
        Table::new(self.columns(&records))
    }
}

impl Host {
    fn seconds(&self, at: Instant) -> f64 {
        time_s(Instant::ZERO + at.since(self.driver.origin()))
    }

    fn columns(&self, records: &[Record]) -> Vec<(&'static str, Column)> {
        let span = |span: Duration| time_s(Instant::ZERO + span);
        let f64s = |of: &dyn Fn(&Record) -> f64| Column::F64(records.iter().map(of).collect());
        let spans = |of: &dyn Fn(&Record) -> Option<Duration>| {
            let mut column = Nullable::<f64>::default();
            for record in records {
                column.push(of(record).map(span));
            }
            Column::NullableF64(column)
        };
        let u64s = |of: &dyn Fn(&Record) -> u64| Column::U64(records.iter().map(of).collect());
        let u32s = |of: &dyn Fn(&Record) -> u32| Column::U32(records.iter().map(of).collect());
        let words = |of: &dyn Fn(&Record) -> String| text_column(records.iter().map(of));
        let completion =
            |record: &Record| Some(record.last_acknowledged?.since(record.first_sent?));
        vec![
            ("connection", u64s(&|record| record.serial)),
            (
                "sender",
                words(&|record| {
                    self.senders.get(usize::from(record.sender)).cloned().unwrap_or_default()
                }),
            ),
            ("peer_address", words(&|record| record.tuple.remote.to_string())),
            ("peer_port", u32s(&|record| record.tuple.remote_port.into())),
            ("start_s", f64s(&|record| self.seconds(record.start))),
            ("end_s", f64s(&|record| self.seconds(record.end))),
            ("handshake_s", spans(&|record| record.handshake)),
            ("sent_bytes", u64s(&|record| record.sent_bytes)),
            ("received_bytes", u64s(&|record| record.received_bytes)),
            ("completion_s", spans(&completion)),
            ("srtt_s", spans(&|record| record.srtt)),
            ("rto_first_s", f64s(&|record| span(record.rto_first))),
            ("rto_last_s", f64s(&|record| span(record.rto_last))),
            ("segments", u32s(&|record| record.statistics.segments)),
            ("retransmitted_segments", u32s(&|record| record.statistics.retransmitted_segments)),
            ("retransmitted_bytes", u64s(&|record| record.statistics.retransmitted_bytes)),
            ("copied_segments", u32s(&|record| record.copied_segments)),
            ("fast_retransmits", u32s(&|record| record.statistics.fast_retransmits)),
            ("timeouts", u32s(&|record| record.statistics.timeouts)),
            ("syn_timeouts", u32s(&|record| record.statistics.syn_timeouts)),
            ("ecn_reductions", u32s(&|record| record.statistics.ecn_reductions)),
            ("ending", words(&|record| record.ending.to_string())),
        ]
    }
}

/// A text column, with each distinct text stored once.
pub(crate) fn text_column(words: impl Iterator<Item = String>) -> Column {
    let all: Vec<String> = words.collect();
    let mut distinct = all.clone();
    distinct.sort_unstable();
    distinct.dedup();
    let code = |word| distinct.binary_search(word).ok().and_then(|at| u32::try_from(at).ok());
    Column::Text { codes: all.iter().filter_map(code).collect(), names: names(distinct.clone()) }
}

pub(crate) fn ip_address(text: &str) -> PyResult<IpAddr> {
    text.parse().map_err(|_| refusal(format!("`{text}` is not an IP address"), None))
}

fn socket_addresses(texts: &[String]) -> PyResult<Vec<SocketAddr>> {
    let parsed =
        |text: &String| text.parse().map_err(|_| refusal(format!("`{text}` is no address"), None));
    texts.iter().map(parsed).collect()
}

/// Parses `--connect-timeout`, which must not be zero.
fn time_to_connect(text: &str) -> PyResult<Duration> {
    let time = duration("--connect-timeout", text)?;
    if time == Duration::ZERO {
        let text = format!("`--connect-timeout {text}` leaves an upstream no time to answer");
        return Err(refusal(text, Some("name a time such as `10s`")));
    }
    Ok(time)
}

/// Opens the folder of a file server.
fn served_folder(path: &Path) -> PyResult<Folder> {
    Folder::open(path).map_err(|error| {
        let text = error.to_string();
        let text = text.split(" (os error").next().unwrap_or_default().to_lowercase();
        refusal(format!("cannot serve `{}`: {text}", path.display()), Some("name a folder"))
    })
}

pub(crate) fn parsed_senders(texts: &[String], alternate: Option<&str>) -> PyResult<Senders> {
    let policies = texts
        .iter()
        .map(|text| text.parse::<SenderPolicy>().map_err(|error| refusal(error.to_string(), None)))
        .collect::<PyResult<Vec<_>>>()?;
    let alternate = match alternate {
        None | Some("connection") => Alternate::Connection,
        Some(text) => Alternate::Interval(duration("--alternate", text)?),
    };
    Senders::alternating(policies, alternate).ok_or_else(|| {
        refusal("senders alternate in turns of some length".to_owned(), Some("e.g. `10s`"))
    })
}

/// The configuration of a stack with the profile of this name, or with that of hosts without one.
/// `settings` are those of its connections.
pub(crate) fn stack_config(
    profile: Option<&str>,
    settings: fn(Profile) -> Config,
) -> PyResult<StackConfig> {
    let Some(name) = profile else { return Ok(StackConfig::new(Vec::new())) };
    let profile: Profile = name
        .parse()
        .map_err(|error: UnknownProfile| refusal(format!("`--profile {name}`: {error}"), None))?;
    Ok(StackConfig::with_tcp(Vec::new(), settings(profile)))
}

/// The parameters of the retransmission timer `usual` with this initial and minimum timeout.
pub(crate) fn rto(
    usual: &RtoConfig,
    initial: Option<&str>,
    min: Option<&str>,
) -> PyResult<RtoConfig> {
    let given = |option, text: Option<&str>| text.map(|text| duration(option, text)).transpose();
    let initial = given("--rto-initial", initial)?.unwrap_or(usual.initial());
    let min = given("--rto-min", min)?.unwrap_or(usual.min());
    let (most, tick) = (usual.max(), usual.tick());
    RtoConfig::new(initial, min, most, tick, !usual.expiry_tick().is_zero()).ok_or_else(|| {
        let text = format!(
            "`--rto-min {min}` and `--rto-initial {initial}` are not {tick} <= --rto-min <= --rto-initial <= {most}"
        );
        refusal(text, Some("1s and 1s are RFC 6298's, 200ms and 1s Linux's"))
    })
}

/// The names of all profiles.
#[pyfunction]
pub(crate) fn host_profiles() -> Vec<&'static str> {
    Profile::ALL.map(Profile::name).to_vec()
}

/// The name of a profile's sender. An unknown profile raises a `ValueError`.
#[pyfunction]
pub(crate) fn sender_of_profile(name: &str) -> PyResult<String> {
    let profile: Profile =
        name.parse().map_err(|error: UnknownProfile| refusal(error.to_string(), None))?;
    Ok(profile.sender().to_string())
}

/// Returns whether a sender counts packets, as that of Linux does. An unknown name raises a
/// `ValueError`.
#[pyfunction]
pub(crate) fn counts_packets(sender: &str) -> PyResult<bool> {
    let policy: SenderPolicy = sender
        .parse()
        .map_err(|error: policy::ParseSenderError| refusal(error.to_string(), None))?;
    Ok(policy.rack().is_some())
}

pub(crate) fn refusal(message: String, hint: Option<&str>) -> PyErr {
    PyValueError::new_err((message, hint.map(str::to_owned)))
}

pub(crate) fn refused(error: &tun::Error) -> PyErr {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default().to_owned();
    PyRuntimeError::new_err((text, error.hint().map(str::to_owned)))
}

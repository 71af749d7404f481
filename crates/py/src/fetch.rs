//! An HTTP client on a TUN device. It is driven in slices, so that Python handles signals in
//! between.

use std::fs::File;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use host::Driver;
use host::http::{FetchConfig, Fetched, Fetcher};
use policy::SenderPolicy;
use pyo3::prelude::*;
use sim::tables::{Column, Nullable, time_s};
use tcp::Profile;
use units::{Duration, Instant};

use crate::host::{
    SNAP_LEN, duration, ip_address, parsed_senders, refusal, refused, rto, stack_config,
    text_column,
};
use crate::system_error;
use crate::table::Table;

/// A client with its requests.
#[pyclass(module = "tcpsf._core")]
pub(crate) struct Fetch {
    driver: Driver<Fetcher>,
    local: IpAddr,
    senders: Vec<String>,
}

#[pymethods]
#[expect(clippy::needless_pass_by_value, reason = "arguments come from Python as values")]
impl Fetch {
    /// Makes a device and the client behind it. An invalid setting raises a `ValueError`, an error
    /// of the system a `RuntimeError`. Both have two arguments: the error, and a hint or `None`.
    ///
    /// `remote` is an address and a port. With `body`, the bodies of responses are written to this
    /// file.
    #[new]
    #[expect(clippy::too_many_arguments, reason = "each an option of the command line, by keyword")]
    #[pyo3(signature = (
        *, address, remote, authority, target, requests, concurrency, timeout, senders, alternate, profile,
        rto_initial, rto_min, mtu, offload, body
    ))]
    fn new(
        address: Option<String>,
        remote: &str,
        authority: String,
        target: String,
        requests: u64,
        concurrency: usize,
        timeout: &str,
        senders: Vec<String>,
        alternate: Option<String>,
        profile: Option<&str>,
        rto_initial: Option<&str>,
        rto_min: Option<&str>,
        mtu: u16,
        offload: bool,
        body: Option<PathBuf>,
    ) -> PyResult<Self> {
        let asked = address.as_deref().map(ip_address).transpose()?;
        let remote: SocketAddr = remote
            .parse()
            .map_err(|_| refusal(format!("`{remote}` is no address with a port"), None))?;
        let mut config = stack_config(profile, Profile::config)?;
        config.mtu = mtu;
        config.senders = parsed_senders(&senders, alternate.as_deref())?;
        config.tcp.rto = rto(&config.tcp.rto, rto_initial, rto_min)?;
        let timeout = duration("--timeout", timeout)?;
        if timeout == Duration::ZERO {
            let text = "`--timeout 0s` leaves the server no time to answer".to_owned();
            return Err(refusal(text, Some("name a time such as `60s`")));
        }
        let senders = config.senders.all().iter().map(SenderPolicy::to_string).collect();
        let version = if remote.is_ipv4() { "IPv4" } else { "IPv6" };
        let of_version = |address: &&IpAddr| address.is_ipv4() == remote.is_ipv4();
        if let Some(address) = asked.filter(|address| !of_version(&address)) {
            let text =
                format!("`--address {address}` cannot reach {}: it is not {version}", remote.ip());
            return Err(refusal(text, Some("name an address of the server's IP version")));
        }
        let body = body.map(File::create).transpose().map_err(|error| system_error(&error))?;
        let (tun, addresses) =
            host::attach(asked.as_slice(), mtu, offload).map_err(|e| refused(&e))?;
        let local = addresses.iter().find(of_version).copied();
        let local = local.ok_or_else(|| refusal(format!("this machine has no {version}"), None))?;
        config.addresses = addresses;
        let fetch =
            FetchConfig { local, remote, authority, target, requests, concurrency, timeout };
        let driver =
            Driver::new(tun, config, Fetcher::new(fetch, body)).map_err(|e| refused(&e))?;
        Ok(Self { driver, local, senders })
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

    /// Raises the error by which a body could not be written, if there was one; once.
    fn check_body(&mut self) -> PyResult<()> {
        self.driver.service_mut().take_body_error().map_or(Ok(()), |e| Err(system_error(&e)))
    }

    /// Runs for this time without holding the interpreter's lock. A signal ends it early.
    #[pyo3(signature = (*, milliseconds))]
    fn run(&mut self, py: Python<'_>, milliseconds: u64) -> PyResult<()> {
        let driver = &mut self.driver;
        py.detach(|| driver.run(Duration::from_millis(milliseconds))).map_err(|e| refused(&e))
    }

    /// Ends all active requests and starts no more.
    fn stop(&mut self) {
        self.driver.stop();
    }

    /// Resets the connections that are still open.
    fn abort(&mut self) -> PyResult<()> {
        self.driver.abort().map_err(|e| refused(&e))
    }

    /// Returns true if all requests have ended.
    #[getter]
    fn is_done(&self) -> bool {
        self.driver.service().is_done()
    }

    /// Returns true if all connections have ended, except those in TIME-WAIT.
    #[getter]
    fn is_closed(&self) -> bool {
        self.driver.stack().open_connections().is_empty()
    }

    /// The local address of the connections.
    #[getter]
    fn address(&self) -> String {
        self.local.to_string()
    }

    /// Seconds since the client was made.
    #[getter]
    fn now_s(&self) -> f64 {
        self.seconds(self.driver.now())
    }

    /// Takes the rows of the requests that have ended since the last call.
    fn take_records(&mut self) -> PyResult<Table> {
        let found = self.driver.service_mut().take_finished();
        Table::new(self.columns(&found))
    }
}

impl Fetch {
    fn seconds(&self, at: Instant) -> f64 {
        time_s(Instant::ZERO + at.since(self.driver.origin()))
    }

    fn columns(&self, found: &[Fetched]) -> Vec<(&'static str, Column)> {
        let spans = |of: &dyn Fn(&Fetched) -> Option<Instant>| {
            let mut column = Nullable::<f64>::default();
            for fetched in found {
                column.push(of(fetched).map(|at| time_s(Instant::ZERO + at.since(fetched.start))));
            }
            Column::NullableF64(column)
        };
        let mut status = Nullable::<u32>::default();
        for fetched in found {
            status.push(fetched.status.map(u32::from));
        }
        let sender = |fetched: &Fetched| {
            self.senders.get(usize::from(fetched.sender)).cloned().unwrap_or_default()
        };
        vec![
            ("connection", Column::U64(found.iter().map(|fetched| fetched.serial).collect())),
            ("sender", text_column(found.iter().map(sender))),
            (
                "start_s",
                Column::F64(found.iter().map(|fetched| self.seconds(fetched.start)).collect()),
            ),
            ("handshake_s", spans(&|fetched| fetched.connected)),
            ("first_byte_s", spans(&|fetched| fetched.first_byte)),
            ("completion_s", spans(&|fetched| Some(fetched.end))),
            ("status", Column::NullableU32(status)),
            ("body_bytes", Column::U64(found.iter().map(|fetched| fetched.body_bytes).collect())),
            ("outcome", text_column(found.iter().map(|fetched| fetched.outcome.to_string()))),
        ]
    }
}

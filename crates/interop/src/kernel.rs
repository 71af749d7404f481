//! The kernel's end of the exchanges, in the network namespace behind the link. Each of its threads
//! handles one connection at a time.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::{set_tcp_congestion, set_tcp_nodelay, set_tcp_quickack};

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::case::{Case, OURS, OURS_6, PORT, Role};
use crate::ours::Tally;
use crate::request::{HEADER_LEN, Request};

/// Timeout of each operation. It is longer than the kernel's TCP retransmits here without an
/// answer.
const IO_TIMEOUT: Duration = Duration::from_secs(150);
const CHUNK: usize = 32 << 10;
const STACK: usize = 256 << 10;

/// Runs the kernel's end of `case` and writes its results to the file `out`.
///
/// # Errors
/// If a kernel setting is not available.
pub fn kernel(case: &Case, out: &Path) -> Result<()> {
    for (name, value) in &case.sysctls {
        let path = format!("/proc/sys/net/ipv4/{name}");
        fs::write(&path, value).map_err(|e| format!("cannot write `{value}` to `{path}`: {e}"))?;
    }
    let tally = match case.ours {
        Role::Server => {
            let tally = clients(case)?;
            // The host may still need acknowledgments.
            fs::write(out.with_extension("done"), "")?;
            while !out.with_extension("stop").exists() {
                thread::sleep(Duration::from_millis(5));
            }
            tally
        }
        Role::Client => server(case, out)?,
    };
    let (fast_retransmits, timeouts) = loss_recoveries()?;
    fs::write(out, serde_json::to_string(&Done { tally, fast_retransmits, timeouts })?)?;
    Ok(())
}

/// Results of the kernel's end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Done {
    pub(crate) tally: Tally,
    /// Number of times fast recovery was entered.
    pub(crate) fast_retransmits: u64,
    /// Number of retransmission timeouts.
    pub(crate) timeouts: u64,
}

/// The fast recoveries and timeouts counted in this namespace.
fn loss_recoveries() -> Result<(u64, u64)> {
    let text = fs::read_to_string("/proc/self/net/netstat")?;
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter_map(|line| Some(line.strip_prefix("TcpExt:")?.split_whitespace().collect()))
        .collect();
    let [names, values] = &rows[..] else { return Err("no TcpExt in netstat".into()) };
    let count = |name: &str| -> Result<u64> {
        let found = names.iter().zip(values).find(|(other, _)| **other == name);
        Ok(found.ok_or_else(|| format!("no {name} in netstat"))?.1.parse()?)
    };
    Ok((count("TCPRenoRecovery")? + count("TCPSackRecovery")?, count("TCPTimeouts")?))
}

fn clients(case: &Case) -> Result<Tally> {
    let server: IpAddr = if case.ip == 6 { OURS_6 } else { OURS };
    let (next, tally) = (AtomicU64::new(0), Mutex::new(Tally::default()));
    thread::scope(|scope| -> io::Result<()> {
        for _ in 0..case.concurrency {
            thread::Builder::new().stack_size(STACK).spawn_scoped(scope, || {
                let mut chunk = vec![0; CHUNK];
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= case.connections {
                        return;
                    }
                    let request = Request::draw(number, case.seed, case.up, case.down);
                    let mut read = 0;
                    let result = ask((server, PORT).into(), case, request, &mut chunk, &mut read);
                    if let Ok(mut tally) = tally.lock() {
                        tally.add(result, read);
                    }
                }
            })?;
        }
        Ok(())
    })?;
    Ok(tally.into_inner()?)
}

/// Describes an error in a word.
fn error_word(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => "timed-out".to_owned(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => "reset-by-peer".to_owned(),
        io::ErrorKind::ConnectionRefused => "refused".to_owned(),
        _ => error.to_string(),
    }
}

fn prepare(stream: &TcpStream, case: &Case) -> io::Result<()> {
    if let Some(name) = &case.congestion {
        set_tcp_congestion(stream, name)?;
    }
    stream.set_read_timeout(Some(IO_TIMEOUT))?;
    stream.set_write_timeout(Some(IO_TIMEOUT))?;
    Ok(set_tcp_nodelay(stream, true)?)
}

/// Reads available bytes. With `quick`, requests an immediate acknowledgment; the kernel resets
/// this option, so it is set before each read.
fn read(
    mut stream: &TcpStream,
    quick: bool,
    into: &mut [u8],
) -> std::result::Result<usize, String> {
    if quick {
        set_tcp_quickack(stream, true).map_err(|e| error_word(&e.into()))?;
    }
    stream.read(into).map_err(|e| error_word(&e))
}

fn ask(
    server: SocketAddr,
    case: &Case,
    request: Request,
    chunk: &mut [u8],
    count: &mut u64,
) -> std::result::Result<(), String> {
    let mut stream = TcpStream::connect_timeout(&server, IO_TIMEOUT).map_err(|e| error_word(&e))?;
    prepare(&stream, case).map_err(|e| error_word(&e))?;
    stream.write_all(&request.to_bytes()).map_err(|e| error_word(&e))?;
    let mut sent = 0;
    while sent < request.up {
        let part = &mut chunk[..CHUNK.min(usize::try_from(request.up - sent).unwrap_or(CHUNK))];
        request.upload(sent, part);
        stream.write_all(part).map_err(|e| error_word(&e))?;
        sent += part.len() as u64;
    }
    if request.half_closes() {
        stream.shutdown(Shutdown::Write).map_err(|e| error_word(&e))?;
    }
    let mut closed = request.half_closes();
    loop {
        if *count == request.down && !request.server_closes_first() && !closed {
            stream.shutdown(Shutdown::Write).map_err(|e| error_word(&e))?;
            closed = true;
        }
        let len = read(&stream, case.quick_ack, chunk)?;
        if len == 0 {
            break;
        }
        if !request.is_download(*count, &chunk[..len]) {
            return Err("wrong bytes".to_owned());
        }
        *count += len as u64;
    }
    match *count {
        count if count < request.down => Err("too few bytes".to_owned()),
        count if count > request.down => Err("too many bytes".to_owned()),
        _ => Ok(()),
    }
}

/// Serves until the file `out` with the extension `stop` exists. Creates that with the extension
/// `ready` once it listens.
fn server(case: &Case, out: &Path) -> Result<Tally> {
    let listener = TcpListener::bind((if case.ip == 6 { "::" } else { "0.0.0.0" }, PORT))?;
    // The standard library's backlog is 128.
    rustix::net::listen(&listener, 4096)?;
    listener.set_nonblocking(true)?;
    fs::write(out.with_extension("ready"), "")?;
    let tally = Mutex::new(Tally::default());
    let stop = out.with_extension("stop");
    thread::scope(|scope| -> Result<()> {
        loop {
            match listener.accept() {
                Ok((stream, _)) => {
                    let tally = &tally;
                    thread::Builder::new().stack_size(STACK).spawn_scoped(scope, move || {
                        let mut count = 0;
                        let result = answer(&stream, case, &mut count);
                        drop(stream);
                        if let Ok(mut tally) = tally.lock() {
                            tally.add(result, count);
                        }
                    })?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if stop.exists() {
                        return Ok(());
                    }
                    thread::sleep(Duration::from_millis(1));
                }
                Err(error) => return Err(error.into()),
            }
        }
    })?;
    Ok(tally.into_inner()?)
}

fn answer(mut stream: &TcpStream, case: &Case, count: &mut u64) -> std::result::Result<(), String> {
    stream
        .set_nonblocking(false)
        .and_then(|()| prepare(stream, case))
        .map_err(|e| error_word(&e))?;
    let mut header = [0; HEADER_LEN];
    stream.read_exact(&mut header).map_err(|e| error_word(&e))?;
    let request = Request::from_bytes(&header);
    let mut chunk = vec![0; CHUNK];
    while *count < request.up {
        let wanted = CHUNK.min(usize::try_from(request.up - *count).unwrap_or(CHUNK));
        let len = read(stream, case.quick_ack, &mut chunk[..wanted])?;
        if len == 0 {
            return Err("too few bytes".to_owned());
        }
        if !request.is_upload(*count, &chunk[..len]) {
            return Err("wrong bytes".to_owned());
        }
        *count += len as u64;
    }
    let mut sent = 0;
    while sent < request.down {
        let part = &mut chunk[..CHUNK.min(usize::try_from(request.down - sent).unwrap_or(CHUNK))];
        request.download(sent, part);
        stream.write_all(part).map_err(|e| error_word(&e))?;
        sent += part.len() as u64;
    }
    if request.server_closes_first() {
        stream.shutdown(Shutdown::Write).map_err(|e| error_word(&e))?;
    }
    match read(stream, case.quick_ack, &mut chunk)? {
        0 => Ok(()),
        _ => Err("too many bytes".to_owned()),
    }
}

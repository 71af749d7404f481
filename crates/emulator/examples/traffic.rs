//! Traffic for tests and measurements of a link:
//!
//! ```text
//! traffic serve PORT                  TCP: the requested number of bytes; UDP: echo
//! traffic fetch HOST PORT BYTES       TCP, compares every byte; prints seconds
//! traffic ping HOST PORT COUNT        sequential datagrams; prints answers and minimum seconds
//! traffic blast HOST PORT COUNT SIZE  datagrams without a listener
//! ```
#![expect(clippy::print_stdout, clippy::disallowed_methods, reason = "an example on a real wire")]

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", port] => serve(port.parse()?),
        ["fetch", host, port, bytes] => fetch(host.parse()?, port.parse()?, bytes.parse()?),
        ["ping", host, port, count] => ping(host.parse()?, port.parse()?, count.parse()?),
        ["blast", host, port, count, size] => {
            blast(host.parse()?, port.parse()?, count.parse()?, size.parse()?)
        }
        _ => Err("traffic serve|fetch|ping|blast …".into()),
    }
}

/// The bytes of the stream at an offset, so that a lost, duplicated or misplaced byte is detected.
fn pattern(from: u64, into: &mut [u8]) {
    for (at, byte) in (from..).zip(into) {
        *byte = at.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes()[0];
    }
}

fn serve(port: u16) -> Result<()> {
    let listener = TcpListener::bind(("::", port))?;
    let echo = UdpSocket::bind(("::", port))?;
    thread::spawn(move || -> io::Result<()> {
        let mut packet = vec![0; 65_536];
        loop {
            let (len, from) = echo.recv_from(&mut packet)?;
            // The client may have closed the connection.
            let _ = echo.send_to(&packet[..len], from);
        }
    });
    for stream in listener.incoming() {
        thread::spawn(move || answer(&stream?));
    }
    Ok(())
}

fn answer(mut stream: &TcpStream) -> io::Result<()> {
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    let wanted: u64 = line.trim().parse().map_err(io::Error::other)?;
    let (mut chunk, mut sent) = (vec![0; 65_536], 0);
    while sent < wanted {
        let len = chunk.len().min(usize::try_from(wanted - sent).unwrap_or(usize::MAX));
        pattern(sent, &mut chunk[..len]);
        stream.write_all(&chunk[..len])?;
        sent += len as u64;
    }
    Ok(())
}

/// Connects, with retries until the server is listening.
fn connect(host: IpAddr, port: u16) -> Result<TcpStream> {
    let until = Instant::now() + Duration::from_secs(10);
    loop {
        match TcpStream::connect((host, port)) {
            Err(error)
                if error.kind() == io::ErrorKind::ConnectionRefused && Instant::now() < until =>
            {
                thread::sleep(Duration::from_millis(10));
            }
            result => return Ok(result?),
        }
    }
}

fn fetch(host: IpAddr, port: u16, bytes: u64) -> Result<()> {
    let mut stream = connect(host, port)?;
    let start = Instant::now();
    writeln!(stream, "{bytes}")?;
    let (mut chunk, mut wanted, mut read) = (vec![0; 65_536], vec![0; 65_536], 0);
    loop {
        let len = stream.read(&mut chunk)?;
        if len == 0 {
            break;
        }
        pattern(read, &mut wanted[..len]);
        if chunk[..len] != wanted[..len] {
            return Err(format!("wrong bytes from {read} on").into());
        }
        read += len as u64;
    }
    if read != bytes {
        return Err(format!("{read} bytes came instead of {bytes}").into());
    }
    println!("{}", start.elapsed().as_secs_f64());
    Ok(())
}

fn ping(host: IpAddr, port: u16, count: u32) -> Result<()> {
    // The server is ready when it accepts connections.
    drop(connect(host, port)?);
    let socket = UdpSocket::bind((unspecified(host), 0))?;
    socket.connect((host, port))?;
    socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    let (mut answers, mut least, mut packet) = (0, f64::INFINITY, [0; 64]);
    for number in 0..count {
        let start = Instant::now();
        socket.send(&number.to_be_bytes())?;
        if let Ok(4) = socket.recv(&mut packet)
            && packet[..4] == number.to_be_bytes()
        {
            answers += 1;
            least = least.min(start.elapsed().as_secs_f64());
        }
    }
    println!("{answers} {least}");
    Ok(())
}

fn blast(host: IpAddr, port: u16, count: u32, size: usize) -> Result<()> {
    let socket = UdpSocket::bind((unspecified(host), 0))?;
    let mut packet = vec![0; size.max(4)];
    for number in 0..count {
        packet[..4].copy_from_slice(&number.to_be_bytes());
        // An unconnected socket: an unreachable port is not an error.
        socket.send_to(&packet, (host, port))?;
        if number % 64 == 63 {
            // Socket buffers are limited.
            thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(())
}

fn unspecified(like: IpAddr) -> IpAddr {
    if like.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() }
}

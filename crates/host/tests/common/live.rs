//! A host on a TUN device in its own network namespace, and the kernel beside it. Needs root and
//! `/dev/net/tun`.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as Span;

use host::{Driver, Service, StackConfig};
use tun::{NetNamespace, Offload, Prefix, Tun};
use units::Duration;

pub const KERNEL: IpAddr = IpAddr::V4(Ipv4Addr::new(100, 64, 1, 1));
pub const OURS: IpAddr = IpAddr::V4(Ipv4Addr::new(100, 64, 1, 2));
pub const KERNEL_6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1));
pub const OURS_6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2));

/// Creates a device in the calling thread's namespace, with the host's addresses behind it.
pub fn device(offload: Offload) -> Tun {
    let tun = Tun::open("host%d", offload).expect("these tests need root and /dev/net/tun");
    let interface = tun.interface().unwrap();
    interface.set_no_link_local().unwrap();
    interface.set_queue_len(10_000).unwrap();
    interface.set_up().unwrap();
    interface.add_address(Prefix::new(KERNEL, 32).unwrap(), Some(OURS)).unwrap();
    interface.add_address(Prefix::new(KERNEL_6, 128).unwrap(), Some(OURS_6)).unwrap();
    tun
}

/// Runs `client` beside a driven service in a new namespace. Returns the driver after it has
/// stopped.
pub fn beside<S: Service + Send>(
    offload: Offload,
    config: impl FnOnce(&mut StackConfig) + Send,
    service: impl FnOnce() -> S + Send,
    client: impl FnOnce() + Send,
) -> Driver<S> {
    let namespace = NetNamespace::new()
        .expect("these tests need root, with the right to make network namespaces");
    namespace
        .run(|| {
            let tun = device(offload);
            let mut settings = StackConfig::new(vec![OURS, OURS_6]);
            config(&mut settings);
            let mut driver = Driver::new(tun, settings, service()).unwrap();
            let done = AtomicBool::new(false);
            std::thread::scope(|scope| {
                let worker = scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        driver.run(Duration::from_millis(20)).unwrap();
                    }
                });
                let finished = scope.spawn(client).join();
                done.store(true, Ordering::Relaxed);
                worker.join().unwrap();
                if let Err(panic) = finished {
                    std::panic::resume_unwind(panic);
                }
            });
            driver.stop();
            driver.run(Duration::from_secs(5)).unwrap();
            driver.abort().unwrap();
            driver
        })
        .unwrap()
}

/// A response.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: Vec<u8>,
}

impl Answer {
    pub fn field(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            line.split_once(": ")
                .filter(|(field, _)| field.eq_ignore_ascii_case(name))
                .map(|(_, value)| value)
        })
    }
}

/// A kernel TCP connection to an HTTP server.
pub struct Client(pub TcpStream, Vec<u8>);

impl Client {
    pub fn connect(to: IpAddr) -> Self {
        let stream =
            TcpStream::connect_timeout(&SocketAddr::new(to, 80), Span::from_secs(10)).unwrap();
        stream.set_read_timeout(Some(Span::from_secs(20))).unwrap();
        Self(stream, Vec::new())
    }

    pub fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).unwrap();
    }

    /// Reads one response; `with_body` is false for responses to HEAD.
    pub fn answer(&mut self, with_body: bool) -> Answer {
        let mut buffer = vec![0; 65_536];
        let split = loop {
            if let Some(at) = self.1.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            let count = self.0.read(&mut buffer).unwrap();
            assert!(
                count > 0,
                "closed in the middle of a head: {:?}",
                String::from_utf8_lossy(&self.1)
            );
            self.1.extend_from_slice(&buffer[..count]);
        };
        let rest = self.1.split_off(split);
        let head = String::from_utf8(std::mem::replace(&mut self.1, rest)).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut answer = Answer { status, head, body: Vec::new() };
        if with_body && answer.field("transfer-encoding") == Some("chunked") {
            answer.body = self.chunks();
            return answer;
        }
        let len = answer.field("content-length").map_or(0, |len| len.parse().unwrap());
        answer.body = self.take(if with_body { len } else { 0 });
        answer
    }

    /// Reads a chunked body (RFC 9112 §7.1) without trailers.
    fn chunks(&mut self) -> Vec<u8> {
        let mut content = Vec::new();
        loop {
            let mut line = Vec::new();
            while !line.ends_with(b"\r\n") {
                line.extend(self.take(1));
            }
            let len =
                usize::from_str_radix(std::str::from_utf8(&line).unwrap().trim_end(), 16).unwrap();
            content.extend(self.take(len));
            assert_eq!(self.take(2), b"\r\n");
            if len == 0 {
                return content;
            }
        }
    }

    fn take(&mut self, len: usize) -> Vec<u8> {
        let mut buffer = vec![0; 65_536];
        while self.1.len() < len {
            let count = self.0.read(&mut buffer).unwrap();
            assert!(count > 0, "closed after {} bytes of {len}", self.1.len());
            self.1.extend_from_slice(&buffer[..count]);
        }
        let rest = self.1.split_off(len);
        std::mem::replace(&mut self.1, rest)
    }

    /// Like [`answer`](Self::answer), when the bytes `first` of the response have already been
    /// read.
    pub fn answer_after(&mut self, first: &[u8]) -> Answer {
        self.1.extend_from_slice(first);
        self.answer(true)
    }

    pub fn get(&mut self, target: &str, fields: &str) -> Answer {
        self.send(&format!("GET {target} HTTP/1.1\r\nHost: x\r\n{fields}\r\n"));
        self.answer(true)
    }

    pub fn is_closed(&mut self) -> bool {
        self.1.is_empty() && matches!(self.0.read(&mut [0]), Ok(0))
    }
}

/// A folder that is removed when the value is dropped.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Self {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.join(name), bytes).unwrap();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

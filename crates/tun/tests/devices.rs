//! Devices, namespaces and processes on a real kernel. Needs root and `/dev/net/tun`; each test has
//! its own network.

#![expect(clippy::unwrap_used, reason = "a test that can't be set up must stop")]

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use tun::{
    Clock, Interface, Namespaces, NetNamespace, Offload, PassedFds, PollFd, PollFlags, Prefix,
    Signals, Tun, in_own_namespaces,
};
use units::Duration;

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::new(100, 64, 0, 1));
const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(100, 64, 0, 2));
const HERE_6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 1));
const THERE_6: IpAddr = IpAddr::V6(Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, 2));

fn namespace() -> NetNamespace {
    NetNamespace::new().expect("these tests need root, with the right to make network namespaces")
}

/// A device in the calling thread's namespace, with IPv4 and IPv6 addresses.
fn device(offload: Offload) -> Tun {
    let tun = Tun::open("test%d", offload).expect("these tests need /dev/net/tun");
    let interface = tun.interface().unwrap();
    interface.set_no_link_local().unwrap();
    interface.set_mtu(1400).unwrap();
    interface.set_up().unwrap();
    interface.add_address(Prefix::new(HERE, 32).unwrap(), Some(THERE)).unwrap();
    interface.add_address(Prefix::new(HERE_6, 128).unwrap(), Some(THERE_6)).unwrap();
    tun
}

fn next_packet(tun: &Tun) -> Vec<u8> {
    let clock = Clock::start();
    let mut buffer = vec![0; 70_000];
    let mut fds = [PollFd::from_borrowed_fd(tun.as_fd(), PollFlags::IN)];
    let ready =
        clock.wait(&mut fds, clock.now() + Duration::from_secs(10), Duration::ZERO).unwrap();
    assert_eq!(ready, 1, "no packet came");
    let len = tun.read(&mut buffer).unwrap().unwrap();
    buffer.truncate(len);
    buffer
}

#[test]
fn ipv4_and_ipv6_packets_pass() {
    namespace()
        .run(|| {
            let tun = device(Offload::None);
            assert_eq!(tun.name(), "test0");
            assert_eq!(tun.read(&mut [0; 100]).unwrap(), None);
            for (here, there, destination_at) in [(HERE, THERE, 16), (HERE_6, THERE_6, 24)] {
                let socket = UdpSocket::bind((here, 4000)).unwrap();
                socket.send_to(b"out", (there, 5000)).unwrap();
                let mut packet = next_packet(&tun);
                assert!(packet.ends_with(b"out"), "{packet:?}");
                let len = if here.is_ipv4() { 4 } else { 16 };
                let source_at = destination_at - len;
                let destination = packet[destination_at..destination_at + len].to_vec();
                match there {
                    IpAddr::V4(there) => assert_eq!(destination, there.octets()),
                    IpAddr::V6(there) => assert_eq!(destination, there.octets()),
                }
                // The packet is returned with addresses and ports exchanged, so that every checksum
                // remains correct.
                packet.copy_within(source_at..destination_at, destination_at);
                let source = match there {
                    IpAddr::V4(there) => there.octets().to_vec(),
                    IpAddr::V6(there) => there.octets().to_vec(),
                };
                packet[source_at..destination_at].copy_from_slice(&source);
                let ports = destination_at + len;
                packet.swap(ports, ports + 2);
                packet.swap(ports + 1, ports + 3);
                let (head, tail) = packet.split_at(7);
                let pieces = [std::io::IoSlice::new(head), std::io::IoSlice::new(tail)];
                assert!(tun.write_vectored(&pieces).unwrap());
                let mut back = [0; 10];
                assert_eq!(socket.recv_from(&mut back).unwrap(), (3, (there, 5000).into()));
            }
        })
        .unwrap();
}

#[test]
fn offload_leaves_the_checksum_to_the_reader() {
    namespace()
        .run(|| {
            let tun = device(Offload::Segmentation);
            let again = Tun::from_fd(tun.as_fd().try_clone_to_owned().unwrap()).unwrap();
            assert_eq!((again.name(), again.offload()), (tun.name(), Offload::Segmentation));
            let socket = UdpSocket::bind((HERE, 0)).unwrap();
            socket.send_to(b"x", (THERE, 9)).unwrap();
            let packet = next_packet(&tun);
            // VIRTIO_NET_HDR_F_NEEDS_CSUM: the reader has to complete the UDP checksum.
            assert_eq!((packet.len(), packet[0]), (Tun::HEADER_LEN + 20 + 8 + 1, 1));
        })
        .unwrap();
}

#[test]
fn namespaces_are_isolated_and_the_caller_does_not_move() {
    let (one, other) = (namespace(), namespace());
    let listener = one.run(|| TcpListener::bind("127.0.0.1:0").unwrap()).unwrap();
    let address = listener.local_addr().unwrap();
    assert!(other.run(|| TcpStream::connect(address)).unwrap().is_err());
    assert!(TcpStream::connect(address).is_err());
    one.run(|| TcpStream::connect(address)).unwrap().unwrap();
    let addresses = one.run(Interface::addresses).unwrap().unwrap();
    assert!(addresses.iter().any(|a| a.prefix.to_string() == "127.0.0.1/8"), "{addresses:?}");
    assert!(addresses.iter().any(|a| a.prefix.to_string() == "::1/128"), "{addresses:?}");
}

#[test]
fn duplicate_route_is_refused() {
    namespace()
        .run(|| {
            let tun = device(Offload::None);
            let interface = tun.interface().unwrap();
            let block = Prefix::new("100.64.64.0".parse().unwrap(), 18).unwrap();
            interface.add_route(block).unwrap();
            let error = interface.add_route(block).unwrap_err();
            assert_eq!(error.source().kind(), std::io::ErrorKind::AlreadyExists);
            assert_eq!(
                error.to_string(),
                "cannot add route 100.64.64.0/18 through interface `test0`: File exists (os error 17)"
            );
            interface.add_route(Prefix::ALL_V4).unwrap();
            interface.add_route(Prefix::ALL_V6).unwrap();
            let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
            socket.send_to(b"far", "192.0.2.7:9").unwrap();
            assert_eq!(next_packet(&tun)[16..20], [192, 0, 2, 7]);
            NetNamespace::allow_forwarding().unwrap();
        })
        .unwrap();
}

#[test]
fn device_is_removed_with_its_descriptor() {
    namespace()
        .run(|| {
            let tun = device(Offload::None);
            let interface = tun.interface().unwrap();
            interface.set_queue_len(3).unwrap();
            let socket = UdpSocket::bind((HERE, 0)).unwrap();
            for _ in 0..5 {
                socket.send_to(b"x", (THERE, 9)).unwrap();
            }
            let statistics =
                NetNamespace::new().unwrap().run(|| interface.statistics()).unwrap().unwrap();
            // Nothing has been read yet.
            assert_eq!((statistics.sent_packets, statistics.not_sent_packets), (0, 2));
            let error = Tun::open(tun.name(), Offload::None).unwrap_err();
            assert_eq!(error.hint(), Some("the name is in use: choose another"), "{error}");
            drop(tun);
            // Other tests fork processes, which briefly hold copies of all descriptors.
            let clock = Clock::start();
            while Interface::find("test0").is_ok() {
                assert!(clock.now() < units::Instant::from_nanos(10_000_000_000));
            }
            assert!(Tun::open("a-name-too-long-for-it", Offload::None).is_err());
        })
        .unwrap();
}

#[test]
fn program_runs_in_the_namespace() {
    let net = namespace();
    let _tun = net.run(|| device(Offload::None)).unwrap();
    let mut command = Command::new("cat");
    command.arg("/proc/net/dev").stdout(Stdio::piped());
    let child =
        Namespaces { net: Some(&net), user: None, resolv_conf: None }.spawn(command).unwrap();
    let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(output.contains("test0:") && output.contains("lo:"), "{output}");
    let error = Namespaces { net: Some(&net), user: None, resolv_conf: None }
        .spawn(Command::new("/no/such/program"))
        .unwrap_err();
    assert!(
        error.to_string().starts_with("cannot start `/no/such/program`: No such file"),
        "{error}"
    );
}

#[test]
fn unprivileged_user_works_in_a_user_namespace() {
    let (user, handed) = in_own_namespaces(|| {
        let tun = device(Offload::None);
        Ok(PassedFds {
            text: tun.name().to_owned(),
            fds: vec![NetNamespace::current()?.into_fd(), tun.into_fd()],
        })
    })
    .expect("this test needs user namespaces");
    assert_eq!(handed.text, "test0");
    let mut fds = handed.fds.into_iter();
    let net = NetNamespace::from_fd(fds.next().unwrap());
    let tun = Tun::from_fd(fds.next().unwrap()).unwrap();
    assert_eq!(tun.name(), "test0");
    let mut command = Command::new("sh");
    command.args(["-c", "id -u; cat /proc/net/dev"]).stdout(Stdio::piped());
    let child = Namespaces { net: Some(&net), user: Some(&user), resolv_conf: None }
        .spawn(command)
        .unwrap();
    let output = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(output.starts_with("0\n") && output.contains("test0:"), "{output}");
    let error = in_own_namespaces(|| {
        Tun::open("a-name-too-long-for-it", Offload::None)?;
        Ok(PassedFds::default())
    })
    .unwrap_err();
    assert!(
        error.to_string().starts_with("cannot make TUN device `a-name-too-long-for-it`"),
        "{error}"
    );
}

#[test]
fn signals_are_queued_until_read() {
    let signals = Signals::catch(&[Signal::USR1, Signal::USR2]).unwrap();
    assert!(Signals::catch(&[Signal::USR1]).is_err());
    assert_eq!(signals.next(), None);
    rustix::process::kill_process(rustix::process::getpid(), Signal::USR2).unwrap();
    let clock = Clock::start();
    let mut fds = [PollFd::from_borrowed_fd(signals.as_fd(), PollFlags::IN)];
    while clock.wait(&mut fds, clock.now() + Duration::from_secs(10), Duration::ZERO).unwrap() == 0
    {
    }
    let caught = signals.next().unwrap();
    assert_eq!((caught.signal, caught.from_process), (Signal::USR2, true));
    drop(signals);
    Signals::catch(&[Signal::USR1]).unwrap();
}

#[test]
fn program_is_killed_with_the_starting_thread() {
    let mut command = Command::new("cat");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    // The thread ends at once.
    let mut child = std::thread::scope(|scope| {
        scope
            .spawn(|| {
                Namespaces { net: None, user: None, resolv_conf: None }.spawn(command).unwrap()
            })
            .join()
            .unwrap()
    });
    let mut nothing = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut nothing).unwrap();
    let _ = child.stdin.take().unwrap().write_all(b"");
    assert!(!child.wait().unwrap().success());
}

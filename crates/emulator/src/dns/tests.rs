use std::net::Ipv4Addr;

use super::*;

const WAIT: std::time::Duration = std::time::Duration::from_secs(5);

/// A server at a free loopback port, over UDP.
fn server() -> (UdpSocket, SocketAddr) {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(WAIT)).unwrap();
    let address = socket.local_addr().unwrap();
    (socket, address)
}

/// A forwarder to these servers, at a port that was free a moment ago.
fn forwarder(servers: &[SocketAddr]) -> (Forwarder, SocketAddr) {
    let (_, at) = server();
    (Forwarder::at(at, servers.to_vec()).unwrap().unwrap(), at)
}

fn client(to: SocketAddr) -> UdpSocket {
    let (socket, _) = server();
    socket.connect(to).unwrap();
    socket
}

fn received(socket: &UdpSocket) -> (Vec<u8>, SocketAddr) {
    let mut buffer = [0; 2048];
    let (len, from) = socket.recv_from(&mut buffer).unwrap();
    (buffer[..len].to_vec(), from)
}

#[test]
fn the_first_response_with_the_identifier_of_the_query_is_passed_back() {
    let (silent, silent_at) = server();
    let (answering, answering_at) = server();
    let (_forwarder, at) = forwarder(&[silent_at, answering_at]);
    let client = client(at);
    let query = b"\x12\x34\x01\x00 query to both";
    client.send(b"too short").unwrap();
    client.send(query).unwrap();
    assert_eq!(received(&silent).0, query);
    let (message, from) = received(&answering);
    assert_eq!(message, query);
    for response in
        [&b"\x12\x35\x81\x80 forged......"[..], b"\x12\x34", b"\x12\x34\x81\x80 response"]
    {
        answering.send_to(response, from).unwrap();
    }
    assert_eq!(received(&client).0, b"\x12\x34\x81\x80 response");
    // The other response comes too late.
    client.set_read_timeout(Some(std::time::Duration::from_millis(100))).unwrap();
    assert!(client.recv(&mut [0; 64]).is_err());
}

#[test]
fn queries_of_several_clients_with_one_identifier_do_not_mix() {
    let (answering, address) = server();
    let (_forwarder, at) = forwarder(&[address]);
    let clients = [client(at), client(at)];
    for (client, text) in
        clients.iter().zip([&b"\x00\x01 first......"[..], b"\x00\x01 second....."])
    {
        client.send(text).unwrap();
    }
    let queries = [received(&answering), received(&answering)];
    for (message, from) in queries.iter().rev() {
        answering.send_to(message, from).unwrap();
    }
    assert_eq!(received(&clients[0]).0, b"\x00\x01 first......");
    assert_eq!(received(&clients[1]).0, b"\x00\x01 second.....");
}

#[test]
fn a_connection_is_copied_in_both_directions_until_both_ends() {
    let refusing = server().1;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (_forwarder, at) = forwarder(&[refusing, listener.local_addr().unwrap()]);
    let mut client = TcpStream::connect(at).unwrap();
    let (mut peer, _) = listener.accept().unwrap();
    client.write_all(b"query").unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    let mut text = String::new();
    peer.read_to_string(&mut text).unwrap();
    assert_eq!(text, "query");
    peer.write_all(b"response").unwrap();
    drop(peer);
    client.read_to_string(&mut text).unwrap();
    assert_eq!(text, "queryresponse");
}

#[test]
fn an_address_in_use_has_a_server_already() {
    let (_server, address) = server();
    assert!(Forwarder::at(address, vec![]).unwrap().is_none());
}

/// Bytes that are no DNS messages, from clients and from servers, over UDP and TCP.
#[test]
fn a_query_is_answered_after_any_bytes() {
    let (answering, address) = server();
    let listener = TcpListener::bind(address).unwrap();
    let (_forwarder, at) = forwarder(&[address]);
    let (hostile, asking) = (client(at), client(at));
    let mut state = 1;
    for length in (0..600).map(|number| number * number % 1472) {
        let bytes: Vec<u8> = (0..length)
            .map(|_| {
                state = units::hash::mix(state + 1);
                state.to_be_bytes()[0]
            })
            .collect();
        hostile.send(&bytes).unwrap();
        if bytes.len() >= HEADER_BYTES {
            let (message, from) = received(&answering);
            assert_eq!(message, bytes);
            answering.send_to(&bytes[1..], from).unwrap();
        }
    }
    for bytes in [&b""[..], b"\0", b"\xff\xff too short for its length"] {
        TcpStream::connect(at).unwrap().write_all(bytes).unwrap();
        drop(listener.accept().unwrap());
    }
    let query = b"\x12\x34\x01\x00 a query.";
    asking.send(query).unwrap();
    let (_, from) = received(&answering);
    answering.send_to(query, from).unwrap();
    assert_eq!(received(&asking).0, query);
}

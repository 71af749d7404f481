//! Settings of TCP: profiles, their precedence, and error messages.

use serde_json::json;
use units::Duration;

use super::{Growth, Header, KeyPath, Profile, RttSample, Tcp, spoilt};

#[test]
fn tcp_errors_name_the_table_that_has_the_key() {
    let cases = [
        ("/tcp/mss", json!(7), "tcp.mss: 7 is not a segment size from 8 to 65495"),
        ("/tcp/mss", json!(65_496), "tcp.mss: 65496 is not a segment size from 8 to 65495"),
        ("/tcp/ack_every", json!(0), "tcp.ack_every: must be at least 1"),
        (
            "/tcp/tick",
            json!("2s"),
            "tcp.tick: tick, 2s, is more than rto_min, 1s: every timeout would be one tick",
        ),
        ("/tcp/rto_max", json!("0.5s"), "tcp.rto_max: rto_max, 0.5s, is below rto_min, 1s"),
        ("/tcp/rto_min", json!("0s"), "tcp.rto_min: must be above zero"),
        (
            "/tcp/rto_initial",
            json!("100s"),
            "tcp.rto_initial: rto_initial, 100s, is not between rto_min, 1s, and rto_max, 64s",
        ),
        (
            "/tcp/receive_buffer",
            json!("1kB"),
            "tcp.receive_buffer: receive_buffer, 1000 B, cannot hold one segment of 1460 B",
        ),
        (
            "/tcp/receive_buffer",
            json!("2GB"),
            "tcp.receive_buffer: must be at most 1 GiB, the largest window",
        ),
        ("/tcp/header", json!("0B"), "tcp.header: must be from 1 B to 65535 B"),
        (
            "/tcp/header",
            json!("64200B"),
            "tcp.header: a full segment with its headers, 65660 B, exceeds an IP packet of 65535 B",
        ),
        (
            "/workload/1/tcp/rto_min",
            json!("50ms"),
            "workload[1].tcp.rto_min: tick, 0.1s, is more than rto_min, 0.05s: every timeout would be one tick",
        ),
        (
            "/workload/1/tcp/mss",
            json!(7),
            "workload[1].tcp.mss: 7 is not a segment size from 8 to 65495",
        ),
        (
            "/workload/1/tcp/tick",
            json!("2s"),
            "workload[1].tcp.tick: tick, 2s, is more than rto_min, 1s: every timeout would be one tick",
        ),
    ];
    for (pointer, value, message) in cases {
        assert_eq!(spoilt(pointer, value), message);
    }
}

#[test]
fn settings_come_from_the_workload_then_the_common_table_then_the_profile() {
    let common = Tcp {
        profile: Some(Profile::Ns2),
        ack_every: Some(3),
        mss: 536.try_into().ok(),
        ..Tcp::default()
    };
    let own = Tcp { ack_every: Some(2), ..Tcp::default() };
    let path = KeyPath::element("workload", 0);
    let settings = common.resolve(&own, &path).unwrap();
    assert_eq!((settings.ack_every, u16::from(settings.mss)), (Some(2), 536));
    assert_eq!(settings.header.map(Header::get), Some(40));
    let own = Tcp { profile: Some(Profile::Bsd), ..own };
    let settings = common.resolve(&own, &path).unwrap();
    assert_eq!((u16::from(settings.mss), settings.header), (536, None));
    assert_eq!(settings.rto().map(|rto| rto.expiry_tick()), Some(Duration::from_millis(500)));
}

#[test]
fn profiles_are_valid_and_as_documented() {
    for profile in Profile::ALL {
        let tcp = Tcp { profile: Some(profile), ..Tcp::default() };
        let settings = tcp.resolve(&Tcp::default(), &KeyPath::default()).unwrap();
        assert_eq!(settings, profile.settings());
        assert!(settings.rto().is_some());
        assert_eq!(profile.table().resolve(&Tcp::default(), &KeyPath::default()), Ok(settings));
    }
    let rfc = Profile::Rfc.settings();
    assert_eq!((rfc.rto_initial.0, rfc.tick.0), (Duration::from_secs(1), Duration::from_millis(1)));
    assert_eq!(
        (rfc.rtt_sample, rfc.growth, rfc.ack_every),
        (RttSample::Ack, Growth::Bytes, Some(2))
    );
    assert!(rfc.timestamps && rfc.header.is_none());
}

#[test]
fn a_linux_receiver_gives_way_to_a_delay_of_acknowledgments() {
    let path = KeyPath::default();
    let linux = Tcp { profile: Some(Profile::Linux618), ..Tcp::default() };
    let settings = linux.resolve(&Tcp::default(), &path).unwrap();
    assert_eq!((settings.delayed_ack(), settings.ack_every), (None, None));
    let own = Tcp { ack_every: Some(1), ..Tcp::default() };
    let settings = linux.resolve(&own, &path).unwrap();
    let delayed_ack = settings.delayed_ack().unwrap();
    assert_eq!((delayed_ack.every, delayed_ack.timeout), (1, Duration::from_millis(40)));
    let own = Tcp { ack_delay: "10ms".parse().ok().map(super::Text), ..Tcp::default() };
    let delayed_ack = linux.resolve(&own, &path).unwrap().delayed_ack().unwrap();
    assert_eq!((delayed_ack.every, delayed_ack.timeout), (2, Duration::from_millis(10)));
    let explicit = Tcp { receiver: Some(Profile::Linux612), ack_every: Some(1), ..linux };
    let error = explicit.resolve(&Tcp::default(), &path).unwrap_err().to_string();
    assert!(error.starts_with("tcp.ack_every: contradicts receiver = \"linux-6.12\""), "{error}");
}

#[test]
fn the_receiving_host_may_have_a_profile_of_its_own() {
    let path = KeyPath::default();
    let receiver = Some(Profile::Linux618);
    let mixed = Tcp { profile: Some(Profile::Bsd), receiver, ..Tcp::default() };
    let settings = mixed.resolve(&Tcp::default(), &path).unwrap();
    assert_eq!((settings.delayed_ack(), settings.receive_buffer.get()), (None, 32 << 20));
    assert_eq!(settings.rto_min.0, Duration::from_secs(1));
    let receiver = Some(Profile::Rfc);
    let mixed = Tcp { profile: Some(Profile::Linux618), receiver, ..Tcp::default() };
    let settings = mixed.resolve(&Tcp::default(), &path).unwrap();
    assert_eq!((settings.ack_every, settings.receive_buffer.get()), (Some(2), 1_000_000));
    assert_eq!(settings.rto_min.0, Duration::from_millis(200));
}

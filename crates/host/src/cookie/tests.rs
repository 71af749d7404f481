use proptest::prelude::*;
use wire::{Control, Flags, Options, Timestamps, UnscaledWindow};

use super::*;
use crate::tuple::tests::tuple;

fn syn(mss: u16) -> Segment {
    Segment {
        seq: SeqNum::new(1000),
        ack: None,
        control: Control::Syn,
        flags: Flags::NONE,
        window: UnscaledWindow::new(u16::MAX),
        payload_len: 0,
        options: Options { mss: Mss::new(mss), ..Options::default() },
    }
}

fn answer_to(cookie: SeqNum) -> Segment {
    Segment {
        seq: SeqNum::new(1001),
        ack: Some(cookie + 1),
        control: Control::None,
        options: Options::default(),
        ..syn(1460)
    }
}

fn secs(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

#[test]
fn cookie_returns_the_peer_mss() {
    let secret = Secret::new([1; 16]);
    for (offered, kept) in [(1460, 1460), (1459, 1440), (536, 536), (65_535, 8940), (100, 64)] {
        let cookie = make(&secret, &tuple(9), &syn(offered), secs(59)).unwrap();
        let back = negotiated(&secret, &tuple(9), &Config::default(), &answer_to(cookie), secs(61));
        assert_eq!(back.map(|negotiated| negotiated.peer_mss.get()), Some(kept), "{offered}");
    }
    assert_eq!(make(&secret, &tuple(9), &syn(63), secs(0)), None);
}

/// RFC 4987 §3.6
#[test]
fn cookie_is_bound_to_tuple_sequence_number_and_minute() {
    let secret = Secret::new([1; 16]);
    let cookie = make(&secret, &tuple(9), &syn(1460), secs(60)).unwrap();
    let config = Config::default();
    let good = |secret: &Secret, port, segment: &Segment, at| {
        negotiated(secret, &tuple(port), &config, segment, at).is_some()
    };
    let answer = answer_to(cookie);
    assert!(good(&secret, 9, &answer, secs(60)) && good(&secret, 9, &answer, secs(179)));
    // Invalid before its creation, after two minutes, and 32 minutes later.
    for at in [0, 59, 180, 60 + 32 * 60] {
        assert!(!good(&secret, 9, &answer, secs(at)), "{at}");
    }
    assert!(!good(&secret, 8, &answer, secs(60)));
    assert!(!good(&Secret::new([2; 16]), 9, &answer, secs(60)));
    assert!(!good(&secret, 9, &Segment { seq: answer.seq + 1, ..answer }, secs(60)));
}

proptest! {
    #[test]
    fn random_numbers_are_rarely_valid_cookies(number: u32, at in 0..10_000u64) {
        // The probability is 2⁻²⁴ in the two minutes of 32 that are valid.
        let secret = Secret::new([1; 16]);
        let answer = answer_to(SeqNum::new(number));
        prop_assert_eq!(negotiated(&secret, &tuple(9), &Config::default(), &answer, secs(at)), None);
    }

    #[test]
    fn timestamp_cookies_encode_options_and_never_exceed_the_clock(
        clock in 64u32..,
        sack: bool,
        ecn: bool,
        scale in proptest::option::of(0..15u8),
    ) {
        let config = Config { ecn: true, ..Config::default() };
        let ours = WindowScale::for_buffer(config.receive_buffer);
        let offered = Negotiated {
            feedback: if sack { Feedback::Sack } else { Feedback::Cumulative },
            ecn,
            send_scale: scale.map_or(WindowScale::NONE, WindowScale::clamped),
            receive_scale: if scale.is_some() { ours } else { WindowScale::NONE },
            ..Negotiated::between_equals(&config)
        };
        let stamp = stamp(clock, &offered, scale.is_some()).unwrap();
        prop_assert!(stamp <= clock && clock - stamp < 128);
        let secret = Secret::new([1; 16]);
        let cookie = make(&secret, &tuple(9), &syn(1460), secs(0)).unwrap();
        let mut answer = answer_to(cookie);
        answer.options.timestamps = Some(Timestamps { val: 1, ecr: stamp });
        prop_assert_eq!(negotiated(&secret, &tuple(9), &config, &answer, secs(0)), Some(offered));
    }
}

use wire::{Mss, Options, UnscaledWindow};

use super::*;

fn segment(seq: u32, payload_len: u32) -> Segment {
    Segment {
        seq: SeqNum::new(seq),
        ack: Some(SeqNum::new(1)),
        control: Control::None,
        flags: Flags::NONE,
        window: UnscaledWindow::new(10),
        payload_len,
        options: Options::default(),
    }
}

fn live(segment: Segment) -> Live {
    Live { at: Instant::from_nanos(segment.seq.value().into()), segment }
}

#[test]
fn segments_that_agree_are_joined() {
    let first = segment(1, 100);
    let fin = Segment { control: Control::Fin, flags: Flags::PSH, ..segment(101, 50) };
    assert_eq!(join(&[live(first)], &fin), Ok(()));
    for (next, why) in [
        (segment(102, 100), "does not follow"),
        (segment(101, 101), "101 bytes after one of 100"),
        (Segment { ack: None, ..segment(101, 100) }, "other fields"),
        (Segment { window: UnscaledWindow::new(9), ..segment(101, 100) }, "other fields"),
        (Segment { flags: Flags::ECE, ..segment(101, 100) }, "other fields"),
        (Segment { control: Control::Rst, ..segment(101, 100) }, "other fields"),
    ] {
        let found = join(&[live(first)], &next).unwrap_err();
        assert!(found.contains(why), "{found}");
    }
    let third = join(&[live(first), live(segment(101, 50))], &segment(151, 50));
    assert_eq!(third, Err("another segment after one of 50 bytes instead of 100".to_owned()));
}

/// Sequence number and CWR are those of the first segment, all other fields those of the last.
#[test]
fn fields_of_joined_segments() {
    let first = Segment { flags: Flags::CWR, ..segment(1, 100) };
    let last = Segment { flags: Flags::PSH, control: Control::Fin, ..segment(101, 50) };
    let whole = joined(&[live(first), live(last)]).expect("two segments");
    assert_eq!((whole.segment.seq, whole.segment.payload_len), (SeqNum::new(1), 150));
    assert_eq!(whole.segment.control, Control::Fin);
    assert!(whole.segment.flags.has(Flags::PSH) && whole.segment.flags.has(Flags::CWR));
    assert_eq!(whole.at, Instant::from_nanos(101));
    assert_eq!(joined(&[]), None);
}

#[test]
fn numbers_are_relative_to_the_syns() {
    let numbers =
        Numbers { ours: SeqNum::new(u32::MAX), script: Some(5), theirs: SeqNum::new(1000) };
    assert_eq!(numbers.our_live(1, false), SeqNum::new(0));
    assert_eq!(numbers.our_live(6, true), SeqNum::new(0));
    assert_eq!(numbers.their_live(1, false), SeqNum::new(1001));
    assert_eq!(numbers.their_live(1, true), SeqNum::new(1));
    for on_syn in [false, true] {
        for written in [0, 1, 77, u32::MAX] {
            let ours = numbers.our_live(written, on_syn);
            assert_eq!(numbers.our_written(ours, on_syn), written);
            let theirs = numbers.their_live(written, on_syn);
            assert_eq!(numbers.their_written(theirs, on_syn), written);
        }
    }
}

#[test]
fn timestamps_are_mapped() {
    let mut stamps = Stamps::default();
    assert_eq!((stamps.echo(1, true), stamps.expected(1, 1000)), (None, None));
    stamps.learn(100, 5000);
    stamps.learn(200, 5700);
    stamps.learn(100, 6000);
    assert_eq!((stamps.echo(100, false), stamps.echo(150, false)), (Some(6000), None));
    assert_eq!(stamps.echo(150, true), Some(5050));
    assert_eq!(stamps.expected(5010, 1000), Some(110));
    assert_eq!(stamps.expected(5010, 500), Some(120));
}

#[test]
fn options_are_compared_as_sets() {
    let mut syn = Segment { control: Control::Syn, ack: None, ..segment(0, 0) };
    syn.options.mss = Mss::new(1460);
    syn.options.sack_permitted = true;
    let compare = |wanted: &[TcpOption]| {
        let mut found = Differences { failures: Vec::new(), notes: Vec::new() };
        options(wanted, &options_of(&syn, &Numbers::default()), &mut found);
        found.failures.join("; ")
    };
    let padded = [TcpOption::Nop, TcpOption::SackPermitted, TcpOption::Mss(1460)];
    assert_eq!(compare(&padded), "");
    assert_eq!(compare(&[TcpOption::Mss(1460)]), "the option `sackOK` is not expected");
    assert_eq!(
        compare(&[TcpOption::SackPermitted, TcpOption::Mss(1), TcpOption::WindowScale(2)]),
        "the option `mss 1460` instead of `mss 1`; the option `wscale 2` is missing"
    );
}

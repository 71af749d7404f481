//! Arbitrary input in any state: [`testkit::hostile`] with cases that are likely to reveal errors.

use proptest::prelude::*;
use proptest::sample::select;
use tcp::{IcmpError, KeepAlive, Timeouts};
use testkit::generate::{cases, tcp};
use testkit::hostile::{Claim, Garbage, LONGEST_PAYLOAD, Number, Start, Stimulus, Victim};
use units::Duration;
use wire::{Control, Ecn, Flags};

fn number() -> BoxedStrategy<Number> {
    prop_oneof![
        3 => (-3i32..4).prop_map(Number::Near),
        2 => (-4000i32..4000).prop_map(Number::Near),
        1 => any::<u32>().prop_map(Number::Any),
    ]
    .boxed()
}

prop_compose! {
    fn claim()(
        (data_copy, copy) in (0..16u8, prop_oneof![4 => Just(1u8), 1 => 0..16u8]),
        (seq, at) in (number(), prop_oneof![any::<u32>(), 0..1_000_000u32]),
        granularity in prop_oneof![4 => 0..4u8, 1 => any::<u8>()],
        window in prop::collection::vec(any::<u8>(), 0..19),
    ) -> Claim {
        Claim { data_copy, seq, copy, at, granularity, window }
    }
}

prop_compose! {
    fn garbage()(
        (seq, ack) in (number(), prop::option::weighted(0.9, number())),
        control in select(vec![
            Control::None, Control::None, Control::None, Control::None, Control::None, Control::None,
            Control::Syn, Control::Fin, Control::Fin, Control::Rst,
        ]),
        window in prop_oneof![Just(0u16), 0..2000u16, any::<u16>()],
        payload_len in prop_oneof![3 => Just(0u32), 2 => 0..1500u32, 1 => 0..=LONGEST_PAYLOAD],
        sack in prop::collection::vec((number(), 1..3000u32), 0..4),
        timestamps in prop::option::of(prop_oneof![any::<(u32, u32)>(), (0..50u32, 0..50u32)]),
        mss in prop::option::of(1..=u16::MAX),
        scale in prop::option::of(any::<u8>()),
        sack_permitted in any::<bool>(),
        santa_cruz in prop::option::of(claim()),
        santa_cruz_permitted in any::<bool>(),
        (psh, ece, cwr) in any::<(bool, bool, bool)>(),
        ecn in select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ce]),
    ) -> Garbage {
        let flags = Flags::NONE.with(Flags::PSH, psh).with(Flags::ECE, ece).with(Flags::CWR, cwr).with_ecn(ecn);
        Garbage {
            seq, ack, control, window, payload_len, sack, santa_cruz, timestamps, mss, scale, sack_permitted,
            santa_cruz_permitted, flags,
        }
    }
}

fn stimulus() -> BoxedStrategy<Stimulus> {
    prop_oneof![
        20 => garbage().prop_map(Stimulus::Segment),
        3 => (0..100_000u64).prop_map(|millis| Stimulus::Wait(Duration::from_millis(millis))),
        3 => Just(Stimulus::NextTimeout),
        1 => (any::<u16>(), number()).prop_map(|(mss, seq)| Stimulus::TooBig(mss, seq)),
        1 => (any::<bool>(), number()).prop_map(|(hard, seq)| {
            Stimulus::Icmp(if hard { IcmpError::Hard } else { IcmpError::Soft }, seq)
        }),
        1 => Just(Stimulus::Connect),
        1 => Just(Stimulus::Listen),
        4 => any::<u16>().prop_map(Stimulus::Write),
        3 => any::<u16>().prop_map(Stimulus::Read),
        1 => prop::bool::weighted(0.3).prop_map(|yes| if yes { Stimulus::Close } else { Stimulus::NextTimeout }),
        1 => prop::bool::weighted(0.1).prop_map(|yes| if yes { Stimulus::Abort } else { Stimulus::NextTimeout }),
    ].boxed()
}

prop_compose! {
    fn timeouts()(
        [user, idle, interval, fin] in prop::array::uniform4((1..200_000u64).prop_map(Duration::from_millis)),
        count in 0..4u8,
        [has_user, has_keep_alive, has_fin] in any::<[bool; 3]>(),
    ) -> Timeouts {
        Timeouts {
            user_timeout: has_user.then_some(user),
            keep_alive: KeepAlive::new(idle, interval, count).filter(|_| has_keep_alive),
            fin_wait_2: has_fin.then_some(fin),
        }
    }
}

proptest! {
    #![proptest_config(cases(6000))]

    #[test]
    fn arbitrary_input_violates_no_property(
        config in tcp(),
        timeouts in timeouts(),
        start in select(Start::ALL.to_vec()),
        stimuli in prop::collection::vec(stimulus(), 1..150),
    ) {
        let mut victim = Victim::new(tcp::Config { timeouts, ..config }, start);
        for stimulus in &stimuli {
            victim.suffer(stimulus).map_err(TestCaseError::fail)?;
        }
    }
}

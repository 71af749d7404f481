use proptest::prelude::*;

use super::*;

fn flow(flow: u64, size: Option<u64>) -> FlowRow {
    FlowRow {
        flow,
        workload: 1,
        variant: 0,
        class: size.map(|_| 7),
        size_bytes: size,
        start_s: time_s(Instant::from_nanos(1_500_000_000)),
        sender_s: size.map(|_| span_s(Duration::from_millis(250))),
        receiver_s: None,
        segments: 3,
        sent_bytes: 4000,
        retransmitted_segments: 1,
        retransmitted_bytes: 1460,
        fast_retransmits: 0,
        timeouts: 1,
        syn_timeouts: 0,
        received_bytes: 1500,
        waited_s: 1.25,
        srtt_s: size.map(|_| span_s(Duration::from_millis(50))),
        rto_s: 1.0,
    }
}

fn flows() -> Flows {
    Flows::new(&names(["greedy", "web"]), &names(["reno+sack / full / iw=1"]))
}

#[test]
fn rows_become_columns() {
    let mut table = flows();
    table.push(flow(0, Some(2920)));
    table.push(flow(1, None));
    assert_eq!((table.len(), table.is_empty()), (2, false));
    assert_eq!(table.workload.get(0), Some("web"));
    assert_eq!(table.size_bytes.iter().collect::<Vec<_>>(), [Some(2920), None]);
    assert_eq!((table.sender_s.get(0), table.receiver_s.nulls()), (Some(0.25), 2));

    let taken = table.take();
    assert_eq!((taken.len(), table.len()), (2, 0));
    table.push(flow(2, None));
    assert_eq!(table.workload.get(0), Some("web"), "names survive");

    let columns = taken.into_columns();
    let order: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
    assert_eq!(order[..4], ["flow", "workload", "variant", "class"]);
    assert_eq!(order.len(), 19);
    assert_eq!(columns[0].1, Column::U64(vec![0, 1]));
    assert_eq!(columns[1].1, Column::Text { codes: vec![1, 1], names: names(["greedy", "web"]) });
    assert_eq!(columns[5].1, Column::F64(vec![1.5, 1.5]));
}

#[test]
fn sampled_flows_get_names() {
    let mut table = Samples::new(&names(["greedy"]), &names(["bottleneck"]));
    let objects = [
        Object::Flow { workload: 0, flow: 3 },
        Object::Link(0),
        Object::Flow { workload: 0, flow: 3 },
    ];
    for object in objects {
        table.push(SampleRow {
            time_s: 0.1,
            object,
            quantity: Quantity::CwndBytes.code(),
            value: 1460.0,
        });
    }
    assert_eq!(table.quantity.get(1), Some("cwnd_bytes"));
    assert_eq!(table.object.get(1).as_deref(), Some("bottleneck"));
    let columns = table.into_columns();
    assert_eq!(
        columns[1].1,
        Column::Text { codes: vec![0, 1, 0], names: names(["greedy/3", "bottleneck"]) }
    );
}

#[test]
fn codes_resolve_to_names() {
    let mut table = Recoveries::new(&names(["web"]), &names(["a", "b"]));
    for cause in [
        Cause::FastRetransmit,
        Cause::Timeout,
        Cause::SynTimeout,
        Cause::Ecn,
        Cause::LossProbe,
        Cause::TailCopy,
    ] {
        table.push(RecoveryRow {
            time_s: 0.0,
            flow: 0,
            workload: 0,
            variant: 1,
            class: None,
            cause: cause.code(),
            cwnd_bytes: 1460,
            flight_bytes: 1460,
        });
    }
    let causes: Vec<_> = (0..6).filter_map(|row| table.cause.get(row)).collect();
    assert_eq!(causes, Cause::NAMES);
    assert_eq!(table.variant.get(0), Some("b"));
    let quantities = [
        Quantity::CwndBytes,
        Quantity::SsthreshBytes,
        Quantity::FlightBytes,
        Quantity::QueueBytes,
        Quantity::QueuePackets,
        Quantity::ForwardDelay,
        Quantity::ReturnDelay,
        Quantity::WaitingPackets,
        Quantity::ForwardReordered,
        Quantity::ReturnReordered,
    ];
    assert_eq!(quantities.map(Quantity::code), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

#[test]
fn a_link_row_holds_means_over_its_time() {
    let books = link::Books {
        offered: link::Tally { packets: 3, bytes: 4500 },
        delivered: link::Tally { packets: 2, bytes: 3000 },
        held: link::Tally { packets: 1, bytes: 1500 },
        marked: link::Tally { packets: 1, bytes: 1500 },
        ..link::Books::default()
    };
    let queue = link::QueueStatistics {
        elapsed: Duration::from_secs(2),
        packet_nanos: 3_000_000_000,
        byte_nanos: 4_500_000_000_000,
        busy: Duration::from_secs(1),
        max: link::Tally { packets: 2, bytes: 3000 },
        ..link::QueueStatistics::default()
    };
    let cells =
        link::atm::CellBooks { offered: 96, delivered: 60, dropped: 4, held: 32, wasted: 3 };
    let row = LinkRow::new(0, &books, Some(cells), &queue);
    assert_eq!((row.mean_queue_packets, row.mean_queue_bytes, row.utilisation), (1.5, 2250.0, 0.5));
    assert_eq!((row.offered_bytes, row.held_packets, row.max_queue_bytes), (4500, 1, 3000));
    assert_eq!((row.marked_packets, row.marked_bytes, row.dropped_early_packets), (1, 1500, 0));
    let mut table = Links::new(&names(["bottleneck"]));
    table.push(row);
    assert_eq!(table.link.get(0), Some("bottleneck"));
    assert_eq!((table.offered_cells.get(0), table.dropped_cells.get(0)), (Some(96), Some(4)));
    let nothing = LinkRow::new(0, &books, None, &link::QueueStatistics::default());
    assert_eq!((nothing.utilisation, nothing.mean_queue_packets), (0.0, 0.0), "no time, no NaN");
    assert_eq!(nothing.offered_cells, None, "a link without cells has none, not zero");
}

#[test]
fn a_digest_does_not_change_with_a_rebuild() {
    let mut table = flows();
    table.push(flow(0, Some(2920)));
    table.push(flow(1, None));
    assert_eq!(table.digest(), GOLDEN_DIGEST);
}

const GOLDEN_DIGEST: u64 = 0x22b0_0646_11b5_11dc;

#[test]
fn a_digest_depends_on_every_value_and_the_order() {
    let digest = |rows: &[FlowRow]| {
        let mut table = flows();
        for row in rows {
            table.push(*row);
        }
        table.digest()
    };
    let (a, b) = (flow(0, Some(1)), flow(1, Some(1)));
    let all = [
        digest(&[]),
        digest(&[a]),
        digest(&[a, b]),
        digest(&[b, a]),
        digest(&[FlowRow { size_bytes: None, ..a }]),
        digest(&[FlowRow { size_bytes: Some(0), ..a }]),
        digest(&[FlowRow { workload: 0, ..a }]),
        digest(&[FlowRow { syn_timeouts: 1, ..a }]),
        digest(&[FlowRow { start_s: a.start_s + 1e-9, ..a }]),
    ];
    for (i, one) in all.iter().enumerate() {
        assert!(all[..i].iter().all(|other| other != one), "{i}");
    }
}

proptest! {
    #[test]
    fn a_digest_ignores_where_tables_were_split(sizes in prop::collection::vec(any::<Option<u64>>(), 0..40), cut in 0usize..40) {
        let (mut whole, mut parts, mut running) = (flows(), flows(), Digest::new());
        for (i, &size) in sizes.iter().enumerate() {
            if i == cut {
                parts.take().digest_into(&mut running);
            }
            let row = flow(u64::try_from(i).unwrap(), size);
            whole.push(row);
            parts.push(row);
        }
        parts.digest_into(&mut running);
        prop_assert_eq!(running.finish(), whole.digest());
    }

    #[test]
    fn nullable_values_read_back_equal(values in prop::collection::vec(any::<Option<u32>>(), 0..100)) {
        let mut column = Nullable::default();
        for &value in &values {
            column.push(value);
        }
        prop_assert_eq!(column.iter().collect::<Vec<_>>(), values.clone());
        prop_assert_eq!(column.nulls(), values.iter().filter(|value| value.is_none()).count());
        let (plain, validity) = column.into_parts();
        prop_assert_eq!(plain.len(), values.len());
        prop_assert_eq!(validity.len(), values.len().div_ceil(8));
        for (row, value) in values.iter().enumerate() {
            prop_assert_eq!(validity[row / 8] >> (row % 8) & 1 == 1, value.is_some());
        }
    }
}

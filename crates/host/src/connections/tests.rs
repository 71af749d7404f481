use units::Duration;

use super::*;

fn id(serial: u64, index: u32) -> ConnectionId {
    ConnectionId { serial, index }
}

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}

#[test]
fn index_of_an_ended_connection_is_reused() {
    let mut connections = Connections::default();
    connections.insert(id(1, 0), at(5), "first");
    assert!(connections.take(id(1, 0)).is_some_and(|entry| entry.state == "first"));
    assert!(connections.take(id(1, 0)).is_none());
    connections.insert(id(2, 0), at(9), "second");
    assert!(connections.get_mut(id(1, 0)).is_none());
    assert_eq!(connections.iter().map(|entry| entry.id).collect::<Vec<_>>(), [id(2, 0)]);
    // The timer entry of the first connection is stale.
    assert_eq!((connections.next_timeout(), connections.next_due(at(5))), (at(5), None));
    assert_eq!(connections.next_due(at(9)), Some(id(2, 0)));
}

#[test]
fn deadlines_move_in_both_directions() {
    let mut connections = Connections::default();
    connections.insert(id(1, 0), at(5), ());
    for deadline in [at(8), at(3), Instant::NEVER, at(6)] {
        let mut entry = connections.take(id(1, 0)).unwrap();
        entry.deadline = deadline;
        connections.put(entry);
    }
    assert_eq!(connections.next_due(at(5)), None);
    assert_eq!(connections.next_timeout(), at(6));
    assert_eq!(connections.next_due(at(6)), Some(id(1, 0)));
    assert_eq!(connections.next_due(at(100)), None, "it has no new deadline");
}

#[test]
fn backlog_has_one_turn_for_each_connection() {
    let mut connections = Connections::default();
    for index in 0..3 {
        connections.insert(id(index.into(), index), Instant::NEVER, ());
        let mut entry = connections.take(id(index.into(), index)).unwrap();
        connections.defer(&mut entry);
        connections.defer(&mut entry);
        connections.put(entry);
    }
    assert_eq!((connections.turns(), connections.next_timeout()), (3, Instant::ZERO));
    drop(connections.take(id(1, 1)));
    assert_eq!([(); 3].map(|()| connections.next_turn()), [Some(id(0, 0)), None, Some(id(2, 2))]);
    let mut entry = connections.take(id(0, 0)).unwrap();
    connections.defer(&mut entry);
    assert_eq!((connections.turns(), connections.next_timeout()), (1, Instant::ZERO));
}

#[test]
fn stale_timer_entries_are_swept() {
    let mut connections = Connections::default();
    for serial in 0..1000 {
        connections.insert(id(serial, 0), at(1000), ());
        drop(connections.take(id(serial, 0)));
        assert_eq!(connections.next_due(at(0)), None);
    }
    assert!(connections.timers.len() <= 65, "{}", connections.timers.len());
}

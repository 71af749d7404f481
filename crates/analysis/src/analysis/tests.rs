use std::io::Cursor;

use proptest::prelude::*;

use super::*;
use crate::testing::Trace;

fn trace() -> Vec<u8> {
    let mut trace = Trace::at_server(true);
    for segment in 0..6 {
        trace.data(101.0, segment * 1448, 1448);
    }
    trace.ack(201.0, 1448, &[(4344, 8688)]);
    trace.data(201.1, 1448, 1448);
    trace.data(201.1, 2896, 1448);
    trace.ack(301.0, 8688, &[]);
    trace.file()
}

fn analyse(file: Vec<u8>) -> (u64, usize, usize) {
    let Ok(records) = Records::new(Cursor::new(file)) else { return (0, 0, 0) };
    let mut analysis = Analysis::new(records, Limits::default());
    while analysis.advance(7) {}
    (analysis.counts().tcp, analysis.take_flows().len(), analysis.take_episodes().len())
}

#[test]
fn an_analysis_in_steps_has_all_results() {
    assert_eq!(analyse(trace()), (13, 1, 1));
}

proptest! {
    #[test]
    fn a_cut_file_has_the_packets_before_the_cut(cut in 0..2000_usize) {
        let file = trace();
        let (packets, flows, _) = analyse(file[..cut.min(file.len())].to_vec());
        prop_assert!(packets <= 13 && flows <= 1);
    }

    /// Changed bytes give other results, but always some.
    #[test]
    fn any_changed_bytes_are_accepted(changes in proptest::collection::vec((28..2500_usize, any::<u8>()), 1..60)) {
        let mut file = trace();
        let len = file.len();
        for (at, value) in changes {
            file[at % len] = value;
        }
        analyse(file);
    }
}

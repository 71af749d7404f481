//! Several links of one command. It is one test, because a process catches signals once. Needs root
//! and `/dev/net/tun`.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up must stop")]

#[expect(dead_code, reason = "helpers of other tests")]
mod common;

use common::{PORT, in_a_network, traffic};
use emulator::{Emulation, EmulationError, Job, Settings, Several};

const BYTES: u64 = 300_000;

fn links(settings: &[&str]) -> Result<Several, EmulationError> {
    let read = |text: &str| Settings::from_json(text).unwrap();
    let mut links = Several::new(Emulation::new(&read(settings[0]), false)?);
    for text in &settings[1..] {
        links.add(&read(text))?;
    }
    Ok(links)
}

#[test]
fn the_destination_selects_the_link() {
    in_a_network(|| {
        let delays = [r#"{"both": {"delay": "1ms"}}"#, r#"{"both": {"delay": "5ms"}}"#, "{}"];
        // Eight links, and no more.
        let settings: Vec<&str> = delays.into_iter().cycle().take(9).collect();
        assert_eq!(links(&settings[..8]).unwrap().links().count(), 8);
        let error = links(&settings).unwrap_err();
        assert_eq!(error.hint(), Some("a command has at most eight links"));
        // The devices are gone, and the same addresses are free again.
        let links = links(&delays).unwrap();
        let fetch = traffic(&["fetch", "$TCPSF_LINK_OUTSIDE_2", PORT, &BYTES.to_string()]);
        let command = ["sh", "-c", &fetch.join(" ")].map(str::to_owned).to_vec();
        let outside = Some(traffic(&["serve", PORT]));
        let job = Job { command: command.clone(), outside, ..Job::default() };
        let reports = links.run(&job, &[Job::default(), Job::default()]).unwrap();
        assert_eq!(reports.len(), 3);
        for (report, number) in reports.iter().zip(0..) {
            assert_eq!((&report.command, report.exit_status), (&command, 0));
            let fetched = report.down.delivered_bytes > BYTES;
            assert_eq!(fetched, number == 1, "link {number}: {report:?}");
            assert!(fetched || report.down.delivered_bytes < BYTES / 10, "{report:?}");
        }
        // The others end if the command does not start.
        let links = self::links(&delays).unwrap();
        let job = Job { command: vec!["/does/not/exist".to_owned()], ..Job::default() };
        let error = links.run(&job, &[Job::default(), Job::default()]).unwrap_err();
        assert_eq!(error.exit_status(), Some(127));
    });
}

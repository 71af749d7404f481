//! Commands behind real links, with the kernel's TCP, addresses, processes and signals. Needs root
//! and `/dev/net/tun`. Each test has a network of its own. Of absolute times only lower bounds are
//! asserted.
#![expect(clippy::unwrap_used, reason = "a test that can't be set up must stop")]

mod common;

use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use common::{
    OUTSIDE, OUTSIDE_6, PORT, Run, captured, example, in_a_network, link, scratch, traffic,
};
use rustix::process::{Pid, Signal, kill_process};
use tun::{Clock, Interface};
use units::{Duration, Instant};

#[test]
fn every_byte_arrives_with_all_impairments() {
    let both = r#"{"delay": "2ms", "loss": "1%", "duplicate": "3%", "corrupt": "1%", "reorder": "3%,3ms"}"#;
    for (host, offload) in
        [(OUTSIDE, true), (OUTSIDE_6, true), (OUTSIDE, false), (OUTSIDE_6, false)]
    {
        // Joined segments are acknowledged less often.
        let settings =
            format!(r#"{{"both": {both}, "up": {{"loss": "6%"}}, "offload": {offload}}}"#);
        let run = Run::of(&settings, &traffic(&["fetch", host, PORT, "1500000"])).served();
        assert_eq!(run.status, 0, "{}", run.errors);
        for way in ["up", "down"] {
            assert!(run.count(way, "dropped_loss_packets") > 0, "{way}: {}", run.report);
            for column in ["duplicated_packets", "corrupted_packets", "reordered_packets"] {
                assert!(run.count("down", column) > 0, "{column}: {}", run.report);
            }
            run.assert_balanced(way);
            assert_eq!(run.count(way, "missed_packets"), 0);
        }
    }
}

#[test]
fn a_mask_drops_just_those_data_segments() {
    let file = scratch("mask.pcapng");
    for (host, offload) in
        [(OUTSIDE, true), (OUTSIDE_6, true), (OUTSIDE, false), (OUTSIDE_6, false)]
    {
        let settings = format!(
            r#"{{"down": {{"loss-mask": "0,1,0,0,1,1"}}, "both": {{"delay": "5ms"}}, "offload": {offload}}}"#
        );
        let run = Run::of(&settings, &traffic(&["fetch", host, PORT, "60000"]))
            .with(&["--pcap", file.to_str().unwrap(), "--pcap-at", "outside"])
            .served();
        assert_eq!(run.status, 0, "{}", run.errors);
        assert_eq!(run.count("down", "dropped_loss_packets"), 3);
        let sent: Vec<_> =
            captured(&file).into_iter().filter(|packet| packet.outbound && packet.data).collect();
        assert!(sent.len() > 40, "{} data segments", sent.len());
        let dropped: Vec<usize> =
            (0..sent.len()).filter(|&number| sent[number].says("Dropped: loss mask")).collect();
        assert_eq!(dropped, [1, 4, 5]);
    }
    std::fs::remove_file(file).unwrap();
}

/// The series ends with the totals, its counters never decrease, and its queue has the maximum of
/// the statistics.
#[test]
fn the_series_ends_with_the_totals() {
    let run = Run::of(
        r#"{"both": {"delay": "3ms"}, "down": {"rate": "20mbit", "queue": "20packets", "loss": "1%"}}"#,
        &traffic(&["fetch", OUTSIDE, PORT, "1000000"]),
    )
    .served();
    assert_eq!(run.status, 0, "{}", run.errors);
    let times: Vec<f64> = serde_json::from_value(run.report["series"]["time_s"].clone()).unwrap();
    assert!((100..1000).contains(&times.len()), "{} samples", times.len());
    assert!(times.is_sorted() && times[0] > 0.0);
    for way in ["up", "down"] {
        let line = &run.report["series"][way];
        let column = |name: &str| -> Vec<u64> {
            let values: Vec<u64> = serde_json::from_value(line[name].clone()).unwrap();
            assert_eq!(values.len(), times.len(), "{way} {name}");
            values
        };
        for name in [
            "offered_packets",
            "offered_bytes",
            "delivered_packets",
            "delivered_bytes",
            "dropped_buffer_packets",
            "dropped_early_packets",
            "dropped_loss_packets",
            "too_big_packets",
            "refused_packets",
            "marked_packets",
        ] {
            let values = column(name);
            assert!(values.is_sorted(), "{way} {name}: {values:?}");
            assert_eq!(values.last(), Some(&run.count(way, name)), "{way} {name}");
        }
        for (name, max) in
            [("queue_packets", "max_queue_packets"), ("queue_bytes", "max_queue_bytes")]
        {
            let (levels, peaks) = (column(name), column(max));
            assert!(levels.iter().zip(&peaks).all(|(level, peak)| level <= peak));
            assert_eq!(peaks.iter().max(), Some(&run.count(way, max)), "{way} {max}");
        }
        let busy: Vec<f64> = serde_json::from_value(line["busy_s"].clone()).unwrap();
        assert!(busy.is_sorted());
        let (end, total) = (times[times.len() - 1], busy[busy.len() - 1]);
        assert!((total / end - run.number(way, "utilisation")).abs() < 1e-6);
    }
    assert!(run.count("down", "max_queue_packets") > 1);
    assert!(run.number("down", "utilisation") > 0.0);
}

/// The kernel passes and accepts longer segments; the link, its statistics and the capture have
/// packets.
#[test]
fn offload_is_visible_only_at_the_devices() {
    let file = scratch("offload.pcapng");
    for host in [OUTSIDE, OUTSIDE_6] {
        let mut kernel = Vec::new();
        for offload in [true, false] {
            let fetch = traffic(&["fetch", host, PORT, "3000000"]).join(" ");
            let settings = format!(r#"{{"both": {{"delay": "2ms"}}, "offload": {offload}}}"#);
            let run =
                Run::of(&settings, &["sh", "-c", &format!("{fetch} && grep tcpsf: /proc/net/dev")])
                    .with(&["--pcap", file.to_str().unwrap(), "--pcap-at", "both"])
                    .served();
            assert_eq!(run.status, 0, "{}", run.errors);
            // In /proc/net/dev: bytes and packets received first.
            let row =
                run.output.lines().find_map(|line| line.trim().strip_prefix("tcpsf:")).unwrap();
            let taken: u64 = row.split_whitespace().nth(1).unwrap().parse().unwrap();
            let packets = captured(&file);
            assert!(packets.iter().all(|packet| packet.len <= 1500 && packet.checksums_are_good));
            let [sent, came] = [true, false].map(|outbound| {
                let these = packets.iter().filter(|packet| packet.outbound == outbound);
                these.map(|packet| packet.len).collect::<Vec<_>>()
            });
            let whole = sent.iter().filter(|&&len| len == 1500).count();
            assert!(whole >= 3_000_000 / 1500, "{whole} full-sized packets");
            let delivered =
                run.count("up", "delivered_packets") + run.count("down", "delivered_packets");
            assert_eq!((sent.len() as u64, came.len() as u64), (delivered, delivered));
            for way in ["up", "down"] {
                run.assert_balanced(way);
                assert_eq!(
                    (run.count(way, "missed_packets"), run.count(way, "refused_packets")),
                    (0, 0)
                );
            }
            kernel.push((taken, run.count("down", "delivered_packets")));
        }
        let [(joined, of), (alone, all)] = kernel[..] else { panic!("{kernel:?}") };
        // One packet, FIN or its acknowledgment, may arrive after the command has read the file.
        assert!(all - alone <= 2, "{alone} of {all}");
        assert!(joined < of / 4, "{joined} for {of}");
    }
    std::fs::remove_file(file).unwrap();
}

#[test]
fn the_far_end_reports_gaps() {
    let file = scratch("gaps.pcapng");
    let run = Run::of(
        r#"{"down": {"loss-mask": "0,1,1"}}"#,
        &traffic(&["fetch", OUTSIDE, PORT, "60000"]),
    )
    .with(&["--pcap", file.to_str().unwrap()])
    .served();
    assert_eq!(run.status, 0, "{}", run.errors);
    let gaps: Vec<_> = captured(&file)
        .into_iter()
        .filter(|p| p.says("Before it, 2 packets were dropped"))
        .collect();
    assert_eq!(gaps.len(), 1);
    assert!(!gaps[0].outbound && gaps[0].data);
    std::fs::remove_file(file).unwrap();
}

#[test]
fn the_same_seed_loses_the_same_packets() {
    let file = scratch("seed.pcapng");
    let mut lost = Vec::new();
    for seed in [1, 1, 2] {
        let settings = format!(r#"{{"up": {{"loss": "0.3"}}, "seed": {seed}}}"#);
        let run = Run::of(&settings, &traffic(&["blast", OUTSIDE, PORT, "200", "100"]))
            .with(&["--pcap", file.to_str().unwrap()])
            .alone();
        assert_eq!(run.status, 0, "{}", run.errors);
        let sent = captured(&file).into_iter().filter(|packet| packet.outbound);
        let fates: Vec<bool> = sent.map(|packet| packet.says("Dropped: random loss")).collect();
        assert_eq!(fates.len(), 200);
        let count = u64::try_from(fates.iter().filter(|&&lost| lost).count()).unwrap();
        assert_eq!(run.count("up", "dropped_loss_packets"), count);
        assert!((20..=100).contains(&count), "{count} of 200");
        lost.push(fates);
    }
    std::fs::remove_file(file).unwrap();
    assert_eq!(lost[0], lost[1]);
    assert_ne!(lost[0], lost[2]);
}

#[test]
fn rate_and_delay_are_as_configured() {
    let run = Run::of(
        r#"{"both": {"delay": "30ms"}, "down": {"rate": "2mbit"}}"#,
        &[
            "sh",
            "-c",
            &format!(
                "{0} ping {OUTSIDE} {PORT} 5; {0} fetch {OUTSIDE} {PORT} 250000",
                example("traffic").display()
            ),
        ],
    )
    .served();
    assert_eq!(run.status, 0, "{}", run.errors);
    let mut lines = run.output.lines();
    let (answers, least) = lines.next().unwrap().split_once(' ').unwrap();
    assert_eq!(answers, "5");
    assert!(least.parse::<f64>().unwrap() >= 0.060, "{least} s there and back");
    // 250 kB and their headers, at 2 Mb/s.
    let took: f64 = lines.next().unwrap().parse().unwrap();
    assert!(took >= 1.0, "{took} s");
    let bytes = run.count("down", "delivered_bytes");
    assert!(bytes > 250_000);
    let sending = run.number("down", "utilisation") * run.report["duration_s"].as_f64().unwrap();
    let wanted = f64::from(u32::try_from(bytes).unwrap()) * 8.0 / 2e6;
    assert!(
        sending <= wanted * 1.001 && sending >= wanted * 0.7,
        "{sending} instead of {wanted} s"
    );
    assert!(
        run.number("down", "timing_error_max_s") >= run.number("down", "timing_error_median_s")
    );
}

#[test]
fn packets_beyond_the_buffer_are_dropped() {
    let run = Run::of(
        r#"{"up": {"rate": "1mbit", "queue": "20kB"}}"#,
        &traffic(&["blast", OUTSIDE, PORT, "300", "1000"]),
    )
    .alone();
    assert_eq!(run.status, 0, "{}", run.errors);
    assert!(run.count("up", "dropped_buffer_packets") > 50, "{}", run.report);
    assert!((19_000..=20_000).contains(&run.count("up", "max_queue_bytes")));
    run.assert_balanced("up");
}

#[test]
fn red_marks_ecn_capable_packets() {
    let fetch = format!("{} fetch {OUTSIDE} {PORT} 600000", example("traffic").display());
    let run = Run::of(
        r#"{"both": {"delay": "10ms"}, "down": {"rate": "4mbit", "red": "3kB,60kB,0.2"}}"#,
        &["sh", "-c", &format!("echo 1 > /proc/sys/net/ipv4/tcp_ecn && {fetch}")],
    )
    .served();
    assert_eq!(run.status, 0, "{}", run.errors);
    assert!(run.count("down", "marked_packets") > 0, "{}", run.report);
    run.assert_balanced("down");
}

/// With drops and without: a transfer through either gets its bytes, and the books balance.
#[test]
fn other_disciplines_drop_and_mark() {
    let fetch = format!("{} fetch {OUTSIDE} {PORT} 1500000", example("traffic").display());
    let run = |discipline: &str, ecn: u8| {
        let down = format!(r#""rate": "8mbit", "queue": "100packets", {discipline}"#);
        let run = Run::of(
            &format!(r#"{{"both": {{"delay": "10ms"}}, "down": {{{down}}}}}"#),
            &["sh", "-c", &format!("echo {ecn} > /proc/sys/net/ipv4/tcp_ecn && {fetch}")],
        )
        .served();
        assert_eq!(run.status, 0, "{}", run.errors);
        run.assert_balanced("down");
        (run.count("down", "dropped_early_packets"), run.count("down", "marked_packets"))
    };
    // A target of one or two milliseconds corresponds to few packets.
    let (dropped, marked) = run(r#""codel": "2ms,20ms""#, 0);
    assert!(dropped > 0 && marked == 0, "{dropped} dropped, {marked} marked");
    assert!(run(r#""codel": "2ms,20ms""#, 1).1 > 0);
    let (dropped, marked) = run(r#""balanced": "0.2,0.9,10""#, 0);
    assert!(dropped > 0 && marked == 0, "{dropped} dropped, {marked} marked");
}

#[test]
fn path_mtu_discovery_finds_a_narrow_path() {
    for (host, offload) in
        [(OUTSIDE, true), (OUTSIDE_6, true), (OUTSIDE, false), (OUTSIDE_6, false)]
    {
        let settings = format!(r#"{{"down": {{"path-mtu": "1300"}}, "offload": {offload}}}"#);
        let run = Run::of(&settings, &traffic(&["fetch", host, PORT, "100000"])).served();
        assert_eq!(run.status, 0, "{}", run.errors);
        assert!(run.count("down", "too_big_packets") > 0, "{}", run.report);
        let (packets, bytes) =
            (run.count("down", "offered_packets"), run.count("down", "offered_bytes"));
        assert!(packets >= 100_000 / 1300 && bytes <= packets * 1300, "{}", run.report);
    }
}

#[test]
fn the_exit_status_is_the_commands() {
    for (command, status) in
        [("exit 7", 7), ("kill -KILL $$", 137), ("true", 0), ("kill -TERM $$", 143)]
    {
        let run = Run::of("{}", &["sh", "-c", command]).alone();
        assert_eq!(
            (run.status, run.report["exit_status"].as_i64()),
            (status, Some(i64::from(status)))
        );
    }
    let run = Run::of("{}", &["/no/such/program"]).alone();
    assert_eq!(run.status, 2);
    assert!(run.errors.contains("cannot start `/no/such/program`: No such file"), "{}", run.errors);
}

#[test]
fn the_command_gets_addresses_and_no_other_packets() {
    let run =
        Run::of("{}", &["sh", "-c", "env | grep ^TCPSF_LINK | LC_ALL=C sort; cat /proc/net/dev"])
            .alone();
    let wanted = format!(
        "TCPSF_LINK_INSIDE6=fd74:6370:7366::6440:2\nTCPSF_LINK_INSIDE=100.64.0.2\nTCPSF_LINK_OUTSIDE6={OUTSIDE_6}\n\
         TCPSF_LINK_OUTSIDE={OUTSIDE}\n"
    );
    assert!(run.output.starts_with(&wanted), "{}", run.output);
    let table = run.output.lines().skip_while(|line| !line.contains("|bytes")).skip(1);
    let devices: Vec<&str> =
        table.map_while(|line| Some(line.split_once(": ")?.0.trim())).collect();
    assert_eq!(devices, ["lo", "tcpsf"]);
    // No packets other than those of the command.
    assert_eq!((run.count("up", "offered_packets"), run.count("down", "offered_packets")), (0, 0));
}

#[test]
fn signals_are_forwarded_to_the_command() {
    in_a_network(|| {
        let mut command =
            link("{}", &["sh", "-c", "trap 'exit 9' TERM; echo ready; sleep 60 & wait"], &[]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        common::wait_for_line(child.stdout.as_mut().unwrap(), "ready");
        kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(9));
    });
}

#[test]
fn a_kill_leaves_no_devices() {
    in_a_network(|| {
        let script = "echo $$; exec sleep 60";
        let mut command = link("{}", &["sh", "-c", script], &["--outside", "sleep 61"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let pid = common::first_line(child.stdout.as_mut().unwrap());
        let process = std::path::PathBuf::from(format!("/proc/{pid}"));
        assert!(process.exists() && Interface::find("tcpsf0").is_ok());
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        let clock = Clock::start();
        let gone = || !common::is_alive(&process) && Interface::find("tcpsf0").is_err();
        while !gone() {
            assert!(clock.now() < Instant::ZERO + Duration::from_secs(10), "something is left");
            clock.wait(&mut [], clock.now() + Duration::from_millis(5), Duration::ZERO).unwrap();
        }
    });
}

#[test]
fn links_can_be_nested() {
    for host in [OUTSIDE, OUTSIDE_6] {
        let me = example("link").display().to_string();
        let traffic = traffic(&["ping", host, PORT, "3"]);
        let mut words = vec![
            me.as_str(),
            r#"{"both": {"delay": "7ms"}}"#,
            "--",
            me.as_str(),
            r#"{"both": {"delay": "11ms"}}"#,
            "--",
        ];
        words.extend(traffic.iter().map(String::as_str));
        let run = Run::of(r#"{"both": {"delay": "5ms"}}"#, &words).served();
        assert_eq!(run.status, 0, "{}", run.errors);
        let (answers, least) = run.output.lines().next().unwrap().split_once(' ').unwrap();
        assert_eq!(answers, "3");
        assert!(least.parse::<f64>().unwrap() >= 0.046, "{least} s there and back");
        assert!(run.output.contains(r#""inside":"100.64.4.66""#), "{}", run.output);
    }
}

/// The kernel between two links forwards a joined segment unchanged, or refuses it if its segments
/// are too long.
#[test]
fn joined_segments_pass_a_second_link() {
    let me = example("link").display().to_string();
    for (host, mtu) in [(OUTSIDE, 1500), (OUTSIDE_6, 1500), (OUTSIDE, 1300), (OUTSIDE_6, 1300)] {
        let fetch = traffic(&["fetch", host, PORT, "1500000"]);
        let mut words = vec![me.as_str(), r#"{"both": {"delay": "2ms", "loss": "1%"}}"#, "--"];
        words.extend(fetch.iter().map(String::as_str));
        let run =
            Run::of(&format!(r#"{{"both": {{"delay": "1ms"}}, "mtu": {mtu}}}"#), &words).served();
        assert_eq!(run.status, 0, "{}", run.errors);
        let (packets, bytes) =
            (run.count("down", "delivered_packets"), run.count("down", "delivered_bytes"));
        assert!(packets >= 1_500_000 / mtu && bytes <= packets * mtu, "{}", run.report);
        for way in ["up", "down"] {
            run.assert_balanced(way);
            assert_eq!(
                (run.count(way, "missed_packets"), run.count(way, "refused_packets")),
                (0, 0)
            );
        }
    }
}

#[test]
fn concurrent_links_have_different_addresses() {
    in_a_network(|| {
        let script = "echo $TCPSF_LINK_OUTSIDE; read line";
        let mut command = link("{}", &["sh", "-c", script], &[]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        assert_eq!(common::first_line(child.stdout.as_mut().unwrap()), OUTSIDE);
        let output = link("{}", &["sh", "-c", "echo $TCPSF_LINK_OUTSIDE"], &[]).output().unwrap();
        assert!(String::from_utf8(output.stdout).unwrap().starts_with("100.64.64.1\n"));
        drop(child.stdin.take());
        child.wait().unwrap();
    });
}

#[test]
fn without_privilege_both_ends_are_in_own_namespaces() {
    // The unprivileged user may not have access to the build directory.
    let folder = scratch("nobody");
    let device = folder.join("device");
    std::fs::create_dir_all(&device).unwrap();
    let copies = ["link", "traffic"].map(|name| {
        let copy = folder.join(name);
        std::fs::copy(example(name), &copy).unwrap();
        copy.display().to_string()
    });
    let [me, traffic] = &copies;
    // The permissions of the device differ between machines. A device with this mode replaces it
    // here.
    let script = r#"mount -t tmpfs none "$1" && mknod -m "$2" "$1/tun" c 10 200 && mount --bind "$1/tun" /dev/net/tun &&
        shift 2 && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$@""#;
    let nobody = |mode: &str, words: &[&str]| {
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "sh", "-c", script, "sh"])
            .arg(&device)
            .args([mode, me])
            .args(words);
        let output = command.current_dir("/").output().unwrap();
        let [text, errors] =
            [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
        (output.status.code(), text, errors)
    };
    let serve = format!("{traffic} serve {PORT}");
    let (status, _, errors) = nobody("666", &["{}", "--", "true"]);
    assert_eq!(status, Some(2));
    assert!(
        errors.contains("cannot make a TUN device") && errors.contains("hint: run it as root; or"),
        "{errors}"
    );
    for options in [&["{}", "--outside", &serve, "--", "true"][..], &["{}", "--", "true"]] {
        let (status, _, errors) = nobody("600", options);
        assert_eq!(status, Some(2));
        assert!(
            errors.contains("Permission denied") && errors.contains("`chmod 666 /dev/net/tun`"),
            "{errors}"
        );
    }
    for inner in [vec![], vec![me.as_str(), "{}", "--"]] {
        let mut words = vec![r#"{"both": {"delay": "5ms"}}"#, "--outside", &serve, "--"];
        words.extend(inner);
        words.extend([traffic.as_str(), "ping", OUTSIDE, PORT, "3"]);
        let (status, text, errors) = nobody("666", &words);
        assert_eq!(status, Some(0), "{text}{errors}");
        let (answers, least) = text.lines().next().unwrap().split_once(' ').unwrap();
        assert!(answers == "3" && least.parse::<f64>().unwrap() >= 0.010, "{text}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

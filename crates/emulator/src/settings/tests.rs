use link::{
    Balanced, CoDel, FqCoDel, GilbertElliott, Jitter, LossTrace, Measure, Probability, RateTrace,
    Red, Reorder, TokenBucket,
};
use units::Rate;

use super::*;

fn read(json: &str) -> Settings {
    Settings::from_json(json).unwrap_or_else(|e| panic!("{json}: {e}"))
}

fn refused(json: &str) -> String {
    Settings::from_json(json).expect_err(json).to_string()
}

#[test]
fn defaults_have_no_effect() {
    let settings = read("{}");
    assert_eq!(
        settings,
        Settings {
            up: LineConfig::default(),
            down: LineConfig::default(),
            mtu: 1500,
            seed: 1,
            spin: Duration::ZERO,
            offload: true,
        }
    );
}

#[test]
fn a_directions_own_options_take_precedence() {
    let settings = read(
        r#"{"both": {"rate": "10mbit", "delay": "20ms", "queue": "150kB", "loss": "1%"},
            "up": {"rate": "1Mb/s", "queue": "none"}, "down": {"loss-per-byte": "1e-5"}, "seed": 7, "mtu": 1400,
            "offload": false}"#,
    );
    assert_eq!((settings.seed, settings.mtu, settings.offload), (7, 1400, false));
    let [up, down] = [settings.up.link, settings.down.link];
    assert_eq!(up.rate, Rate::from_bits_per_sec(1_000_000));
    assert_eq!(down.rate, Rate::from_bits_per_sec(10_000_000));
    assert_eq!([up.delay, down.delay], [Duration::from_millis(20); 2]);
    assert_eq!([up.buffer, down.buffer], [Buffer::Unlimited, Buffer::bytes(150_000).unwrap()]);
    let hundredth = Probability::new(0.01).unwrap();
    assert_eq!(up.loss, LossModel::PerPacket(hundredth));
    assert_eq!(down.loss, LossModel::PerByte(Probability::new(1e-5).unwrap()));
}

#[test]
fn every_way_to_write_a_queue_and_a_loss_is_read() {
    let rated = |more: &str| read(&format!(r#"{{"both": {{"rate": "1mbit", {more}}}}}"#)).up;
    assert_eq!(rated(r#""queue": "100packets""#).link.buffer, Buffer::packets(100).unwrap());
    assert_eq!(
        rated(r#""queue": "150kB/256B""#).link.buffer,
        Buffer::chunks(150_000, 256).unwrap()
    );
    let tenth = Probability::new(0.1).unwrap();
    let weight = Probability::new(0.002).unwrap();
    let red =
        |measure, min, max| Discipline::Red(Red::new(measure, min, max, tenth, weight).unwrap());
    assert_eq!(rated(r#""red": "30kB,90kB""#).link.discipline, red(Measure::Bytes, 30_000, 90_000));
    assert_eq!(
        rated(r#""red": "5packets,15packets,10%""#).link.discipline,
        red(Measure::Packets, 5, 15)
    );
    let ms = Duration::from_millis;
    let codel = Discipline::CoDel(CoDel::new(ms(5), ms(100)).unwrap());
    assert_eq!(rated(r#""codel": "5ms, 100ms""#).link.discipline, codel);
    let fair = |flows| {
        let codel = CoDel::new(ms(5), ms(100)).unwrap();
        Discipline::FqCoDel(FqCoDel::new(codel, flows).unwrap())
    };
    assert_eq!(rated(r#""fq-codel": "5ms, 100ms""#).link.discipline, fair(1024));
    assert_eq!(rated(r#""fq-codel": "5ms,100ms, 8""#).link.discipline, fair(8));
    let half = Probability::new(0.5).unwrap();
    let balanced = Discipline::Balanced(Balanced::new(tenth, half, 25).unwrap());
    let queued = rated(r#""balanced": "10%,0.5, 25", "queue": "100packets""#);
    assert_eq!(queued.link.discipline, balanced);
    let linear = Linear::new(tenth, 1500).unwrap();
    assert_eq!(rated(r#""loss-linear": "0.1@1500B""#).link.loss, LossModel::Linear(linear));
    let burst = Burst::new(tenth, 3.0).unwrap();
    assert_eq!(rated(r#""loss-burst": "0.1,3""#).link.loss, LossModel::Burst(burst));
    let probability = |value: f64| Probability::new(value).unwrap();
    let gilbert = |text: &str| rated(&format!(r#""loss-gilbert": "{text}""#)).link.loss;
    let [good_to_bad, bad_to_good] = [0.01, 0.3].map(probability);
    let (bad_loss, good_loss) = (Probability::ONE, Probability::ZERO);
    let mut law = GilbertElliott { good_to_bad, bad_to_good, bad_loss, good_loss };
    assert_eq!(gilbert("1%,0.3"), LossModel::GilbertElliott(law));
    law.bad_loss = probability(0.8);
    assert_eq!(gilbert("0.01, 30%, 0.8"), LossModel::GilbertElliott(law));
    law.good_loss = probability(0.001);
    assert_eq!(gilbert("0.01,0.3,0.8,0.001"), LossModel::GilbertElliott(law));
    assert_eq!(
        rated(r#""loss-mask": "1, 0,0""#).link.loss,
        LossModel::Mask(vec![true, false, false])
    );
    assert_eq!(
        rated(r#""loss-mask-all": "0,1""#).link.loss,
        LossModel::PacketMask(vec![false, true])
    );
    assert!(matches!(rated(r#""loss-mask": "1,0;0,1""#).link.loss, LossModel::Custom(_)));
    let line = rated(r#""duplicate": "10%", "corrupt": "0.1", "reorder": "0.1,5ms""#);
    assert_eq!(
        (line.duplicate, line.corrupt, line.link.reorder),
        (tenth, tenth, Some(Reorder { probability: tenth, by: Duration::from_millis(5) }))
    );
}

/// A file that is removed at the end of a test.
struct TextFile(std::path::PathBuf);

impl TextFile {
    fn new(name: &str, text: &str) -> Self {
        let name = format!("tcpsf-settings-{}-{name}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn option(&self, option: &str, prefix: &str) -> String {
        serde_json::json!({ "both": { option: format!("{prefix}{}", self.0.display()) } })
            .to_string()
    }
}

impl Drop for TextFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn laws_of_jitter_are_read() {
    let ms = Duration::from_millis;
    let jitter = |option: &str, text: &str| {
        read(&format!(r#"{{"both": {{"{option}": "{text}"}}}}"#)).up.link.jitter.unwrap()
    };
    assert_eq!(jitter("jitter", "uniform:5ms"), Jitter::uniform(ms(5)));
    assert_eq!(jitter("jitter", "normal: 5ms"), Jitter::normal(ms(5)));
    assert_eq!(jitter("jitter", "pareto:5ms"), Jitter::pareto(ms(5), 3.0).unwrap());
    assert_eq!(
        jitter("jitter-reorder", "pareto:5ms,1.5"),
        Jitter::pareto(ms(5), 1.5).unwrap().with_reordering(true)
    );
    let own = r#"{"both": {"jitter": "normal:5ms"}, "up": {"jitter-reorder": "uniform:1ms"}, "down": {"jitter": "none"}}"#;
    let own = read(own);
    assert_eq!(own.up.link.jitter, Some(Jitter::uniform(ms(1)).with_reordering(true)));
    assert_eq!(own.down.link.jitter, None);
    let file = TextFile::new("delays", "1ms\n-2ms # early\n");
    let found = read(&file.option("jitter", "file:")).up.link.jitter;
    assert_eq!(found, Some(Jitter::samples(vec![1_000_000, -2_000_000]).unwrap()));
    for (json, wanted) in [
        (
            r#"{"up": {"jitter": "5ms"}}"#,
            "`--up-jitter 5ms`: it is not a law and its size, such as `normal:5ms`",
        ),
        (
            r#"{"both": {"jitter": "square:5ms"}}"#,
            "`--jitter square:5ms`: there is no law `square`",
        ),
        (
            r#"{"both": {"jitter": "pareto:5ms,1"}}"#,
            "`--jitter pareto:5ms,1`: a Pareto distribution of shape 1 is impossible: it must be above 1 and at most 1000",
        ),
        (
            r#"{"both": {"jitter": "normal:5ms", "jitter-reorder": "normal:5ms"}}"#,
            "`--jitter normal:5ms`: there is `--jitter-reorder` as well",
        ),
        (
            r#"{"both": {"jitter": "file:/none"}}"#,
            "`--jitter file:/none`: cannot read `/none`: no such file or directory",
        ),
    ] {
        assert_eq!(refused(json), wanted);
    }
}

#[test]
fn traces_of_rates_and_token_buckets_are_read() {
    let file = TextFile::new("rates", "0s 10mbit\n5s 2mbit\n9s repeat\n");
    let link = read(&file.option("rate-trace", "")).up.link;
    let trace = RateTrace::parse("0s 10mbit\n5s 2mbit\n9s repeat\n").unwrap();
    assert_eq!((link.rate, link.rate_trace), (None, Some(trace)));
    let damaged = TextFile::new("rates-damaged", "5\n4\n");
    let error = refused(&damaged.option("rate-trace", ""));
    assert!(error.ends_with(", line 2: 4 is before 5, and times must not decrease"), "{error}");
    let rate = Rate::from_bits_per_sec(5_000_000).unwrap();
    let bucket = Some(TokenBucket::new(rate, 15_000).unwrap());
    let json =
        r#"{"up": {"police": "5mbit, 15kB"}, "down": {"shape": "5mbit,15kB", "queue": "30kB"}}"#;
    let settings = read(json);
    assert_eq!((settings.up.link.police, settings.up.link.shape), (bucket, None));
    assert_eq!((settings.down.link.police, settings.down.link.shape), (None, bucket));
    for (json, wanted) in [
        (
            r#"{"both": {"rate": "1mbit", "rate-trace": "x"}}"#,
            "`--rate 1mbit`: there is `--rate-trace` as well",
        ),
        (
            r#"{"both": {"police": "5mbit"}}"#,
            "`--police 5mbit`: it is not a rate and a burst, such as `5mbit,15kB`",
        ),
        (
            r#"{"up": {"shape": "5,15kB"}}"#,
            "`--up-shape 5,15kB`: `5` is not a rate above zero such as `10Mb/s` or `32kbit`",
        ),
        (
            r#"{"both": {"shape": "5mbit,1kB"}}"#,
            "`--shape 5mbit,1kB`: the burst is shorter than a packet of 1500 bytes",
        ),
    ] {
        assert_eq!(refused(json), wanted);
    }
}

#[test]
fn traces_of_losses_are_read_from_files() {
    let file = TextFile::new("losses", "0\n0\n1\n");
    for (prefix, data_only) in [("", false), ("data:", true)] {
        let trace = LossTrace::new(vec![false, false, true], data_only);
        let found = read(&file.option("loss-file", prefix)).down.link.loss;
        assert_eq!(found, LossModel::Trace(trace));
    }
    let damaged = TextFile::new("damaged", "0\n2\n");
    let error = refused(&damaged.option("loss-file", ""));
    assert!(error.ends_with(", line 2: `2` is neither 0 nor 1"), "{error}");
}

#[test]
fn errors_name_the_option_as_written() {
    for (json, wanted) in [
        (
            r#"{"up": {"rate": "10"}}"#,
            "`--up-rate 10`: `10` is not a rate above zero such as `10Mb/s` or `32kbit`",
        ),
        (
            r#"{"both": {"delay": "20"}}"#,
            "`--delay 20`: `20` is not a duration such as `20ms` or `1.5s`",
        ),
        (
            r#"{"both": {"rate": "1MB/s"}}"#,
            "`--rate 1MB/s`: `1MB/s` is in bytes per second, and a rate is in bits: did you mean `8Mb/s` or `1Mb/s`?",
        ),
        (
            r#"{"both": {"delay": "1000h"}}"#,
            "`--delay 1000h`: `1000h` is more than 600s, the most that there is",
        ),
        (
            r#"{"up": {"reorder": "1%,11min"}}"#,
            "`--up-reorder 1%,11min`: `11min` is more than 600s, the most that there is",
        ),
        (r#"{"spin": "10h"}"#, "`--spin 10h`: `10h` is more than 1s, the most that there is"),
        (
            r#"{"up": {"path-mtu": "60"}}"#,
            "`--up-path-mtu 60`: it must be a number of bytes, 68 to 65535",
        ),
        (r#"{"spin": "9"}"#, "`--spin 9`: `9` is not a duration such as `20ms` or `1.5s`"),
        (r#"{"mtu": 576}"#, "`--mtu 576`: it must be 1280 to 65535"),
        (
            r#"{"both": {"reorder": "0.5"}}"#,
            "`--reorder 0.5`: it is not a probability and an extra delay, such as `0.01,5ms`",
        ),
    ] {
        assert_eq!(refused(json), wanted);
    }
    assert!(refused(r#"{"both": {"speed": "1"}}"#).contains("unknown field `speed`"));
}

#[test]
fn errors_name_the_loss() {
    for (json, wanted) in [
        (
            r#"{"both": {"loss": "2"}}"#,
            "`--loss 2`: 2 is not a probability: it must lie between 0 and 1",
        ),
        (r#"{"both": {"loss": "x"}}"#, "`--loss x`: `x` is not a probability"),
        (
            r#"{"both": {"loss": "nan"}}"#,
            "`--loss nan`: NaN is not a probability: it must lie between 0 and 1",
        ),
        (
            r#"{"both": {"loss-gilbert": "0.1"}}"#,
            "`--loss-gilbert 0.1`: it is not two to four probabilities, such as `0.01,0.3`",
        ),
        (r#"{"down": {"loss-mask": "1,2"}}"#, "`--down-loss-mask 1,2`: `2` is neither 0 nor 1"),
        (
            r#"{"both": {"loss": "0", "loss-mask": "1"}}"#,
            "`--loss 0`: there is `--loss-mask` as well",
        ),
        (
            r#"{"both": {"loss-burst": "0.9,1"}}"#,
            "`--loss-burst 0.9,1`: a mean loss of 0.9 in runs of 1 packets is impossible: at least one packet arrives between two runs; the mean run must be at least 9.000000000000002",
        ),
    ] {
        assert_eq!(refused(json), wanted);
    }
}

#[test]
fn errors_name_the_queue() {
    for (json, wanted) in [
        (
            r#"{"both": {"rate": "1mbit", "queue": "10B"}}"#,
            "`--queue 10B`: it cannot hold a packet of 1500 bytes, and would drop each of them",
        ),
        (
            r#"{"down": {"rate": "1mbit", "queue": "2kB/1001B"}, "mtu": 1400}"#,
            "`--down-queue 2kB/1001B`: it cannot hold a packet of 1400 bytes, and would drop each of them",
        ),
        (
            r#"{"both": {"queue": "9kB"}}"#,
            "`--queue 9kB`: packets never wait where there is no rate",
        ),
        (
            r#"{"both": {"rate": "1mbit", "queue": "9kB/20kB"}}"#,
            "`--queue 9kB/20kB`: a chunk of 20000 bytes does not fit in a buffer of 9000 bytes",
        ),
    ] {
        assert_eq!(refused(json), wanted);
    }
}

#[test]
fn errors_name_the_queue_discipline() {
    for (json, wanted) in [
        (
            r#"{"both": {"rate": "1mbit", "red": "9kB,5packets"}}"#,
            "`--red 9kB,5packets`: one threshold is in packets, the other is not",
        ),
        (
            r#"{"both": {"rate": "1mbit", "red": "9kB"}}"#,
            "`--red 9kB`: it is not thresholds and a probability, such as `30kB,90kB,0.1` or `5packets,15packets`",
        ),
        (
            r#"{"both": {"rate": "1mbit", "red": "9kB,20kB", "codel": "5ms,100ms"}}"#,
            "`--red 9kB,20kB`: there is `--codel` as well",
        ),
        (
            r#"{"both": {"rate": "1mbit", "codel": "5ms"}}"#,
            "`--codel 5ms`: it is not a target and an interval, such as `5ms,100ms`",
        ),
        (
            r#"{"both": {"rate": "1mbit", "fq-codel": "5ms,100ms,0"}}"#,
            "`--fq-codel 5ms,100ms,0`: FQ-CoDel with 0 queues is impossible: there must be 1 to 65536",
        ),
        (
            r#"{"both": {"rate": "1mbit", "fq-codel": "5ms,100ms,"}}"#,
            "`--fq-codel 5ms,100ms,`: `` is not a number of queues",
        ),
        (
            r#"{"both": {"rate": "1mbit", "fq-codel": "5ms"}}"#,
            "`--fq-codel 5ms`: it is not a target and an interval, such as `5ms,100ms`",
        ),
        (
            r#"{"both": {"codel": "5ms,100ms"}}"#,
            "`--codel 5ms,100ms`: packets never wait where there is no rate",
        ),
        (
            r#"{"up": {"rate": "1mbit", "queue": "9kB", "balanced": "0.9,0.4,5"}}"#,
            "`--up-balanced 0.9,0.4,5`: balanced discard between 0.9 and 0.4 of the buffer is impossible: the first must not be above the second",
        ),
        (
            r#"{"both": {"rate": "1mbit", "balanced": "0.4,0.9,5"}}"#,
            "`--balanced 0.4,0.9,5`: a queue without an end is never full enough for it",
        ),
        (
            r#"{"both": {"rate": "1mbit", "queue": "9kB", "balanced": "0.4,0.9"}}"#,
            "`--balanced 0.4,0.9`: it is not two shares of the queue and a number of packets, such as `0.4,0.9,25`",
        ),
    ] {
        assert_eq!(refused(json), wanted);
    }
}

#[test]
fn discipline_of_a_direction_replaces_that_of_both() {
    let own = read(
        r#"{"both": {"rate": "1mbit", "red": "9kB,20kB"}, "up": {"codel": "5ms,100ms"}, "down": {"red": "none"}}"#,
    );
    assert!(
        matches!(own.up.link.discipline, Discipline::CoDel(_)),
        "a direction of its own goes before both"
    );
    assert_eq!(own.down.link.discipline, Discipline::DropTail);
}

fn template(link: LinkConfig) -> Template {
    Template { option: "--from".to_owned(), value: "file.toml:line".to_owned(), link }
}

#[test]
fn options_replace_parts_of_a_template() {
    let rate = Rate::from_bits_per_sec(2_000_000);
    let delay = Duration::from_millis(15);
    let changes = vec![link::DelayChange { at: units::Instant::from_nanos(9), delay }];
    let loss = LossModel::Burst(Burst::new(Probability::new(0.02).unwrap(), 1.5).unwrap());
    let line = LinkConfig {
        rate,
        delay,
        delay_changes: DelayChanges::new(changes).unwrap(),
        buffer: Buffer::packets(50).unwrap(),
        loss: loss.clone(),
        cut_through: true,
        ..LinkConfig::default()
    };
    let templates = Templates { up: Some(template(line.clone())), down: None };
    let settings = Settings::from_json_with("{}", &templates).unwrap();
    assert_eq!(settings.up.link, LinkConfig { cut_through: false, ..line.clone() });
    assert_eq!(settings.down, LineConfig::default());
    let options = r#"{"both": {"loss": "1%", "delay": "1ms"}, "up": {"rate": "none", "codel": "5ms,100ms"}, "down": {"rate": "1mbit"}}"#;
    let up = Settings::from_json_with(options, &templates).unwrap().up.link;
    assert_eq!((up.rate, up.delay, up.buffer), (None, Duration::from_millis(1), line.buffer));
    assert_eq!(up.loss, LossModel::PerPacket(Probability::new(0.01).unwrap()));
    assert!(matches!(up.discipline, Discipline::CoDel(_)));
    assert!(up.delay_changes.is_empty(), "they are changes of the template's delay");
}

#[test]
fn options_replace_parts_of_later_configurations() {
    let with = |rate: u64, loss: f64| LinkConfig {
        rate: Rate::from_bits_per_sec(rate),
        loss: LossModel::PerPacket(Probability::new(loss).unwrap()),
        ..LinkConfig::default()
    };
    let changing = |loss: [f64; 2]| {
        let (first, later) = (with(1_000_000, loss[0]), with(2_000_000, loss[1]));
        let at = units::Instant::from_nanos(9);
        let changes = link::LinkChanges::new(&first, vec![(at, later)]).unwrap();
        LinkConfig { changes, ..first }
    };
    let templates = Templates { up: Some(template(changing([0.1, 0.2]))), down: None };
    let up = |json: &str| Settings::from_json_with(json, &templates).unwrap().up.link;
    assert_eq!(up("{}"), changing([0.1, 0.2]));
    assert_eq!(up(r#"{"both": {"loss": "50%"}}"#), changing([0.5, 0.5]));
}

#[test]
fn templates_that_cannot_be_emulated_are_refused() {
    let refused = |link: LinkConfig, json: &str| {
        let templates = Templates { up: None, down: Some(template(link)) };
        Settings::from_json_with(json, &templates).expect_err(json).to_string()
    };
    let cells = LinkConfig { framing: Framing::Aal5, ..LinkConfig::default() };
    assert_eq!(refused(cells, "{}"), "`--from file.toml:line`: the link sends cells");
    let long = LinkConfig { delay: Duration::from_secs(601), ..LinkConfig::default() };
    assert_eq!(
        refused(long, "{}"),
        "`--from file.toml:line`: the link delays packets by 601s, 600s at most"
    );
    let small = LinkConfig { buffer: Buffer::bytes(1000).unwrap(), ..LinkConfig::default() };
    assert_eq!(
        refused(small, "{}"),
        "`--from file.toml:line`: it cannot hold a packet of 1500 bytes, and would drop each of them"
    );
}

#[test]
fn the_mean_rate_is_the_lower_one_of_line_and_shaper() {
    let rate = |options: &[(&str, &str)]| {
        let options = options.iter().map(|&(name, text)| (name.to_owned(), text.to_owned()));
        mean_rate(&options.collect()).map(Rate::bits_per_sec)
    };
    let file = std::env::temp_dir().join(format!("tcpsf-mean-rate-{}", std::process::id()));
    std::fs::write(&file, "0s 10mbit\n1s 2mbit\n2s repeat\n").unwrap();
    let trace = file.to_str().unwrap();
    assert_eq!(rate(&[("delay", "1ms"), ("rate", "none")]), None);
    assert_eq!(rate(&[("rate", "5mbit")]), Some(5_000_000));
    assert_eq!(rate(&[("rate-trace", trace)]), Some(6_000_000));
    assert_eq!(rate(&[("rate", "5mbit"), ("shape", "1mbit,15kB")]), Some(1_000_000));
    assert_eq!(rate(&[("shape", "9mbit,15kB"), ("rate-trace", trace)]), Some(6_000_000));
    assert_eq!(rate(&[("rate", "5mbit"), ("shape", "1mbit")]), None);
    std::fs::remove_file(&file).unwrap();
    assert_eq!(rate(&[("rate-trace", trace)]), None);
}

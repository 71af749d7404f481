//! Models of the caller in whole runs. Those that decide as the built-in models give the same rows.

#![expect(clippy::unwrap_used, reason = "a test that can't be set up must stop")]

mod common;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use common::{CLASSIC, FIXED, Run, VARIABLE, greedy, network, web};
use link::{
    Admission, CustomDiscipline, CustomLoss, Factory, LossFacts, Offered, Probability, QueueFacts,
};
use policy::congestion::{AnyController, ControllerFactory, Reno};
use sim::{CustomModels, PacketNames, Scenario, Seed, Simulation};

const BUFFER: &str = r#", "buffer": {"bytes": "150kB"}"#;
const LOSSY: &str =
    r#", "buffer": {"bytes": "150kB"}, "loss": {"kind": "packet", "probability": 0.02}"#;
const RED: &str = r#", "buffer": {"bytes": "150kB",
    "red": {"min_bytes": "30kB", "max_bytes": "90kB"}}"#;

/// The packets that a model has seen, with their draws.
type Seen = Arc<Mutex<Vec<(Offered, u64)>>>;

#[derive(Debug)]
struct Bernoulli {
    probability: Probability,
    seen: Seen,
}

impl CustomLoss for Bernoulli {
    fn loses(&mut self, facts: &LossFacts) -> bool {
        self.seen.lock().unwrap().push((facts.packet, facts.draw));
        self.probability.hits(facts.draw)
    }
}

#[derive(Debug)]
struct AcceptAll;

impl CustomDiscipline for AcceptAll {
    fn decide(&mut self, _facts: &QueueFacts) -> Admission {
        Admission::Accept
    }
}

/// A Bernoulli model for this link, and the packets that it sees.
fn bernoulli(link: &str, probability: f64) -> (CustomModels, Seen) {
    let probability = Probability::new(probability).unwrap();
    let seen = Seen::default();
    let shared = Arc::clone(&seen);
    let make = move || -> Box<dyn CustomLoss> {
        Box::new(Bernoulli { probability, seen: Arc::clone(&shared) })
    };
    let losses = vec![(link.to_owned(), Factory::new(make))];
    (CustomModels { losses, ..CustomModels::default() }, seen)
}

fn accept_all(link: &str) -> CustomModels {
    let make = || -> Box<dyn CustomDiscipline> { Box::new(AcceptAll) };
    let disciplines = vec![(link.to_owned(), Factory::new(make))];
    CustomModels { disciplines, ..CustomModels::default() }
}

/// Reno's window for the senders of this workload, and the number of controllers made.
fn reno(workload: &str) -> (CustomModels, Arc<AtomicU64>) {
    let made = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&made);
    let factory = ControllerFactory::new(move |start| {
        count.fetch_add(1, Ordering::Relaxed);
        AnyController::other(Reno::new(start.initial_window, start.rules))
    });
    let controllers = vec![(workload.to_owned(), factory)];
    (CustomModels { controllers, ..CustomModels::default() }, made)
}

fn scenario(link: &str, sender: &str) -> Scenario {
    network("20s", link, &[web(sender, 0.5), greedy(CLASSIC, 4)].join(","))
}

#[test]
fn a_custom_bernoulli_model_gives_the_rows_of_the_built_in_one() {
    for sender in [CLASSIC, FIXED, VARIABLE] {
        let (models, _) = bernoulli("bottleneck", 0.02);
        let custom = Run::with_models(&scenario(BUFFER, sender), 3, &models);
        assert_eq!(custom.digest(), Run::new(&scenario(LOSSY, sender), 3).digest());
        assert!(custom.links.dropped_loss_packets[0] > 50);
    }
}

#[test]
fn accepting_every_packet_gives_the_rows_of_drop_tail() {
    let custom = Run::with_models(&scenario(BUFFER, FIXED), 3, &accept_all("bottleneck"));
    assert_eq!(custom.digest(), Run::new(&scenario(BUFFER, FIXED), 3).digest());
    assert!(custom.links.dropped_buffer_packets[0] > 50);
}

#[test]
fn reno_made_by_a_factory_gives_the_rows_of_the_built_in_one() {
    for sender in [CLASSIC, FIXED, VARIABLE, "reno / full / iw=1", "tahoe / full / iw=1"] {
        let scenario = scenario(LOSSY, sender);
        let (models, _) = reno("web");
        let custom = Run::with_models(&scenario, 3, &models);
        assert_eq!(custom.digest(), Run::new(&scenario, 3).digest(), "{sender}");
    }
}

#[test]
fn each_sender_has_one_controller_with_and_without_a_handshake() {
    for handshake in [false, true] {
        let mut scenario = scenario(BUFFER, CLASSIC);
        if handshake {
            let web = web(CLASSIC, 0.5).replace("\"kind\"", "\"handshake\": true, \"kind\"");
            scenario = network("20s", BUFFER, &web);
        }
        let (models, made) = reno("web");
        let custom = Run::with_models(&scenario, 3, &models);
        assert_eq!(custom.digest(), Run::new(&scenario, 3).digest());
        let rows = 0..custom.flows.len();
        let web = rows.filter(|&row| custom.flows.workload.get(row) == Some("web")).count() as u64;
        let made = made.load(Ordering::Relaxed);
        // Flows that start while the run drains have no rows. Flows whose SYN is still in the
        // network have no controller.
        assert!(made >= web.saturating_sub(5) && made <= web + 500, "{made} of {web}");
        assert!(web > 200);
    }
}

#[test]
fn the_flow_of_a_packet_is_known_by_workload_and_number() {
    let scenario = scenario(BUFFER, CLASSIC);
    for (link, is_forward) in [("bottleneck", true), ("return", false)] {
        let names = PacketNames::of_loss(&scenario, Seed(3), link);
        let (models, seen) = bernoulli(link, 0.0);
        let run = Run::with_models(&scenario, 3, &models);
        let seen = seen.lock().unwrap();
        let found: Vec<_> = seen.iter().map(|(packet, draw)| names.of(packet, *draw)).collect();
        assert!(found.iter().all(|name| name.is_forward == is_forward));
        let of = |workload: &str| {
            let own = found.iter().filter(|name| name.workload == workload);
            own.map(|name| name.flow_index).collect::<BTreeSet<_>>()
        };
        assert_eq!(of("greedy"), (0..4).collect());
        let web = of("web");
        // Packets of a flow that starts shortly before the end may not have reached the link.
        assert!(web.contains(&0) && web.iter().all(|&index| index < web.len() as u64 + 5));
        assert!(web.len() + 4 >= run.flows.len());
    }
}

#[test]
fn a_packet_has_its_number_in_the_flow() {
    let one = network("2s", BUFFER, &greedy(CLASSIC, 1));
    let (models, seen) = bernoulli("bottleneck", 0.0);
    Run::with_models(&one, 1, &models);
    let names = PacketNames::of_loss(&one, Seed(1), "bottleneck");
    let seen = seen.lock().unwrap();
    let numbers: Vec<_> =
        seen.iter().map(|(packet, draw)| names.of(packet, *draw).packet).collect();
    // Data of the first round trips, with acknowledgments between them.
    assert_eq!(numbers[..6], [0, 2, 3, 6, 7, 8]);
}

#[test]
fn models_that_do_not_fit_the_scenario_are_errors() {
    let refused = |link: &str, models: &CustomModels| {
        let error = Simulation::with_models(&scenario(link, CLASSIC), 1, models).unwrap_err();
        (error.to_string(), error.hint().unwrap_or_default().to_owned())
    };
    let table = [
        (
            BUFFER,
            bernoulli("botleneck", 0.1).0,
            ("loss: there is no link `botleneck`", "did you mean `bottleneck`?"),
        ),
        (BUFFER, accept_all("x"), ("queue: there is no link `x`", "known: bottleneck, return")),
        (BUFFER, reno("wbe").0, ("controllers: there is no workload `wbe`", "did you mean `web`?")),
        (
            LOSSY,
            bernoulli("bottleneck", 0.1).0,
            (
                "loss: link `bottleneck` already has a loss model",
                "remove it from the scenario: `link[0].loss`",
            ),
        ),
        (
            RED,
            accept_all("bottleneck"),
            (
                "queue: link `bottleneck` already has a queue discipline",
                "remove it from the scenario: `link[0].buffer`",
            ),
        ),
    ];
    for (link, models, (error, hint)) in table {
        assert_eq!(refused(link, &models), (error.to_owned(), hint.to_owned()));
    }
}

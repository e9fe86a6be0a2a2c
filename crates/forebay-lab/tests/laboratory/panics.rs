//! A run that panics is an error of its own.

use forebay_base::Time;
use forebay_cc::{Ack, Congestion, Controller, Limits, Timeout};
use forebay_lab::scenario::{LoadOptions, NoParams, Registration, Registry, Scenario};
use forebay_lab::{Batch, BatchOptions, BatchPlan, RunError, RunOptions, batch};

/// Loses its head at its hundredth ACK.
struct Fragile(u32);

impl Controller for Fragile {
    fn limits(&self) -> Limits {
        Limits::window(50_000)
    }
    fn on_ack(&mut self, _now: Time, _ack: &Ack<'_>) {
        self.0 += 1;
        assert!(self.0 < 100, "acknowledgment {} is too many", self.0);
    }
    fn on_congestion(&mut self, _now: Time, _event: &Congestion) {}
    fn on_rto(&mut self, _now: Time, _timeout: &Timeout) {}
}

/// Two hosts on each side, so that a run has something to divide among threads.
const TEXT: &str = r#"
    protocols = ["cubic"]
    routers = ["l", "r"]
    link_defaults = { rate = "100Mbit/s", delay = "5ms", queue = "1MB" }
    links = [{ a = "l", b = "r" }]
    hosts = [{ name = "s{}", count = 2, attach = "l" }, { name = "d{}", count = 2, attach = "r" }]
    flows = [{ src = "s0", dst = "d0", bytes = "1MB" }, { src = "s1", dst = "d1", bytes = "1MB" }]
"#;

#[test]
fn the_other_runs_of_a_batch_go_on() {
    let fragile = Registration::new("fragile", |_: &NoParams, _| Fragile(0));
    let mut registry = Registry::default();
    registry.register(fragile).expect("a new name");
    let options = LoadOptions { registry: registry.into(), ..LoadOptions::default() };
    let scenario = Scenario::parse(TEXT, "x", &options).expect("a scenario");
    let protocols = ["fragile", "cubic"].map(String::from);
    let plan = BatchPlan { scenario: &scenario, protocols: &protocols, seeds: &[1, 2] };
    for threads in [1, 2] {
        let run = RunOptions { name: "x", threads, without_trial: true, ..RunOptions::default() };
        let swept = batch(&plan, &BatchOptions { jobs: 1, run, progress: None });
        let Batch { runs, missing, error, .. } = swept;
        let finished: Vec<_> = runs.iter().map(|run| (run.protocol.as_str(), run.seed)).collect();
        assert_eq!(finished, [("cubic", 1), ("cubic", 2)], "{threads} threads");
        let Some((_, error @ RunError::Panicked { protocol, seed, message, .. })) = &error else {
            panic!("{error:?}")
        };
        assert_eq!((protocol.as_str(), *seed), ("fragile", 1));
        assert_eq!(message, "acknowledgment 100 is too many", "{threads} threads");
        let again = "See it again with: forebay run x --protocol fragile --seeds 1..1";
        assert!(error.to_string().ends_with(again), "{error}");
        assert_eq!(missing.len(), 2);
        assert!(missing.iter().all(|run| run.why.starts_with("the run panicked: ack")));
    }
}

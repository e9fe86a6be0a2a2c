//! Whether the results are what the scenario expects: each expectation under each protocol.

use crate::result::{Missing, RunResult};
use forebay_metrics::Counted;
use forebay_scenario::statistics::mean;
use forebay_scenario::{Expectation, Over, Scenario};
use serde::Serialize;

/// An expectation about the runs under one protocol.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExpectationResult {
    /// Its number in the scenario, from 0.
    pub expect: usize,
    /// What the scenario calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The protocol.
    pub protocol: String,
    /// Name of the metric.
    pub metric: &'static str,
    /// The class of flows; absent from JSON if it is about all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The directed link, of a metric of links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// "<", "<=", ">", ">=", "==" or "within".
    pub op: &'static str,
    /// The expected value, in the unit of the metric: one value, or the two of "within".
    pub expected: Vec<f64>,
    /// Which value over seeds.
    pub over: Over,
    /// The seeds that finished.
    pub seeds: Vec<u64>,
    /// That value, in the unit of the metric; of a share the share of seeds that meet the bound.
    /// None if a run has no value (of a share: if none was checked).
    pub value: Option<f64>,
    /// Of "min" and "max" the first seed that has the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Seeds that do not meet the bound by themselves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failing_seeds: Vec<u64>,
    /// Whether it holds.
    pub status: Status,
    /// Why there is no value, or why it was not checked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// What became of an expectation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It passes.
    Passes,
    /// It does not, or a run has no value.
    Fails,
    /// Its protocol was not run, or runs are missing.
    Unchecked,
}

/// All expectations of `scenario`, each under every protocol that it is about; of one that is about
/// a protocol that is not compared (`--protocol`), that it was not checked.
pub fn check_expectations(
    scenario: &Scenario,
    runs: &[RunResult],
    missing: &[Missing],
) -> Vec<ExpectationResult> {
    let mut checked = Vec::new();
    for (expect, expectation) in scenario.expect.iter().enumerate() {
        let about = scenario.protocols.iter().filter(|protocol| expectation.is_about(protocol));
        let before = checked.len();
        for protocol in about {
            let runs: Vec<&RunResult> =
                runs.iter().filter(|r| *protocol == r.protocol.as_str()).collect();
            let missing = missing.iter().filter(|run| *protocol == run.protocol.as_str()).count();
            let unchecked = unchecked(expectation, expect, protocol);
            checked.push(under(unchecked, expectation, &runs, missing));
        }
        if checked.len() == before
            && let Some(protocol) = &expectation.protocol
        {
            let why = Some(format!("there are no runs under {protocol}"));
            checked.push(ExpectationResult { why, ..unchecked(expectation, expect, protocol) });
        }
    }
    checked
}

fn unchecked(of: &Expectation, expect: usize, protocol: &str) -> ExpectationResult {
    let (end, high) = of.bound.ends();
    ExpectationResult {
        expect,
        name: of.name.clone(),
        protocol: protocol.to_string(),
        metric: of.metric,
        class: of.class.clone(),
        link: of.link.clone(),
        op: of.bound.op(),
        expected: [end].into_iter().chain(high).collect(),
        over: of.over,
        seeds: Vec::new(),
        value: None,
        seed: None,
        failing_seeds: Vec::new(),
        status: Status::Unchecked,
        why: None,
    }
}

/// `unchecked`, checked with the runs under its protocol.
fn under(
    unchecked: ExpectationResult,
    of: &Expectation,
    runs: &[&RunResult],
    missing: usize,
) -> ExpectationResult {
    let seeds: Vec<u64> = runs.iter().map(|run| run.seed).collect();
    let expected = ExpectationResult { seeds, ..unchecked };
    if missing > 0 {
        // The mean of some seeds is not the mean of all.
        let why = Some(format!("{missing} of {} runs are missing", runs.len() + missing));
        return ExpectationResult { why, ..expected };
    }
    let values: Vec<(u64, Option<f64>)> =
        runs.iter().map(|run| (run.seed, value(of, run))).collect();
    let meets = |value: Option<f64>| value.is_some_and(|value| of.bound.holds(value));
    let failing_seeds: Vec<u64> =
        values.iter().filter(|(_, value)| !meets(*value)).map(|(seed, _)| *seed).collect();
    let absent: Vec<u64> =
        values.iter().filter(|(_, value)| value.is_none()).map(|(seed, _)| *seed).collect();
    let why = (!absent.is_empty()).then(|| without_value(of, runs, &absent));
    let (value, seed, holds) = match of.over {
        Over::Share(share) => {
            let meeting = (values.len() - failing_seeds.len()) as f64 / values.len() as f64;
            (Some(meeting).filter(|share| share.is_finite()), None, meeting >= share)
        }
        // One unknown value may be the least, or move the mean.
        _ if why.is_some() => (None, None, false),
        over => {
            let known = || values.iter().filter_map(|(seed, value)| Some((*seed, (*value)?)));
            let (seed, value) = over_seeds(over, known()).unzip();
            (value, seed.flatten(), meets(value))
        }
    };
    let status = if holds { Status::Passes } else { Status::Fails };
    ExpectationResult { value, seed, failing_seeds, status, why, ..expected }
}

/// The value in a run; None if the run has none.
fn value(of: &Expectation, run: &RunResult) -> Option<f64> {
    match of.metric().counted {
        None => of.value(&run.metrics),
        Some(Counted::Completed) => Some(run.completed as f64),
        Some(Counted::Drops) => Some(run.drops.values().sum::<u64>() as f64),
    }
}

/// The value over seeds, with the seed that has it if one has.
fn over_seeds(over: Over, values: impl Iterator<Item = (u64, f64)>) -> Option<(Option<u64>, f64)> {
    // The first of equals.
    let extreme = |better: fn(f64, f64) -> bool, values: &mut dyn Iterator<Item = (u64, f64)>| {
        let best = values.reduce(|best, next| if better(next.1, best.1) { next } else { best });
        best.map(|(seed, value)| (Some(seed), value))
    };
    let mut values = values;
    match over {
        Over::Min => extreme(|a, b| a < b, &mut values),
        Over::Max => extreme(|a, b| a > b, &mut values),
        Over::Mean | Over::Share(_) => {
            mean(&values.map(|(_, value)| value).collect::<Vec<_>>()).map(|mean| (None, mean))
        }
    }
}

/// Why there is no value, in words.
fn without_value(of: &Expectation, runs: &[&RunResult], absent: &[u64]) -> String {
    let has = |class: &String| runs.iter().any(|run| run.metrics.by_class.contains_key(class));
    if let Some(class) = of.class.as_ref().filter(|class| !has(class)) {
        return format!("no flow has the class {class}");
    }
    if absent.len() == runs.len() {
        return "no run has a value".to_string();
    }
    let plural = if absent.len() == 1 { "" } else { "s" };
    let list: Vec<String> = absent.iter().map(u64::to_string).collect();
    format!("no value with seed{plural} {}", list.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_metrics::{ClassMetrics, FlowMetrics, Metrics};
    use forebay_scenario::LoadOptions;

    /// A run whose flows took this long; those of the class "web" twice that.
    fn run(seed: u64, afct_s: Option<f64>) -> RunResult {
        let of = |afct_s| FlowMetrics { afct_s, ..FlowMetrics::default() };
        let web = ClassMetrics { flows: 1, of_flows: of(afct_s.map(|afct_s| 2.0 * afct_s)) };
        RunResult {
            flows: 2,
            completed: usize::from(afct_s.is_some()),
            drops: [("full", 10 * seed), ("loss", 1)].into(),
            metrics: Metrics {
                of_flows: of(afct_s),
                by_class: [("web".to_string(), web)].into(),
                utilisation: [("a-b".to_string(), 0.1 * seed as f64)].into(),
                ce_marks_by_link: [("a-b".to_string(), seed)].into(),
                ..Metrics::default()
            },
            protocol: "cubic".to_string(),
            seed,
            ..RunResult::default()
        }
    }

    /// The results of one expectation with these keys, over runs with the seeds 1, 2, and so on.
    fn over(keys: &str, afct_s: &[Option<f64>], missing: u64) -> ExpectationResult {
        let text = format!(
            "hosts = [{{ name = \"a\" }}, {{ name = \"b\" }}]\n\
             links = [{{ a = \"a\", b = \"b\", rate = \"1Mbit/s\", \
             delay = \"1ms\", queue = \"9kB\" }}]\n\
             flows = [{{ src = \"a\", dst = \"b\", bytes = 1, class = \"web\" }}]\n\
             [[expect]]\n{keys}"
        );
        let scenario = Scenario::parse(&text, "x", &LoadOptions::default());
        let scenario = scenario.unwrap_or_else(|error| panic!("{error}"));
        let runs: Vec<_> = (1..).zip(afct_s).map(|(seed, &afct_s)| run(seed, afct_s)).collect();
        let missing: Vec<_> = (0..missing)
            .map(|i| Missing { protocol: "cubic".into(), seed: 100 + i, why: String::new() })
            .collect();
        let mut results = check_expectations(&scenario, &runs, &missing);
        assert_eq!(results.len(), 1);
        results.remove(0)
    }

    const THREE: [Option<f64>; 3] = [Some(4.0), Some(1.0), Some(1.0)];

    #[test]
    fn mean_least_and_largest_by_hand() {
        let of = |rest: &str| over(&format!("metric = \"afct_s\"\n{rest}"), &THREE, 0);
        let mean = of("op = \"<=\"\nvalue = 2");
        assert_eq!((mean.value, mean.seed, mean.status), (Some(2.0), None, Status::Passes));
        assert_eq!((mean.failing_seeds, mean.seeds), (vec![1], vec![1, 2, 3]));
        assert_eq!(of("op = \"<\"\nvalue = 2").status, Status::Fails);
        let least = of("op = \"==\"\nvalue = 1\nover = \"min\"");
        assert_eq!((least.value, least.seed, least.status), (Some(1.0), Some(2), Status::Passes));
        let largest = of("op = \"<\"\nvalue = 4\nover = \"max\"");
        let is = (largest.value, largest.seed, largest.status);
        assert_eq!(is, (Some(4.0), Some(1), Status::Fails));
    }

    #[test]
    fn a_share_counts_seeds_one_by_one() {
        // Two of three seeds are below 2.
        for (share, status) in [(0.6, Status::Passes), (0.7, Status::Fails), (1.0, Status::Fails)] {
            let keys = "metric = \"afct_s\"\nop = \"<\"\nvalue = 2\nover = { share = ";
            let result = over(&format!("{keys}{share} }}"), &THREE, 0);
            assert_eq!((result.value, result.status), (Some(2.0 / 3.0), status), "{share}");
            assert_eq!(result.failing_seeds, [1]);
        }
        // Exactly the share is enough.
        let keys = "metric = \"afct_s\"\nop = \"<\"\nvalue = 2\nover = { share = 0.5 }";
        assert_eq!(over(keys, &THREE[..2], 0).status, Status::Passes);
    }

    #[test]
    fn with_one_seed_every_form_is_the_value_itself() {
        for form in ["\"mean\"", "\"min\"", "\"max\"", "{ share = 1.0 }"] {
            let of = |value: f64| {
                let keys =
                    format!("metric = \"afct_s\"\nop = \"==\"\nvalue = {value}\nover = {form}");
                over(&keys, &[Some(4.0)], 0).status
            };
            assert_eq!((of(4.0), of(4.1)), (Status::Passes, Status::Fails), "{form}");
        }
    }

    #[test]
    fn classes_and_links_have_values_of_their_own() {
        let class = "metric = \"afct_s\"\nclass = \"web\"\nop = \"==\"\nvalue = 4";
        assert_eq!(over(class, &THREE, 0).value, Some(4.0));
        let link =
            "metric = \"utilisation\"\nlink = \"a-b\"\nop = \"<\"\nvalue = 1\nover = \"max\"";
        let result = over(link, &THREE, 0);
        assert!((result.value.unwrap() - 0.3).abs() < 1e-12 && result.seed == Some(3));
    }

    #[test]
    fn what_is_counted_can_be_expected() {
        let of = |rest: &str, runs| over(&format!("op = \"==\"\nvalue = 2\n{rest}"), runs, 0).value;
        assert_eq!(of("metric = \"completed\"\nover = \"min\"", &[Some(1.0), None]), Some(0.0));
        // 11, 21 and 31: those of both reasons.
        assert_eq!(of("metric = \"drops\"", &THREE), Some(21.0));
        let marks = |link| of(&format!("metric = \"ce_marks_by_link\"\nlink = \"{link}\""), &THREE);
        assert_eq!((marks("a-b"), marks("b-a")), (Some(2.0), Some(0.0)));
    }

    #[test]
    fn what_has_no_value_fails_and_says_why() {
        let keys = "metric = \"afct_s\"\nop = \"<\"\nvalue = 9";
        let holes = [Some(1.0), None, Some(f64::NAN)];
        for form in ["\"mean\"", "\"min\"", "\"max\""] {
            let result = over(&format!("{keys}\nover = {form}"), &holes, 0);
            assert_eq!((result.value, result.status), (None, Status::Fails), "{form}");
            assert_eq!(result.why.as_deref(), Some("no value with seeds 2, 3"));
        }
        // A seed without a value does not meet anything.
        let result = over(&format!("{keys}\nover = {{ share = 0.3 }}"), &holes, 0);
        assert_eq!((result.value, result.status), (Some(1.0 / 3.0), Status::Passes));
        let result = over(keys, &[None, None], 0);
        assert_eq!(result.why.as_deref(), Some("no run has a value"));
    }

    #[test]
    fn nothing_is_decided_where_runs_are_missing() {
        let result = over("metric = \"afct_s\"\nop = \"<\"\nvalue = 9", &THREE, 2);
        assert_eq!((result.value, result.status), (None, Status::Unchecked));
        assert_eq!(result.why.as_deref(), Some("2 of 5 runs are missing"));
    }

    #[test]
    fn json_has_what_was_compared() {
        let keys =
            "metric = \"afct_s\"\nop = \"within\"\nvalue = [1, \"3s\"]\nover = { share = 0.6 }";
        let json = serde_json::to_value(over(keys, &THREE, 0)).unwrap();
        let expected = serde_json::json!({
            "expect": 0, "protocol": "cubic", "metric": "afct_s", "op": "within",
            "expected": [1.0, 3.0], "over": { "share": 0.6 }, "seeds": [1, 2, 3],
            "value": 2.0 / 3.0, "failing_seeds": [1], "status": "passes",
        });
        assert_eq!(json, expected);
    }

    /// The links that an expectation may name are those that results have.
    #[test]
    fn links_of_scenarios_are_links_of_results() {
        for name in ["duel", "parking-lot", "linux/one-flow"] {
            let set = vec!["until_s=1".to_string(), "measure_from_s=0".to_string()];
            let scenario =
                Scenario::load(name, &LoadOptions { set, ..LoadOptions::default() }).unwrap();
            let run = crate::run_one(&scenario, "cubic", 1, &crate::RunOptions::default()).unwrap();
            let mut links = scenario.measured_links();
            links.sort_unstable();
            let found: Vec<String> = run.metrics.utilisation.into_keys().collect();
            assert_eq!(links, found, "{name}");
        }
    }
}

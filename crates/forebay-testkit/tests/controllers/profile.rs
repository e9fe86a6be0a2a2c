//! Verus's delay profile follows the rate of the path: in closed form after a step, and by rank
//! against a measured trace; and what the default reaches on measured traces.
#![allow(clippy::print_stdout)] // the figures

use crate::verus::over_cell;
use forebay_base::{FlowId, Span, Time};
use forebay_lab::reproduce::{
    ComparedRow, ExperimentText, ReproduceOptions, rank_correlation, reproduce,
};
use forebay_prerequisites::measured_trace;
use forebay_sim::{Options, Simulation};
use forebay_transport::Role;
use std::fs;
use std::path::Path;
use std::sync::Arc;

/// One flow of one protocol over `link`, 20 ms each way, without a limit of the buffer.
fn simulation(link: &str, protocol: &str) -> Simulation {
    let head = r#"
until_s = 1000
protocols = ["verus", "verus-r4"]
[protocol]
verus-r4 = { of = "verus", r = 4 }
"#;
    let spec = over_cell(head, link).build(protocol, 1).expect("it builds");
    Simulation::new(&spec, 1, Options::default()).expect("a sound network")
}

/// f(w) in ms as the flow's series have it: 16 points up to the largest window seen,
/// and beyond it the line through the last two.
fn profile_ms(sim: &Simulation, w: f64) -> f64 {
    let connection =
        sim.connection(FlowId(0), Role::Client).and_then(|of| of.open()).expect("it began");
    let (mut top, mut curve_ms) = (0.0, [0.0; 17]);
    connection.observe(0, &mut |seen| match seen.name.strip_prefix("profile_") {
        Some("top") => top = seen.value,
        Some(k) => curve_ms[k.parse::<usize>().expect("a number")] = seen.value * 1e3,
        None => {}
    });
    let at = w / top * 16.0;
    assert!(at >= 1.0, "{w} packets of {top}");
    let below = (at as usize).min(15);
    curve_ms[below] + (at - below as f64) * (curve_ms[below + 1] - curve_ms[below])
}

/// 12 kbit and a packet of 10 and 20 Mbit/s: 1.2 and 0.6 ms. Beyond 40 ms a window w takes as long
/// as w packets do. Back at 10 Mbit/s the last small windows follow within 5 s.
#[test]
fn when_the_rate_doubles_the_delay_of_a_window_halves_in_2_s() {
    let steps = "rate = \"10Mbit/s\"\nschedule = [{ at = \"20s\", rate = \"20Mbit/s\" }, \
                 { at = \"40s\", rate = \"10Mbit/s\" }]\nreverse = { schedule = [] }";
    let mut sim = simulation(steps, "verus");
    for (at_s, ms_per_packet) in [(20, 1.2), (22, 0.6), (40, 0.6), (45, 1.2)] {
        sim.run_until(Time::from_secs(at_s)).expect("every packet is accounted for");
        for w in [60.0, 80.0, 120.0, 160.0] {
            let (found_ms, expected_ms) = (profile_ms(&sim, w), (ms_per_packet * w).max(41.0));
            println!("{at_s} s: f({w}) = {found_ms:.1} ms, the rate gives {expected_ms:.1}");
            assert!((found_ms / expected_ms - 1.0).abs() < 0.15, "{at_s} s: f({w}) = {found_ms}");
        }
    }
}

/// Milliseconds at which a packet may leave.
fn opportunities_ms(trace: &Path) -> Vec<u64> {
    let text = fs::read_to_string(trace).expect("a trace");
    text.lines().map(|line| line.trim().parse().expect("milliseconds")).collect()
}

fn spearman(a: &[f64], b: &[f64]) -> f64 {
    let pairs: Vec<(f64, f64)> = a.iter().copied().zip(b.iter().copied()).collect();
    rank_correlation(&pairs).expect("values that differ")
}

#[test]
fn spearman_is_that_of_a_textbook() {
    // 1 - 6 sum(d^2) / (n (n^2 - 1)) with d = 0, 2, 0, 1, 3.
    let found = spearman(&[1.0, 2.0, 3.0, 4.0, 5.0], &[10.0, 30.0, 20.0, 60.0, 15.0]);
    assert!((spearman(&[1.0, 2.0, 3.0], &[3.0, 2.0, 1.0]) + 1.0).abs() < 1e-12);
    assert!((found - 0.3).abs() < 1e-12, "{found}");
}

/// f(120 packets) after a fit in each second, and the rate of the link in the second before it:
/// their rank correlation over the trace.
fn correlation(trace: &Path, protocol: &str) -> f64 {
    let opportunities_ms = opportunities_ms(trace);
    let end_s = opportunities_ms.last().expect("a trace") / 1000;
    let mut sim = simulation(&format!("trace = {{ file = {trace:?} }}"), protocol);
    sim.run_until(Time::from_secs(10)).expect("every packet is accounted for");
    let (mut rates, mut delays_ms, mut before_ms, mut last) = (vec![], vec![], 0.0, sim.now());
    while sim.now() < Time::from_secs(end_s) {
        sim.run_until(sim.now() + Span::from_millis(20)).expect("every packet is accounted for");
        let found_ms = profile_ms(&sim, 120.0);
        if found_ms != before_ms && sim.now().since(last) >= Span::from_millis(980) {
            last = sim.now();
            let now_ms = sim.now().as_millis();
            let until = |ms: u64| opportunities_ms.partition_point(|&at| at < ms) as f64;
            rates.push(until(now_ms) - until(now_ms - 1000));
            delays_ms.push(found_ms);
        }
        before_ms = found_ms;
    }
    spearman(&rates, &delays_ms)
}

/// By the rules of the paper it is 0 on the second one, whose rate varies less.
#[test]
fn the_profile_follows_the_rate_of_a_measured_city() {
    for (file, most) in [("City_Driving_UL.csv.out", -0.9), ("4_city_driving.trace", -0.75)] {
        let Some(trace) = measured_trace(file) else { return };
        for protocol in ["verus", "verus-r4"] {
            let found = correlation(&trace, protocol);
            println!("{file}, {protocol}: {found:.3}");
            assert!(found <= most, "{file}, {protocol}: {found}");
        }
    }
}

/// Rows of `experiments/frontier.toml` with the traces where they are. None, with a record, where
/// none are promised.
fn frontier() -> Option<Vec<ComparedRow>> {
    let traces = measured_trace("4_city_driving.trace")?;
    let folder = traces.parent().expect("a folder").display().to_string();
    let text = include_str!("../../experiments/frontier.toml");
    let text = text.replace("file = \"", &format!("file = \"{folder}/"));
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("frontier.toml");
    fs::write(&path, text).expect("a folder for tests");
    let wanted = [ExperimentText::read(&path).expect("it was written")];
    let options = ReproduceOptions {
        registry: &Arc::default(),
        quick: true,
        data: None,
        jobs: 2,
        cancel: None,
        progress: None,
    };
    Some(reproduce(&wanted, &options).expect("the experiment runs").rows)
}

/// Means over eight traces: R = 2 has Vegas's throughput, at 1.7 times its queue; R = 4 has BBR
/// v3's, at 0.94 of its queue. A profile that does not follow the rate costs 3 % of the throughput
/// and saves no delay.
#[test]
fn on_measured_channels_a_profile_that_follows_is_better_on_both_axes() {
    let Some(rows) = frontier() else { return };
    let mean = |quantity: &str| {
        let of: Vec<&ComparedRow> = rows.iter().filter(|row| row.quantity == quantity).collect();
        for row in &of {
            println!("{quantity:22} {:18} {:.3?} {:.3?}", row.setup, row.measured, row.ci95);
        }
        assert_eq!(of.len(), 8, "{quantity}");
        let sum: f64 = of.iter().map(|row| row.measured.expect("it ran")).sum();
        println!("{quantity:22} mean {:.3}", sum / 8.0);
        sum / 8.0
    };
    // Quantity, least and most.
    let bounds = [
        ("throughput_to_unmoved", 1.02, 1.2),
        ("queue_to_unmoved", 0.5, 1.05),
        ("throughput_to_vegas", 0.97, 1.1),
        ("queue_to_vegas", 0.5, 1.9),
        ("throughput_to_bbr", 0.98, 1.1),
        ("queue_to_bbr", 0.3, 1.0),
    ];
    for (quantity, least, most) in bounds {
        let found = mean(quantity);
        assert!((least..=most).contains(&found), "{quantity}: {found}");
    }
}

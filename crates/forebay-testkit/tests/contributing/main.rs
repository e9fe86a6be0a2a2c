//! The worked examples of CONTRIBUTING.md, compiled and run: the page cannot rot.

mod aimd;
mod page;
mod step;
mod step_tests;

use aimd::{Aimd, Params};
use forebay_base::{Rng, Span, Stream, Time};
use forebay_cc::{
    Ack, AnyController, Congestion, CongestionCause, Controller, Init, RttView, Timeout,
};
use std::fs;
use std::path::Path;

const MSS: u64 = 1000;
const NOW: Time = Time::from_secs(1);

fn aimd(add_segments: f64, keep: f64, window: u64) -> Aimd {
    let init = Init {
        mss_bytes: MSS as u32,
        initial_window_bytes: window * MSS,
        initial_ssthresh_bytes: window * MSS,
        paced: false,
        rng: Rng::new(1, Stream::Controller, 0),
    };
    Aimd::new(&Params { add_segments, keep }, init)
}

fn ack(bytes: u64) -> Ack<'static> {
    let rtt = Span::from_millis(100);
    Ack {
        acked_bytes: bytes,
        delivered_bytes: bytes,
        total_delivered_bytes: bytes,
        duplicate: false,
        rtt_sample: Some(rtt),
        newest: None,
        rtt: RttView { srtt: Some(rtt), rttvar: Span::ZERO, min: rtt, latest: Some(rtt) },
        prior_in_flight_bytes: bytes,
        in_flight_bytes: 0,
        snd_una: bytes,
        snd_nxt: bytes,
        cwnd_limited: true,
        in_recovery: false,
        ecn_echo: false,
        rate: None,
        options: None,
    }
}

fn window(controller: &dyn Controller) -> u64 {
    controller.limits().cwnd_bytes
}

fn round(controller: &mut dyn Controller) {
    (0..window(controller) / MSS).for_each(|_| controller.on_ack(NOW, &ack(MSS)));
}

fn congestion() -> Congestion {
    Congestion { cause: CongestionCause::Loss, flight_size_bytes: 0, cwnd_limited: true }
}

#[test]
fn a_round_trip_adds_a_segments_and_congestion_keeps_b() {
    let mut aimd = aimd(2.0, 0.75, 20);
    round(&mut aimd);
    assert_eq!(window(&aimd), 22 * MSS);
    round(&mut aimd);
    assert_eq!(window(&aimd), 24 * MSS);
    aimd.on_congestion(NOW, &congestion());
    assert_eq!(window(&aimd), 18 * MSS);
}

#[test]
fn the_sawtooth_between_losses_has_its_closed_form() {
    // From b W to W in steps of a: (1 - b) W / a round trips; with W = 40, b = 0.5, a = 2 that
    // is 10.
    let mut aimd = aimd(2.0, 0.5, 40);
    for _ in 0..3 {
        aimd.on_congestion(NOW, &congestion());
        let mut rounds = 0;
        while window(&aimd) < 40 * MSS {
            round(&mut aimd);
            rounds += 1;
        }
        assert_eq!((rounds, window(&aimd)), (10, 40 * MSS));
    }
}

#[test]
fn two_flows_converge_to_a_fair_share() {
    // The paper's result: whatever the start, additive increase and multiplicative decrease end in
    // fairness. Both see congestion when together they exceed 100 segments; each cycle halves the
    // difference, but for rounding.
    let mut flows = [aimd(1.0, 0.5, 90), aimd(1.0, 0.5, 2)];
    for _ in 0..1000 {
        if flows.iter().map(|f| window(f)).sum::<u64>() > 100 * MSS {
            flows.iter_mut().for_each(|f| f.on_congestion(NOW, &congestion()));
        } else {
            flows.iter_mut().for_each(|f| round(f));
        }
    }
    let difference = window(&flows[0]).abs_diff(window(&flows[1]));
    assert!(difference <= 2 * MSS, "{difference} bytes apart");
}

#[test]
fn a_timeout_falls_back_to_one_segment_and_slow_start_returns_to_b() {
    let mut aimd = aimd(1.0, 0.75, 16);
    aimd.on_rto(NOW, &Timeout { flight_size_bytes: 16 * MSS, first: true });
    assert_eq!(window(&aimd), MSS);
    (0..11).for_each(|_| aimd.on_ack(NOW, &ack(MSS)));
    assert_eq!((window(&aimd), aimd.phase()), (12 * MSS, "additive"));
}

#[test]
fn parameters_outside_their_range_are_refused() {
    let check = |add_segments, keep| Params { add_segments, keep }.check().map_err(|e| e.param);
    assert_eq!(check(1.0, 0.5), Ok(()));
    assert_eq!(check(0.0, 0.5), Err("add_segments"));
    assert_eq!(check(f64::NAN, 0.5), Err("add_segments"));
    assert_eq!(check(1.0, 1.0), Err("keep"));
}

#[test]
fn it_enters_through_the_door_for_outsiders() {
    let mut custom = AnyController::Custom(Box::new(aimd(2.0, 0.75, 20)));
    round(&mut custom);
    custom.on_congestion(NOW, &congestion());
    assert_eq!(window(&custom), 22 * MSS * 3 / 4);
}

#[test]
fn contributing_shows_this_code() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| fs::read_to_string(here.join(path)).expect(path);
    let page = read("../../CONTRIBUTING.md");
    for (file, package) in [("aimd.rs", "forebay_cc"), ("step.rs", "forebay_queue")] {
        let code = inside_the_crate(&read(&format!("tests/contributing/{file}")), package);
        assert!(page.contains(&code), "CONTRIBUTING.md has not this:\n{code}");
    }
}

/// The example as it stands in the crate itself.
fn inside_the_crate(code: &str, package: &str) -> String {
    let start = code.find("\nuse ").expect("imports") + 1;
    let end = start + code[start..].find("\n\n").expect("their end") + 1;
    let of_crate = code[start..end].replace(&format!("use {package}::"), "use crate::");
    let mut imports: Vec<&str> = of_crate.split_inclusive(";\n").collect();
    imports.sort();
    let inside = format!("{}{}{}", &code[..start], imports.concat(), &code[end..]);
    let schema = "#[cfg_attr(feature = \"schema\", derive(schemars::JsonSchema))]\n";
    inside.replace("#[serde(default,", &format!("{schema}#[serde(default,"))
}

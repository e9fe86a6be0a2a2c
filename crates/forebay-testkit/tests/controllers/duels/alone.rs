//! One flow: utilisation, period and wait over whole cycles.
//!
//! Where the tolerances come from:
//!
//! - **Threshold, 1.5 packets.** Overflow falls between two windows of whole packets (half a packet
//!   on average), and an ACK for two packets makes the sender send two or three at once, so that
//!   the buffer overflows with a packet of room. Utilisation and wait must lie between the closed
//!   forms with a buffer of 1.5 packets less and more; linear growth meets a threshold that far
//!   away 1.5 / alpha round trips later or earlier.
//! - **The flat top, one round trip.** Where the curve leads, the window grows by `3.5 C R^3`
//!   packets in the round trip of the overflow: 0.0014 packets at 100 ms. A disturbance of a
//!   thousandth of a packet moves the end by a round trip. A cycle may need a second repair or not,
//!   as this growth falls. And SRTT is late.

use super::table::{self, map};
use super::{Algorithm, Net, duel};
use forebay_base::Span;
use forebay_testkit::duel::sawtooth::{
    Cycle, Pipe, Variant, cubic_utilisation, sawtooth_utilisation,
};

const THRESHOLD_PACKETS: f64 = 1.5;

/// Cycles before the measured ones: slow start may end anywhere, and the first climb begins far
/// below.
const WARM_UP_CYCLES: f64 = 3.0;
/// Where the curve leads: an overshoot of 80 packets over 20 ms comes within a round trip of its
/// fixed point after 12 cycles, over 100 ms after 9.
const WARM_UP_CYCLES_ON_CURVE: f64 = 20.0;

pub fn table(nets: &[Net], cycles: u32) -> String {
    let algorithms = [Algorithm::NewReno, Algorithm::Cubic];
    let cases: Vec<_> =
        algorithms.iter().flat_map(|&a| nets.iter().map(move |&n| (a, n))).collect();
    let head = format!(
        "Alone, over the whole cycles in the time of {cycles} expected ones. Lead: what decides \
         when a loss comes, line or cubic curve.\n\
         Textbook: the climb without detection and repairs. Expected: with them.\n\
         {:34}|        utilisation %       |      period s     |      wait ms\n\
         algorithm Mbit/s   ms  BDP   lead | textbook expected measured \
         | expected measured | expected measured",
        ""
    );
    table::join(&head, map(&cases, |&(algorithm, net)| row(algorithm, net, cycles)))
}

/// Smallest and largest value of a quantity.
fn range(cycles: &[Cycle], quantity: impl Fn(&Cycle) -> f64) -> (f64, f64) {
    let values = cycles.iter().map(quantity);
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)))
}

/// The closed forms within the tolerances.
fn variants(pipe: Pipe, algorithm: Algorithm, curve_leads: bool) -> Vec<Cycle> {
    let mut open = vec![Variant::default()];
    if curve_leads {
        let repairs = [false, true].map(Some);
        let both = repairs.into_iter().flat_map(|r| [false, true].map(|old_srtt| (r, old_srtt)));
        let variant = |(second_repair, old_srtt)| {
            [-1.0, 0.0, 1.0].map(|late_rounds| Variant { second_repair, old_srtt, late_rounds })
        };
        open = both.flat_map(variant).collect();
    }
    let buffers =
        [-THRESHOLD_PACKETS, 0.0, THRESHOLD_PACKETS].map(|by| (pipe.buffer + by).max(0.0));
    let pipes = buffers.map(|buffer| Pipe { buffer, ..pipe });
    let cycles = pipes.iter().flat_map(|p| open.iter().map(|&v| p.cycle(algorithm.law(), v)));
    cycles.collect()
}

/// Linear growth meets a threshold early or late by its round trips, as the head of this file says;
/// a curve as its variants say.
fn period_range(
    pipe: Pipe,
    algorithm: Algorithm,
    expected: &Cycle,
    variants: &[Cycle],
) -> (f64, f64) {
    if expected.curve_leads {
        return range(variants, |c| c.period_s);
    }
    let round_s = pipe.rtt_at(pipe.top()) / algorithm.law().alpha;
    let slack_s = THRESHOLD_PACKETS * round_s;
    (expected.period_s - slack_s, expected.period_s + slack_s)
}

fn row(algorithm: Algorithm, net: Net, cycles: u32) -> (String, Vec<String>) {
    let mut duel = duel(net, vec![algorithm.spec(true)]);
    let (pipe, law) = (duel.pipe(), algorithm.law());
    let expected = pipe.cycle(law, Variant::default());
    let warm_up_cycles =
        if expected.curve_leads { WARM_UP_CYCLES_ON_CURVE } else { WARM_UP_CYCLES };
    duel.warm_up = Span::from_secs_f64(warm_up_cycles * expected.period_s + 2.0);
    duel.measured = Span::from_secs_f64(f64::from(cycles) * expected.period_s);
    let outcome = duel.run();
    let period_s = outcome.period_s().expect("several cycles were measured");
    let wait_s = outcome.wait.as_secs_f64();
    let variants = variants(pipe, algorithm, expected.curve_leads);
    let Net { mbps, rtt_ms, buffer_bdp } = net;
    let within = |what: &str, measured: f64, (low, high): (f64, f64)| {
        let context = format!("{} {mbps} Mbit/s {rtt_ms} ms {buffer_bdp} BDP", algorithm.name());
        let sound = low <= measured && measured <= high;
        (!sound).then(|| format!("{context}: {what} {measured:.7} not in {low:.7}..={high:.7}"))
    };
    let complaints = [
        within("utilisation", outcome.utilisation, range(&variants, |c| c.utilisation)),
        within("wait", wait_s, range(&variants, |c| c.wait_s)),
        within("period", period_s, period_range(pipe, algorithm, &expected, &variants)),
        within("timeouts", outcome.timeouts as f64, (0.0, 0.0)),
    ];
    let x = pipe.buffer / pipe.bdp();
    let textbook = if expected.curve_leads {
        cubic_utilisation(law.beta, x)
    } else {
        sawtooth_utilisation(law.beta, x)
    };
    let line = format!(
        "{:<9} {mbps:>6} {rtt_ms:>4} {buffer_bdp:>4} {:>6} | {:>8.1} {:>8.1} {:>8.1} \
         | {:>8} {:>8} | {:>8.1} {:>8.1}",
        algorithm.name(),
        if expected.curve_leads { "curve" } else { "line" },
        100.0 * textbook,
        100.0 * expected.utilisation,
        100.0 * outcome.utilisation,
        table::seconds(expected.period_s),
        table::seconds(period_s),
        1e3 * expected.wait_s,
        1e3 * wait_s,
    );
    (line, complaints.into_iter().flatten().collect())
}

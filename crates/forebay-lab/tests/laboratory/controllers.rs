//! Controllers against closed forms and the Linux kernel: docs/reference/controllers.md. The
//! tolerances stand here and not in the experiments' files alone, where they could be widened.

use forebay_lab::reproduce::{
    BuiltinExperiment, ComparedRow, ExperimentText, ReproduceOptions, reproduce,
};
use std::sync::Arc;

fn rows(experiment: &str) -> Vec<ComparedRow> {
    let found = BuiltinExperiment::find(experiment);
    let wanted: Vec<ExperimentText> = found.into_iter().map(Into::into).collect();
    let options = ReproduceOptions {
        registry: &Arc::default(),
        quick: true,
        data: None,
        jobs: 2,
        cancel: None,
        progress: None,
    };
    reproduce(&wanted, &options).expect("the experiment runs").rows
}

/// Alizadeh et al. 2010, section 3.3, in packets of 0.012 ms: two flows, a path of 83.3 packets.
/// The queue swings between `K + N` and `K + N - A` with `A = sqrt(2 N (C RTT + K)) / 2`; the link
/// is full if `K > C RTT / 7` (RFC 8257 section 4.1), and not if K is far below.
#[test]
fn a_sweep_of_k_finds_the_queue_of_the_closed_form_and_the_knee() {
    let rows = rows("controllers/marks");
    let path = 1e9 / 12e3 * 1e-3;
    let of = |k: u32, quantity: &str| {
        let setup = format!("K = {k}");
        let found = rows.iter().find(|row| row.setup == setup && row.quantity == quantity);
        found.and_then(|row| row.measured).unwrap_or_else(|| panic!("no {quantity} of {k}"))
    };
    for k in [12, 24, 48, 96] {
        let swing = (4.0 * (path + f64::from(k))).sqrt() / 2.0;
        let mean_ms = (f64::from(k) + 2.0 - swing / 2.0) * 0.012;
        let ours_ms = of(k, "queue_mean"); // the experiment's unit
        assert!((ours_ms / mean_ms - 1.0).abs() < 0.05, "K = {k}: {ours_ms} ms, not {mean_ms}");
        assert!(of(k, "utilisation") > 0.99, "K = {k}");
    }
    let busy = [2, 6, 12, 24].map(|k| of(k, "utilisation"));
    assert!(busy.is_sorted() && busy[0] < 0.98, "K below C RTT / 7 = 11.9: {busy:?}");
    for k in [2, 6, 12, 24, 48, 96] {
        assert!(of(k, "jain") > 0.98, "K = {k}");
    }
}

/// The kernel's BBR v1 has 46 to 48 % competing with its CUBIC behind 8 BDP; twice it keeps 71 ms.
#[test]
fn bbr_v1_with_linux_rules_shares_as_the_kernel() {
    for row in rows("controllers/bbr1").iter().filter(|row| row.setup.ends_with("linux-6.18")) {
        let ours = row.measured.expect("measured");
        match row.quantity.as_str() {
            "share" => assert!((0.42..=0.52).contains(&ours), "{}: {ours}", row.setup),
            _ => assert!((0.85..=1.1).contains(&(ours / 71.0)), "{}: {ours} ms", row.setup),
        }
    }
}

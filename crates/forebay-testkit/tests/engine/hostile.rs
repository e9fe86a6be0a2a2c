//! Any bytes may come over a wire: damaged, cut, forged, with right checksums or with wrong ones. A
//! real wire may be lost, and come back. Whatever comes, nothing panics, no packet is lost from the
//! books, and the run can be replayed.
//!
//! The corpus is what the machines send: each network starts from its own packets.

use forebay_base::Time;
use forebay_testkit::harm::{cut, endure, harm, survives};

#[test]
fn nothing_that_comes_over_a_wire_does_harm() {
    // In the last a connection that has finished was reset while an ACK was due.
    does_no_harm((0..300).chain([13_707]));
}

#[test]
#[ignore = "the long form: ten minutes"]
fn nothing_does_harm_in_many_networks() {
    does_no_harm(0..100_000);
}

fn does_no_harm(networks: impl Iterator<Item = u64>) {
    let end = Time::from_secs(2);
    let (mut runs, mut struck, mut cuts) = (0, 0_u64, 0_u64);
    for seed in networks {
        runs += 1;
        #[expect(clippy::print_stdout, reason = "shown where the test fails")]
        {
            println!("network {seed}");
        }
        endure(seed, end, |rng, packet, before, real| {
            struck += u64::from(harm(rng, packet, before));
            let cut = if real { cut(rng) } else { None };
            cuts += u64::from(cut.is_some());
            cut
        });
    }
    assert!(2 * cuts > runs, "only {cuts} wires were cut");
    assert!(struck > 10 * runs, "only {struck} packets were harmed");
}

/// What a fuzzer has found worth keeping: see `fuzz/`.
#[test]
fn what_a_fuzzer_kept_does_no_harm() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/site_push");
    let files = std::fs::read_dir(folder).expect("the corpus");
    let mut inputs = 0;
    for file in files {
        survives(&std::fs::read(file.expect("an entry").path()).expect("a file"));
        inputs += 1;
    }
    assert!(inputs > 50, "only {inputs} inputs");
}

//! What a scheme needs is named in its own files, in the tables, and in the files listed here.

use super::source::{product, words};
use super::{assert_none, rust_files};

/// A scheme: the name in code, and the files of the product that may name it next to its own
/// (`rcp.rs`, `inrpp/…`).
const SCHEMES: &[(&str, &[&str])] = &[
    (
        "rcp",
        &[
            "crates/forebay-cc/src/lib.rs",        // a module
            "crates/forebay-cc/src/table.rs",      // a line
            "crates/forebay-queue/src/lib.rs",     // a module
            "crates/forebay-queue/src/schemes.rs", // a line
            "crates/forebay-signal/src/lib.rs",    // a module
            "crates/forebay-report/src/series.rs", // the curve of its rate
            "crates/forebay-report/src/panels.rs", // the same, drawn
        ],
    ),
    (
        "kickass",
        &[
            "crates/forebay-cc/src/lib.rs",
            "crates/forebay-cc/src/table.rs",
            "crates/forebay-queue/src/lib.rs",
            "crates/forebay-queue/src/schemes.rs",
            "crates/forebay-report/src/series.rs", // the curves of its ports
            "crates/forebay-report/src/panels.rs", // the same, drawn
            "crates/forebay-scenario/src/plan/notes.rs", // hosts that misread their ports
            "crates/forebay-signal/src/lib.rs",
        ],
    ),
    (
        "inrpp",
        &[
            "crates/forebay-cc/src/lib.rs",
            "crates/forebay-cc/src/table.rs",
            "crates/forebay-router/src/lib.rs",
            "crates/forebay-router/src/table.rs",
            // Signals that somebody forges, and other attacks on it; keys of its links.
            "crates/forebay-net/src/spec.rs",
            "crates/forebay-net/src/fabric/forge.rs",
            "crates/forebay-net/src/link/queued.rs", // a link that an attacker records
            "crates/forebay-net/src/link/recording.rs",
            "crates/forebay-scenario/src/keys/attacks.rs",
            "crates/forebay-scenario/src/model/attacks.rs",
            "crates/forebay-scenario/src/plan/attacks.rs",
            "crates/forebay-scenario/src/plan/inrpp_keys.rs",
            "crates/forebay-scenario/src/resolve/attacks.rs",
            "crates/forebay-scenario/src/resolve/topology.rs",
            // Its table, its caches, whose sizes follow from the network, and what its flows need.
            "crates/forebay-scenario/src/keys/file.rs",
            "crates/forebay-scenario/src/keys/mod.rs",
            "crates/forebay-scenario/src/lib.rs",
            "crates/forebay-scenario/src/load/mod.rs",
            "crates/forebay-scenario/src/model/mod.rs",
            "crates/forebay-scenario/src/plan/caches.rs",
            "crates/forebay-scenario/src/plan/mod.rs",
            "crates/forebay-scenario/src/plan/network.rs",
            "crates/forebay-scenario/src/plan/notes.rs",
            "crates/forebay-scenario/src/registry/kinds.rs",
            "crates/forebay-scenario/src/registry/mod.rs",
            "crates/forebay-scenario/src/registry/protocol.rs",
            "crates/forebay-scenario/src/registry/tables.rs",
            "crates/forebay-scenario/src/resolve/mod.rs",
            "crates/forebay-scenario/src/resolve/text.rs",
            "crates/forebay-signal/src/lib.rs",
            "crates/forebay-lab/src/bench/chain.rs", // what its routers cost
            "crates/forebay-lab/src/reproduce/measure.rs", // figures of its paper
            "crates/forebay-lab/src/reproduce/recording.rs", // figures of its paper
            "crates/forebay-lab/src/store/series.rs", // series of its interfaces
            "crates/forebay-reference/src/packet_cost.rs", // bytes of its tag
            "crates/forebay-run/src/measure/interfaces.rs", // results of its interfaces
        ],
    ),
];

/// True if a word of code names the scheme: `rcp`, `Rcp`, `RcpPort`, `rcp_rate`.
fn names(word: &str, scheme: &str) -> bool {
    let lower = word.to_lowercase();
    match lower.find(scheme) {
        Some(0) => true,
        Some(at) => lower.as_bytes()[at - 1] == b'_',
        None => false,
    }
}

fn own(path: &str, scheme: &str) -> bool {
    path.ends_with(&format!("/{scheme}.rs")) || path.contains(&format!("/{scheme}/"))
}

/// Files of the product in whose code a scheme is named.
fn naming(path: &str, text: &str, scheme: &str) -> bool {
    let tests = ["crates/forebay-testkit/", "crates/forebay-instructions/"];
    let helper = tests.iter().any(|of| path.starts_with(of)) || path.contains("_tests");
    let code = product(path, text);
    !helper && !own(path, scheme) && words(&code).iter().any(|word| names(word.text, scheme))
}

#[test]
fn schemes_are_named_in_their_own_files_and_in_those_listed() {
    let files = rust_files();
    let mut complaints = Vec::new();
    for &(scheme, allowed) in SCHEMES {
        let found: Vec<&str> = files
            .iter()
            .filter(|file| naming(&file.path, &file.text, scheme))
            .map(|file| &*file.path)
            .collect();
        let odd = found.iter().filter(|path| !allowed.contains(path));
        complaints.extend(odd.map(|path| format!("{path} names {scheme}: use the registry")));
        let gone = allowed.iter().filter(|path| !found.contains(path));
        complaints.extend(gone.map(|path| format!("{path} names {scheme} no more: off the list")));
    }
    assert_none(complaints);
}

#[test]
fn a_name_in_code_is_seen_and_one_in_a_comment_is_not() {
    let seen = |text: &str| naming("crates/forebay-net/src/x.rs", text, "rcp");
    assert!(seen("fn f() { rcp::Params }") && seen("let x: RcpPort;") && seen("a.the_rcp()"));
    assert!(!seen("// RCP\nfn f() {}") && !seen("let x = \"rcp\";") && !seen("memrcpy()"));
    assert!(!naming("crates/forebay-queue/src/rcp.rs", "struct RcpPort;", "rcp"));
}

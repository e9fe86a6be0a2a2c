//! `forebay-scenario` is built in layers, one folder each: code names what is in its own folder and
//! in those below.

use super::circles::sources;
use super::modules::Crate;
use super::{assert_none, rust_files};
use std::collections::BTreeMap;

/// From the lowest to the highest.
const LAYERS: [&str; 8] =
    ["format", "keys", "registry", "model", "resolve", "explain", "plan", "load"];

/// Arrows from a layer to one above it, and files that belong to none.
fn complaints(files: &BTreeMap<String, String>) -> Vec<String> {
    let layer = |name: &str| LAYERS.iter().position(|layer| *layer == name);
    let of = Crate::read("lib.rs", files);
    let up = of.edges().into_iter().filter_map(|(from, to)| {
        let (low, high) = (layer(from.first()?)?, layer(to.first()?)?);
        (high > low).then(|| format!("{} names {}, which is above", from.join("/"), to.join("/")))
    });
    let stray = files.keys().filter(|file| {
        let top = file.split('/').next().unwrap_or_default();
        layer(top).is_none() && !matches!(top, "lib.rs" | "tests")
    });
    up.chain(stray.map(|file| format!("{file} is in no layer"))).collect()
}

#[test]
fn scenario_names_nothing_above() {
    let crates = sources(&rust_files());
    assert_none(complaints(&crates["forebay-scenario"]));
}

#[test]
fn an_arrow_up_and_a_stray_file_are_complaints() {
    let check = |files: &[(&str, &str)]| {
        let files = files.iter().map(|(name, text)| (name.to_string(), text.to_string()));
        complaints(&files.collect())
    };
    let root = ("lib.rs", "mod format; mod keys; pub use keys::K;");
    let keys = ("keys/mod.rs", "use crate::format::F; pub struct K(F);");
    assert_eq!(check(&[root, keys, ("format/mod.rs", "pub struct F;")]), [""; 0]);
    for code in ["use crate::keys::K;", "use crate::K;", "fn f() -> super::K { loop {} }"] {
        let up = check(&[root, keys, ("format/mod.rs", code)]);
        assert_eq!(up, ["format names keys, which is above"], "{code}");
    }
    let root = ("lib.rs", "mod other;");
    assert_eq!(check(&[root, ("other.rs", "")]), ["other.rs is in no layer"]);
}

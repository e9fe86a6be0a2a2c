//! What a registry asks of a crate: metadata, licence texts, a page, versions; and nothing that
//! the code includes from outside the folder of its crate.

use super::source::blank;
use super::{assert_none, root, rust_files};
use serde_json::Value;
use std::path::Path;

/// The crates that stay here: they are for tests, or given away as a wheel.
const PRIVATE: [&str; 4] =
    ["forebay-testkit", "forebay-instructions", "forebay-prerequisites", "forebay-python"];

/// Everything that keeps a package of `cargo metadata` from a registry.
fn unpublishable(package: &Value, exists: impl Fn(&str) -> bool) -> Vec<String> {
    let name = package["name"].as_str().expect("a package has a name");
    let mut missing: Vec<String> = Vec::new();
    for key in ["description", "license", "repository", "rust_version"] {
        if package[key].as_str().is_none_or(str::is_empty) {
            missing.push(key.to_string());
        }
    }
    let private = PRIVATE.contains(&name);
    let withheld = package["publish"].as_array().is_some_and(|list| list.is_empty());
    if withheld != private {
        missing.push(format!("`publish`, which is {}", package["publish"]));
    }
    for key in ["keywords", "categories"] {
        if !private && package[key].as_array().is_none_or(|list| list.is_empty()) {
            missing.push(key.to_string());
        }
    }
    for file in ["README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
        if !(exists(file) || private && file != "README.md") {
            missing.push(file.to_string());
        }
    }
    for dependency in package["dependencies"].as_array().expect("a list") {
        // A registry knows crates by version; it drops tests' dependencies that have none.
        let unversioned = dependency["req"] == "*" && dependency["kind"] != "dev";
        let is_private = dependency["name"].as_str().is_some_and(|name| PRIVATE.contains(&name));
        let hidden = is_private && dependency["req"] != "*";
        if !private && (unversioned || hidden) {
            missing.push(format!("a version that a registry has of {}", dependency["name"]));
        }
    }
    missing.iter().map(|what| format!("{name} lacks {what}")).collect()
}

/// Files that `text`, a file `depth` folders below the root of its crate, includes from outside
/// that crate.
fn included_from_outside(path: &str, text: &str, depth: usize) -> Vec<String> {
    // The blanked text has as many characters, so that a call found there is found in the text.
    let (chars, blanked) = (text.chars().collect::<Vec<_>>(), blank(text));
    let macros = ["include_str!", "include_bytes!", "include!"];
    let calls = macros.iter().flat_map(|name| blanked.match_indices(name));
    let outside = calls.filter_map(|(at, _)| {
        let rest = &chars[blanked[..at].chars().count()..];
        let mut parts = rest.split(|&c| c == '"').map(|part| part.iter().collect::<String>());
        let (before, literal) = (parts.next()?, parts.next()?);
        let up = literal.split('/').take_while(|part| *part == "..").count();
        // What stands before the literal in `concat!` begins the path.
        let absolute = literal.starts_with('/') && !before.contains("stringify!");
        (up > depth || absolute).then(|| format!("{path} includes {literal}"))
    });
    outside.collect()
}

/// Folders between the root of a crate and a file, given the file's path from the workspace.
fn depth(path: &str) -> usize {
    path.split('/').count().checked_sub(3).expect("crates/NAME/FILE")
}

#[test]
fn every_crate_has_what_a_registry_asks_for() {
    let metadata = super::arrows::metadata();
    let packages = metadata["packages"].as_array().expect("packages");
    let complaints = packages.iter().flat_map(|package| {
        let manifest = package["manifest_path"].as_str().expect("a path");
        let folder = Path::new(manifest).parent().expect("a folder");
        unpublishable(package, |file| folder.join(file).is_file())
    });
    assert_none(complaints.collect());
}

#[test]
fn no_crate_includes_what_is_outside_its_folder() {
    let complaints = rust_files()
        .into_iter()
        .flat_map(|f| included_from_outside(&f.path, &f.text, depth(&f.path)));
    assert_none(complaints.collect());
}

#[test]
fn licence_texts_are_those_of_the_root() {
    let read = |path: String| std::fs::read_to_string(root().join(&path)).expect(&path);
    for name in super::arrows::crates().filter(|name| !PRIVATE.contains(name)) {
        for file in ["LICENSE-APACHE", "LICENSE-MIT"] {
            assert_eq!(read(format!("crates/{name}/{file}")), read(file.to_string()), "{name}");
        }
    }
}

#[test]
fn a_crate_that_cannot_be_published_and_an_include_from_outside_are_seen() {
    let list =
        |names: &[&str]| Value::from(names.iter().map(|n| Value::from(*n)).collect::<Vec<_>>());
    let dependency = |name: &str, req: &str, kind: Value| -> Value {
        serde_json::json!({ "name": name, "req": req, "kind": kind })
    };
    let mut package = serde_json::json!({
        "name": "forebay-x", "description": "x", "license": "MIT", "repository": "r",
        "rust_version": "1.88", "publish": null, "keywords": list(&["a"]),
        "categories": list(&["a"]),
        "dependencies": [
            dependency("forebay-base", "^0.1.0", Value::Null),
            dependency(PRIVATE[0], "*", "dev".into()),
        ],
    });
    assert_eq!(unpublishable(&package, |_| true), [""; 0]);
    assert_eq!(unpublishable(&package, |file| file != "README.md").len(), 1);
    package["license"] = Value::Null;
    package["publish"] = list(&[]);
    package["keywords"] = list(&[]);
    package["dependencies"] = serde_json::json!([dependency("forebay-base", "*", Value::Null)]);
    assert_eq!(unpublishable(&package, |_| true).len(), 4);

    let code = "include_str!(concat!(\"../../a/\", $name)); // include_str!(\"../../../b\")\n";
    assert_eq!(included_from_outside("x.rs", code, 1), ["x.rs includes ../../a/"]);
    assert_eq!(included_from_outside("x.rs", code, 2), [""; 0]);
    let own = "include_str!(concat!(stringify!($module), \"/mod.rs\")); include_str!(\"/etc/x\")";
    assert_eq!(included_from_outside("x.rs", own, 1), ["x.rs includes /etc/x"]);
    assert_eq!(depth("crates/forebay-x/src/lib.rs"), 1);
}

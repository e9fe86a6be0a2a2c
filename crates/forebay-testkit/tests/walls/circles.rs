//! The files of a folder depend on each other in one direction: at every level of folders of every

use super::modules::{Crate, ModulePath};
use super::{File, assert_none, rust_files};
use std::collections::{BTreeMap, BTreeSet};

const ROOTS: [&str; 2] = ["lib.rs", "main.rs"];

/// Per entry of a folder, the entries that its code names.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// The graph of each folder of a crate.
fn graphs(of: &Crate) -> BTreeMap<ModulePath, Graph> {
    let mut graphs: BTreeMap<ModulePath, Graph> = BTreeMap::new();
    for (from, to) in of.edges() {
        let level = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
        if let (Some(a), Some(b)) = (from.get(level), to.get(level)) {
            let graph = graphs.entry(from[..level].to_vec()).or_default();
            graph.entry(a.clone()).or_default().insert(b.clone());
        }
    }
    graphs
}

/// Entries that can be reached from `start`.
fn reach<'a>(graph: &'a Graph, start: &str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut next: Vec<&str> = graph[start].iter().map(String::as_str).collect();
    while let Some(entry) = next.pop() {
        if seen.insert(entry) {
            next.extend(graph.get(entry).into_iter().flatten().map(String::as_str));
        }
    }
    seen
}

/// The sets of entries of which each reaches all others.
fn circles(graph: &Graph) -> BTreeSet<Vec<&str>> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        graph.keys().map(|entry| (entry.as_str(), reach(graph, entry))).collect();
    let mut circles = BTreeSet::new();
    for (entry, others) in &reached {
        let back = |other: &&&str| reached.get(**other).is_some_and(|r| r.contains(*entry));
        circles.insert(others.iter().filter(back).copied().collect::<Vec<_>>());
    }
    circles.retain(|circle| !circle.is_empty());
    circles
}

/// A circle: crate, folder, entries.
type Circle = (String, String, Vec<String>);

/// Circles, and which of their entries names which.
type Circles = BTreeMap<Circle, String>;

/// The circles of the crate `package`, below each of its roots.
fn circles_of_crate(package: &str, sources: &BTreeMap<String, String>) -> Circles {
    let roots = ROOTS.into_iter().filter(|root| sources.contains_key(*root));
    let mut found = Circles::new();
    for root in roots {
        for (folder, graph) in graphs(&Crate::read(root, sources)) {
            for circle in circles(&graph) {
                let inside = |to: &&String| circle.contains(&to.as_str());
                let arrows = circle.iter().flat_map(|from| {
                    graph[*from].iter().filter(inside).map(move |to| format!("{from} -> {to}"))
                });
                let arrows = arrows.collect::<Vec<_>>().join(", ");
                let entries = circle.iter().map(ToString::to_string).collect();
                found.insert((package.to_string(), folder.join("/"), entries), arrows);
            }
        }
    }
    found
}

/// Per crate, the files of its `src` by their paths from there.
pub fn sources(files: &[File]) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut crates: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
    for file in files {
        let place = file.path.strip_prefix("crates/").and_then(|path| path.split_once("/src/"));
        let Some((package, path)) = place else { continue };
        crates.entry(package.into()).or_default().insert(path.into(), file.text.clone());
    }
    crates
}

#[test]
fn files_do_not_circle() {
    let crates = sources(&rust_files());
    let found = crates.iter().flat_map(|(package, files)| circles_of_crate(package, files));
    let shown = |((package, folder, entries), arrows): (Circle, String)| {
        format!("a circle: {package}/src/{folder}: {} ({arrows})", entries.join(", "))
    };
    assert_none(found.map(shown).collect());
}

/// Only modules of tests are left out.
#[test]
fn no_file_is_left_out() {
    let mut complaints = Vec::new();
    for (package, files) in sources(&rust_files()) {
        let roots = ROOTS.into_iter().filter(|root| files.contains_key(*root));
        let crates: Vec<Crate> = roots.map(|root| Crate::read(root, &files)).collect();
        let known = |file: &str| {
            let of_tests = |of: &Crate| of.tests.iter().any(|module| is_of_module(file, module));
            crates.iter().any(|of| of.files.contains(file) || of_tests(of))
        };
        let out = files.keys().filter(|file| !known(file));
        complaints.extend(out.map(|file| format!("{package}/src/{file}: no module declares it")));
    }
    assert_none(complaints);
}

/// True for the files of a module and of those below it.
fn is_of_module(file: &str, module: &[String]) -> bool {
    let rest = file.strip_prefix(&module.join("/"));
    rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

/// The circles of a crate with these files: folder and entries.
fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let mut sources: BTreeMap<String, String> =
        files.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
    // A root that declares what stands next to it, unless it is given.
    let top = files.iter().filter_map(|(name, _)| match name.split_once('/') {
        Some((folder, "mod.rs")) => Some(folder),
        None => name.strip_suffix(".rs").filter(|stem| *stem != "lib"),
        _ => None,
    });
    let declared: String = top.map(|name| format!("mod {name};\n")).collect();
    sources.entry("lib.rs".to_string()).or_default().push_str(&declared);
    let found = circles_of_crate("x", &sources);
    found.keys().map(|(_, folder, entries)| format!("{folder}: {}", entries.join(" "))).collect()
}

/// True if `code` of the module `a` names the module `b`, which names `a` by `crate::a::A`; `root`
/// is what the root holds besides.
fn names_b(code: &str, root: &str) -> bool {
    let b = "use crate::a::A; pub struct B; pub fn f() {} pub mod deep { pub struct D; }";
    let circles = circles_of(&[("a.rs", code), ("b.rs", b), ("lib.rs", root)]);
    assert!(circles.is_empty() || circles == [": a b"], "{circles:?}");
    !circles.is_empty()
}

#[test]
fn every_spelling_of_a_name_is_read() {
    let spellings = [
        "use crate::b;",
        "use crate::b::B;",
        "use super::b::B;",
        "use self::super::b::B;",
        "use super::{b};",
        "use super::b::{self, f};",
        "use super::{c::C, b::{deep::D, B as Other}};",
        "use super::b::*;",
        "pub use super::b::B;",
        "fn g() { use super::b::f; f() }",
        "fn g() { if true { use crate::b as other; other::f() } }",
        "fn g() { super::b::f() }",
        "fn g() -> super::b::B { loop {} }",
        "fn g(x: &dyn Fn(Vec<Option<crate::b::B>>)) {}",
        "impl super::b::B {}",
        "impl From<super::b::B> for u8 {}",
        "struct S<T: crate::b::Bound>(T);",
        "fn g(x: u8) { match x { super::b::LIMIT => {} _ => {} } }",
        "const N: usize = <super::b::B as Sized>::N;",
        "fn g() { assert_eq!(1, super::b::f(), \"{}\", 2); }",
        "fn g() { vec![Some([crate::b::f()])]; }",
        "macro_rules! m { () => { $crate::b::f() } }",
        "table! { A: crate::b::B, \"a\"; }",
        "super::b::m!();",
        "#[serde(with = \"super::b\")] struct S;",
        "#[derive(Debug)] struct S { #[serde(default = \"crate::b::f\")] x: u8 }",
        "mod inner { use super::super::b::B; }",
        "mod inner { fn g() { crate::b::f() } }",
        "#[cfg(not(test))] use super::b::B;",
        "#[cfg(unix)] fn g() { super::b::f() }",
    ];
    for spelling in spellings {
        assert!(names_b(spelling, ""), "{spelling}");
    }
}

#[test]
fn a_name_is_followed_through_exports_imports_and_globs() {
    let through = [
        ("use crate::B;", "pub use b::B;"),
        ("use super::B;", "use b::B;"),
        ("fn g() -> crate::Other { loop {} }", "pub use b::B as Other;"),
        ("use super::f;", "pub use b::*;"),
        ("use super::*; fn g() { f() }", "pub use b::{B, f};"),
        ("use super::*; fn g() { b::f() }", ""),
        ("use super::*; fn g() { assert!(f()) }", "use self::b::*;"),
        ("use crate::outer::B;", "mod outer { pub use crate::b::B; }"),
        ("use crate::outer::inner::B;", "mod outer { pub use super::b as inner; }"),
        ("fn g() { made!() }", "#[macro_use] mod c;"),
    ];
    for (code, root) in through {
        let c = "macro_rules! made { () => {} } use crate::a::A;";
        let b = "use crate::a::A; pub struct B; pub fn f() {}";
        let circles = circles_of(&[("a.rs", code), ("b.rs", b), ("c.rs", c), ("lib.rs", root)]);
        assert_eq!(circles.len(), 1, "{code} {root}: {circles:?}");
    }
}

#[test]
fn what_names_nothing_of_the_other_closes_no_circle() {
    let silent = [
        "/// See [`crate::b::B`].\nfn g() {} // super::b::f()",
        "const S: &str = \"super::b::f\";",
        "pub(in crate::b) struct S;",
        "use ::b::B;",
        "use b::B;",
        "use other::b::B;",
        "fn g(b: u8) -> u8 { b }",
        "fn g(x: X) { x.b(); println!(\"{}\", x.b) }",
        "use super::*; fn g() { local() } fn local() {}",
        "use super::*; struct B; fn g() -> B { B }",
        "#[cfg(test)] mod tests { use crate::b::B; }",
        "#[cfg(all(test, unix))] use super::b::B;",
        "#[cfg(test)] fn g() { super::b::f() }",
        "impl S { #[cfg(test)] fn g() { super::b::f() } }",
        "#[cfg(test)] mod tests;",
        "fn g() -> crate::OfRoot { loop {} }",
    ];
    for code in silent {
        assert!(!names_b(code, "pub use b::*; pub struct OfRoot(b::B);"), "{code}");
    }
}

#[test]
fn a_circle_is_seen_at_every_level_and_at_its_whole_length() {
    let one_way = [("a.rs", "use crate::b::{B, c};"), ("b.rs", ""), ("c.rs", "use crate::a::A;")];
    assert!(circles_of(&one_way).is_empty());
    let of_folders = [
        ("a/mod.rs", "mod x;"),
        ("a/x.rs", "use super::super::b::y::Y;"),
        ("b/mod.rs", "mod y;"),
        ("b/y.rs", "use crate::a;"),
    ];
    assert_eq!(circles_of(&of_folders), [": a b"]);
    let in_a_folder = [
        ("a/mod.rs", "mod x; mod y; mod z; pub use y::Y;"),
        ("a/x.rs", "use super::Y;"),
        ("a/y.rs", "use super::z;"),
        ("a/z.rs", "fn g() { super::x::f() }"),
    ];
    assert_eq!(circles_of(&in_a_folder), ["a: x y z"]);
    let beside_a_folder = [
        ("a.rs", "mod deep;"),
        ("a/deep.rs", "mod x; mod y;"),
        ("a/deep/x.rs", "use super::y::Y;"),
        ("a/deep/y.rs", "use crate::a::deep::x::X;"),
    ];
    assert_eq!(circles_of(&beside_a_folder), ["a/deep: x y"]);
    // The folder's own file and its entries name each other.
    let own = [("a/mod.rs", "mod x; pub struct A(x::X);"), ("a/x.rs", "use super::A;")];
    assert!(circles_of(&own).is_empty());
}

//! The files of a crate depend on each other in one direction: no circle among its top-level
//! modules, over paths that begin with `crate::`. Tests are left out.

use super::source::{product, words};
use super::{File, assert_none, rust_files};
use std::collections::{BTreeMap, BTreeSet};

/// Crate, modules that circle, and why.
const CIRCLES: &[(&str, &[&str], &str)] = &[
    (
        "forebay-base",
        &["arena", "packet", "packet_transfer", "ring"],
        "a packet names rows of the arena, and the arena holds, copies and drops packets",
    ),
    (
        "forebay-net",
        &["build", "fabric", "look_ahead"],
        "to mend: look_ahead/horizon.rs is an impl of Fabric, and build plans look-ahead",
    ),
];

/// Per module, the modules that it names.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// The crate of a file and its top-level module: `lib` and `main` for the roots.
fn place(path: &str) -> Option<(&str, &str)> {
    let (package, file) = path.strip_prefix("crates/")?.split_once("/src/")?;
    let top = file.split('/').next()?;
    Some((package, top.strip_suffix(".rs").unwrap_or(top)))
}

fn is_root(module: &str) -> bool {
    module == "lib" || module == "main"
}

/// The first names of all paths in `code` that begin with `crate::`, groups in braces included.
fn first_names(code: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for (at, start) in code.match_indices("crate::") {
        let rest = &code[at + start.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            found.extend(words(rest).first().map(|word| word.text));
            continue;
        };
        let (mut depth, mut first) = (0, true);
        for word_or_mark in group.split_inclusive(['{', '}', ',']) {
            let word = words(word_or_mark).first().map(|word| word.text);
            found.extend(word.filter(|_| depth == 0 && first));
            first = word_or_mark.ends_with(',');
            match word_or_mark.chars().last() {
                Some('{') => depth += 1,
                Some('}') if depth == 0 => break,
                Some('}') => depth -= 1,
                _ => {}
            }
        }
    }
    found
}

/// Per name that the root of a crate exports, the module that it comes from.
fn exports<'a>(root: &'a str, modules: &BTreeSet<&str>) -> BTreeMap<&'a str, &'a str> {
    let statements = root.split(';').filter_map(|text| text.rsplit_once("use ").map(|s| s.1));
    let mut found = BTreeMap::new();
    for statement in statements {
        let mut names = words(statement).into_iter().map(|word| word.text);
        let Some(module) = names.find(|name| *name != "crate") else { continue };
        if modules.contains(module) {
            found.extend(names.map(|name| (name, module)));
        }
    }
    found
}

/// The graph of each crate.
fn graphs(files: &[File]) -> BTreeMap<String, Graph> {
    let mut crates: BTreeMap<&str, Vec<(&str, String)>> = BTreeMap::new();
    for file in files.iter().filter(|file| !file.path.ends_with("_tests.rs")) {
        let Some((package, module)) = place(&file.path) else { continue };
        crates.entry(package).or_default().push((module, product(&file.path, &file.text)));
    }
    let graph = |files: &[(&str, String)]| {
        let modules = files.iter().map(|(module, _)| *module).filter(|m| !is_root(m)).collect();
        let (roots, inside): (Vec<_>, Vec<_>) = files.iter().partition(|(m, _)| is_root(m));
        let mut exported = BTreeMap::new();
        roots.iter().for_each(|(_, code)| exported.extend(exports(code, &modules)));
        let mut graph = Graph::new();
        for (module, code) in inside {
            let named = first_names(code).into_iter();
            let named = named.filter_map(|n| modules.get(n).or_else(|| exported.get(n)).copied());
            let others = named.filter(|other| other != module).map(str::to_string);
            graph.entry(module.to_string()).or_default().extend(others);
        }
        graph
    };
    crates.into_iter().map(|(package, files)| (package.to_string(), graph(&files))).collect()
}

/// Modules that can be reached from `start`.
fn reach<'a>(graph: &'a Graph, start: &str) -> BTreeSet<&'a str> {
    let mut seen = BTreeSet::new();
    let mut next: Vec<&str> = graph[start].iter().map(String::as_str).collect();
    while let Some(module) = next.pop() {
        if seen.insert(module) {
            next.extend(graph.get(module).into_iter().flatten().map(String::as_str));
        }
    }
    seen
}

/// The sets of modules of which each reaches all others.
fn circles(graph: &Graph) -> BTreeSet<Vec<&str>> {
    let around = |module: &String| -> Vec<&str> {
        let reached = reach(graph, module).into_iter();
        reached.filter(|other| reach(graph, other).contains(module.as_str())).collect()
    };
    graph.keys().map(around).filter(|circle| !circle.is_empty()).collect()
}

#[test]
fn files_do_not_circle() {
    let graphs = graphs(&rust_files());
    let mut complaints = Vec::new();
    for (package, graph) in &graphs {
        let known = |circle: &&Vec<&str>| {
            CIRCLES.iter().any(|(of, modules, _)| of == package && modules == circle)
        };
        let found = circles(graph);
        let new = found.iter().filter(|circle| !known(circle));
        complaints.extend(new.map(|circle| format!("{package}: {} circle", circle.join(", "))));
    }
    for (package, modules, why) in CIRCLES {
        let is_there = graphs.get(*package).is_some_and(|g| circles(g).contains(*modules));
        if !is_there {
            complaints.push(format!("{package}: {modules:?} circle no more: off the list ({why})"));
        }
    }
    assert_none(complaints);
}

/// The circles of the crate `forebay-x` with these files.
fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
    let file = |&(name, text): &(&str, &str)| File {
        path: format!("crates/forebay-x/src/{name}"),
        text: text.to_string(),
    };
    let files: Vec<File> = files.iter().map(file).collect();
    circles(&graphs(&files)["forebay-x"]).iter().map(|circle| circle.join(" ")).collect()
}

#[test]
fn a_circle_is_seen_over_uses_expressions_folders_and_exports() {
    let one_way = [("a.rs", "use crate::b::{B, c};"), ("b.rs", ""), ("c.rs", "use crate::a::A;")];
    assert!(circles_of(&one_way).is_empty());
    let two = [("a.rs", "use crate::b::B;"), ("b/mod.rs", ""), ("b/x.rs", "crate::a::f();")];
    assert_eq!(circles_of(&two), ["a b"]);
    let three = [
        ("a.rs", "use crate::{d::{x, y}, b::B};"),
        ("b.rs", "use crate::{\n    c,\n};"),
        ("c.rs", "fn f(a: crate::A) {}"),
        ("d.rs", "use crate::b;"),
        ("lib.rs", "mod a;\npub use a::{A, f};\nuse crate::d;"),
    ];
    assert_eq!(circles_of(&three), ["a b c d"]);
}

#[test]
fn tests_and_comments_close_no_circle() {
    let test = "#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}";
    for b in [test, "/// See [`crate::a`].\nfn f() {}"] {
        assert!(circles_of(&[("a.rs", "use crate::b;"), ("b.rs", b)]).is_empty(), "{b}");
    }
    let folder = [("a.rs", "use crate::b;"), ("b/mod.rs", ""), ("b/tests.rs", "use crate::a;")];
    assert!(circles_of(&folder).is_empty());
}

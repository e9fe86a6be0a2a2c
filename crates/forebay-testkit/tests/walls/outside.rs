//! Nothing depends on what lies outside the repository: no file names it, no path climbs above the
//! root, and no code searches the folders above. Tests that can use such data ask
//! `forebay-prerequisites`, which a variable gives.

use super::source::{blank, words};
use super::{assert_none, files};

/// The one file that looks next to the repository: it sets the variables for tests.
const SETS_VARIABLES: &str = ".ci/run";

/// Files whose code walks up a path: of a control group, of a user, of the folder of builds.
const WALK_UP: [&str; 3] = [
    "crates/forebay-lab/src/memory.rs",
    "crates/forebay-lab/src/store/place.rs",
    "crates/forebay-cli/tests/cli/outside.rs",
];

/// Files with samples of such paths.
const SAMPLES: [&str; 2] = [
    "crates/forebay-testkit/tests/walls/outside.rs",
    "crates/forebay-testkit/tests/walls/publish.rs",
];

/// Folders between the root of a crate and that of the repository.
const CRATE_DEPTH: usize = 2;

/// What `name` may not be part of: folders next to the repository, and of one machine.
fn names() -> Vec<String> {
    let beside = ["data", "specs", "papers", "reviews", "design", "hooks"];
    let beside = beside.map(|folder| format!("{}/{folder}", "shared"));
    let machine = ["work", "home", "root", "Users"].map(|folder| format!("{}{folder}/", "/"));
    beside.into_iter().chain(machine).chain([format!("../{}", "shared")]).collect()
}

/// True if `name` stands in the line and does not go on a longer word or path before it.
fn stands_in(line: &str, name: &str) -> bool {
    let begins = |at: usize| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '}' | '.' | ':')))
    };
    line.match_indices(name).any(|(at, _)| begins(at))
}

fn named(path: &str, text: &str) -> Vec<String> {
    let names = names();
    let lines = text.lines().enumerate();
    let bad = lines.filter(|(_, line)| names.iter().any(|name| stands_in(line, name)));
    bad.map(|(n, _)| format!("{path}:{}: names a folder outside the repository", n + 1)).collect()
}

/// The folders above a file, up to the root.
fn depth(path: &str) -> usize {
    path.split('/').count() - 1
}

/// The steps up in a text that is a path, or the arguments of several.
fn steps_up(text: &str) -> usize {
    text.split(['/', '"']).filter(|part| *part == "..").count()
}

/// Statements of Rust with more steps up than lead to the root.
fn climbing(path: &str, text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let (mut from, mut found) = (0, Vec::new());
    for statement in blank(text).split_inclusive([';', '{', '}']) {
        let to = from + statement.chars().count();
        let source: String = chars[from..to].iter().collect();
        let of_file = ["include!", "include_str!", "include_bytes!", "path ="]
            .iter()
            .any(|by| statement.contains(by));
        // From the file, else from the folder of the crate, where tests run.
        let most = if of_file { depth(path) } else { CRATE_DEPTH };
        if steps_up(&source) > most {
            let line = chars[..from].iter().filter(|c| **c == '\n').count() + 1;
            found.push(format!("{path}:{line}: a path above the root of the repository"));
        }
        from = to;
    }
    found
}

/// Code that searches the folders above: any way but a path that is written out.
fn searching(path: &str, text: &str) -> Vec<String> {
    let knows_place = ["CARGO_MANIFEST_DIR", "CARGO_WORKSPACE_DIR", "file!"];
    let knows_place = knows_place.iter().any(|name| text.contains(name));
    let blanked = blank(text);
    let found = words(&blanked).into_iter().filter(|word| {
        let up = word.text == "ancestors" || (knows_place && word.text == "parent");
        up && blanked[..word.at].ends_with(['.', ':'])
    });
    found.map(|word| format!("{path}:{}: `{}` of a path", word.line, word.text)).collect()
}

/// Words of a text that are paths with more steps up than lead from the file to the root.
fn leading_out(path: &str, text: &str) -> Vec<String> {
    let split = |c: char| c.is_whitespace() || matches!(c, '"' | '`' | '(' | ')' | '\'');
    let out = |line: &&str| line.split(split).any(|word| steps_up(word) > depth(path));
    let lines = text.lines().enumerate().filter(|(_, line)| out(line));
    lines.map(|(n, _)| format!("{path}:{}: a path out of the repository", n + 1)).collect()
}

fn points_outside(path: &str, text: &str) -> Vec<String> {
    let mut found = named(path, text);
    if path.ends_with(".rs") {
        if !SAMPLES.contains(&path) {
            found.extend(climbing(path, text));
        }
        if !WALK_UP.contains(&path) {
            found.extend(searching(path, text));
        }
    } else {
        found.extend(leading_out(path, text));
    }
    found
}

#[test]
fn nothing_points_outside_the_repository() {
    let kinds = [".rs", ".toml", ".md", ".cff", ".sh", ".csv"];
    let all = kinds.iter().flat_map(|kind| files("", kind)).chain(files(".ci", ""));
    let all = all.filter(|file| file.path != SETS_VARIABLES);
    assert_none(all.flat_map(|f| points_outside(&f.path, &f.text)).collect());
}

#[test]
fn every_way_out_is_seen() {
    let here = "env!(\"CARGO_MANIFEST_DIR\")";
    let shared = "shared";
    let out = [
        format!("let folder = \"../{shared}/x\";"),
        format!("above.join(\"{shared}/data/cellular\");"),
        format!("Path::new({here}).ancestors().nth(3);"),
        "let all = Path::ancestors(here);".to_string(),
        format!("let here = Path::new({here});\nlet above = here.parent();"),
        "let above = Path::new(file!()).parent();".to_string(),
        format!("Path::new({here}).join(\"../../../x\");"),
        format!("Path::new({here}).join(\"..\").join(\"..\").join(\"..\");"),
        format!("concat!({here}, \"/../../../x\");"),
        "let text = read(\"../../../x\").expect(\"π\");".to_string(),
        "include_str!(\"../../../../x\");".to_string(),
        format!("// see {}work/notes", "/"),
        format!("let file = \"{}home/me/x\";", "/"),
    ];
    for code in &out {
        assert_eq!(points_outside("crates/x/tests/y.rs", code).len(), 1, "{code}");
    }
    let inside = [
        format!("Path::new({here}).join(\"../..\");"),
        format!("concat!({here}, \"/../../docs/x.md\"); read(\"../../README.md\");"),
        "include_str!(\"../../../x\");".to_string(),
        "let parent = folder.parent();".to_string(),
        "let ancestors = 3; // ../../..".to_string(),
        "f(&x[..], \"a..b\", 1..2, &[\"..\"]);".to_string(),
        "let name = \"shared\"; // http://example.org/home/x".to_string(),
    ];
    for code in &inside {
        assert_eq!(points_outside("crates/x/tests/y.rs", code), [""; 0], "{code}");
    }
    for (path, text, complaints) in [
        ("docs/a.md", "[b](../README.md) ../crates", 0),
        ("docs/a.md", "[b](../../README.md)", 1),
        ("a.toml", "path = \"../x\"", 1),
        ("crates/x/Cargo.toml", "path = \"../y\"", 0),
    ] {
        assert_eq!(points_outside(path, text).len(), complaints, "{path}: {text}");
    }
}

//! What keeps the source readable: short files, short functions, no leftovers.

use super::source::{blank, is_test_file, product, product_end, words};
use super::{assert_none, files, rust_files};
use forebay_lab::reproduce;
use forebay_lab::scenario::BUILTINS;

/// Lines of code that a file may have: neither blank nor comment, tests apart.
const FILE_LINES: usize = 600;
/// Lines that a function may have, from `fn` to its closing brace, tests apart.
const FUNCTION_LINES: usize = 70;

fn lines_of_code(path: &str, text: &str) -> usize {
    product(path, text).lines().filter(|line| !line.trim().is_empty()).count()
}

/// The functions of product code: name, first line, number of lines.
fn functions(blanked: &str) -> Vec<(String, usize, usize)> {
    let words = words(blanked);
    let starts = words.windows(2).filter(|w| w[0].text == "fn" && !w[0].lifetime);
    // In a type (`fn(u8) -> u8`) or a macro (`fn $name`) the next word is not the name; only the
    // type has no body.
    let named = starts.filter(|w| !blanked[w[0].at + 2..w[1].at].contains('('));
    named
        .filter_map(|w| {
            let end = body_end(blanked, w[0].at)?;
            let lines = blanked[w[0].at..end].matches('\n').count() + 1;
            Some((w[1].text.to_string(), w[0].line, lines))
        })
        .collect()
}

/// Where the body of the function at `from` ends; None if it is only declared.
fn body_end(blanked: &str, from: usize) -> Option<usize> {
    let (mut braces, mut brackets) = (0usize, 0usize);
    for (at, c) in blanked[from..].char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets = brackets.checked_sub(1)?,
            ';' if braces == 0 && brackets == 0 => return None,
            '{' => braces += 1,
            '}' => {
                braces = braces.checked_sub(1)?;
                if braces == 0 {
                    return Some(from + at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

fn long_functions(path: &str, text: &str) -> Vec<String> {
    let all = functions(&product(path, text));
    let long = all.iter().filter(|(_, _, lines)| *lines > FUNCTION_LINES);
    long.map(|(name, line, lines)| format!("{path}:{line}: `{name}` has {lines} lines")).collect()
}

fn leftovers(path: &str, text: &str) -> Vec<String> {
    let blanked = blank(text);
    let mut complaints = Vec::new();
    for word in words(&blanked) {
        if word.bang && matches!(word.text, "todo" | "unimplemented" | "dbg") {
            complaints.push(format!("{path}:{}: {}!", word.line, word.text));
        }
    }
    for (number, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else { continue };
        let unfinished = ["TODO", "FIXME", "XXX"].iter().any(|mark| comment.contains(mark));
        if unfinished || is_code(comment) {
            complaints.push(format!("{path}:{}: leftover `//{comment}`", number + 1));
        }
    }
    complaints
}

/// True for the text of a plain comment that reads like a statement.
fn is_code(comment: &str) -> bool {
    if comment.starts_with(['/', '!']) {
        return false;
    }
    let text = comment.trim();
    let opens = ["let ", "fn ", "pub ", "use ", "if ", "for ", "match ", "impl ", "self."];
    let statement = text.ends_with(';') && (text.contains('(') || text.contains(" = "));
    let block = text.ends_with('{') && opens.iter().any(|o| text.starts_with(o));
    statement || block || matches!(text, "}" | "});" | "},")
}

/// The public modules that a `lib.rs` declares: in `forebay-cc`, one for each algorithm.
fn public_modules(lib_rs: &str) -> Vec<String> {
    let blanked = blank(lib_rs);
    let modules = blanked.lines().filter_map(|l| l.strip_prefix("pub mod ")?.strip_suffix(';'));
    modules.map(str::to_string).collect()
}

fn states_departures(text: &str) -> bool {
    let head = text.lines().take_while(|line| line.starts_with("//!"));
    head.fold(String::new(), |head, line| head + &line[3..]).contains("Differs from")
}

#[test]
fn files_fit_a_sitting() {
    let files = rust_files();
    let counted = files.iter().map(|f| (&f.path, lines_of_code(&f.path, &f.text)));
    let long = counted.filter(|(_, lines)| *lines > FILE_LINES);
    assert_none(long.map(|(p, n)| format!("{p}: {n} lines of code")).collect());
}

#[test]
fn functions_fit_a_screen() {
    assert_none(rust_files().iter().flat_map(|f| long_functions(&f.path, &f.text)).collect());
}

#[test]
fn nothing_is_left_over() {
    assert_none(rust_files().iter().flat_map(|f| leftovers(&f.path, &f.text)).collect());
}

#[test]
fn each_algorithm_says_where_it_differs() {
    let of_cc = files("crates/forebay-cc/src", ".rs");
    let named = |name: &str| of_cc.iter().find(|f| f.path.ends_with(&format!("src/{name}.rs")));
    let algorithms = public_modules(&named("lib").expect("a crate has a lib.rs").text);
    assert!(algorithms.len() >= 2, "forebay-cc shows only {algorithms:?}");
    let silent = algorithms.iter().filter(|name| {
        let file = named(name).unwrap_or_else(|| panic!("{name}: one algorithm, one file"));
        !states_departures(&file.text)
    });
    assert_none(silent.map(|name| format!("{name}: no \"Differs from\" in its head")).collect());
}

#[test]
fn a_long_file_is_seen() {
    let code = "fn f() {}\n// comment\n\n".repeat(FILE_LINES + 1);
    assert_eq!(lines_of_code("crates/x/src/y.rs", &code), FILE_LINES + 1);
    assert_eq!(lines_of_code("crates/x/tests/y.rs", &code), 0);
    let tested = format!("fn f() {{}}\n#[cfg(test)]\nmod tests {{\n{code}}}\n");
    assert_eq!(lines_of_code("crates/x/src/y.rs", &tested), 1);
    assert!(is_test_file("crates/x/src/y/tests.rs") && product_end("a") == 1);
}

#[test]
fn a_long_function_is_seen() {
    let body = "    g();\n".repeat(FUNCTION_LINES - 2);
    let fits = format!("impl X {{\nfn f(a: [u8; 3])\n{{\n{}}}\n}}\n", &body[9..]);
    let long = format!("fn a() {{}}\nfn f(h: fn(u8) -> u8) {{\n{body}\"}}\";\n}}\n");
    assert_eq!(long_functions("src/x.rs", &fits), [""; 0]);
    assert_eq!(long_functions("src/x.rs", &long), ["src/x.rs:2: `f` has 71 lines"]);
    assert_eq!(functions("trait T { fn f(&self); fn g() {} }"), [("g".to_string(), 1, 1)]);
}

#[test]
fn a_leftover_is_seen() {
    let seen = |text: &str| leftovers("x.rs", text).len();
    assert_eq!(seen("fn f() { todo!() }"), 1);
    assert_eq!(seen("unimplemented!(); dbg!(x);"), 2);
    assert_eq!(seen("// let x = 3;\n// queue.push(x);\n// if x {\n// }"), 4);
    assert_eq!(seen("// FIXME later"), 1);
    assert_eq!(seen("/// let x = f();\n//! f(x);\n// Then (7) holds; so does (8)."), 0);
    assert_eq!(seen("let s = \"todo!()\"; // see RFC 9438 section 4.2"), 0);
}

#[test]
fn a_silent_algorithm_is_seen() {
    assert!(states_departures("//! Reno.\n//!\n//! Differs from the RFC in: nothing.\nuse x;"));
    assert!(!states_departures("//! Reno.\nuse x; // Differs from"));
    assert_eq!(public_modules("mod a;\npub mod b;\n// pub mod c;\npub use b::X;"), ["b"]);
}

const SCENARIOS: &str = "crates/forebay-scenario/scenarios";
const EXPERIMENTS: &str = "crates/forebay-lab/experiments";

/// Names of the TOML files below `folder`, at any depth, as users write them.
fn present(folder: &str) -> Vec<String> {
    let files = files(folder, ".toml").into_iter();
    let name = |path: &str| {
        let name = path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".toml")?;
        Some(name.to_string())
    };
    files.map(|file| name(&file.path).expect("it is below the folder")).collect()
}

fn not_built_in(present: &[String], built_in: &[&str]) -> Vec<String> {
    let missing = present.iter().filter(|name| !built_in.contains(&name.as_str()));
    missing.map(|name| format!("{name}.toml is not built in")).collect()
}

#[test]
fn every_scenario_and_experiment_of_the_folders_is_built_in() {
    let scenarios: Vec<&str> = BUILTINS.iter().map(|scenario| scenario.name).collect();
    let experiments: Vec<&str> = reproduce::EXPERIMENTS.iter().map(|e| e.name).collect();
    for (folder, built_in) in [(SCENARIOS, scenarios), (EXPERIMENTS, experiments)] {
        let present = present(folder);
        assert_eq!(not_built_in(&present, &built_in), [""; 0]);
        // Each of them was seen, those of subfolders too.
        let seen = built_in.iter().filter(|name| present.iter().any(|p| p == *name)).count();
        assert_eq!(seen, built_in.len(), "{folder}");
    }
}

#[test]
fn a_forgotten_scenario_is_seen() {
    let present = ["dumbbell", "kickass/static", "s1"].map(str::to_string);
    assert_eq!(not_built_in(&present, &["dumbbell", "s1", "kickass/static"]), [""; 0]);
    assert_eq!(not_built_in(&present, &["dumbbell", "static"]).len(), 2);
}

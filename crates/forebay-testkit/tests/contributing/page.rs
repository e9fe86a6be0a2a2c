//! What CONTRIBUTING.md says, done to a copy of the crates.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What the page adds: under which heading, in which crate and file, and how its table begins.
struct Example {
    heading: &'static str,
    package: &'static str,
    file: &'static str,
    table: &'static str,
    line: &'static str,
}

const EXAMPLES: [Example; 2] = [
    Example {
        heading: "## Add a controller",
        package: "forebay-cc",
        file: "aimd.rs",
        table: "algorithms! { $",
        line: "Aimd aimd: \"aimd\"",
    },
    Example {
        heading: "## Add a queue discipline",
        package: "forebay-queue",
        file: "step.rs",
        table: "disciplines! { $",
        line: "Step step: \"step\"",
    },
];

/// What the two crates need, and they themselves.
const CRATES: [&str; 4] = ["forebay-base", "forebay-signal", "forebay-cc", "forebay-queue"];

/// The fenced blocks of a language in the steps of a section before its tests.
fn blocks(heading: &str, language: &str) -> Vec<String> {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).expect("the page");
    let section = page.split(heading).nth(1).expect("the section");
    let section = section.split("**3. Test it").next().expect("its first half");
    let fence = format!("```{language}\n");
    let parts = section.split(&fence).skip(1);
    parts.map(|part| part.split("```").next().unwrap_or_default().to_string()).collect()
}

/// `text` with the lines of a diff, which must fit in one place.
fn applied(text: &str, diff: &str) -> String {
    let side = |other: char| {
        let lines = diff.lines().filter(|line| !line.starts_with(other));
        lines.map(|line| format!("{}\n", &line[1..])).collect::<String>()
    };
    let (old, new) = (side('+'), side('-'));
    assert_eq!(text.matches(&old).count(), 1, "the diff does not fit:\n{diff}");
    text.replacen(&old, &new, 1)
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder of the tree") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy(&path, &target);
        } else {
            fs::copy(&path, &target).expect("a copy");
        }
    }
}

/// The crates that the page is about, in a folder, with what the page says.
fn tree(folder: &Path) {
    let root = root();
    for name in CRATES {
        copy(&root.join("crates").join(name), &folder.join("crates").join(name));
    }
    for name in ["Cargo.lock", "rustfmt.toml", "clippy.toml"] {
        fs::copy(root.join(name), folder.join(name)).expect("a copy");
    }
    let manifest = fs::read_to_string(root.join("Cargo.toml")).expect("the workspace");
    let members = format!("members = {:?}", CRATES.map(|name| format!("crates/{name}")));
    let start = manifest.find("members").expect("members");
    let end = start + manifest[start..].find(']').expect("their end") + 1;
    let manifest = format!("{}{members}{}", &manifest[..start], &manifest[end..]);
    fs::write(folder.join("Cargo.toml"), manifest).expect("a workspace");
    EXAMPLES.iter().for_each(|example| add(folder, example));
}

/// Do to the copy of the tree what a section of the page says.
fn add(folder: &Path, example: &Example) {
    let source = folder.join("crates").join(example.package).join("src");
    let (rust, diffs) = (blocks(example.heading, "rust"), blocks(example.heading, "diff"));
    let ([code, line], [module]) = (&rust[..], &diffs[..]) else {
        panic!("{} has another number of blocks", example.heading)
    };
    fs::write(source.join(example.file), code).expect("the new file");
    let change = |name: &str, how: &dyn Fn(&str) -> String| {
        let text = fs::read_to_string(source.join(name)).expect(name);
        fs::write(source.join(name), how(&text)).expect(name);
    };
    change("lib.rs", &|text| applied(text, module));
    change("table.rs", &|text| {
        let table = text.find(example.table).expect("the table");
        let end = table + text[table..].find("\n}\n").expect("its end") + 1;
        format!("{}{line}{}", &text[..end], &text[end..])
    });
}

fn run(program: &str, args: &[&str], folder: &Path) {
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).env("CARGO_TARGET_DIR", folder.join("target"));
    let output = command.output().expect("it starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).expect("an old copy");
    }
    folder
}

#[test]
fn the_page_fits_the_tree_and_is_formatted() {
    let folder = folder("page-short");
    tree(&folder);
    for Example { package, file, line, .. } in EXAMPLES {
        let source = folder.join("crates").join(package).join("src");
        for name in [file, "table.rs"] {
            let path = source.join(name).display().to_string();
            run("rustfmt", &["--check", "--edition", "2024", &path], &folder);
        }
        assert!(fs::read_to_string(source.join("table.rs")).unwrap().contains(line));
    }
}

/// About a minute: the dependencies are built anew.
#[test]
#[ignore = "builds forebay-cc and forebay-queue from nothing"]
fn the_crates_with_the_examples_of_the_page_pass_their_tests() {
    let folder = folder("page-long");
    tree(&folder);
    run(env!("CARGO"), &["fmt", "--check"], &folder);
    for Example { package, .. } in EXAMPLES {
        run(env!("CARGO"), &["test", "--offline", "-p", package, "--features", "schema"], &folder);
    }
}

//! Pages show what the commands print that they name: between `<!-- forebay ARGS -->` and `<!-- end
//! of tables -->`. `.ci/validation` writes them.

use crate::Desk;

/// The commands of a page, and what it shows of each.
fn shown(page: &str) -> Vec<(String, String)> {
    let path = format!("{}/../../docs/{page}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the page is there");
    let mut found = Vec::new();
    for rest in text.split("<!-- forebay ").skip(1) {
        let (args, rest) = rest.split_once(" -->\n").expect("the mark ends");
        let (tables, _) = rest.split_once("<!-- end of tables -->").expect("the tables end");
        found.push((args.to_string(), tables.trim().to_string()));
    }
    assert!(!found.is_empty(), "{page} has no marks");
    found
}

fn assert_current(page: &str) {
    for (args, shown) in shown(page) {
        let args: Vec<&str> = args.split(' ').collect();
        let printed = Desk::new().forebay(&args).ok().stdout;
        let differs = shown.lines().zip(printed.lines()).find(|(shown, printed)| shown != printed);
        assert!(
            differs.is_none() && shown.lines().count() == printed.lines().count(),
            "run .ci/validation docs/{page}: {differs:?}"
        );
    }
}

#[test]
fn the_tables_beside_the_kernel_are_those_of_the_command() {
    assert_current("reference/validation.md");
}

#[test]
fn the_tables_of_controllers_are_those_of_the_commands() {
    assert_current("reference/controllers.md");
}

/// The digest that tables have.
fn digest(tables: &str) -> &str {
    let (_, rest) = tables.split_once("digest of seed 1 `").expect("tables have a digest");
    rest.split_once('`').expect("it ends").0
}

/// The page of Verus takes long to write; whether it is stale one seed tells.
fn assert_fresh(wanted: impl Fn(&str) -> bool) {
    let mut stale = Vec::new();
    for (args, shown) in shown("papers/verus.md").iter().filter(|(args, _)| wanted(args)) {
        let quick = if args.contains("--quick") { None } else { Some("--quick") };
        let args: Vec<&str> = args.split(' ').chain(quick).collect();
        let printed = Desk::new().forebay(&args).ok().stdout;
        if digest(&printed) != digest(shown) {
            stale.push(args.join(" "));
        }
    }
    assert!(stale.is_empty(), "run .ci/validation docs/papers/verus.md: {stale:?}");
}

#[test]
fn the_quick_tables_of_verus_are_of_these_rules() {
    assert_fresh(|args| args.contains("verus/short") || args.contains("verus/steps"));
}

#[test]
#[ignore = "minutes: every experiment of Verus with one seed"]
fn the_tables_of_verus_are_of_these_rules() {
    assert_fresh(|_| true);
}

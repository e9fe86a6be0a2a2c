//! docs/validation.md shows what the command prints.

use crate::Desk;

#[test]
fn the_tables_beside_the_kernel_are_those_of_the_command() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/validation.md");
    let page = std::fs::read_to_string(path).expect("docs/validation.md");
    let after = page.split("<!-- forebay reproduce linux --markdown -->\n").nth(1);
    let shown = after.and_then(|rest| rest.split("<!-- end of tables -->").next());
    let shown = shown.expect("the page has the marks of its tables").trim();
    let printed = Desk::new().forebay(&["reproduce", "linux", "--markdown"]).ok().stdout;
    let differs = shown.lines().zip(printed.lines()).find(|(shown, printed)| shown != printed);
    assert!(
        differs.is_none() && shown.lines().count() == printed.lines().count(),
        "run .ci/validation: {differs:?}"
    );
}

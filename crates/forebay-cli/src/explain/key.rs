//! A key of scenario files: its types, range and default, where it may stand, and an example.

use super::words::{joined, of_type};
use crate::terminal::{Paint, wrap};
use forebay_lab::scenario::{Key, KeyPlace, Keys};
use std::fmt::Write;

/// Columns of the labels of facts.
const LABEL: usize = 12;
/// Most places that are listed with a key.
const MAX_PLACES: usize = 12;

/// The explanation of the keys that `asked` means; None if there is none.
pub fn text(asked: &str, keys: &Keys, paint: Paint) -> Option<String> {
    match &keys.find(asked)[..] {
        [] => None,
        [key] => Some(whole(key, key.place(asked), keys, paint)),
        several => Some(list(asked, several, paint)),
    }
}

/// Everything about one key.
fn whole(key: &Key, place: &KeyPlace, keys: &Keys, paint: Paint) -> String {
    let mut text = format!("{} - scenario key\n\n", paint.bold(shown(place)));
    text.push_str(&wrap(&key.meaning, 0));
    text.push('\n');
    let types: Vec<String> = key.types.iter().map(|form| of_type(form)).collect();
    fact(&mut text, "Type", &joined(&types), paint);
    fact(&mut text, "Unit", key.unit, paint);
    fact(&mut text, "Range", key.range.as_deref().unwrap_or_default(), paint);
    let default = match (&key.default, key.required) {
        (Some(default), _) => default,
        (None, true) => "none: the table must have this key",
        (None, false) => "",
    };
    fact(&mut text, "Default", default, paint);
    let places: Vec<String> = key.places.iter().take(MAX_PLACES).map(shown).collect();
    let more = match key.places.len().saturating_sub(MAX_PLACES) {
        0 => String::new(),
        more => format!(" and {more} more places"),
    };
    fact(&mut text, "Stands at", &format!("{}{more}", places.join(", ")), paint);
    if let Some(example) = key.example_at(place, keys) {
        let _ = writeln!(text, "\n{}", paint.bold("Example"));
        example.lines().for_each(|line| text.push_str(&format!("  {line}\n")));
    }
    for number in keys.tables_of(key) {
        text.push_str(&table(keys, number, key, paint));
    }
    text
}

/// The keys of the table `number`, which `key` may be: each with a sentence.
fn table(keys: &Keys, number: usize, key: &Key, paint: Paint) -> String {
    let table = &keys.tables[number];
    let of = table.places.iter().find(|place| place.path == key.places[0].path);
    let when = of.map(when).unwrap_or_default();
    let within = keys.within(number);
    let head = match within {
        Some(base) => format!("More keys{when}, besides those of {}", shown(&base.places[0])),
        None => format!("Keys of this table{when}"),
    };
    let mut text = format!("\n{}\n", paint.bold(wrap(&head, 0).trim_end()));
    let more = |own: &&usize| within.is_none_or(|base| !base.keys.contains(own));
    for own in table.keys.iter().filter(more).map(|&own| &keys.all[own]) {
        let line = wrap(first_sentence(&own.meaning), 26);
        let _ = write!(text, "  {:<24}{}", own.name, padded(&own.name, line));
    }
    text
}

/// The line after a name of at most 22 characters; a longer one has it below.
fn padded(name: &str, line: String) -> String {
    if name.chars().count() <= 22 { line.trim_start().to_string() } else { format!("\n{line}") }
}

fn fact(text: &mut String, label: &str, value: &str, paint: Paint) {
    if value.is_empty() {
        return;
    }
    let lines = wrap(value, LABEL + 2);
    let label = paint.bold(format!("{label:<LABEL$}"));
    let _ = write!(text, "  {label}{}", lines.trim_start());
}

/// Several keys of one name: where each stands, and what it means.
fn list(asked: &str, several: &[&Key], paint: Paint) -> String {
    let count = several.len();
    let mut text =
        format!("{} - {count} scenario keys, with different meanings\n", paint.bold(asked));
    for key in several {
        let all: Vec<String> = key.places.iter().map(shown).collect();
        let (first, others) = all.split_first().expect("a key stands somewhere");
        let _ = writeln!(text, "\n  {}", paint.bold(first));
        text.push_str(&wrap(&key.meaning, 6));
        if !others.is_empty() {
            let some = others.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
            let more = if others.len() > 3 { ", ..." } else { "" };
            text.push_str(&paint.dim(wrap(&format!("Also at {some}{more}"), 6).trim_end()));
            text.push('\n');
        }
    }
    let _ = writeln!(text, "\nTry: forebay explain {}", several[0].places[0].path);
    text
}

/// A place, with what must stand next to it.
fn shown(place: &KeyPlace) -> String {
    format!("{}{}", place.path, when(place))
}

/// What must stand next to a place, in brackets.
pub fn when(place: &KeyPlace) -> String {
    let when = place.when.as_ref();
    when.map_or(String::new(), |(key, name)| format!(" (with {key} = \"{name}\")"))
}

fn first_sentence(text: &str) -> &str {
    text.find(". ").map_or(text, |end| &text[..=end])
}

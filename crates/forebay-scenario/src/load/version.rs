//! The version of Forebay that a scenario file asks for, read before its other keys: what a later
//! version knows is not told as a list of unknown keys.

use crate::format::fault::{Fault, Problem};
use crate::format::item::{Item, Value};

/// The key.
const KEY: &str = "forebay";

/// Errors if the document asks for a version that this one is not.
pub(crate) fn check(document: &Item) -> Result<(), Fault> {
    let Value::Table(entries) = &document.value else { return Ok(()) };
    let Some(entry) = entries.iter().find(|entry| entry.key == KEY) else { return Ok(()) };
    let expected = "a version such as \"0.2\"";
    let Value::String(asked) = &entry.item.value else {
        return Err(entry.item.expected(KEY, expected));
    };
    let Some(version) = parse(asked) else {
        let (found, expected) = (asked.clone(), expected.to_string());
        return Err(Fault::at(entry.item.loc, KEY, Problem::OutOfRange { found, expected }));
    };
    let own = env!("CARGO_PKG_VERSION");
    if parse(own).is_some_and(|own| own < version) {
        let problem = Problem::LaterVersion { asked: asked.clone() };
        let hint = format!("use Forebay {asked} or a later version");
        return Err(Fault::at(entry.item.loc, KEY, problem).hint(hint));
    }
    Ok(())
}

/// Of `0.2` or `0.2.1`, its numbers.
fn parse(text: &str) -> Option<[u32; 3]> {
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok());
    let parts: Option<Vec<u32>> = text.split('.').map(|part| digits(part).flatten()).collect();
    match *parts?.as_slice() {
        [major, minor] => Some([major, minor, 0]),
        [major, minor, patch] => Some([major, minor, patch]),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_two_or_three_numbers_and_in_their_order() {
        assert_eq!([parse("0.2"), parse("0.2.0")], [Some([0, 2, 0]); 2]);
        assert!(parse("0.10") > parse("0.9.9") && parse("1.0") > parse("0.10"));
        for wrong in ["", "1", "0.2.0.1", "0.x", "0.-2", "0.+2", "v0.2", "0.2-rc", "0. 2", "0."] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
        assert!(parse(env!("CARGO_PKG_VERSION")).is_some());
    }
}

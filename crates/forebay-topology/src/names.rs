//! Names that a scenario takes.

use std::collections::BTreeSet;

/// Most characters of a name, before the number that tells it from others.
const MAX_CHARS: usize = 80;

/// Names that have been given.
#[derive(Default)]
pub(crate) struct Names {
    given: BTreeSet<String>,
}

impl Names {
    /// A name like `wanted`, or like `otherwise` if nothing of that is left: without characters
    /// that names may not have, and with a number after `#` if it has been given before.
    pub fn unique(&mut self, wanted: &str, otherwise: &str) -> String {
        let plain = [wanted, otherwise].map(plain).into_iter().find(|name| !name.is_empty());
        let plain = plain.unwrap_or_else(|| "node".to_string());
        let numbered = (2..).map(|number| format!("{plain}#{number}"));
        let mut names = std::iter::once(plain.clone()).chain(numbered);
        let name = names.find(|name| !self.given.contains(name)).expect("numbers do not end");
        self.given.insert(name.clone());
        name
    }
}

/// The name with `_` for each run of characters that a name may not have.
fn plain(name: &str) -> String {
    let is_bad = |c: char| {
        c.is_control()
            || c.is_whitespace()
            || "{},\"/_".contains(c)
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let parts = name.split(is_bad).filter(|part| !part.is_empty());
    let joined: String = parts.collect::<Vec<_>>().join("_");
    joined.chars().take(MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain_and_unique() {
        let mut names = Names::default();
        let mut name = |wanted, otherwise| names.unique(wanted, otherwise);
        assert_eq!(name("New York, NY", "0"), "New_York_NY");
        assert_eq!(name("New  York {NY}", "1"), "New_York_NY#2");
        assert_eq!(name("", "n 2"), "n_2");
        assert_eq!(name(" ", ","), "node");
        assert_eq!(name("Zürich", "4"), "Zürich");
    }
}

//! Rust source as these tests see it: a text of the same shape with comments and literals blanked
//! out, and the words in it.

/// `text` with the insides of comments, strings and character literals replaced by spaces. Line
/// breaks stay, so line numbers hold.
pub fn blank(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let end = literal_end(&chars, at);
        if end == at {
            out.push(chars[at]);
            at += 1;
        } else {
            out.extend(chars[at..end].iter().map(|&c| if c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    out
}

/// Where the comment or literal that begins at `at` ends; `at` itself if none begins there.
fn literal_end(chars: &[char], at: usize) -> usize {
    let next = |n: usize| chars.get(at + n).copied().unwrap_or('\0');
    let inside_word = at > 0 && is_word(chars[at - 1]);
    match chars[at] {
        '/' if next(1) == '/' => {
            chars[at..].iter().position(|&c| c == '\n').map_or(chars.len(), |n| at + n)
        }
        '/' if next(1) == '*' => block_comment_end(chars, at),
        '"' => string_end(chars, at + 1),
        'r' if !inside_word && (next(1) == '"' || next(1) == '#') => raw_string_end(chars, at),
        'b' if !inside_word && next(1) == 'r' && (next(2) == '"' || next(2) == '#') => {
            raw_string_end(chars, at + 1)
        }
        '\'' if next(1) == '\\' => {
            // An escape: the quote that ends it is the first one after the escaped character.
            let from = at + 3;
            chars[from.min(chars.len())..]
                .iter()
                .position(|&c| c == '\'')
                .map_or(chars.len(), |n| from + n + 1)
        }
        '\'' if next(2) == '\'' => at + 3,
        _ => at,
    }
}

fn block_comment_end(chars: &[char], start: usize) -> usize {
    let mut depth = 0;
    let mut at = start;
    while at + 1 < chars.len() {
        match (chars[at], chars[at + 1]) {
            ('/', '*') => {
                depth += 1;
                at += 2;
            }
            ('*', '/') => {
                depth -= 1;
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    chars.len()
}

fn string_end(chars: &[char], mut at: usize) -> usize {
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// `at` is the `r`. A raw identifier (`r#type`) is no string: then `at` comes back.
fn raw_string_end(chars: &[char], at: usize) -> usize {
    let hashes = chars[at + 1..].iter().take_while(|&&c| c == '#').count();
    if chars.get(at + 1 + hashes) != Some(&'"') {
        return at;
    }
    let mut from = at + 2 + hashes;
    while from < chars.len() {
        if chars[from] == '"'
            && chars[from + 1..].iter().take(hashes).filter(|&&c| c == '#').count() == hashes
        {
            return from + 1 + hashes;
        }
        from += 1;
    }
    chars.len()
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A word of blanked source: an identifier or keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Word<'a> {
    pub text: &'a str,
    /// Byte offset.
    pub at: usize,
    /// Line, from 1.
    pub line: usize,
    /// True for a lifetime or label (`'static`).
    pub lifetime: bool,
    /// True if `!` follows: a macro call.
    pub bang: bool,
}

/// The words of blanked source, in order.
pub fn words(blanked: &str) -> Vec<Word<'_>> {
    let mut found = Vec::new();
    let mut line = 1;
    let mut start = None;
    let mut before = ' ';
    for (at, c) in blanked.char_indices().chain([(blanked.len(), ' ')]) {
        match (start, is_word(c)) {
            (None, true) => start = Some((at, before == '\'')),
            (Some((from, lifetime)), false) => {
                let text = &blanked[from..at];
                found.push(Word { text, at: from, line, lifetime, bang: c == '!' });
                start = None;
            }
            _ => {}
        }
        if c == '\n' {
            line += 1;
        }
        before = c;
    }
    found
}

/// The byte offset at which the product code of a file ends: its inline test module, by custom at
/// the bottom.
pub fn product_end(blanked: &str) -> usize {
    let marker = "#[cfg(test)]";
    blanked
        .match_indices(marker)
        .find(|(at, _)| {
            let rest = &blanked[at + marker.len()..];
            let module = rest.trim_start().strip_prefix("mod ");
            module.is_some_and(|m| m.trim_start_matches(is_word).trim_start().starts_with('{'))
        })
        .map_or(blanked.len(), |(at, _)| at)
}

/// True for files that hold tests or examples and nothing else.
pub fn is_test_file(path: &str) -> bool {
    let inside = |folder: &str| path.contains(folder);
    inside("/tests/") || inside("/examples/") || path.ends_with("/tests.rs")
}

/// The product code of a file, blanked: without its test module, and empty for test files.
pub fn product(path: &str, text: &str) -> String {
    if is_test_file(path) {
        return String::new();
    }
    let mut blanked = blank(text);
    blanked.truncate(product_end(&blanked));
    blanked
}

#[test]
fn comments_and_literals_are_blanked_and_code_is_not() {
    // A dot stands for a character that must be blanked.
    let cases = [
        ("a // todo!()\nb", "a ..........\nb"),
        ("a /* x /* y */ z */ b", "a ................. b"),
        (r#"f("un\"safe") g"#, "f(..........) g"),
        (r##"f(r#"a"b"#) g"##, "f(........) g"),
        ("x: &'a str = '\\'' + 'y'", "x: &'a str = .... + ..."),
        ("r#type b\"x\"", "r#type b..."),
    ];
    for (text, expected) in cases {
        assert_eq!(blank(text), expected.replace('.', " "), "{text}");
    }
}

#[test]
fn words_know_their_line_lifetime_and_bang() {
    let text = "fn f<'static>()\n{ dbg!(unsafe_code) }";
    let seen: Vec<_> = words(text).iter().map(|w| (w.text, w.line, w.lifetime, w.bang)).collect();
    assert_eq!(
        seen,
        [
            ("fn", 1, false, false),
            ("f", 1, false, false),
            ("static", 1, true, false),
            ("dbg", 2, false, true),
            ("unsafe_code", 2, false, false),
        ]
    );
}

#[test]
fn product_code_ends_at_an_inline_test_module_only() {
    let product_of = |text: &str| text[..product_end(text)].to_string();
    assert_eq!(product_of("a\n#[cfg(test)]\nmod tests {\n}"), "a\n");
    assert_eq!(product_of("a\n#[cfg(test)]\nmod tests;\nb"), "a\n#[cfg(test)]\nmod tests;\nb");
    assert_eq!(product_of("#[cfg(test)]\nfn f() {}\nb"), "#[cfg(test)]\nfn f() {}\nb");
    assert_eq!(product("crates/x/tests/y.rs", "fn f() {}"), "");
}

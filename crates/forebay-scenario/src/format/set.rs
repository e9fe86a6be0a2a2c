//! `--set key=value`: changes of the document before it is read.
//!
//! A key is a dotted path. Where the path enters an array of tables, the next part is the name of
//! an element (of a link also "a-b"), or its number from 0. Where it enters a queue whose limit
//! stands alone, that is `queue.limit`; so are `port.scheme`, `router.kind` and the name of a
//! router or of a host. A value is TOML, or a bare string where it is not TOML:
//! `tcp.min_rto=200ms`.

use crate::format::fault::{Fault, Problem};
use crate::format::item::{Entry, Item, Value, parse_document};
use crate::format::source::{Loc, Sources};

/// Where a value may stand for a whole table.
pub(crate) struct Alone {
    /// Keys whose value may stand alone, and the key that it has in the table.
    pub keys: &'static [(&'static str, &'static str)],
    /// Lists at the top of the document whose elements may be a name alone.
    pub named_lists: &'static [&'static str],
}

/// The path of a key, part by part, each with its place.
pub(crate) type Path = Vec<(Loc, String)>;

/// Apply one `key=value`, given with `option`. Gives the key as messages have it: `links[0].rate`.
pub(crate) fn apply(
    document: &mut Item,
    sources: &mut Sources,
    option: &str,
    text: &str,
    alone: &Alone,
) -> Result<String, Fault> {
    let source = sources.add(option, text);
    let whole = Loc { source, start: 0, end: text.len() as u32 };
    let (path, behind, loc) = split(text, whole).ok_or_else(|| not_assignment(text, whole))?;
    assign(document, &path, value(behind, loc), alone)
}

/// The fault of a text that is no assignment.
pub(crate) fn not_assignment(text: &str, loc: Loc) -> Fault {
    Fault::at(loc, "", Problem::NotAssignment(text.to_string()))
}

/// The path before the first `=` of an assignment that stands at `loc`, and what follows it with
/// its place.
pub(crate) fn split(text: &str, loc: Loc) -> Option<(Path, &str, Loc)> {
    let at = top_level(text, '=')?;
    let path = path_at(&text[..at], loc)?;
    Some((path, &text[at + 1..], Loc { start: loc.start + at as u32 + 1, ..loc }))
}

/// A path that begins at `loc`.
pub(crate) fn path_at(text: &str, loc: Loc) -> Option<Path> {
    let parts = path(text)?.into_iter().map(|(start, part)| {
        let start = loc.start + start as u32;
        (Loc { start, end: start + part.len() as u32, ..loc }, part)
    });
    Some(parts.collect())
}

/// Put `value` where the path leads. Gives the key as messages have it.
pub(crate) fn assign(
    document: &mut Item,
    path: &[(Loc, String)],
    value: Item,
    alone: &Alone,
) -> Result<String, Fault> {
    let mut at = document;
    let (mut key, mut full) = (String::new(), String::new());
    for (i, (place, part)) in path.iter().enumerate() {
        let (next, number) = step(at, part, *place, &key, alone, i + 1 == path.len())?;
        at = next;
        key = crate::format::item::join(&key, part);
        full = match number {
            Some(number) => format!("{full}[{number}]"),
            None => crate::format::item::join(&full, part),
        };
    }
    *at = value;
    Ok(full)
}

/// The value that one part of a path leads to, made if it is a new key of a table; and its number,
/// if it is an element of a list.
fn step<'a>(
    at: &'a mut Item,
    part: &str,
    place: Loc,
    key: &str,
    alone: &Alone,
    last: bool,
) -> Result<(&'a mut Item, Option<usize>), Fault> {
    let table = key.rsplit('.').next();
    if let Some((_, beside)) = alone.keys.iter().find(|(of, _)| table == Some(*of)) {
        spell_out(at, beside);
    }
    match &mut at.value {
        Value::Table(entries) => {
            let index = entries.iter().position(|e| e.key == part).unwrap_or_else(|| {
                // An empty table until the value is known; a key that the format has not is found
                // when it is read.
                let item = Item { value: Value::Table(Vec::new()), loc: place };
                entries.push(Entry { key: part.to_string(), key_loc: place, item });
                entries.len() - 1
            });
            if last {
                entries[index].key_loc = place;
            }
            Ok((&mut entries[index].item, None))
        }
        Value::Array(items) => {
            let named_alone = alone.named_lists.contains(&key);
            let name = |item: &Item| match &item.value {
                Value::String(name) if named_alone => Some(name.clone()),
                _ => name_of(item),
            };
            let names: Vec<String> = items.iter().map(|i| name(i).unwrap_or_default()).collect();
            let by_number = || part.parse().ok().filter(|&i: &usize| i < names.len());
            match names.iter().position(|n| n == part).or_else(by_number) {
                Some(index) => {
                    if named_alone && !last {
                        spell_out(&mut items[index], "name");
                    }
                    Ok((&mut items[index], Some(index)))
                }
                None => {
                    let problem = Problem::UnknownName { kind: "element", name: part.to_string() };
                    let fault = Fault::at(place, key, problem);
                    let named: Vec<&str> =
                        names.iter().map(String::as_str).filter(|n| !n.is_empty()).collect();
                    Err(match (named.len(), names.len()) {
                        (0, 0) => fault.hint("the list is empty"),
                        (0, 1) => fault.hint("elements count from 0, and there is one: 0"),
                        (0, count) => {
                            fault.hint(format!("elements count from 0: one of 0 to {}", count - 1))
                        }
                        _ => fault.suggest(part, named),
                    })
                }
            }
        }
        other => {
            let found = other.kind().to_string();
            let problem = Problem::WrongType { expected: "a table".into(), found };
            Err(Fault::at(place, key, problem))
        }
    }
}

/// A value that stands alone (the limit of a queue, the name of a scheme) becomes a table in which
/// `key` has it.
fn spell_out(item: &mut Item, key: &str) {
    if let Value::String(_) = item.value {
        let (alone, loc) = (item.clone(), item.loc);
        let entry = Entry { key: key.into(), key_loc: loc, item: alone };
        item.value = Value::Table(vec![entry]);
    }
}

/// Name of an element of an array of tables.
fn name_of(item: &Item) -> Option<String> {
    let Value::Table(entries) = &item.value else { return None };
    let text = |key: &str| {
        entries.iter().find(|e| e.key == key).and_then(|e| match &e.item.value {
            Value::String(s) => Some(s.clone()),
            _ => None,
        })
    };
    text("name").or_else(|| Some(format!("{}-{}", text("a")?, text("b")?)))
}

/// The value that stands at `loc`, as TOML or as a bare string.
pub(crate) fn value(text: &str, loc: Loc) -> Item {
    let mut scratch = Sources::default();
    let source = scratch.add("", format!("v = {text}"));
    let bare = || Item { value: Value::String(text.trim().to_string()), loc };
    let Ok(Item { value: Value::Table(mut entries), .. }) = parse_document(&scratch, source) else {
        return bare();
    };
    match entries.pop() {
        Some(entry) if entries.is_empty() => relocated(entry.item, loc),
        _ => bare(),
    }
}

/// Everything in the value stands where the argument's value stands.
fn relocated(item: Item, loc: Loc) -> Item {
    let value = match item.value {
        Value::Array(items) => Value::Array(items.into_iter().map(|i| relocated(i, loc)).collect()),
        Value::Table(entries) => Value::Table(
            entries
                .into_iter()
                .map(|e| Entry { key: e.key, key_loc: loc, item: relocated(e.item, loc) })
                .collect(),
        ),
        scalar => scalar,
    };
    Item { value, loc }
}

/// The first `wanted` outside quotes.
fn top_level(text: &str, wanted: char) -> Option<usize> {
    let mut quoted = false;
    text.char_indices()
        .find(|&(_, c)| {
            quoted ^= c == '"';
            !quoted && c == wanted
        })
        .map(|(i, _)| i)
}

/// The parts of a path with their starts; None if one is empty. A part in double quotes may hold
/// dots.
fn path(text: &str) -> Option<Vec<(usize, String)>> {
    let mut parts = Vec::new();
    let mut start = 0;
    loop {
        let rest = &text[start..];
        let end = top_level(rest, '.').unwrap_or(rest.len());
        let raw = &rest[..end];
        let part = raw.trim();
        let offset = start + raw.len() - raw.trim_start().len();
        let bare = part.strip_prefix('"').and_then(|p| p.strip_suffix('"')).unwrap_or(part);
        if bare.is_empty() {
            return None;
        }
        parts.push((offset, bare.to_string()));
        if end == rest.len() {
            return Some(parts);
        }
        start += end + 1;
    }
}

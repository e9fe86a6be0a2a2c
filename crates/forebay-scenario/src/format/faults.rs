//! Many mistakes at once: each way through a file goes on with what is sane.
//!
//! A [`Fault`] may hold others of the same value. Those of different values come together in
//! [`Faults`], which puts them in the
//! order of the text. What a mistake takes with it is [`Unresolved`]: a name that is missing
//! because its declaration is wrong is not a separate mistake, and is not
//! reported.

use crate::format::error::{Problem, ScenarioError};
use crate::format::fault::{Fault, nearest};
use crate::format::item::{Item, Value, join};
use crate::format::source::{Loc, Sources};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of mistakes that an error reports.
const MAX_MISTAKES: usize = 20;

/// Most faults that are kept; of more only their number.
const MAX_KEPT: usize = 10_000;

/// Most names that are lost one by one: each name that is not found is looked for among them.
const MAX_NAMES: usize = 1_000;

/// The faults of a scenario.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    list: Vec<Fault>,
    more: usize,
    /// Keys of those that follow from others, and are not reported.
    following: Vec<String>,
}

impl Faults {
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
    /// Faults so far.
    pub fn len(&self) -> usize {
        self.list.len() + self.more
    }
    /// True if a fault is about a key that begins so.
    pub fn touch(&self, key: &str) -> bool {
        self.list.iter().any(|fault| fault.key.starts_with(key))
    }
    /// True if a fault is about this key at the top of the document, or in it.
    pub fn about(&self, key: &str) -> bool {
        self.list.iter().any(|fault| top(&fault.key) == key)
    }
    /// Add one and those that it holds; follow-ups of others are left out.
    pub fn add(&mut self, mut fault: Fault) {
        let others = std::mem::take(&mut fault.others);
        match (fault.follows, self.list.len() < MAX_KEPT) {
            (true, _) if self.following.len() < MAX_KEPT => self.following.push(fault.key),
            (true, _) => {}
            (false, true) => self.list.push(fault),
            (false, false) => self.more += 1,
        }
        others.into_iter().for_each(|other| self.add(other));
    }
    /// Add all of others.
    pub fn extend(&mut self, others: Faults) {
        self.more += others.more;
        others.list.into_iter().for_each(|fault| self.add(fault));
    }
    /// The value of a result, its faults kept.
    pub fn keep<T>(&mut self, result: Result<T, Fault>) -> Option<T> {
        result.map_err(|fault| self.add(fault)).ok()
    }
    /// The same with a value to go on with.
    pub fn or<T>(&mut self, result: Result<T, Fault>, default: T) -> T {
        self.keep(result).unwrap_or(default)
    }
    /// As an error: in the order of the texts, each mistake once, and no more than can be read.
    /// Panics if there is none.
    pub fn resolve(self, sources: &Sources) -> ScenarioError {
        assert!(!self.list.is_empty(), "an error has a mistake");
        let mut list = self.list;
        list.sort_by_key(|fault| fault.loc.map_or((1, 0, 0), |loc| (0, loc.source, loc.start)));
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut kept: Vec<(Fault, usize)> = Vec::new();
        for fault in list {
            match places.get(&identity(&fault)) {
                // Several things may be wrong with one value for the same reason.
                Some(&first) => kept[first].1 += usize::from(kept[first].0.loc != fault.loc),
                None => {
                    places.insert(identity(&fault), kept.len());
                    kept.push((fault, 0));
                }
            }
        }
        let more = self.more + kept.len().saturating_sub(MAX_MISTAKES);
        let shown = kept.into_iter().take(MAX_MISTAKES);
        let shown = shown.map(|(fault, again)| fault.mistake(sources, again));
        ScenarioError { mistakes: shown.collect(), more }
    }
}

impl Fault {
    /// As an error.
    pub fn resolve(self, sources: &Sources) -> ScenarioError {
        let mut faults = Faults::default();
        faults.add(self);
        faults.resolve(sources)
    }
}

/// What two faults have in common that come from one mistake.
fn identity(fault: &Fault) -> String {
    match &*fault.problem {
        Problem::UnknownName { .. } | Problem::UnknownCell { .. } => fault.problem.to_string(),
        Problem::NoRoute { .. } => "no route".to_string(),
        Problem::PacketTooLarge { .. } => format!("{:?} too large", fault.loc),
        Problem::MissingKey { key, .. } if fault.hint.is_some() => format!("missing {key}"),
        problem => format!("{:?} {problem}", fault.loc),
    }
}

/// All values, or all faults.
pub(crate) fn all<T>(results: impl IntoIterator<Item = Result<T, Fault>>) -> Result<Vec<T>, Fault> {
    let (mut values, mut fault) = (Vec::new(), None);
    for result in results {
        match result {
            Ok(value) => values.push(value),
            Err(next) => note(&mut fault, next),
        }
    }
    fault.map_or(Ok(values), Err)
}

/// Both values, or the faults of both.
pub(crate) fn both<A, B>(a: Result<A, Fault>, b: Result<B, Fault>) -> Result<(A, B), Fault> {
    match (a, b) {
        (Ok(a), Ok(b)) => Ok((a, b)),
        (Err(a), Err(b)) => Err(a.and(b)),
        (Err(fault), _) | (_, Err(fault)) => Err(fault),
    }
}

/// Put a fault after those that are there.
pub(crate) fn note(first: &mut Option<Fault>, next: Fault) {
    *first = Some(match first.take() {
        Some(first) => first.and(next),
        None => next,
    });
}

/// What is not there because of a mistake elsewhere. Names may hold "{}", which stands for a
/// number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Unresolved {
    nodes: Vec<String>,
    links: Vec<String>,
    /// Keys at the top of the document that are wrong, or have something wrong in them.
    keys: BTreeSet<String>,
    /// A declaration whose name cannot be read, or is that of another.
    any_node: bool,
    any_link: bool,
}

impl Unresolved {
    pub fn node(&mut self, name: impl Into<String>) {
        if self.nodes.len() < MAX_NAMES {
            self.nodes.push(name.into())
        } else {
            self.any_node = true
        }
    }
    pub fn link(&mut self, name: impl Into<String>) {
        if self.links.len() < MAX_NAMES {
            self.links.push(name.into())
        } else {
            self.any_link = true
        }
    }
    /// What a whole file or list would have declared.
    pub fn all_names(&mut self) {
        self.any_node = true;
        self.any_link = true;
    }
    /// True if a node of that name may have been declared.
    pub fn has_node(&self, name: &str) -> bool {
        self.any_node || self.nodes.iter().any(|lost| stands_for(lost, name))
    }
    /// True if a link of that name may have been declared.
    pub fn has_link(&self, name: &str) -> bool {
        self.any_link || self.links.iter().any(|lost| stands_for(lost, name))
    }
    /// True if links or nodes are missing.
    pub fn any_of_network(&self) -> bool {
        self.any_node || self.any_link || !self.nodes.is_empty() || !self.links.is_empty()
    }
    /// True if something of a key at the top of the document was wrong.
    pub fn has_key(&self, key: &str) -> bool {
        self.keys.contains(key)
    }
}

fn stands_for(pattern: &str, name: &str) -> bool {
    match pattern.split_once("{}") {
        Some((before, behind)) => name
            .strip_prefix(before)
            .is_some_and(|rest| behind.contains("{}") || rest.ends_with(behind)),
        None => pattern == name,
    }
}

/// Take out of the document what is wrong with it: of a list the element, of a table the key. So
/// the rest can be read again.
pub(crate) fn cut(document: &mut Item, faults: &Faults, known: &[&str], lost: &mut Unresolved) {
    let places = faults.list.iter().map(|fault| {
        let unknown = matches!(*fault.problem, Problem::UnknownKey(_));
        (fault.key.as_str(), if unknown { fault.loc } else { None })
    });
    let following = faults.following.iter().map(|key| (key.as_str(), None));
    let wrong: Vec<(&str, Option<Loc>)> = places.chain(following).collect();
    cut_in(document, "", &wrong, known, lost);
}

fn cut_in(
    item: &mut Item,
    key: &str,
    wrong: &[(&str, Option<Loc>)],
    known: &[&str],
    lost: &mut Unresolved,
) {
    match &mut item.value {
        Value::Table(entries) => entries.retain_mut(|entry| {
            let own = join(key, &entry.key);
            if wrong.contains(&(key, Some(entry.key_loc))) || wrong.contains(&(&own, None)) {
                lose_key(&own, known, lost);
                return false;
            }
            if wrong.iter().any(|(at, _)| is_within(at, &own)) {
                lose_part(&own, lost);
                cut_in(&mut entry.item, &own, wrong, known, lost);
            }
            true
        }),
        Value::Array(items) => {
            for (i, item) in items.iter_mut().enumerate() {
                let own = format!("{key}[{i}]");
                let within = || wrong.iter().filter(|(at, _)| is_within(at, &own));
                let as_a_whole = within().any(|&(at, _)| at == own || !is_table(item));
                if as_a_whole {
                    lose_element(key, item, lost);
                    item.value = Value::Removed;
                } else if within().next().is_some() {
                    lose_part(key, lost);
                    hide_in(item, &own, wrong);
                }
            }
        }
        _ => {}
    }
}

fn is_table(item: &Item) -> bool {
    matches!(item.value, Value::Table(_))
}

/// Take what is wrong out of an element of a list, but leave its keys: that they are there is
/// right.
fn hide_in(item: &mut Item, key: &str, wrong: &[(&str, Option<Loc>)]) {
    let Value::Table(entries) = &mut item.value else { return };
    for entry in entries {
        let own = join(key, &entry.key);
        let mut within = wrong.iter().filter(|(at, _)| is_within(at, &own)).peekable();
        if within.peek().is_none() {
            continue;
        }
        if within.any(|&(at, _)| at == own) || !is_table(&entry.item) {
            entry.item.value = Value::Removed
        } else {
            hide_in(&mut entry.item, &own, wrong)
        }
    }
}

/// True if the key `at` is `own` or in it.
fn is_within(at: &str, own: &str) -> bool {
    at.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The key at the top of the document that a path begins with.
fn top(key: &str) -> &str {
    key.split(['.', '[']).next().unwrap_or_default()
}

/// Something in a table or a list is wrong.
fn lose_part(key: &str, lost: &mut Unresolved) {
    lost.keys.insert(top(key).to_string());
}

/// A key is wrong as a whole; one that is misspelled stands for the nearest.
fn lose_key(key: &str, known: &[&str], lost: &mut Unresolved) {
    let name = top(key);
    let name = if known.contains(&name) { Some(name) } else { nearest(name, known) };
    let Some(name) = name else { return };
    lost.keys.insert(name.to_string());
    if matches!(name, "topology" | "routers" | "hosts" | "links" | "csv") {
        lost.all_names();
    }
}

/// An element of a list is wrong: the names that it declares are lost.
fn lose_element(list: &str, item: &Item, lost: &mut Unresolved) {
    let text = |key: &str| match &item.value {
        Value::Table(entries) => entries.iter().find_map(|entry| match &entry.item.value {
            Value::String(text) if entry.key == key => Some(text.clone()),
            _ => None,
        }),
        _ => None,
    };
    let joined = |a: &str, b: &str| Some(format!("{}-{}", text(a)?, text(b)?));
    match list {
        "routers" => lost.any_node = true,
        "hosts" => {
            let alone = match &item.value {
                Value::String(name) => Some(name.clone()),
                _ => None,
            };
            match text("name").or(alone) {
                Some(name) => lost.nodes.push(name),
                None => lost.any_node = true,
            }
            match joined("name", "attach") {
                Some(name) => lost.links.push(name),
                None => lost.any_link = true,
            }
        }
        "links" => match text("name").or_else(|| joined("a", "b")) {
            Some(name) => lost.links.push(name),
            None => lost.any_link = true,
        },
        _ => {}
    }
}

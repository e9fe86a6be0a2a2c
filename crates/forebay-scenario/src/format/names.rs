//! Names of protocols and classes: what they may look like, and where they are kept.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// True if `name` can name a protocol or a class: lower-case letters, digits, `-`, 1 to 40 of them.
pub(crate) fn is_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=40).contains(&name.len()) && name.bytes().all(plain)
}

/// `name`, kept as long as the process lives: each name once.
pub(crate) fn kept(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(name) = names.get(name) {
        return name;
    }
    let name: &'static str = String::leak(name.to_string());
    names.insert(name);
    name
}

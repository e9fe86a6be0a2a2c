//! The kinds of things that scenarios name, in the words of the file: what each is called, and the
//! key of its name. What the names stand for is the business of the registry.

/// A kind of thing that scenarios name.
pub trait Word: Sized + 'static {
    /// What messages call one of them.
    const WORD: &'static str;
    /// The key of its name, where parameters stand next to it; empty if they never do.
    const KEY: &'static str;
    /// Keys next to the parameters: no parameter may be called so.
    const OWN_KEYS: &'static [&'static str];
}

/// Congestion controllers with their receiver halves. Those of the table are not in this list but
/// in `forebay-cc`: see [`Algorithm`](crate::Algorithm).
pub enum Controllers {}

/// Queue disciplines.
pub enum Disciplines {}

/// Port schemes: meter and egress.
pub enum Schemes {}

/// Routers.
pub enum Routers {}

impl Word for Controllers {
    const WORD: &'static str = "protocol";
    const KEY: &'static str = "";
    const OWN_KEYS: &'static [&'static str] = &["of", "title"];
}

impl Word for Disciplines {
    const WORD: &'static str = "discipline";
    const KEY: &'static str = "discipline";
    const OWN_KEYS: &'static [&'static str] = &["discipline", "limit", "rtt"];
}

impl Word for Schemes {
    const WORD: &'static str = "port scheme";
    const KEY: &'static str = "scheme";
    const OWN_KEYS: &'static [&'static str] = &["scheme"];
}

impl Word for Routers {
    const WORD: &'static str = "kind of router";
    const KEY: &'static str = "kind";
    const OWN_KEYS: &'static [&'static str] = &["kind"];
}

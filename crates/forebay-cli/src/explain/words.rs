//! The types of values of scenarios, as `explain` and the reference page name them.

/// A type with a name: what it is, with an example, and its units.
pub struct TypeDoc {
    /// Its name in lists of types.
    pub name: &'static str,
    /// Meaning of a value.
    pub what: &'static str,
}

/// All types with a name.
pub const TYPES: &[TypeDoc] = &[
    TypeDoc { name: "time", what: "a string such as \"5ms\"; units ns, us, ms, s, min" },
    TypeDoc {
        name: "rate",
        what: "a string such as \"10Mbit/s\"; units bit/s, kbit/s, Mbit/s, Gbit/s, or bps, kbps, \
               Mbps, Gbps",
    },
    TypeDoc { name: "size", what: "a string such as \"64kB\"; units B, kB, MB, GB, KiB, MiB, GiB" },
    TypeDoc {
        name: "queue limit",
        what: "a string such as \"64kB\", \"100packets\", \"50ms\" (at the rate of the link) or \
               \"1.5BDP\" (of the rate and the key `rtt`)",
    },
    TypeDoc { name: "probability", what: "a number from 0 to 1" },
    TypeDoc { name: "number of seconds", what: "a number such as 1.5, at most 100 years" },
];

/// A type with what it is, where its name does not say it.
pub fn of_type(name: &str) -> String {
    let found = TYPES.iter().find(|of| of.name == name);
    found.map_or_else(|| name.to_string(), |of| format!("{name} ({})", of.what))
}

/// Types as one phrase.
pub fn joined(types: &[String]) -> String {
    match types {
        [] => "any".to_string(),
        [one] => one.clone(),
        [one, other] => format!("{one} or {other}"),
        [all @ .., last] => format!("{}, or {last}", all.join(", ")),
    }
}

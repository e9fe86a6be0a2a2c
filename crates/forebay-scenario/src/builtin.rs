//! The scenarios that are built into the binary.

/// A scenario of the binary.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name; a name with a slash belongs to the group before it.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! builtins {
    ($($name:literal),* $(,)?) => {
        /// The scenarios of the binary, the main one first.
        pub const BUILTINS: &[Builtin] = &[$(Builtin {
            name: $name,
            text: include_str!(concat!("../scenarios/", $name, ".toml")),
        },)*];
    };
}

builtins![
    "dumbbell",
    "duel",
    "parking-lot",
    "lossy",
    "reorder",
    "link-flap",
    "inrpp/dumbbell",
    "inrpp/dumbbell-rtt",
    "inrpp/detour-100",
    "inrpp/series",
    "inrpp/late-long",
    "inrpp/shared-detour",
    "inrpp/many-short",
    "inrpp/link-fails",
    "inrpp/short",
    "linux/one-flow",
    "queues/codel",
    "queues/fq-codel",
    "queues/red",
    "queues/pie",
    "s1",
    "s2",
    "s3",
];

impl Builtin {
    /// The scenario of that name.
    pub fn find(name: &str) -> Option<&'static Builtin> {
        BUILTINS.iter().find(|b| b.name == name)
    }
    /// True if `name` begins as those of a group of scenarios do.
    pub(super) fn has_group_of(name: &str) -> bool {
        let group = |name: &str| name.split_once('/').map(|(group, _)| group.to_string());
        group(name).is_some() && BUILTINS.iter().any(|b| group(b.name) == group(name))
    }
}

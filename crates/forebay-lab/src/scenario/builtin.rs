//! The scenarios that are built into the binary.

/// A scenario of the binary.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! builtins {
    ($($name:literal),* $(,)?) => {
        /// The scenarios of the binary, the main one first.
        pub const BUILTINS: &[Builtin] = &[$(Builtin {
            name: $name,
            text: include_str!(concat!("../../../../scenarios/", $name, ".toml")),
        },)*];
    };
}

builtins!["dumbbell", "duel", "parking-lot", "lossy", "reorder", "link-flap", "s1", "s2", "s3"];

impl Builtin {
    /// The scenario of that name.
    pub fn find(name: &str) -> Option<&'static Builtin> {
        BUILTINS.iter().find(|b| b.name == name)
    }
}

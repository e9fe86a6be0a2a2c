//! The states of an interface.

/// The state of an interface (paper, section II-A).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u8)]
pub enum State {
    /// P: push.
    Push = 0,
    /// S&D: store and detour.
    StoreDetour = 1,
    /// B: back-pressure.
    BackPressure = 2,
    /// DB: back-pressure is being taken back.
    Disable = 3,
}

impl State {
    /// All states in order of their numbers.
    pub const ALL: [State; 4] =
        [State::Push, State::StoreDetour, State::BackPressure, State::Disable];
    /// The paper's name.
    pub const fn name(self) -> &'static str {
        match self {
            State::Push => "P",
            State::StoreDetour => "S&D",
            State::BackPressure => "B",
            State::Disable => "DB",
        }
    }
}

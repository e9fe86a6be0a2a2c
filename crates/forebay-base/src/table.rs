//! Shared by the tables of algorithms, disciplines, schemes and routers.

use alloc::borrow::Cow;

/// A parameter is outside its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParamError {
    /// Name of the parameter.
    pub param: &'static str,
    /// What is allowed, in words.
    pub allowed: Cow<'static, str>,
}

impl ParamError {
    /// The parameter of that name must be what `allowed` says.
    pub fn new(param: &'static str, allowed: impl Into<Cow<'static, str>>) -> ParamError {
        ParamError { param, allowed: allowed.into() }
    }
}

/// Errors with the parameter and what is allowed unless `holds`.
pub fn require(
    holds: bool,
    param: &'static str,
    allowed: impl Into<Cow<'static, str>>,
) -> Result<(), ParamError> {
    if holds { Ok(()) } else { Err(ParamError::new(param, allowed)) }
}

/// Parameters that a scenario may set: each field is a key, and its doc comment the description.
pub trait Params: Clone + Default {
    /// Errors if a parameter is outside its range.
    fn check(&self) -> Result<(), ParamError>;
    /// The values of the keys that are not given: those of `table`, except for what a given key
    /// implies. So `preset` stands for others. Keys that only stand for others are not written.
    ///
    /// `self` has what is given, and `table` for the rest.
    fn implied(&self, _given: &dyn Fn(&str) -> bool, table: &Self) -> Self {
        table.clone()
    }
}

/// The head comment (`//!`) of a source file, line by line, without its marks.
pub fn head_comment(source: &str) -> impl Iterator<Item = &str> {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line))
}

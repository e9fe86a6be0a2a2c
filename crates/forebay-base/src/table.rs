//! Shared by the tables of algorithms and disciplines.

/// A parameter is outside its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamError {
    /// Name of the parameter.
    pub param: &'static str,
    /// What is allowed, in words.
    pub allowed: &'static str,
}

/// The head comment (`//!`) of a source file, line by line, without its marks.
pub fn head_comment(source: &str) -> impl Iterator<Item = &str> {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!"));
    lines.map(|line| line.strip_prefix(' ').unwrap_or(line))
}

//! `forebay schema`: the JSON Schema of scenario files.

use crate::failure::Failure;
use forebay_lab::scenario::Registry;
use std::io::Write;

/// Print the schema.
pub fn schema(registry: &Registry, out: &mut impl Write) -> Result<(), Failure> {
    writeln!(out, "{:#}", forebay_lab::scenario::schema(registry))?;
    Ok(())
}

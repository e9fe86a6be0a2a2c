//! `forebay schema`: the JSON Schema of scenario files.

use crate::failure::Failure;
use std::io::Write;

/// Print the schema.
pub fn schema(out: &mut impl Write) -> Result<(), Failure> {
    writeln!(out, "{:#}", forebay_lab::scenario::schema())?;
    Ok(())
}

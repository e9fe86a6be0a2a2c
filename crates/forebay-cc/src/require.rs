//! The check of a parameter against its range.

use forebay_base::ParamError;

/// `Ok` if `holds`, else the error that names the parameter and its range.
pub(crate) fn require(
    holds: bool,
    param: &'static str,
    allowed: &'static str,
) -> Result<(), ParamError> {
    if holds { Ok(()) } else { Err(ParamError { param, allowed }) }
}

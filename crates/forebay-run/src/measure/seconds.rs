//! Times as the numbers of results.

use forebay_base::{Span, Time};

/// Seconds as the nearest number to what people would write.
pub(super) fn seconds(span: Span) -> f64 {
    span.as_nanos() as f64 / 1e9
}

/// Milliseconds, likewise.
pub(super) fn milliseconds(span: Span) -> f64 {
    seconds(span) * 1e3
}

/// Seconds of a time since the start.
pub fn clock_seconds(at: Time) -> f64 {
    seconds(at.since(Time::ZERO))
}

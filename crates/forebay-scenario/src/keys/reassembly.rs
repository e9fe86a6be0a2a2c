//! `[reassembly]`, and `reassembly` of a host: how datagrams are reassembled.

use crate::format::fault::Fault;
use crate::format::fields::{
    Field, Fields, Section, Spanned, property, read_section, section_schema, sections, value_or,
};
use crate::format::item::Item;
use crate::format::units::Bytes;
use forebay_base::Span;
use forebay_net::ReassemblyLimits;

sections! {
    /// How a host reassembles fragmented datagrams; the defaults are those of Linux for the
    /// `ip_version`.
    pub struct ReassemblyTable {
        required {}
        optional {
            /// Maximum time for which a datagram may stay incomplete. Range: 1ms to 1000s. Default:
            /// "30s"; "60s" with IPv6 (RFC 8200 section 4.5).
            timeout: Span,
            /// Memory limit of incomplete datagrams, counted as Linux does: above it no fragment is
            /// accepted. Range: 1 byte or more. Default: "4MiB".
            memory: Bytes,
            /// An incomplete datagram is dropped when its next fragment arrives after more than
            /// this number of fragments from the same source since its last one; 0 turns this off.
            /// IPv6 has no such limit. Default: 64.
            max_distance: u32,
        }
    }
}

const TIMEOUT: (Span, Span) = (Span::from_millis(1), Span::from_secs(1000));

/// What a table stands for that says what differs from `base`.
pub(crate) fn resolve(
    given: Option<&Spanned<ReassemblyTable>>,
    base: ReassemblyLimits,
) -> Result<ReassemblyLimits, Fault> {
    let Some(Spanned { value: table, .. }) = given else { return Ok(base) };
    let ReassemblyTable { timeout, memory, max_distance } = table;
    if let Some(timeout) = timeout.as_ref().filter(|t| t.value < TIMEOUT.0 || t.value > TIMEOUT.1) {
        return Err(timeout.out_of_range("1ms to 1000s"));
    }
    if let Some(memory) = memory.as_ref().filter(|memory| memory.value.0 == 0) {
        return Err(memory.out_of_range("1 byte or more"));
    }
    Ok(ReassemblyLimits {
        timeout: value_or(timeout, base.timeout),
        memory_bytes: memory.as_ref().map_or(base.memory_bytes, |at| at.value.0),
        max_distance: value_or(max_distance, base.max_distance),
    })
}

/// The table that says these limits, every key given.
pub(crate) fn table_of(limits: ReassemblyLimits) -> ReassemblyTable {
    let ReassemblyLimits { timeout, memory_bytes, max_distance } = limits;
    ReassemblyTable {
        timeout: Spanned::some(timeout),
        memory: Spanned::some(Bytes(memory_bytes)),
        max_distance: Spanned::some(max_distance),
    }
}

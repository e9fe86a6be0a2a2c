//! Whether the options on all data of a protocol fit into a TCP header. A path leaves out what does
//! not fit: routers would take such data for those of a protocol without a signal.

use crate::Scenario;
use crate::format::error::Problem;
use crate::format::faults::Faults;
use crate::format::fields::Spanned;
use crate::keys::file::File;
use forebay_base::MAX_OPTION_BYTES;
use forebay_transport::{MOST_SIGNAL_BYTES, TIMESTAMP_BYTES};

/// Refuse protocols with more option bytes on data than a header holds.
pub(crate) fn check(scenario: &Scenario, file: &File, faults: &mut Faults) {
    for protocol in scenario.named_protocols() {
        let traits = scenario.traits(protocol);
        let stamped = usize::from(traits.option_bytes);
        let signal = if traits.multipath { usize::from(MOST_SIGNAL_BYTES) } else { 0 };
        let stamps = if scenario.tcp_for(protocol).timestamps { TIMESTAMP_BYTES } else { 0 };
        let option_bytes = stamped + signal + stamps;
        if stamped == 0 || option_bytes <= MAX_OPTION_BYTES {
            continue;
        }
        let parts = [(stamped, "its controller"), (signal, "MPTCP"), (stamps, "timestamps")];
        let parts = parts.into_iter().filter(|&(bytes, _)| bytes > 0);
        let parts: Vec<_> = parts.map(|(bytes, of)| format!("{bytes} of {of}")).collect();
        let (name, parts) = (protocol.to_string(), parts.join(", "));
        let problem = Problem::OptionsTooLong { protocol: name, option_bytes, parts };
        let fault = place(file, protocol).fault(problem);
        let fits = stamps > 0 && option_bytes - stamps <= MAX_OPTION_BYTES;
        let hint = format!("tcp_of.{protocol}.timestamps = false makes room");
        faults.add(if fits { fault.hint(hint) } else { fault });
    }
}

/// Where a file first names a protocol that runs.
fn place(file: &File, protocol: &str) -> Spanned<()> {
    let compared = file.protocols.iter().flat_map(|at| &at.value);
    let pinned = file.flows.iter().flat_map(|at| &at.value);
    let pinned = pinned.filter_map(|flow| flow.value.protocol.as_ref());
    let tables = file.tcp_of.iter().flat_map(|at| &at.value.0).map(|(name, _)| name);
    let mut names = compared.chain(pinned).chain(tables);
    names.find(|name| name.value == protocol).map(Spanned::place).unwrap_or_default()
}

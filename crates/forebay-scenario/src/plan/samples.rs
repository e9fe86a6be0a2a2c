//! Whether the samples of series would dominate the run.

use crate::format::fault::{Fault, Problem};
use crate::format::fields::shown;
use crate::keys::file::File;
use crate::{Flow, Link};
use forebay_base::{Span, Time};

/// Values of a sample: of a flow with its path, and of a direction of a link.
const FLOW_VALUES: usize = 9;
const LINK_VALUES: usize = 5;
/// This many values cost about as much as one packet on its way with its ACK.
const VALUES_PER_PACKET: f64 = 10.0;
/// Bytes of a full-sized packet.
const PACKET_BYTES: f64 = 1500.0;
/// As many values as this are written in about a second: never too many.
const FEW_VALUES: f64 = 1e7;
/// More are never accepted: they fill the disk.
const MAX_VALUES: f64 = 1e9;

/// Refuse a distance of samples with which the run has more values than [`FEW_VALUES`], and more
/// than [`VALUES_PER_PACKET`] for each packet that its flows can send at most.
pub(crate) fn check(
    file: &File,
    sample: Span,
    until: Option<Time>,
    flows: &[Flow],
    links: &[Link],
) -> Result<(), Fault> {
    let Some(at) = &file.sample_s else { return Ok(()) };
    let run = Run::of(until, flows, links);
    if run.lasts_s.is_infinite() {
        return Ok(()); // an endless flow, and no end of the run, which is a fault of its own
    }
    let values = (flows.len() * FLOW_VALUES + 2 * links.len() * LINK_VALUES) as f64;
    let most = (VALUES_PER_PACKET * run.packets).clamp(FEW_VALUES, MAX_VALUES);
    let least_s = run.lasts_s * values / most;
    if sample.as_secs_f64() >= least_s {
        return Ok(());
    }
    let found = shown(&at.value);
    // Rounded up, so that the value reported is accepted.
    let digit = 10f64.powf(least_s.log10().floor() - 1.0);
    let told_s = ((least_s / digit).ceil() * digit * 1e9).ceil() / 1e9;
    let lasts_s = run.lasts_s;
    let expected = format!(
        "at least {told_s:e} s: a sample has {values} values, the run lasts {lasts_s:.3} s or \
         more, and {most:.1e} values are the most for its {:.1e} packets",
        run.packets
    );
    Err(at.fault(Problem::OutOfRange { found, expected }))
}

/// Properties of a run that are known before it is built.
struct Run {
    /// The least time that it takes: to its end if a flow is endless, else until the largest flow
    /// can have been sent at the highest rate there is.
    lasts_s: f64,
    /// The packets with payload that its flows send at most, retransmissions not counted.
    packets: f64,
}

impl Run {
    fn of(until: Option<Time>, flows: &[Flow], links: &[Link]) -> Run {
        let rates = links.iter().flat_map(|link| [link.forward.rate, link.reverse.rate]);
        let fastest_bps = rates.map(|rate| rate.bps()).max().unwrap_or(1).max(1) as f64;
        let until_s = until.map_or(f64::INFINITY, Time::as_secs_f64);
        let stop_s = |flow: &Flow| {
            let stop = flow.life.as_ref().and_then(|life| life.stop);
            stop.map_or(f64::INFINITY, Time::as_secs_f64)
        };
        let ends_s = flows.iter().map(|flow| {
            let sent_s = match flow.bytes {
                Some(bytes) => flow.mean_start().as_secs_f64() + bytes as f64 * 8.0 / fastest_bps,
                None => until_s,
            };
            sent_s.min(stop_s(flow))
        });
        let lasts_s = ends_s.fold(0.0, f64::max).min(until_s);
        // All of what links carry in that time, or of what flows have.
        let sent = |flow: &Flow| match flow.bytes {
            Some(bytes) => bytes as f64,
            None => stop_s(flow) * fastest_bps / 8.0,
        };
        let carried = links.iter().map(|link| {
            let bps = link.forward.rate.bps().max(link.reverse.rate.bps());
            bps as f64 / 8.0 * until_s
        });
        let bytes = flows.iter().map(sent).sum::<f64>().min(carried.sum());
        Run { lasts_s, packets: bytes / PACKET_BYTES }
    }
}

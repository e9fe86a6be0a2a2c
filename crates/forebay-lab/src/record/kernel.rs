//! What the kernel told of ends of flows at its hosts: a file beside the captures.

use forebay_base::{Digest, FlowId, Rate, Span, Time};
use forebay_sim::{EndCause, ForeignEnd, ForeignSample, Role};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The name of the file.
pub(super) const FILE: &str = "kernel.json";

/// An end of a flow.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    /// Its number in results, from 1.
    flow: u32,
    role: EndRole,
    stack: String,
    opened_ns: Option<u64>,
    established_ns: Option<u64>,
    last_byte_ns: Option<u64>,
    ended: Option<(Cause, u64)>,
    samples: Vec<Sample>,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EndRole {
    Client,
    Server,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Cause {
    Finished,
    Reset,
    TimedOut,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Sample {
    t_ns: u64,
    stream_bytes: u64,
    data_packets: u64,
    retransmits: u64,
    lost_packets: u64,
    timeouts: u64,
    cwnd_bytes: u64,
    ssthresh_bytes: Option<u64>,
    srtt_ns: Option<u64>,
    in_flight_bytes: u64,
    pacing_rate_bps: Option<u64>,
    delivered_bytes: u64,
    lost_bytes: u64,
}

/// The text of the file.
pub(super) fn to_json(ends: &[ForeignEnd]) -> serde_json::Result<String> {
    serde_json::to_string(&ends.iter().map(End::from).collect::<Vec<_>>())
}

/// What ends of captures say of the text of the file, in hexadecimal.
pub(super) fn digest(text: &[u8]) -> String {
    let mut digest = Digest::default();
    digest.bytes(text);
    format!("{:016x}", digest.finish())
}

/// From the text of the file, for a run with so many flows. Errors if it is not sound.
pub(super) fn from_json(text: &[u8], flows: usize) -> Result<Vec<ForeignEnd>, String> {
    let ends: Vec<End> = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let mut seen = BTreeSet::new();
    for End { flow, role, samples, .. } in &ends {
        let (flow, role) = (*flow, *role as u8);
        if !(1..=flows).contains(&(flow as usize)) {
            return Err(format!("flow {flow}: the scenario has {flows} flows"));
        }
        if !seen.insert((flow, role)) {
            return Err(format!("flow {flow}: one end of it is there twice"));
        }
        if !samples.is_sorted_by_key(|sample| sample.t_ns)
            || !samples.is_sorted_by_key(|sample| sample.stream_bytes)
        {
            return Err(format!("flow {flow}: samples in order of time, with growing counts"));
        }
    }
    Ok(ends.into_iter().map(ForeignEnd::from).collect())
}

impl From<&ForeignEnd> for End {
    fn from(end: &ForeignEnd) -> End {
        let ns = |at: Option<Time>| at.map(Time::as_nanos);
        let cause = |cause| match cause {
            EndCause::Finished => Cause::Finished,
            EndCause::Reset => Cause::Reset,
            EndCause::TimedOut => Cause::TimedOut,
        };
        End {
            flow: end.flow.0 + 1,
            role: if end.role == Role::Client { EndRole::Client } else { EndRole::Server },
            stack: end.stack.clone(),
            opened_ns: ns(end.opened_at),
            established_ns: ns(end.established_at),
            last_byte_ns: ns(end.last_byte_at),
            ended: end.ended.map(|(why, at)| (cause(why), at.as_nanos())),
            samples: end.samples.iter().map(Sample::from).collect(),
        }
    }
}

impl From<End> for ForeignEnd {
    fn from(end: End) -> ForeignEnd {
        let at = |ns: Option<u64>| ns.map(Time::from_nanos);
        let cause = |cause| match cause {
            Cause::Finished => EndCause::Finished,
            Cause::Reset => EndCause::Reset,
            Cause::TimedOut => EndCause::TimedOut,
        };
        ForeignEnd {
            flow: FlowId(end.flow - 1),
            role: match end.role {
                EndRole::Client => Role::Client,
                EndRole::Server => Role::Server,
            },
            stack: end.stack,
            opened_at: at(end.opened_ns),
            established_at: at(end.established_ns),
            last_byte_at: at(end.last_byte_ns),
            ended: end.ended.map(|(why, ns)| (cause(why), Time::from_nanos(ns))),
            samples: end.samples.into_iter().map(ForeignSample::from).collect(),
        }
    }
}

impl From<&ForeignSample> for Sample {
    fn from(sample: &ForeignSample) -> Sample {
        let ForeignSample { at, stream_bytes, counters, view } = sample;
        Sample {
            t_ns: at.as_nanos(),
            stream_bytes: *stream_bytes,
            data_packets: counters.data_packets,
            retransmits: counters.retransmits,
            lost_packets: counters.lost_packets,
            timeouts: counters.timeouts,
            cwnd_bytes: view.cwnd_bytes,
            ssthresh_bytes: view.ssthresh_bytes,
            srtt_ns: view.srtt.map(Span::as_nanos),
            in_flight_bytes: view.in_flight_bytes,
            pacing_rate_bps: view.pacing_rate.map(Rate::bps),
            delivered_bytes: view.delivered_bytes,
            lost_bytes: view.lost_bytes,
        }
    }
}

impl From<Sample> for ForeignSample {
    fn from(sample: Sample) -> ForeignSample {
        let (at, stream_bytes) = (Time::from_nanos(sample.t_ns), sample.stream_bytes);
        let mut told = ForeignSample { at, stream_bytes, ..ForeignSample::default() };
        let ForeignSample { counters, view, .. } = &mut told;
        counters.data_packets = sample.data_packets;
        counters.retransmits = sample.retransmits;
        counters.lost_packets = sample.lost_packets;
        counters.timeouts = sample.timeouts;
        view.cwnd_bytes = sample.cwnd_bytes;
        view.ssthresh_bytes = sample.ssthresh_bytes;
        view.srtt = sample.srtt_ns.map(Span::from_nanos);
        view.in_flight_bytes = sample.in_flight_bytes;
        view.pacing_rate = sample.pacing_rate_bps.map(Rate::clamped);
        view.delivered_bytes = sample.delivered_bytes;
        view.lost_bytes = sample.lost_bytes;
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(flow: u32, role: Role) -> ForeignEnd {
        let mut end = ForeignEnd::new(FlowId(flow), role, "kernel reno".to_string());
        end.opened_at = Some(Time::from_millis(1));
        end.ended = Some((EndCause::TimedOut, Time::from_secs(9)));
        let sample = |ms| {
            let (at, stream_bytes) = (Time::from_millis(ms), 10 * ms);
            let mut sample = ForeignSample { at, stream_bytes, ..ForeignSample::default() };
            sample.view.srtt = Some(Span::from_millis(3));
            sample.view.pacing_rate = Some(Rate::clamped(5_000_000));
            sample
        };
        end.samples = vec![sample(20), sample(40)];
        end
    }

    #[test]
    fn what_is_written_is_read() {
        let ends = [end(0, Role::Client), end(0, Role::Server), end(1, Role::Server)];
        let text = to_json(&ends).expect("numbers and text");
        assert_eq!(from_json(text.as_bytes(), 2), Ok(ends.to_vec()));
    }

    #[test]
    fn what_is_not_sound_is_refused() {
        let refused = |ends: &[ForeignEnd], flows, why: &str| {
            let text = to_json(ends).expect("numbers and text");
            let error = from_json(text.as_bytes(), flows).expect_err("not sound");
            assert!(error.contains(why), "{error}");
        };
        refused(&[end(2, Role::Client)], 2, "flow 3: the scenario has 2 flows");
        refused(&[end(0, Role::Client), end(0, Role::Client)], 2, "twice");
        let mut back = end(0, Role::Client);
        back.samples.reverse();
        refused(&[back], 2, "in order");
        assert!(from_json(b"[{", 2).is_err() && from_json(b"{}", 2).is_err());
    }
}

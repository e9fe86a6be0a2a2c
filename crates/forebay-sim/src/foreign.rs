//! Ends of flows at hosts with another TCP stack: what that stack told of them, over time.

use crate::outcome::FlowOutcome;
use forebay_base::{FlowId, Time};
use forebay_transport::{Counters, EndCause, PathView, Role, RttSummary};

/// What the stack of a host told of an end of a flow at a time. What it does not tell is 0 or None.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ForeignSample {
    /// When.
    pub at: Time,
    /// Payload sent at least once at a client, read in order by the application at a server.
    pub stream_bytes: u64,
    /// Counts.
    pub counters: Counters,
    /// The state of its congestion control; lost are bytes sent again.
    pub view: PathView,
}

/// An end of a flow at a host with another TCP stack.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignEnd {
    /// The flow.
    pub flow: FlowId,
    /// Which end.
    pub role: Role,
    /// The stack and its congestion control: `kernel cubic`.
    pub stack: String,
    /// When the application asked for the connection, at a client.
    pub opened_at: Option<Time>,
    /// When the handshake was over.
    pub established_at: Option<Time>,
    /// When the last payload was read, at a server.
    pub last_byte_at: Option<Time>,
    /// Why and when it ended.
    pub ended: Option<(EndCause, Time)>,
    /// In order of time.
    pub samples: Vec<ForeignSample>,
}

impl ForeignEnd {
    /// Of a flow that has not begun.
    pub fn new(flow: FlowId, role: Role, stack: String) -> ForeignEnd {
        let [opened_at, established_at, last_byte_at] = [None; 3];
        let (ended, samples) = (None, Vec::new());
        ForeignEnd { flow, role, stack, opened_at, established_at, last_byte_at, ended, samples }
    }
    /// The latest sample at `now`.
    pub fn sample(&self, now: Time) -> Option<&ForeignSample> {
        let after = self.samples.partition_point(|sample| sample.at <= now);
        self.samples[..after].last()
    }
    /// When it was opened, if it was at `now`.
    pub(crate) fn opened_by(&self, now: Time) -> Option<Time> {
        self.opened_at.filter(|&at| at <= now)
    }
    /// When it ended, if it has at `now`.
    pub fn ended_by(&self, now: Time) -> Option<(EndCause, Time)> {
        self.ended.filter(|(_, at)| *at <= now)
    }
    /// Payload at `now`; see [`ForeignSample::stream_bytes`].
    pub(crate) fn stream_bytes(&self, now: Time) -> u64 {
        self.sample(now).map_or(0, |sample| sample.stream_bytes)
    }
    /// When all of the payload was at this end, if it was at `now`.
    pub(crate) fn completed_by(&self, now: Time) -> Option<Time> {
        let (cause, _) = self.ended_by(now)?;
        (cause == EndCause::Finished).then_some(self.last_byte_at.or(self.established_at)?)
    }

    /// Put what this end knows at `now` into the outcome of its flow.
    pub(crate) fn amend(&self, outcome: &mut FlowOutcome, now: Time) {
        let latest = self.sample(now).copied().unwrap_or_default();
        match self.role {
            Role::Client => {
                outcome.opened_at = self.opened_by(now);
                outcome.established_at = self.established_at.filter(|&at| at <= now);
                outcome.ended = self.ended_by(now);
                outcome.sender = latest.counters;
                outcome.rtt = self.round_trips(now);
            }
            Role::Server => {
                outcome.received_bytes = self.stream_bytes(now);
                outcome.completed_at = self.completed_by(now);
            }
        }
    }
    /// Of the smoothed round-trip times in the samples: a stack tells no others.
    fn round_trips(&self, now: Time) -> RttSummary {
        let samples = self.samples.iter().take_while(|sample| sample.at <= now);
        let mut ms: Vec<f64> =
            samples.filter_map(|s| s.view.srtt).map(|rtt| rtt.as_secs_f64() * 1e3).collect();
        ms.sort_by(f64::total_cmp);
        let mut summary = RttSummary::default();
        if !ms.is_empty() {
            summary.samples = ms.len() as u64;
            summary.mean_ms = ms.iter().sum::<f64>() / ms.len() as f64;
            summary.p95_ms = ms[(ms.len() - 1) * 95 / 100];
        }
        summary
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_base::Span;

    fn sample(at_ms: u64, stream_bytes: u64, srtt_ms: u64) -> ForeignSample {
        let at = Time::from_millis(at_ms);
        let mut sample = ForeignSample { at, stream_bytes, ..ForeignSample::default() };
        sample.counters.data_packets = at_ms;
        sample.view.srtt = Some(Span::from_millis(srtt_ms));
        sample
    }

    /// Nothing is known before its time.
    #[test]
    fn an_outcome_is_that_of_its_time() {
        let ms = Time::from_millis;
        let mut client = ForeignEnd::new(FlowId(0), Role::Client, "kernel cubic".into());
        (client.opened_at, client.established_at) = (Some(ms(10)), Some(ms(30)));
        client.samples = vec![sample(40, 1000, 20), sample(60, 3000, 40)];
        client.ended = Some((EndCause::Finished, ms(90)));
        let mut server = ForeignEnd { role: Role::Server, opened_at: None, ..client.clone() };
        server.last_byte_at = Some(ms(70));
        let at = |now| {
            let mut outcome = FlowOutcome::default();
            client.amend(&mut outcome, ms(now));
            server.amend(&mut outcome, ms(now));
            outcome
        };
        assert_eq!((at(9).opened_at, at(10).opened_at), (None, Some(ms(10))));
        assert_eq!([39, 40, 59, 60].map(|now| at(now).received_bytes), [0, 1000, 1000, 3000]);
        assert_eq!([39, 40, 60].map(|now| at(now).sender.data_packets), [0, 40, 60]);
        assert_eq!((at(39).rtt.samples, at(60).rtt.samples), (0, 2));
        assert!((at(60).rtt.mean_ms - 30.0).abs() < 1e-9, "{:?}", at(60).rtt);
        assert_eq!((at(89).completed_at, at(90).completed_at), (None, Some(ms(70))));
        assert_eq!((at(89).ended, at(90).ended), (None, Some((EndCause::Finished, ms(90)))));
    }
}

//! Capacity of a link over time.

use super::seconds::seconds;
use forebay_base::{LinkId, Rate, Span, Time};
use forebay_net::{ChannelSpec, DeliveryTrace, NetEvent, NetSpec};
use std::sync::Arc;

/// Capacity of one direction of a link over time.
#[derive(Clone, Debug)]
pub enum Capacity {
    /// What each opportunity of a trace carries; the run begins so far in it.
    Trace(Arc<DeliveryTrace>, Span),
    /// From each time on, in order, its rate.
    Rates(Vec<(Time, Rate)>),
}

impl Capacity {
    /// Of a directed link. A link that is down counts as if it were up.
    pub fn of(spec: &NetSpec, link: LinkId) -> Capacity {
        if let Some(capacity) = Capacity::of_trace(spec, link) {
            return capacity;
        }
        let changes = spec.events.iter().filter_map(|event| match event.event {
            NetEvent::Rate(of, rate) if of == link => Some((event.at, rate)),
            _ => None,
        });
        let mut rates: Vec<(Time, Rate)> =
            std::iter::once((Time::ZERO, spec.links[link.index()].channel.rate()))
                .chain(changes)
                .collect();
        // Of changes at one time the last one holds.
        rates.sort_by_key(|(at, _)| *at);
        Capacity::Rates(rates)
    }

    /// Of a directed link that follows a trace; None of another.
    pub fn of_trace(spec: &NetSpec, link: LinkId) -> Option<Capacity> {
        match &spec.links[link.index()].channel {
            ChannelSpec::Trace { trace, offset } => {
                Some(Capacity::Trace(Arc::clone(trace), *offset))
            }
            ChannelSpec::Constant(_) | ChannelSpec::Bucket(_) => None,
        }
    }

    /// Bytes from time 0 to `until`: of a trace those of the opportunities that came, that at
    /// `until` included.
    pub fn bytes_until(&self, until: Time) -> f64 {
        match self {
            Capacity::Trace(trace, offset) => {
                let count =
                    |at| trace.opportunities_until(at) * u64::from(trace.bytes_per_opportunity());
                (count(*offset + until.since(Time::ZERO)) - count(*offset)) as f64
            }
            Capacity::Rates(rates) => {
                let ends = rates.iter().skip(1).map(|(at, _)| *at).chain([until]);
                let pieces = rates.iter().zip(ends).map(|((from, rate), end)| {
                    let over = end.min(until).max(*from).since(*from);
                    if *from < until { seconds(over) * rate.bps() as f64 / 8.0 } else { 0.0 }
                });
                pieces.sum()
            }
        }
    }

    /// Bytes between two times.
    pub fn bytes(&self, from: Time, until: Time) -> f64 {
        self.bytes_until(until) - self.bytes_until(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 Mbit/s for 2 s, 16 for 3 s, then 1.
    #[test]
    fn a_schedule_is_integrated() {
        let rate = |mbps: u64| Rate::mbps(mbps);
        let at = Time::from_secs;
        let capacity = Capacity::Rates(vec![(at(0), rate(8)), (at(2), rate(16)), (at(5), rate(1))]);
        let bytes = [1, 2, 3, 5, 7].map(|s| capacity.bytes_until(at(s)));
        assert_eq!(bytes, [1e6, 2e6, 4e6, 8e6, 8.25e6]);
        assert_eq!(capacity.bytes(at(1), at(3)), 3e6);
        // A change that never came.
        assert_eq!(
            Capacity::Rates(vec![(at(0), rate(8)), (at(9), rate(1))]).bytes_until(at(3)),
            3e6
        );
    }

    /// Opportunities at 1, 1, 4, 10 ms of each round; the run begins at 4 ms: 10, 11, 11, 14 are
    /// at 6, 7, 7, 10 ms of the run.
    #[test]
    fn opportunities_are_counted_from_where_the_run_begins() {
        let times = [1, 1, 4, 10].map(Span::from_millis);
        let trace = Arc::new(DeliveryTrace::new(times, 1504).unwrap());
        let capacity = Capacity::Trace(trace, Span::from_millis(4));
        let packets = |ms| capacity.bytes_until(Time::from_millis(ms)) / 1504.0;
        assert_eq!([0, 5, 6, 7, 9, 10].map(packets), [0.0, 0.0, 1.0, 3.0, 3.0, 4.0]);
        assert_eq!(capacity.bytes(Time::from_millis(6), Time::from_millis(10)), 3.0 * 1504.0);
    }
}

//! The series that `series.parquet` holds: a line each, with name, unit, and what a report draws of
//! its samples. The writer (`forebay-lab`) and the report read this table.
//!
//! Next to them stand those that controllers publish (`Controller::observe` of `forebay-cc`), under
//! their names after [`PUBLISHED`], each with the unit that its controller gives.

/// What a report draws of the samples of a series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drawn {
    /// The values.
    Values,
    /// Of a count of bytes, its rate in bit/s.
    Rate,
    /// Of a count of something else, how many in a second.
    Count,
    /// Both.
    Both,
    /// Of flows the values, of ports the rate.
    RateOfPorts,
}

/// What the name of a published series begins with in `series.parquet`.
pub const PUBLISHED: &str = "cc.";

macro_rules! series {
    ($($variant:ident $name:literal $unit:literal $drawn:ident $meaning:literal;)*) => {
        /// A series of the table.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Series {
            $(#[doc = $meaning] $variant,)*
        }

        impl Series {
            /// All of them; the place of each is its number.
            pub const ALL: &[Series] = &[$(Series::$variant),*];

            /// Its name in the column `metric`.
            pub const fn name(self) -> &'static str {
                match self { $(Series::$variant => $name),* }
            }

            /// Its name in the column `unit`; empty for a plain number.
            pub const fn unit(self) -> &'static str {
                match self { $(Series::$variant => $unit),* }
            }

            /// Its subject.
            pub const fn meaning(self) -> &'static str {
                match self { $(Series::$variant => $meaning),* }
            }

            /// What a report draws of it.
            pub const fn drawn(self) -> Drawn {
                match self { $(Series::$variant => Drawn::$drawn),* }
            }
        }
    };
}

series! {
    Cwnd "cwnd_bytes" "B" Values "Of a path: the cwnd in force.";
    Ssthresh "ssthresh_bytes" "B" Values "Of a path: the slow start threshold, where it is set.";
    Srtt "srtt_ms" "ms" Values "Of a path: the smoothed round-trip time.";
    InFlight "in_flight_bytes" "B" Values "Of a path: bytes in flight.";
    PacingRate "pacing_rate_bps" "bit/s" Values "Of a path that is paced: its rate.";
    Delivered "delivered_bytes" "B" Rate "Of a path: bytes acknowledged.";
    Lost "lost_bytes" "B" Values "Of a path: bytes declared lost.";
    Sent "sent_bytes" "B" RateOfPorts "Of a flow: bytes sent once. Of an interface: bytes sent.";
    Received "received_bytes" "B" Both "Of a flow: bytes in order at the receiver.";
    Arrived "arrived_bytes" "B" Rate "Of a flow: those, and bytes that arrived beyond a hole.";
    OneWayMean "one_way_delay_mean_ms" "ms" Values
        "Of a class: mean one-way delay of data packets that arrived since the previous sample.";
    OneWayP50 "one_way_delay_p50_ms" "ms" Values "Of a class: the median of those delays.";
    OneWayP95 "one_way_delay_p95_ms" "ms" Values "Of a class: the 95th percentile of those delays.";
    Queue "queue_bytes" "B" Values "Of a port: its backlog.";
    RcpRate "rcp_rate_bps" "bit/s" Values "Of a port: the rate that RCP writes.";
    KickAssRate "kickass_rate_bps" "bit/s" Values "Of a port: the rate that Kick-Ass signals.";
    KickAssCode "kickass_code" "" Values "Of a port: the largest code of at most that; 0: none.";
    KickAssMode "kickass_mode" "" Values "Of a port: 0 Kick-Ass signals, 1 fallback.";
    KickAssRtt "kickass_rtt_ms" "ms" Values "Of a port: d, for which Kick-Ass computes its rate.";
    KickAssPieces "kickass_pieces" "" Count "Of a port: fragments created since the start.";
    Transmitted "transmitted_bytes" "B" Rate "Of a port: bytes on the wire since the start.";
    Opportunities "opportunity_bytes" "B" Rate
        "Of a port whose link follows a trace: bytes of its opportunities since the start.";
    LinkRate "rate_bps" "bit/s" Values "Of a port: the rate of its link.";
    LimitBytes "queue_limit_bytes" "B" Values "Of a port: the limit of its queue.";
    LimitPackets "queue_limit_packets" "" Values "Of a port: that limit, if it is in packets.";
    Cache "cache_bytes" "B" Values "Of an interface, and of a flow at it: bytes in its cache.";
    State "state" "" Values "Of an interface: 0 P, 1 S&D, 2 B, 3 DB.";
    Offered "offered_bytes" "B" Rate "Of an interface: bytes that came to it since the start.";
    Detoured "detoured_bytes" "B" Rate "Of an interface: of those sent, bytes on detours.";
    CacheLow "cache_low_bytes" "B" Values "Of an interface: the low mark of its cache.";
    CacheHigh "cache_high_bytes" "B" Values "Of an interface: the high mark of its cache.";
    CacheTotal "cache_total_bytes" "B" Values "Of an interface: the size of its cache.";
    Passed "passed_bytes" "B" Values "Of a flow at an interface: payload that has left.";
}

impl Series {
    /// The series of that name.
    pub fn by_name(name: &[u8]) -> Option<Series> {
        Series::ALL.iter().copied().find(|series| series.name().as_bytes() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_that_of_one_series_and_of_none_that_is_published() {
        for (place, series) in Series::ALL.iter().enumerate() {
            assert_eq!(*series as usize, place);
            assert_eq!(Series::by_name(series.name().as_bytes()), Some(*series));
            assert!(!series.name().starts_with(PUBLISHED));
        }
        assert_eq!(Series::by_name(b"of_a_later_version"), None);
    }
}

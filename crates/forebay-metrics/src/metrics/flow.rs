//! What is reported of one flow: one entry each, from which come the struct, its JSON, the columns
//! of `flows.parquet`, the numbers that experiments may name, and what `explain` says.

use serde::Serialize;

/// A column of the table of flows.
#[derive(Clone, Copy, Debug)]
pub struct FlowColumn {
    /// Key in JSON, and name of the column.
    pub name: &'static str,
    /// Unit, or empty.
    pub unit: &'static str,
    /// What it is.
    pub meaning: &'static str,
    /// Its value.
    pub value: FlowValue,
}

/// How to read a column of a flow, by type.
#[derive(Clone, Copy, Debug)]
pub enum FlowValue {
    /// A number that names the flow and measures nothing.
    Id(fn(&FlowResult) -> u32),
    /// A text.
    Text(fn(&FlowResult) -> &str),
    /// A number of things.
    Count(fn(&FlowResult) -> u64),
    /// A number of things, where there is one.
    SomeCount(fn(&FlowResult) -> Option<u64>),
    /// A number, where there is one.
    Real(fn(&FlowResult) -> Option<f64>),
}

impl FlowColumn {
    /// True if it is a number that measures something.
    pub fn is_number(&self) -> bool {
        !matches!(self.value, FlowValue::Id(_) | FlowValue::Text(_))
    }

    /// Its number of a flow; None if it has none, or is none.
    pub fn number(&self, flow: &FlowResult) -> Option<f64> {
        match self.value {
            FlowValue::Id(_) | FlowValue::Text(_) => None,
            FlowValue::Count(count) => Some(count(flow) as f64),
            FlowValue::SomeCount(count) => count(flow).map(|count| count as f64),
            FlowValue::Real(real) => real(flow),
        }
    }
}

/// Makes [`FlowResult`] and [`FLOW_COLUMNS`]. An entry is `KIND NAME, UNIT, MEANING`.
macro_rules! flow_columns {
    ($($kind:ident $name:ident, $unit:literal, $meaning:literal;)*) => {
        /// What is reported of one flow.
        #[derive(Clone, Debug, Default, PartialEq, Serialize)]
        pub struct FlowResult {
            $(#[doc = $meaning] pub $name: flow_columns!(@type $kind),)*
        }

        /// What is reported of a flow, in the order of JSON and of `flows.parquet`.
        pub const FLOW_COLUMNS: &[FlowColumn] = &[$(FlowColumn {
            name: stringify!($name),
            unit: $unit,
            meaning: $meaning,
            value: flow_columns!(@value $kind $name),
        }),*];
    };
    (@type id) => { u32 };
    (@type text) => { String };
    (@type word) => { &'static str };
    (@type count) => { u64 };
    (@type some_count) => { Option<u64> };
    (@type real) => { Option<f64> };
    (@value id $name:ident) => { FlowValue::Id(|flow| flow.$name) };
    (@value text $name:ident) => { FlowValue::Text(|flow| &flow.$name) };
    (@value word $name:ident) => { FlowValue::Text(|flow| flow.$name) };
    (@value count $name:ident) => { FlowValue::Count(|flow| flow.$name) };
    (@value some_count $name:ident) => { FlowValue::SomeCount(|flow| flow.$name) };
    (@value real $name:ident) => { FlowValue::Real(|flow| flow.$name) };
}

flow_columns! {
    id id, "", "Number of the flow, from 1.";
    text src, "", "Host that sends.";
    text dst, "", "Host that receives.";
    text protocol, "", "Protocol of the flow.";
    text class, "", "Class of the flow; by default its protocol.";
    real start_s, "s", "When its SYN was due; null if it depends on a flow and has not started.";
    some_count bytes, "B", "Bytes to send; null if unbounded.";
    count received_bytes, "B", "In-order bytes at the receiver at the end of the run.";
    real fct_s, "s", "Flow completion time; null if it did not complete.";
    real handshake_s, "s", "From its SYN to the end of the handshake at the sender.";
    real goodput_bps, "bit/s",
        "In-order bits per second in the flow's part of the measurement window.";
    real rtt_mean_ms, "ms", "Mean RTT that the sender measured.";
    real rtt_p95_ms, "ms", "95th percentile of the RTT, within 3 %.";
    real one_way_delay_mean_ms, "ms",
        "Mean one-way delay of its data packets; this and its percentiles are null in runs of \
         more than 50 flows.";
    real one_way_delay_p50_ms, "ms", "Median one-way delay, within 3 %.";
    real one_way_delay_p95_ms, "ms", "95th percentile of the one-way delay, within 3 %.";
    real one_way_delay_p99_ms, "ms", "99th percentile of the one-way delay, within 3 %.";
    real throughput_mean_bps, "bit/s", "Mean over bins of 1 s of payload that arrived.";
    real throughput_p5_bps, "bit/s", "5th percentile over these bins.";
    real throughput_p50_bps, "bit/s", "Median over these bins.";
    real throughput_p95_bps, "bit/s", "95th percentile over these bins.";
    count data_packets, "", "Packets with payload sent, retransmissions included.";
    count retransmits, "", "Retransmitted packets with payload.";
    count needless_retransmits, "",
        "Retransmitted packets that brought the receiver nothing new.";
    count lost_packets, "", "Packets that the sender declared lost.";
    count timeouts, "", "Retransmission timeouts.";
    count ce_received, "", "Packets that reached the receiver with CE.";
    count ecn_responses, "", "Window reductions in response to ECE.";
    real held_by_receive_window, "",
        "Share of the flow's life in which the receive window alone held back data, 0 to 1.";
    real held_by_send_buffer, "", "The same for the send buffer.";
    word end, "",
        "\"finished\", \"reset\", \"timed_out\", \"running\", \"unopened\" or \"skipped\".";
}

impl FlowResult {
    /// Its numbers, by name.
    pub fn numbers(&self) -> impl Iterator<Item = (&'static str, Option<f64>)> + '_ {
        let numbers = FLOW_COLUMNS.iter().filter(|column| column.is_number());
        numbers.map(|column| (column.name, column.number(self)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_a_flow_is_a_column_and_has_the_value_of_its_own() {
        let flow = FlowResult {
            src: "a".into(),
            received_bytes: 7,
            held_by_send_buffer: Some(0.5),
            ecn_responses: 3,
            ..FlowResult::default()
        };
        let json = serde_json::to_value(&flow).unwrap();
        let keys = json.as_object().unwrap();
        assert_eq!(keys.len(), FLOW_COLUMNS.len());
        for column in FLOW_COLUMNS {
            let value = &keys[column.name];
            match column.value {
                FlowValue::Id(id) => assert_eq!(value.as_u64(), Some(id(&flow).into())),
                FlowValue::Text(text) => assert_eq!(value.as_str(), Some(text(&flow))),
                _ => assert_eq!(value.as_f64(), column.number(&flow), "{}", column.name),
            }
        }
        let numbers: Vec<_> = flow.numbers().filter(|of| of.1.is_some_and(|n| n > 0.0)).collect();
        let expected = [("received_bytes", 7.0), ("ecn_responses", 3.0)];
        let expected = expected.into_iter().chain([("held_by_send_buffer", 0.5)]);
        assert_eq!(numbers, expected.map(|(name, n)| (name, Some(n))).collect::<Vec<_>>());
    }
}

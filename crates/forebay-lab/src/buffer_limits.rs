//! Notes on flows that were limited by the buffers of their ends.

use crate::metrics::FlowResult;
use crate::result::RunResult;
use forebay_scenario::Scenario;
use forebay_transport::TcpConfig;

/// A flow that is held back for less of its life has no note.
const LEAST_SHARE: f64 = 0.1;
/// The largest window that a header can say without window scaling (RFC 9293 section 3.1), in
/// bytes.
const UNSCALED_BYTES: u64 = 65_535;

/// One note for each buffer that held back flows of `name`, the protocol of these runs.
pub(crate) fn notes(scenario: &Scenario, name: &str, runs: &[&RunResult]) -> Vec<String> {
    let mut notes = Vec::new();
    let flows = || runs.iter().flat_map(|run| &run.per_flow);
    let mut protocols: Vec<&str> = Vec::new();
    for flow in flows() {
        if !protocols.contains(&flow.protocol.as_str()) {
            protocols.push(&flow.protocol);
        }
    }
    for protocol in protocols {
        let mine = || flows().filter(move |flow| flow.protocol == protocol);
        let about = About::of(scenario, name, protocol);
        let by_window = mine().filter_map(|flow| Some((flow, flow.held_by_receive_window?)));
        let by_buffer = mine().filter_map(|flow| Some((flow, flow.held_by_send_buffer?)));
        notes.extend(about.note("receive window", &about.receive_key(), by_window));
        notes.extend(about.note("send buffer", &about.key("send_buffer_bytes"), by_buffer));
    }
    notes
}

/// The protocol of a note.
struct About<'a> {
    /// What the note begins with.
    name: &'a str,
    /// The table of its transport.
    table: String,
    config: TcpConfig,
}

impl About<'_> {
    fn of<'a>(scenario: &Scenario, name: &'a str, protocol: &str) -> About<'a> {
        let own = scenario.tcp_of.iter().find(|(of, _)| *of == protocol);
        let table = own.map_or("tcp".to_string(), |(of, _)| format!("tcp_of.{of}"));
        About { name, table, config: own.map_or(scenario.tcp, |(_, config)| *config) }
    }

    fn key(&self, key: &str) -> String {
        format!("raise {}.{key}", self.table)
    }

    /// What makes the receive window larger.
    fn receive_key(&self) -> String {
        let TcpConfig { window_scaling, receive_buffer_bytes, .. } = self.config;
        match !window_scaling && receive_buffer_bytes > UNSCALED_BYTES {
            true => format!("set {}.window_scaling=true", self.table),
            false => self.key("receive_buffer_bytes"),
        }
    }

    /// The note on flows of several runs, each with its share; a flow that several runs have counts
    /// once.
    fn note<'a>(
        &self,
        what: &str,
        remedy: &str,
        flows: impl Iterator<Item = (&'a FlowResult, f64)>,
    ) -> Option<String> {
        let limited: Vec<_> = flows.filter(|(_, share)| *share >= LEAST_SHARE).collect();
        let mut ids: Vec<u32> = limited.iter().map(|(flow, _)| flow.id).collect();
        ids.sort_unstable();
        ids.dedup();
        let (first, more) = (ids.first()?, ids.len() - 1);
        let who = match more {
            0 => format!("flow {first} was"),
            _ => format!("flow {first} and {more} more were"),
        };
        let shares = limited.iter().map(|(_, share)| 100.0 * share);
        let (low, high) =
            shares.fold((f64::MAX, 0.0f64), |(low, high), s| (low.min(s), high.max(s)));
        let share = match format!("{low:.0}") == format!("{high:.0}") {
            true => format!("{high:.0}"),
            false => format!("{low:.0} to {high:.0}"),
        };
        let name = self.name;
        Some(format!(
            "{name}: {who} held back by the {what} for {share} % of the time, while the congestion \
             window had room: {remedy} if that is not meant"
        ))
    }
}

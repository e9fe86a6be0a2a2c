//! Notes on flows that were limited by the buffers of their ends.

use forebay_run::{FlowResult, RunResult};
use forebay_scenario::Scenario;
use forebay_transport::TcpConfig;

/// A flow that is held back for less of its life has no note.
const MIN_SHARE: f64 = 0.1;
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
        let by_window = || mine().filter_map(|flow| Some((flow, flow.held_by_receive_window?)));
        let by_buffer = mine().filter_map(|flow| Some((flow, flow.held_by_send_buffer?)));
        let by_first = by_window().filter(|(flow, _)| about.is_limited_by_first_window(flow));
        notes.extend(about.note("first receive window", &about.first_remedy(), by_first));
        let by_window = by_window().filter(|(flow, _)| !about.is_limited_by_first_window(flow));
        notes.extend(about.note("receive window", &about.receive_remedy(), by_window));
        let remedy = about.raise("send_buffer_bytes");
        notes.extend(about.note("send buffer", &remedy, by_buffer));
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
        let known = scenario.protocol_names().into_iter().find(|known| *known == protocol);
        let config = known.map_or(scenario.tcp, |known| scenario.tcp_for(&known));
        About { name, table, config }
    }

    fn raise(&self, key: &str) -> String {
        format!("raise {}.{key} if that is not meant", self.table)
    }

    /// Why the window of a SYN-ACK limits a flow (RFC 7323 section 2.2).
    fn first_remedy(&self) -> String {
        let why = "a SYN-ACK can announce 65535 bytes at most";
        format!("{why}; {}.scaled_syn_ack=true lifts that, against RFC 7323", self.table)
    }

    /// What makes the receive window larger.
    fn receive_remedy(&self) -> String {
        let TcpConfig { window_scaling, receive_buffer_bytes, .. } = self.config;
        if !window_scaling && receive_buffer_bytes > UNSCALED_BYTES {
            format!("set {}.window_scaling=true if that is not meant", self.table)
        } else {
            self.raise("receive_buffer_bytes")
        }
    }

    /// True if only the window of the SYN-ACK can have held the flow back: it is never scaled, and
    /// all that the flow has sent fits into the receive buffer, which later windows announce.
    fn is_limited_by_first_window(&self, flow: &FlowResult) -> bool {
        let TcpConfig { window_scaling, scaled_syn_ack, receive_buffer_bytes, mss_bytes, .. } =
            self.config;
        let sent_bytes = flow.data_packets.saturating_mul(mss_bytes.into());
        window_scaling
            && !scaled_syn_ack
            && receive_buffer_bytes > UNSCALED_BYTES
            && sent_bytes < receive_buffer_bytes
    }

    /// The note on flows of several runs, each with its share; a flow that several runs have counts
    /// once.
    fn note<'a>(
        &self,
        what: &str,
        remedy: &str,
        flows: impl Iterator<Item = (&'a FlowResult, f64)>,
    ) -> Option<String> {
        let limited: Vec<_> = flows.filter(|(_, share)| *share >= MIN_SHARE).collect();
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
        let share = if format!("{low:.0}") == format!("{high:.0}") {
            format!("{high:.0}")
        } else {
            format!("{low:.0} to {high:.0}")
        };
        let name = self.name;
        Some(format!(
            "{name}: {who} limited by the {what} for {share} % of the time, while the congestion \
             window had room: {remedy}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use crate::{Batch, RunOptions, Summary, run_one};
    use forebay_scenario::{LoadOptions, Scenario};

    /// 1 MB at 100 Mbit/s over 100 ms: CUBIC, which may send all of it at once, sends what the
    /// window of the SYN-ACK allows, 65535 bytes or 5.5 ms (RFC 7323 section 2.2: it is not
    /// scaled), and waits for the first ACK of 100 ms for the rest.
    #[test]
    fn a_flow_that_its_first_window_limits_is_told_so() {
        let text = r#"
            protocols = ["cubic"]
            start_jitter = "0s"
            routers = ["r"]
            tcp = { initial_window_segments = 1000, receive_buffer_bytes = "2MB" }
            link_defaults = { rate = "100Mbit/s", delay = "25ms", queue = "2MB" }
            hosts = [{ name = "a", attach = "r" }, { name = "b", attach = "r" }]
            flows = [{ src = "a", dst = "b", bytes = 1_000_000 }]
        "#;
        let run = |set: &[&str]| {
            let set = set.iter().map(ToString::to_string).collect();
            let scenario =
                Scenario::parse(text, "x", &LoadOptions { set, ..LoadOptions::default() }).unwrap();
            let run = run_one(&scenario, "cubic", 1, &RunOptions::default()).unwrap();
            let share = run.per_flow[0].held_by_receive_window.unwrap();
            let held_s =
                share * (run.per_flow[0].fct_s.unwrap() - run.per_flow[0].handshake_s.unwrap());
            let batch = Batch { runs: vec![run], ..Batch::default() };
            (held_s, Summary::new("x", &scenario, batch).notes)
        };
        let told = "cubic: flow 1 was limited by the first receive window for ";
        let remedy = ": a SYN-ACK can announce 65535 bytes at most; tcp.scaled_syn_ack=true lifts \
                      that, against RFC 7323";
        let (held_s, notes) = run(&[]);
        assert!((held_s - 0.095).abs() < 0.005, "{held_s}");
        let of_window = |note: &&String| note.contains("limited by");
        let [note] = notes.iter().filter(of_window).collect::<Vec<_>>()[..] else {
            panic!("{notes:?}")
        };
        assert!(note.starts_with(told) && note.ends_with(remedy), "{note}");
        let (held_s_scaled, notes) = run(&["tcp.scaled_syn_ack=true"]);
        assert_eq!((held_s_scaled, notes.iter().filter(of_window).count()), (0.0, 0));
        // A larger buffer does not.
        for set in ["tcp.receive_buffer_bytes=1GiB", "tcp_of.cubic.receive_buffer_bytes=1GiB"] {
            assert_eq!(run(&[set]).0, held_s, "{set}");
        }
        // Another cause has another note.
        let (_, notes) = run(&["tcp_of.cubic.receive_buffer_bytes=65535"]);
        let told = "raise tcp_of.cubic.receive_buffer_bytes if that is not meant";
        assert!(notes.iter().any(|note| note.ends_with(told)), "{notes:?}");
    }
}

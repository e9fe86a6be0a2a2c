//! The presets hold what their sources say.

use crate::common::{Lab, data, ms};
use forebay_base::{Span, kind};
use forebay_cc::{AckPolicy, LossPolicy};
use forebay_transport::{PRESETS, Pacing, Recovery, RtoRule, TcpConfig};
use std::collections::BTreeSet;

fn preset(name: &str) -> TcpConfig {
    PRESETS.iter().find(|p| p.name == name).unwrap_or_else(|| panic!("no preset {name}")).config
}

#[test]
fn names_are_unique_and_modern_is_the_default() {
    let names: BTreeSet<&str> = PRESETS.iter().map(|p| p.name).collect();
    assert_eq!(names.len(), PRESETS.len());
    assert_eq!(PRESETS[0].name, "modern");
    assert!(PRESETS.iter().all(|p| !p.summary.is_empty()));
}

#[test]
fn modern_is_what_the_rfcs_ask_for() {
    let c = preset("modern");
    // RFC 6928, 6298 (2.1, 2.4, 2.5), 8985, 9937, 2018, 7323, 3042.
    assert_eq!((c.initial_window_segments, c.initial_ssthresh_bytes), (10, None));
    assert_eq!((c.initial_rto, c.min_rto), (Span::from_secs(1), Span::from_secs(1)));
    assert!(c.max_rto >= Span::from_secs(60) && c.rto_rule == RtoRule::Rfc6298);
    assert_eq!((c.loss_policy, c.recovery), (LossPolicy::RackTlp, Recovery::Prr));
    assert!(c.sack && c.timestamps && c.window_scaling && c.limited_transmit);
    // RFC 5681 section 4.2: every second full-sized segment, within 500 ms.
    let AckPolicy::Delayed { packets, timeout, .. } = c.ack_policy else { panic!("not delayed") };
    assert!(packets == 2 && timeout <= ms(500));
}

#[test]
fn ns3_2015_is_newreno_in_64_kilobytes() {
    // ns-3.23: no SACK, no timestamps, no window scaling; initial window 1, ssthresh 65 535 bytes;
    // ACK of every second segment within 200 ms; RTO at least 1 s.
    let c = preset("ns3-2015");
    assert!(!c.sack && !c.timestamps && !c.window_scaling && !c.ecn);
    assert_eq!((c.initial_window_segments, c.initial_ssthresh_bytes), (1, Some(65_535)));
    assert_eq!((c.loss_policy, c.recovery), (LossPolicy::DupThresh, Recovery::NewReno));
    assert_eq!(c.ack_policy, AckPolicy::Delayed { packets: 2, timeout: ms(200), quick: 0 });
    assert_eq!((c.min_rto, c.pacing), (Span::from_secs(1), Pacing::Off));
    let mut bench = Lab { config: c, ..Lab::default() }.client();
    let syn = bench.open().remove(0);
    assert_eq!((syn.ts, syn.scale(), syn.option(kind::SACK_PERMITTED)), (None, None, None));
}

#[test]
fn linux_has_its_timers() {
    let c = preset("linux-6.18");
    // TCP_RTO_MIN 200 ms, TCP_DELACK_MIN 40 ms, TCP_MAX_QUICKACKS 16, TCP_INIT_CWND 10.
    assert_eq!((c.initial_window_segments, c.min_rto), (10, ms(200)));
    assert_eq!(c.rto_rule, RtoRule::Linux, "the floor is on 4 RTTVAR");
    assert!(c.quick_while_growing, "tcp_grow_window");
    assert_eq!((c.loss_policy, c.recovery), (LossPolicy::RackTlp, Recovery::Prr));
    assert_eq!(c.ack_policy, AckPolicy::Delayed { packets: 2, timeout: ms(40), quick: 16 });
    assert!(c.sack && c.timestamps && c.window_scaling);
    assert_eq!(c.initial_rto, Span::from_secs(1));
    assert!(c.max_rto >= Span::from_secs(60), "TCP_RTO_MAX 120 s");
    // 4 MiB hold 1789 segments with a truesize of 2344 bytes, 2.59 MB of payload; a writer that
    // sleeps until a third is free leaves two thirds to all of that.
    let full = ((4 << 20) / 2344 * 1448) as f64;
    let mean = (2.0 / 3.0 * full + full) / 2.0;
    assert!((c.send_buffer_bytes as f64 / mean - 1.0).abs() < 0.001, "{}", c.send_buffer_bytes);
}

#[test]
fn each_preset_opens_and_sends() {
    for preset in PRESETS {
        let lab = Lab { config: preset.config, peer_mss: Some(1460), ..Lab::default() };
        let (_, sent) = lab.connected(ms(50));
        assert!(!data(&sent).is_empty(), "{}", preset.name);
        let longest = sent.iter().map(|s| s.wire_len).max().unwrap();
        assert!(longest <= 1500, "{}: {longest}", preset.name);
    }
}

//! Named configurations, with the source of each value.

use crate::config::{Pacing, Preset, Recovery, RtoRule, TcpConfig};
use forebay_base::Span;
use forebay_cc::hystart::SlowStartKind;
use forebay_cc::{AckPolicy, LossPolicy, Spec, bbr1, cubic, dctcp, newreno, vegas};

/// What the RFCs in force ask for.
const MODERN: TcpConfig = TcpConfig {
    mss_bytes: 1448,                 // 1500 - 40 - 12 of timestamps
    initial_window_segments: 10,     // RFC 6928 section 2
    initial_ssthresh_bytes: None,    // RFC 5681 section 3.1: arbitrarily high
    initial_rto: Span::from_secs(1), // RFC 6298 (2.1)
    rto_rule: RtoRule::Rfc6298,
    min_rto: Span::from_secs(1),  // RFC 6298 (2.4)
    max_rto: Span::from_secs(60), // RFC 6298 (2.5): at least this
    max_retries: 15,              // RFC 9293 section 3.8.3 asks for at least 100 s; as Linux
    ack_policy: AckPolicy::Delayed {
        packets: 2,                     // RFC 5681 section 4.2
        timeout: Span::from_millis(40), // RFC 5681 section 4.2 allows 500; as Linux
        quick: 0,
    },
    quick_while_growing: false,
    loss_policy: LossPolicy::RackTlp, // RFC 8985
    recovery: Recovery::Prr,          // RFC 9937
    sack: true,                       // RFC 2018
    timestamps: true,                 // RFC 7323
    window_scaling: true,             // RFC 7323
    scaled_syn_ack: false,
    receive_buffer_bytes: 4 << 20,
    send_buffer_bytes: 4 << 20,
    limited_transmit: true, // RFC 3042
    opportunistic_retransmission: true,
    ecn: false,
    pacing: Pacing::Off,
    dont_fragment: true, // RFC 1191
    fast_path: true,
};

/// ns-3.23 (May 2015), the simulator of the INRPP and Kick-Ass papers: attribute defaults of
/// `TcpSocket`, `TcpSocketBase`, `TcpNewReno` and `RttEstimator`, unless said otherwise.
const NS3_2015: TcpConfig = TcpConfig {
    mss_bytes: 1460,            // default 536; 1500-byte packets as in the papers
    initial_window_segments: 1, // InitialCwnd
    initial_ssthresh_bytes: Some(65_535), // SlowStartThreshold 0xffff
    initial_rto: Span::from_secs(3), // ConnTimeout: the timer of the SYN
    rto_rule: RtoRule::Rfc6298, // RttMeanDeviation
    min_rto: Span::from_secs(1), // MinRto
    max_rto: Span::from_secs(60), // bound in TcpSocketBase::ReTxTimeout
    // data is retransmitted without end; ConnCount 6 for the SYN is not modelled
    max_retries: 1_000,
    ack_policy: AckPolicy::Delayed {
        packets: 2,                      // DelAckCount
        timeout: Span::from_millis(200), // DelAckTimeout
        quick: 0,
    },
    quick_while_growing: false,
    loss_policy: LossPolicy::DupThresh, // TcpNewReno ReTxThreshold 3
    recovery: Recovery::NewReno,        // TcpNewReno
    sack: false,                        // not in that release
    timestamps: false,                  // Timestamp false in the tree of the INRPP paper
    window_scaling: false, // WindowScaling false there too: at most 65 535 bytes in flight
    scaled_syn_ack: false,
    receive_buffer_bytes: 131_072, // RcvBufSize; MaxWindowSize 65535 bounds what is offered
    send_buffer_bytes: 131_072,    // SndBufSize
    limited_transmit: false,       // TcpNewReno LimitedTransmit
    opportunistic_retransmission: true,
    ecn: false,          // not in that release
    pacing: Pacing::Off, // not in that release
    // ns-3 leaves DF clear; set here, so that only schemes that ask for it are cut
    dont_fragment: true,
    fast_path: true,
};

/// Payload that net.ipv4.tcp_wmem[2] of 4 MiB holds on average. `sk_wmem_queued` counts truesize:
/// for a segment of 1448 bytes also a head of 640 (`skbuff_small_head` on x86-64) and 256 for
/// `struct sk_buff`. A writer that found the buffer full sleeps until a third of it is free
/// (`sk_stream_is_writeable`), so that it holds between two thirds and all of that.
const LINUX_SEND_BUFFER_BYTES: u64 = (4 << 20) * 5 / 6 * 1448 / (1448 + 640 + 256);

/// Linux 6.18 with default sysctls.
const LINUX_6_18: TcpConfig = TcpConfig {
    mss_bytes: 1448,
    initial_window_segments: 10,     // TCP_INIT_CWND
    initial_ssthresh_bytes: None,    // TCP_INFINITE_SSTHRESH
    initial_rto: Span::from_secs(1), // TCP_TIMEOUT_INIT
    rto_rule: RtoRule::Linux,        // tcp_rtt_estimator, __tcp_set_rto
    min_rto: Span::from_millis(200), // TCP_RTO_MIN
    max_rto: Span::from_secs(120),   // TCP_RTO_MAX
    max_retries: 15,                 // net.ipv4.tcp_retries2
    ack_policy: AckPolicy::Delayed {
        packets: 2,                     // more than one MSS unacknowledged (__tcp_ack_snd_check)
        timeout: Span::from_millis(40), // TCP_DELACK_MIN
        quick: 16,                      // TCP_MAX_QUICKACKS
    },
    quick_while_growing: true,        // tcp_grow_window
    loss_policy: LossPolicy::RackTlp, // net.ipv4.tcp_recovery 1, tcp_early_retrans 3
    recovery: Recovery::Prr,          // tcp_cwnd_reduction
    sack: true,                       // net.ipv4.tcp_sack
    timestamps: true,                 // net.ipv4.tcp_timestamps
    window_scaling: true,             // net.ipv4.tcp_window_scaling
    scaled_syn_ack: false,
    receive_buffer_bytes: 6 << 20, // net.ipv4.tcp_rmem[2], without auto-tuning
    send_buffer_bytes: LINUX_SEND_BUFFER_BYTES, // net.ipv4.tcp_wmem[2], without auto-tuning
    limited_transmit: true,
    opportunistic_retransmission: true,
    ecn: false,          // net.ipv4.tcp_ecn 2: accepted, not asked for
    pacing: Pacing::Off, // pfifo_fast or fq_codel without sch_fq; BBR paces by its rate
    dont_fragment: true, // net.ipv4.ip_no_pmtu_disc 0
    fast_path: true,
};

/// Linux's reno, cubic, vegas, bbr and dctcp (net/ipv4/tcp_cong.c, tcp_cubic.c, tcp_vegas.c,
/// tcp_bbr.c, tcp_dctcp.c).
const LINUX_CONTROLLERS: &[Spec] = &[
    Spec::NewReno(newreno::Params {
        abc_l: u32::MAX, // tcp_slow_start: all that is acknowledged
        abe: false,
        idle_restart_ms: 200, // tcp_slow_start_after_idle_check: the RTO, 200 ms or more
        reduce_from_cwnd: true, // tcp_reno_ssthresh
        reduce_again: false,  // tcp_fastretrans_alert reduces once per recovery
    }),
    Spec::Cubic(cubic::Params {
        c: 410.0 / 1024.0,    // bic_scale 41
        beta: 717.0 / 1024.0, // beta
        fast_convergence: true,
        reduce_from_cwnd: true, // cubictcp_recalc_ssthresh
        abe: false,
        slow_start: SlowStartKind::Hystart, // hystart_update
        abc_l: u32::MAX,
        idle_restart_ms: 200,
        reduce_again: false,
        linux_counting: true, // bictcp_update
    }),
    Spec::Vegas(vegas::Params {
        rules: vegas::Rules::Linux, // tcp_vegas_cong_avoid
        alpha: 2.0,                 // alpha
        beta: 4.0,                  // beta
        gamma: 1.0,                 // gamma
        idle_restart_ms: 200,
    }),
    Spec::Bbr1(bbr1::Params {
        cwnd_gain: 2.0,             // bbr_cwnd_gain
        probe_rtt_interval_s: 10.0, // bbr_min_rtt_win_sec
        probe_rtt_ms: 200.0,        // bbr_probe_rtt_mode_ms
        policer: true,              // bbr_lt_bw_sampling
        extra_acked: true,          // bbr_update_ack_aggregation
        departure_time: true,       // bbr_packets_in_net_at_edt
    }),
    Spec::Dctcp(dctcp::Params {
        gain: 1.0 / 16.0,   // dctcp_shift_g 4
        initial_alpha: 1.0, // dctcp_alpha_on_init
        abc_l: u32::MAX,
        idle_restart_ms: 200,
        reduce_from_cwnd: true, // dctcp_react_to_loss
        reduce_again: false,
    }),
];

/// The presets, the default first. Their buffers are those of TCP: INRPP needs the length of the
/// flow, see
/// [`TcpConfig::receive_buffer_bytes`].
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "modern",
        summary: "what the current RFCs ask for: SACK, RACK-TLP, PRR, IW 10, min RTO 1 s",
        config: MODERN,
        controllers: &[],
    },
    Preset {
        name: "ns3-2015",
        summary: "ns-3.23 as the papers ran it: NewReno without SACK, windows of 64 KiB, IW 1",
        config: NS3_2015,
        controllers: &[],
    },
    Preset {
        name: "linux-6.18",
        summary: "Linux defaults: IW 10, RACK-TLP, PRR, RTO of SRTT + 200 ms or more, \
                  quick ACKs at first",
        config: LINUX_6_18,
        controllers: LINUX_CONTROLLERS,
    },
];

impl Default for TcpConfig {
    /// The first preset.
    fn default() -> TcpConfig {
        PRESETS[0].config
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use forebay_base::Params;

    #[test]
    fn presets_are_within_their_ranges_and_read_back() {
        for preset in PRESETS {
            assert_eq!(preset.config.check(), Ok(()), "{}", preset.name);
            let written = serde_json::to_value(preset.config).unwrap();
            assert_eq!(serde_json::from_value::<TcpConfig>(written).unwrap(), preset.config);
        }
        let odd = serde_json::from_str::<TcpConfig>(r#"{ "fast_path": true }"#);
        assert!(odd.unwrap_err().to_string().contains("unknown field"));
    }

    /// One packet of each preset is 1500 bytes long, and no window is larger than a sender may
    /// leave unacknowledged.
    #[test]
    fn presets_fill_a_packet_of_1500_bytes() {
        for preset in PRESETS {
            let c = &preset.config;
            let stamps = if c.timestamps { 12 } else { 0 };
            assert_eq!(c.mss_bytes + 40 + stamps, 1500, "{}", preset.name);
            assert!(c.send_buffer_bytes <= 1 << 30 && c.min_rto <= c.initial_rto);
        }
    }
}

//! What a paper's own rules make impossible.

use super::Demand::{self, FewNeedless, Goodput, NoGrowth};
use super::points::{Point, Queue};

/// Where a demand need not be met, and why.
pub struct Exception {
    pub protocols: &'static [&'static str],
    pub demands: &'static [Demand],
    pub at: fn(&Point) -> bool,
    /// The rule, and where it stands.
    pub reason: &'static str,
}

/// Rules of papers and drafts. A default of this project has none.
pub const EXCEPTIONS: &[Exception] = &[
    // Queues that nothing bounds.
    Exception {
        protocols: &["newreno", "mptcp", "mptcp-olia", "cubic", "dctcp"],
        demands: &[NoGrowth],
        at: |_| true,
        reason: "RFC 5681: without a loss slow start goes on, a packet more for each ACK",
    },
    Exception {
        protocols: &["pcc"],
        demands: &[NoGrowth],
        at: |_| true,
        reason: "NSDI 2015 section 2.2: the utility counts throughput and loss, not delay",
    },
    Exception {
        protocols: &["pcc"],
        demands: &[FewNeedless],
        at: |point| point.flows == 20 && point.back.is_some(),
        reason: "NSDI 2015 section 2.2: there is no window; 20 starts fill the way of the ACKs, \
                 and timeouts repeat what its queue holds ACKs of",
    },
    Exception {
        protocols: &["kickass", "kickass-paper"],
        demands: &[NoGrowth],
        at: |point| point.bps() / point.flows as u64 <= 10_000,
        reason: "ICNP 2016 section II-C: below the lowest rate that a code stands for, flows are \
                 TCP, in slow start",
    },
    Exception {
        protocols: &["bbr", "bbr1", "copa", "ledbat", "sprout", "verus-authors"],
        demands: &[NoGrowth],
        at: |point| point.flows == 20 && point.bps() <= 200_000,
        reason: "20 first windows are a queue of 12 s (RFC 6928), the first timeout is 1 s, and \
                 what it repeats gives no RTT sample (RFC 6298 sections 2.1 and 3): nothing shows \
                 the delay",
    },
    Exception {
        protocols: &["copa"],
        demands: &[NoGrowth],
        at: |point| point.flows == 1 && point.bps() <= 100_000,
        reason: "NSDI 2018 section 2.2: where 10 s show no empty queue, the mode is competitive, \
                 and 1 / delta grows with each round trip without a loss",
    },
    // Routers that compute rates.
    Exception {
        protocols: &["rcp"],
        demands: &[Goodput],
        at: |point| point.flows == 20 && point.bps() <= 1_000_000,
        reason: "IWQoS 2005 equation 1: one packet that waits is beta q / d = 12 kbit / d, more \
                 than alpha C, and the rate falls",
    },
    Exception {
        protocols: &["rcp"],
        demands: &[Goodput],
        at: |point| point.bps() >= 1_000_000_000,
        reason: "authors' code: the rate begins at 0.05 C and grows by alpha = 0.1 per mean RTT, \
                 and the mean RTT begins at 200 ms",
    },
    Exception {
        protocols: &["rcp"],
        demands: &[Goodput, FewNeedless],
        at: |point| point.stall.is_some(),
        reason: "equation 1 takes C for constant: in a stall the queue drives the rate to its \
                 least, 80 bit / d, d grows to the stall, and the rate grows by a tenth per d",
    },
    Exception {
        protocols: &["kickass-paper"],
        demands: &[Goodput],
        at: |point| point.loss >= 0.01 || (point.flows == 20 && point.bps() == 100_000_000),
        reason: "ICNP 2016 section II-C3: a loss leads to TCP mode, in which a code counts once \
                 TCP has come as far",
    },
    Exception {
        protocols: &["inrpp"],
        demands: &[Goodput],
        at: |point| point.loss > 0.0 && point.rtt_ms >= 600 && point.bps() <= 100_000,
        reason: "doi:10.1109/TNET.2021.3128384: senders push at line rate into caches: what is \
                 lost leaves again behind 150 s of queue",
    },
    // Delay is counted on the whole round trip.
    Exception {
        protocols: &["bbr", "bbr1", "vegas", "copa", "ledbat", "verus-paper", "verus-authors"],
        demands: &[Goodput],
        at: |point| point.back_bps() * 20 < point.bps(),
        reason: "the way back carries ACKs of 52 bytes for 0.58 of the rate, and more only with a \
                 queue that drops ACKs: these leave no queue there",
    },
    Exception {
        protocols: &["verus-paper", "verus-authors", "sprout"],
        demands: &[Goodput],
        at: |point| point.back.is_some(),
        reason: "an ACK for each packet, or a report each 20 ms, is more than the way back carries",
    },
    Exception {
        protocols: &["copa"],
        demands: &[Goodput],
        at: |point| point.flows == 20 && point.bps() <= 1_000_000,
        reason: "NSDI 2018 sections 2.1 and 3: 20 flows keep up to 2.5 / delta = 100 packets, \
                 whatever the buffer holds: a loss changes nothing in default mode",
    },
    // Background traffic.
    Exception {
        protocols: &["ledbat"],
        demands: &[Goodput],
        at: |point| point.rtt_ms >= 600,
        reason: "draft section 4.1: slow start ends at a delay of 45 ms, which the bursts of a \
                 few packets per RTT make, and one packet per RTT is added from there",
    },
    Exception {
        protocols: &["ledbat"],
        demands: &[Goodput],
        at: |point| point.loss >= 0.01 || point.queue == Queue::Packets(5),
        reason: "draft section 4.2: GAIN is 1 / 2 at 100 ms and 1 / 3 at 40 ms: windows between \
                 losses are smaller by its root, and slow start is slower by it",
    },
    // For cellular links.
    Exception {
        protocols: &["sprout"],
        demands: &[Goodput],
        at: |point| point.rtt_ms >= 100,
        reason: "NSDI 2013 section 3.4: a forecast reaches 160 ms, and no more is in flight",
    },
    Exception {
        protocols: &["sprout"],
        demands: &[Goodput],
        at: |point| point.bps() >= 100_000_000 || point.queue_ms() <= 20.0,
        reason: "section 3.1: rates end at 1000 packets/s; what a tick of 20 ms allows leaves at \
                 once",
    },
    Exception {
        protocols: &["sprout"],
        demands: &[Goodput],
        at: |point| point.bps() <= 1_000_000,
        reason: "section 3.3: 95 % certainty of a few packets per 100 ms is half of their mean; \
                 reports of 50 packets/s do not fit a way back of 20 kbit/s",
    },
    // Verus as published.
    Exception {
        protocols: &["verus-paper", "verus-authors"],
        demands: &[Goodput],
        at: |point| point.queue_ms() <= 1.2 * point.rtt_ms as f64 + 60.0,
        reason: "SIGCOMM 2015 equation 4: the set point rises to R D_min, beyond a buffer of less \
                 than (R - 1) D_min, and each loss brings back W = M w_p and the same delay",
    },
    Exception {
        protocols: &["verus-paper", "verus-authors"],
        demands: &[Goodput],
        at: |point| point.rtt_ms <= 5,
        reason: "equation 5: an epoch of 5 ms allows W - F packets; a round trip within it leaves \
                 the rest of the epoch idle",
    },
    Exception {
        protocols: &["verus-paper", "verus-authors"],
        demands: &[Goodput],
        at: |point| point.flows == 20 && point.bps() <= 1_000_000,
        reason: "equation 6: W = M w_p is a packet at least for each of 20 flows, whatever is lost",
    },
    Exception {
        protocols: &["verus-authors"],
        demands: &[Goodput],
        at: |point| {
            let lossy = point.rtt_ms == 600 || point.queue == Queue::Packets(5);
            lossy || (point.bps(), point.rtt_ms) == (10_000_000, 40)
        },
        reason: "authors' code: what is missing leaves again after 150 ms, and again, however \
                 long the round trip",
    },
];

/// Where a default of this project does not meet a demand yet, and the cause.
pub const SHORTFALLS: &[Exception] = &[
    Exception {
        protocols: &["verus"],
        demands: &[Goodput],
        at: |point| point.flows == 1 && point.back.is_some(),
        reason: "each packet is acknowledged, and a queue of ACKs is taken for one of packets",
    },
    Exception {
        protocols: &["pcc"],
        demands: &[Goodput],
        at: |point| point.bps() == 20_000 && point.queue == Queue::Packets(100),
        reason: "start doubles its rate until a result comes, ten packets later: its queue is a \
                 minute long, and losses of it go on for as long",
    },
    Exception {
        protocols: &["pcc"],
        demands: &[FewNeedless],
        at: |point| point.flows == 20 && point.stall.is_some(),
        reason: "20 flows without a window send into a stall until their timeouts, and those \
                 repeat what the queue holds",
    },
];

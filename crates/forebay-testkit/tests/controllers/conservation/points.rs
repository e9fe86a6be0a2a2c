//! The networks of the pack: senders and receivers at 1 Gbit/s or 10, with one link between them.

/// One network and how long it runs.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// Of the link, as scenarios write it.
    pub rate: &'static str,
    /// Without queues and transmission times.
    pub rtt_ms: u64,
    /// Of the link.
    pub queue: Queue,
    pub seconds: u64,
    /// Each between hosts of its own; several start within a second.
    pub flows: usize,
    /// Rate and queue of the way back, through which the ACKs go; None: the rate of the link.
    pub back: Option<(&'static str, u64)>,
    /// Share of packets that are lost at random on the link.
    pub loss: f64,
    pub stall: Option<Stall>,
    /// In the short form.
    pub short: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Queue {
    Packets(u64),
    /// Bandwidth-delay products, of the rate and the RTT.
    Bdp(f64),
    /// More than any window fills.
    Unlimited,
}

/// The link sends for so long, and then nothing for so long, over and over; what waits stays.
#[derive(Clone, Copy, Debug)]
pub struct Stall {
    pub sends_s: u64,
    pub silent_s: u64,
}

const fn point(rate: &'static str, rtt_ms: u64, queue: Queue, seconds: u64) -> Point {
    let (flows, back, loss, stall, short) = (1, None, 0.0, None, false);
    Point { rate, rtt_ms, queue, seconds, flows, back, loss, stall, short }
}

impl Point {
    const fn flows(self, flows: usize) -> Point {
        Point { flows, ..self }
    }
    const fn back(self, rate: &'static str, packets: u64) -> Point {
        Point { back: Some((rate, packets)), ..self }
    }
    const fn loss(self, loss: f64) -> Point {
        Point { loss, ..self }
    }
    const fn stall(self, sends_s: u64, silent_s: u64) -> Point {
        Point { stall: Some(Stall { sends_s, silent_s }), ..self }
    }
    /// Also in the short form.
    const fn short(self) -> Point {
        Point { short: true, ..self }
    }
}

use Queue::{Bdp, Packets, Unlimited};

/// The pack.
pub const POINTS: &[Point] = &[
    // Thin links, with queues of seconds.
    point("20kbit/s", 40, Packets(5), 300),
    point("20kbit/s", 40, Packets(50), 300).short(),
    point("20kbit/s", 40, Packets(100), 300),
    point("20kbit/s", 600, Packets(50), 300),
    point("20kbit/s", 600, Packets(100), 300),
    point("50kbit/s", 40, Packets(50), 300),
    point("50kbit/s", 600, Packets(100), 300),
    point("100kbit/s", 1, Packets(5), 300),
    point("100kbit/s", 40, Packets(50), 300).short(),
    point("100kbit/s", 40, Packets(100), 300),
    point("100kbit/s", 600, Packets(50), 300),
    point("100kbit/s", 2000, Packets(100), 300),
    point("120kbit/s", 40, Packets(20), 300),
    point("200kbit/s", 40, Packets(50), 300),
    point("200kbit/s", 40, Packets(100), 300).short(),
    point("200kbit/s", 600, Packets(100), 300),
    point("200kbit/s", 2000, Packets(5), 300),
    point("50kbit/s", 40, Packets(20), 300).flows(20),
    point("200kbit/s", 200, Packets(100), 300).flows(20).short(),
    point("100kbit/s", 40, Unlimited, 300).short(),
    point("200kbit/s", 40, Unlimited, 300).flows(20),
    // 1 Mbit/s.
    point("1Mbit/s", 1, Packets(5), 300),
    point("1Mbit/s", 40, Packets(5), 300).short(),
    point("1Mbit/s", 40, Packets(100), 300),
    point("1Mbit/s", 600, Packets(100), 300),
    point("1Mbit/s", 2000, Packets(5), 300),
    point("1Mbit/s", 2000, Bdp(1.0), 300),
    point("1Mbit/s", 200, Bdp(100.0), 300),
    point("1Mbit/s", 100, Packets(50), 300).flows(20),
    point("1Mbit/s", 100, Unlimited, 300),
    // 10 Mbit/s.
    point("10Mbit/s", 1, Packets(5), 60),
    point("10Mbit/s", 5, Bdp(100.0), 60),
    point("10Mbit/s", 40, Packets(5), 60),
    point("10Mbit/s", 40, Bdp(0.5), 60),
    point("10Mbit/s", 40, Bdp(1.0), 60).short(),
    point("10Mbit/s", 40, Bdp(4.0), 60),
    point("10Mbit/s", 40, Bdp(100.0), 60),
    point("10Mbit/s", 200, Bdp(1.0), 60),
    point("10Mbit/s", 600, Bdp(2.0), 120),
    point("10Mbit/s", 2000, Bdp(1.0), 180),
    point("10Mbit/s", 40, Bdp(1.0), 60).flows(20).short(),
    point("10Mbit/s", 200, Bdp(20.0), 60).flows(20),
    // 100 Mbit/s and 1 Gbit/s.
    point("100Mbit/s", 1, Packets(5), 20),
    point("100Mbit/s", 5, Bdp(1.0), 20),
    point("100Mbit/s", 40, Packets(5), 20),
    point("100Mbit/s", 40, Bdp(1.0), 20).short(),
    point("100Mbit/s", 40, Bdp(20.0), 20),
    point("100Mbit/s", 200, Bdp(1.0), 40),
    point("100Mbit/s", 1000, Bdp(1.0), 60),
    point("100Mbit/s", 40, Bdp(1.0), 20).flows(20),
    point("1Gbit/s", 1, Bdp(1.0), 5),
    point("1Gbit/s", 40, Bdp(4.0), 10),
    point("1Gbit/s", 40, Packets(5), 10),
    // ACKs through a slow link: 52 bytes each.
    point("1Mbit/s", 40, Packets(100), 300).back("20kbit/s", 20),
    point("1Mbit/s", 40, Packets(100), 300).back("20kbit/s", 100),
    point("10Mbit/s", 40, Bdp(4.0), 60).back("100kbit/s", 50),
    point("100kbit/s", 100, Packets(50), 300).back("2kbit/s", 20),
    point("10Mbit/s", 40, Bdp(4.0), 60).back("100kbit/s", 50).flows(20).short(),
    // Random loss.
    point("100kbit/s", 600, Packets(50), 300).loss(0.01),
    point("1Mbit/s", 100, Packets(50), 300).loss(0.001),
    point("1Mbit/s", 100, Packets(50), 300).loss(0.01).short(),
    point("1Mbit/s", 100, Packets(50), 300).loss(0.05),
    point("10Mbit/s", 40, Bdp(1.0), 60).loss(0.01),
    // Stalls: longer than a minimum RTO, than the memory of a minimum RTT, than the longest RTO.
    point("1Mbit/s", 40, Packets(200), 300).stall(20, 3),
    point("1Mbit/s", 40, Packets(200), 300).stall(60, 15).short(),
    point("1Mbit/s", 40, Packets(200), 400).stall(60, 70),
    point("1Mbit/s", 40, Packets(5), 300).stall(60, 15),
    point("12Mbit/s", 40, Packets(500), 120).stall(15, 8),
    point("1Mbit/s", 40, Packets(200), 300).stall(60, 15).flows(20),
];

impl Point {
    /// As a row of the table begins.
    pub fn name(&self) -> String {
        let queue = match self.queue {
            Packets(packets) => format!("{packets} pkt"),
            Bdp(bdps) => format!("{bdps} BDP"),
            Unlimited => "unlimited".into(),
        };
        let mut name = format!("{:>9} {:>4} ms {queue:>9}", self.rate, self.rtt_ms);
        if self.flows > 1 {
            name += &format!(", {} flows", self.flows);
        }
        if let Some((rate, _)) = self.back {
            name += &format!(", ACKs {rate}");
        }
        if self.loss > 0.0 {
            name += &format!(", loss {} %", 100.0 * self.loss);
        }
        if let Some(Stall { sends_s, silent_s }) = self.stall {
            name += &format!(", {silent_s} s off after {sends_s}");
        }
        name
    }

    /// Of the link, in bit/s.
    pub fn bps(&self) -> u64 {
        bps(self.rate)
    }
    /// Of the way back, in bit/s.
    pub fn back_bps(&self) -> u64 {
        self.back.map_or(self.bps(), |(rate, _)| bps(rate))
    }
    /// How long a full queue takes to drain, in ms; infinite if nothing bounds it.
    pub fn queue_ms(&self) -> f64 {
        let bytes = match self.queue {
            Packets(packets) => (packets * 1500) as f64,
            Bdp(bdps) => bdps * self.bdp_bytes(),
            Unlimited => f64::INFINITY,
        };
        8e3 * bytes / self.bps() as f64
    }
    fn bdp_bytes(&self) -> f64 {
        (self.bps() * self.rtt_ms) as f64 / 8e3
    }

    /// Delivery opportunities of a link that stalls; None if this one does not.
    pub fn trace(&self) -> Option<String> {
        let Stall { sends_s, silent_s } = self.stall?;
        // One for 1504 bytes each.
        let every_ms = 12_000_000 / self.bps();
        let times = (1..=1000 * sends_s / every_ms).map(|i| i * every_ms);
        let last = 1000 * (sends_s + silent_s);
        Some(times.chain([last]).map(|ms| format!("{ms}\n")).collect())
    }

    /// The scenario.
    pub fn text(&self) -> String {
        let Point { rate, rtt_ms, flows, loss, seconds, .. } = *self;
        let carries = match self.stall {
            Some(_) => "trace = \"stalls\"".to_string(),
            None => format!("rate = \"{rate}\""),
        };
        let queue = match self.queue {
            Packets(packets) => format!("{packets}packets"),
            Bdp(bdps) => format!("{}B", (bdps * self.bdp_bytes()) as u64),
            Unlimited => "1000000packets".into(),
        };
        let (back, back_packets) = self.back.unwrap_or((rate, 1000));
        let access = if self.bps() < 1_000_000_000 { "1Gbit/s" } else { "10Gbit/s" };
        let jitter = if flows > 1 { "1s" } else { "1ms" };
        format!(
            r#"until_s = {seconds}
start_jitter = "{jitter}"
routers = ["left", "right"]
[link_defaults]
rate = "{access}"
queue = "100000packets"
delay = "0ms"
[[links]]
name = "bottleneck"
a = "left"
b = "right"
{carries}
delay = "{}us"
queue = "{queue}"
loss = {loss}
reverse = {{ rate = "{back}", queue = "{back_packets}packets", loss = 0 }}
[[hosts]]
name = "s{{}}"
count = {flows}
attach = "left"
[[hosts]]
name = "d{{}}"
count = {flows}
attach = "right"
[[flows]]
src = "s{{}}"
dst = "d{{}}"
count = {flows}
endless = true
[protocol.verus-paper]
of = "verus"
preset = "paper"
[protocol.verus-authors]
of = "verus"
preset = "authors"
[protocol.kickass-paper]
of = "kickass"
preset = "paper"
"#,
            500 * rtt_ms
        )
    }
}

/// A rate as scenarios write it, in bit/s.
fn bps(rate: &str) -> u64 {
    let units = [("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)];
    let number = |(unit, factor): &(&str, u64)| {
        let digits = rate.strip_suffix(unit)?;
        Some(digits.parse::<u64>().expect("a whole number") * factor)
    };
    units.iter().find_map(number).expect("a rate with its unit")
}

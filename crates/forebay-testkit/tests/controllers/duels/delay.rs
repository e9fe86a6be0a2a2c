//! Vegas, Copa, PCC and LEDBAT++: alone, twice, competing with CUBIC and competing with NewReno.
//!
//! What is expected, and asked of each row:
//!
//! - **Alone, Vegas**: alpha to beta packets wait, 2 to 4 (Brakmo and Peterson 1995, section 3.2),
//!   and none is lost where the buffer has room for them. An ACK for two packets lets two leave at
//!   once, and rtt is the smallest of a round trip: up to two more on average. At 100 Mbit/s and
//!   100 ms slow start leaves a queue of up to 1 700 packets, and one packet fewer per round trip
//!   takes minutes: nothing is asked there.
//! - **Alone, Copa in default mode**: `1.25 / delta` = 2.5 packets on average, 0 to 5 (Arun and
//!   Balakrishnan 2018, section 3); none is lost where the buffer has room for them. With mode
//!   detection (`copa`) the queue is not checked: Copa may mistake its own queue for that of a
//!   buffer-filling flow (docs/reference/controllers.md). Nor is it at 100 Mbit/s and 100 ms:
//!   v doubles before the queue responds, and may fall into a cycle.
//! - **Alone, PCC**: the link is full and less than the knee of 5 % is lost (Dong et al. 2015,
//!   theorem 1), asked with 2 BDP of buffer at most: with a deeper one a step that is too large
//!   shows only when it is full, and start goes to four times the rate of the link. Its queue is
//!   the buffer: u does not look at delay.
//! - **Alone, LEDBAT++**: 60 ms of queue at most on average, where the buffer has them (draft
//!   section 4.5).
//! - **Twice**: Copa shares (25 % at least; on average nearly 50), and LEDBAT++ starves no flow (10
//!   % at least: from slowdown to slowdown the shares stay). Vegas does not share: the flow that
//!   comes late takes the queue of the other for a part of the path (Mo et al. 1999), and nothing
//!   is asked but what stands in the file. PCC's theorem 1 says where rates end and not when: with
//!   steps of 1 % and a full buffer that takes minutes; less than 5 % may be lost with 1 BDP of
//!   buffer.
//! - **Competing with CUBIC or NewReno**, which fill the buffer: Vegas, Copa in default mode and
//!   LEDBAT++ get less than half from 1 BDP on (Mo et al. 1999 for Vegas; of LEDBAT++ it is the
//!   purpose), PCC more than half with 2 BDP at most, since losses below 5 % hardly count. Copa's
//!   competitive mode is made for about half.

use super::table::{self, map};
use super::{Algorithm, Net, duel};
use forebay_base::{Span, Time};
use forebay_cc::{Spec, copa, ledbat, pcc, vegas};
use forebay_sim::Options;
use forebay_testkit::duel::Outcome;

/// Bits of a full-sized packet.
const PACKET_BITS: f64 = 12_000.0;
/// No flow of Copa may have less competing with its like, and none of LEDBAT++.
const FAIR: f64 = 0.25;
const STARVED: f64 = 0.1;
/// Packets of a path on which Vegas and Copa are asked for their queue.
const MAX_PACKETS: f64 = 200.0;
/// Buffer with which PCC is asked for its losses.
const MAX_PCC_BDP: f64 = 2.0;
/// Packets that must have room next to what Vegas and Copa keep waiting.
const ROOM_PACKETS: f64 = 10.0;

/// Who competes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Contender {
    Vegas,
    VegasLinux,
    Copa,
    CopaDefault,
    Pcc,
    Ledbat,
}

const ALL: [Contender; 6] = [
    Contender::Vegas,
    Contender::VegasLinux,
    Contender::Copa,
    Contender::CopaDefault,
    Contender::Pcc,
    Contender::Ledbat,
];

impl Contender {
    fn name(self) -> &'static str {
        match self {
            Contender::Vegas => "vegas",
            Contender::VegasLinux => "vegas-linux",
            Contender::Copa => "copa",
            Contender::CopaDefault => "copa-default",
            Contender::Pcc => "pcc",
            Contender::Ledbat => "ledbat",
        }
    }
    fn spec(self) -> Spec {
        match self {
            Contender::Vegas => Spec::Vegas(vegas::Params::default()),
            Contender::VegasLinux => Spec::Vegas(vegas::Params {
                rules: vegas::Rules::Linux,
                ..vegas::Params::default()
            }),
            Contender::Copa => Spec::Copa(copa::Params::default()),
            Contender::CopaDefault => {
                Spec::Copa(copa::Params { mode: copa::Mode::Default, ..copa::Params::default() })
            }
            Contender::Pcc => Spec::Pcc(pcc::Params::default()),
            Contender::Ledbat => Spec::Ledbat(ledbat::Params::default()),
        }
    }
    /// True where the head of this file asks for a queue or for losses.
    fn is_asked(self, net: Net) -> bool {
        match self {
            Contender::Pcc => net.buffer_bdp <= MAX_PCC_BDP,
            _ => net.packets(net.rtt_s()) < MAX_PACKETS && net.buffer_packets() > ROOM_PACKETS,
        }
    }
    /// Packets that wait on average, alone, at most and at least; None: nothing is asked.
    fn queue(self) -> Option<(f64, f64)> {
        match self {
            Contender::Vegas | Contender::VegasLinux => Some((1.5, 6.0)),
            Contender::CopaDefault => Some((1.5, 4.5)),
            _ => None,
        }
    }
}

/// The second flow of a pair.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rival {
    Itself,
    Cubic,
    NewReno,
}

/// How long and how often.
pub struct Length {
    /// Not measured, in round trips of the path with a full buffer, and at least in seconds.
    pub warm_up: f64,
    pub warm_up_s: f64,
    /// Measured, in such round trips.
    pub measured: f64,
    /// Runs of a pair.
    pub seeds: u64,
}

impl Length {
    fn show(&self) -> String {
        let Length { warm_up, warm_up_s, measured, .. } = self;
        format!(
            "Over the time of {measured} round trips with a full buffer, after {warm_up} and \
             {warm_up_s} s at least.\nQueue at the bottleneck in packets: mean, 5 %, 95 %. Lost: \
             retransmitted, in % of what arrived."
        )
    }
}

impl Net {
    fn packets(self, span_s: f64) -> f64 {
        self.mbps as f64 * 1e6 * span_s / PACKET_BITS
    }
    fn rtt_s(self) -> f64 {
        self.rtt_ms as f64 / 1e3
    }
    fn buffer_packets(self) -> f64 {
        self.buffer_bdp * self.packets(self.rtt_s())
    }
    fn show(self) -> String {
        format!("{:>4} {:>4} {:>4}", self.mbps, self.rtt_ms, self.buffer_bdp)
    }
}

fn run(net: Net, flows: Vec<Spec>, length: &Length, seed: u64) -> Outcome {
    let mut duel = duel(net, flows);
    let round_s = net.rtt_s() * (1.0 + net.buffer_bdp);
    duel.warm_up = Span::from_secs_f64(length.warm_up_s.max(length.warm_up * round_s));
    duel.measured = Span::from_secs_f64(length.measured * round_s);
    duel.seed = seed;
    duel.run_through()
}

/// Columns of a queue: mean, 5 % and 95 %, in packets.
fn queue(net: Net, outcome: &Outcome) -> String {
    let packets = |wait: Span| net.packets(wait.as_secs_f64());
    let (low, high) = outcome.wait_range;
    format!("{:>6.1} {:>6.1} {:>6.1}", packets(outcome.wait), packets(low), packets(high))
}

fn alone_row(who: Contender, net: Net, length: &Length) -> (String, Vec<String>) {
    let outcome = run(net, vec![who.spec()], length, 1);
    let waiting = net.packets(outcome.wait.as_secs_f64());
    let mut complaints = Vec::new();
    let mut ask = |holds: bool, what: &str| {
        if !holds {
            complaints.push(format!("{} {}: {what}: {outcome:?}", who.name(), net.show()));
        }
    };
    if let Some((least, most)) = who.queue().filter(|_| who.is_asked(net)) {
        ask((least..=most).contains(&waiting), "the queue");
        ask(outcome.loss == 0.0, "losses");
        ask(outcome.utilisation > 0.97, "utilisation");
    }
    if who == Contender::Pcc && who.is_asked(net) {
        ask(outcome.loss < 0.05, "losses");
        ask(outcome.utilisation > 0.9, "utilisation");
    }
    let line = format!(
        "{:<13} {} | {:>8.1} | {} | {:>6.2}",
        who.name(),
        net.show(),
        100.0 * outcome.utilisation,
        queue(net, &outcome),
        100.0 * outcome.loss,
    );
    (line, complaints)
}

fn pair_row(who: Contender, rival: Rival, net: Net, length: &Length) -> (String, Vec<String>) {
    let (second, name) = match rival {
        Rival::Itself => (who.spec(), who.name()),
        Rival::Cubic => (Algorithm::Cubic.spec(false), "cubic"),
        Rival::NewReno => (Algorithm::NewReno.spec(false), "newreno"),
    };
    let outcomes: Vec<Outcome> = (1..=length.seeds)
        .map(|seed| run(net, vec![who.spec(), second.clone()], length, seed))
        .collect();
    let mean = |of: fn(&Outcome) -> f64| outcomes.iter().map(of).sum::<f64>() / length.seeds as f64;
    let share = mean(Outcome::share);
    let fair = |least: f64| outcomes.iter().all(|o| (least..1.0 - least).contains(&o.share()));
    let sound = match (rival, who) {
        (Rival::Itself, Contender::Vegas | Contender::VegasLinux) => true,
        (Rival::Itself, Contender::Pcc) => net.buffer_bdp > 1.0 || outcomes[0].loss < 0.05,
        (Rival::Itself, Contender::Ledbat) => fair(STARVED),
        (Rival::Itself, _) => fair(FAIR),
        _ if net.buffer_bdp < 1.0 => true,
        (_, Contender::Copa) => true,
        (_, Contender::Pcc) => !who.is_asked(net) || share > 0.5,
        _ => share < 0.5,
    };
    let shares: Vec<String> =
        outcomes.iter().map(|o| format!("{:.0}", 100.0 * o.share())).collect();
    let line = format!(
        "{:<13} {:<13} {} | {:>6.0} | {:<9} | {:>8.1} | {} | {:>6.2}",
        who.name(),
        name,
        net.show(),
        100.0 * share,
        shares.join(" "),
        100.0 * mean(|o| o.utilisation),
        queue(net, &outcomes[0]),
        100.0 * mean(|o| o.loss),
    );
    let complaint = (!sound).then(|| format!("{line}: the share, or the loss"));
    (line, complaint.into_iter().collect())
}

fn each(nets: &[Net]) -> impl Iterator<Item = (Contender, Net)> {
    ALL.iter().flat_map(move |&who| nets.iter().map(move |&net| (who, net)))
}

/// Rows of each contender alone.
pub fn alone(nets: &[Net], length: &Length) -> String {
    let head = format!(
        "{}\nalone         Mb/s   ms  BDP | utilis % |   mean    5 %   95 % | lost %",
        length.show()
    );
    let cases: Vec<(Contender, Net)> = each(nets).collect();
    table::join(&head, map(&cases, |&(who, net)| alone_row(who, net, length)))
}

/// Rows of each pair.
pub fn pairs(nets: &[Net], length: &Length) -> String {
    let rivals = [Rival::Itself, Rival::Cubic, Rival::NewReno];
    let of = |rival| each(nets).map(move |(who, net)| (who, rival, net));
    let cases: Vec<(Contender, Rival, Net)> = rivals.into_iter().flat_map(of).collect();
    let head = format!(
        "{}\nShare of the first flow in %: mean of seeds 1 to {}, seed by seed. Queue of seed 1.\n\
         first         second        Mb/s   ms  BDP |  share | seeds     | utilis % |   mean\
         {:>7}{:>7} | lost %",
        length.show(),
        length.seeds,
        "5 %",
        "95 %"
    );
    table::join(&head, map(&cases, |&(who, rival, net)| pair_row(who, rival, net, length)))
}

/// Each contender competing with CUBIC for three seconds: its trace hash, whichever way it is run.
pub fn hashes_agree() {
    let net = Net { mbps: 10, rtt_ms: 20, buffer_bdp: 1.0 };
    for who in ALL {
        let duel = duel(net, vec![who.spec(), Algorithm::Cubic.spec(false)]);
        let hash = |options: Options| {
            let (mut sim, _) = duel.simulation(options);
            sim.run_until(Time::from_secs(3)).expect("packets are conserved");
            sim.trace_hash()
        };
        let plain = hash(Options::default());
        let ways = [
            ("bytes", Options { bytes: true, ..Options::default() }),
            ("general", Options { general: true, ..Options::default() }),
            ("two threads", Options { threads: 2, ..Options::default() }),
        ];
        for (way, options) in ways {
            assert_eq!(hash(options), plain, "{}: {way}", who.name());
        }
    }
}

//! The interface machine as the model drives it: the real one, or the real one with a fault put
//! around it.

use forebay_base::{Rng, Stream, Time};
use forebay_router::inrpp::{Arrived, Cached, Class, FlowKey, Interface, Settings, State};
use forebay_signal::inrpp::{BackPressure, BackPressureSignal, Nonce};
use forebay_testkit::pool::settings;
use std::collections::{BTreeMap, BTreeSet};

use forebay_router::inrpp::CacheLimits;

/// All packets have this length.
pub const PACKET_BYTES: u16 = 1500;

/// A data packet.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Data {
    pub flow: u8,
    /// Its place in the flow; 0 for all where flows have no end.
    pub number: u8,
    pub echo: Option<Nonce>,
}

/// What is wrong with a machine. The faults stand around it, in its input and output:
/// nothing of them is in the product.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub enum Mutant {
    /// Bug 1 of the review: an ACK that asks nothing does not free a flow whose packets echo a
    /// nonce that is alive.
    EchoOutlivesAck,
    /// Bug 2 of the review: an ACK that asks nothing frees all flows under the nonce that it
    /// carries, not only its own.
    NothingFreesAll,
    /// An ACK that repeats a request is worth no packet.
    NoCredit,
    /// An ACK is worth two packets.
    DoubleCredit,
    /// No packet leaves where no credit comes.
    NoWatchdog,
    /// A nonce is never forgotten.
    NeverForgets,
    /// What is held passes while the queue of the link has room.
    HeldPasses,
    /// Its own request is read as one of somebody downstream.
    ReadsItself,
    /// Algorithm 1 of the paper: between S_low and S_high no flow is asked any more.
    SilentBetween,
    /// A request of downstream is passed on by an interface that is not congested.
    PassesRequestOn,
    /// What should cancel a request repeats it.
    CancelsNever,
    /// Back-pressure begins only where the cache is full.
    AsksWhenFull,
    /// A nonce serves for every episode.
    SameNonce,
    /// A packet that comes while others of its flow wait overtakes them.
    Overtakes,
    /// A cancellation of downstream passes unread.
    IgnoresCancel,
    /// Who asks says "pause": no ACK is worth a packet.
    PausesAll,
    /// The allowance is what the option can hold, whatever there is room for.
    AllowsAnything,
}

pub const MUTANTS: [Mutant; 17] = [
    Mutant::EchoOutlivesAck,
    Mutant::NothingFreesAll,
    Mutant::NoCredit,
    Mutant::DoubleCredit,
    Mutant::NoWatchdog,
    Mutant::NeverForgets,
    Mutant::HeldPasses,
    Mutant::ReadsItself,
    Mutant::SilentBetween,
    Mutant::PassesRequestOn,
    Mutant::CancelsNever,
    Mutant::AsksWhenFull,
    Mutant::SameNonce,
    Mutant::Overtakes,
    Mutant::IgnoresCancel,
    Mutant::PausesAll,
    Mutant::AllowsAnything,
];

pub fn key(flow: u8) -> FlowKey {
    FlowKey::new((flow as u32, 1), (9, 2), Class::Pooled)
}

/// True if an ACK asks its flow for something.
pub fn asks(option: BackPressure) -> bool {
    matches!(option.ask, BackPressureSignal::SlowDown | BackPressureSignal::Pause)
        || option.allowance > 0 && option.ask == BackPressureSignal::Nothing
}

/// An interface and what its faults have to remember.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Port {
    machine: Interface<Data>,
    mutant: Option<Mutant>,
    /// Number of the port, and how often it has come into B: what its nonces are drawn from.
    id: u8,
    episode: u8,
    /// Who asked for which flow: for the faults.
    under: BTreeMap<u8, Nonce>,
    /// Flows whose last packet here echoes the nonce that they are under.
    echoed: BTreeMap<u8, Option<Nonce>>,
    /// What the last ACK of each flow has said, for a mutant that repeats it for others: what is
    /// older than that is not read.
    acked: BTreeMap<u8, Arrived>,
}

const EPISODES: u8 = 4;

fn machine_settings(limits: CacheLimits, mutant: Option<Mutant>) -> Settings {
    let never = forebay_base::Span::from_secs(1 << 20);
    let plain = settings(limits);
    match mutant {
        Some(Mutant::NoWatchdog) => Settings { watchdog: never, ..plain },
        Some(Mutant::NeverForgets) => Settings { forget_after: never, ..plain },
        _ => plain,
    }
}

impl Port {
    pub fn new(id: u8, limits: CacheLimits, mutant: Option<Mutant>) -> Port {
        let limits = match mutant {
            Some(Mutant::AsksWhenFull) => {
                CacheLimits { high_bytes: limits.total_bytes - PACKET_BYTES as u64, ..limits }
            }
            _ => limits,
        };
        Port {
            machine: Interface::new(limits, 1500, &machine_settings(limits, mutant)),
            mutant,
            id,
            episode: 0,
            under: BTreeMap::new(),
            echoed: BTreeMap::new(),
            acked: BTreeMap::new(),
        }
    }
    fn is(&self, mutant: Mutant) -> bool {
        self.mutant == Some(mutant)
    }
    /// Draws the same nonce as long as the episode is the same.
    fn rng(&self) -> Rng {
        let episode = if self.is(Mutant::SameNonce) { 0 } else { self.episode };
        Rng::new(1 + self.id as u64, Stream::Test, episode as u64)
    }
    fn with<R>(&mut self, work: impl FnOnce(&mut Interface<Data>, &mut Rng) -> R) -> R {
        let before = self.machine.state();
        let mut rng = self.rng();
        let result = work(&mut self.machine, &mut rng);
        if before != State::BackPressure && self.machine.state() == State::BackPressure {
            self.episode = (self.episode + 1) % EPISODES;
        }
        result
    }

    pub fn state(&self) -> State {
        self.machine.state()
    }
    pub fn cached(&self) -> u64 {
        self.machine.cache_packets()
    }
    pub fn nonces(&self) -> usize {
        self.machine.nonces()
    }
    pub fn next_timeout(&self) -> Option<Time> {
        self.machine.next_timeout()
    }
    /// True if the packet need not wait here but for the queue of the link.
    pub fn passes(&self, data: Data) -> bool {
        let free = || !self.machine.has_eligible();
        match self.mutant {
            Some(Mutant::HeldPasses) if free() => {
                !self.machine.flows().any(|(f, _)| f == key(data.flow))
            }
            Some(Mutant::Overtakes) => true,
            _ => self.machine.passes(key(data.flow), data.echo),
        }
    }
    /// Cache it. The number of packets that were lost for it.
    pub fn keep(&mut self, now: Time, data: Data) -> u8 {
        self.echoed.insert(data.flow, data.echo);
        let cached = Cached {
            seq: data.number as u32 * PACKET_BYTES as u32,
            echo: data.echo,
            wire_len: PACKET_BYTES,
            payload_len: PACKET_BYTES,
            taggable: false,
            what: data,
        };
        let kept = self.with(|m, rng| m.keep(now, key(data.flow), cached, 0, rng));
        kept.pushed_out.len() as u8 + kept.refused.is_some() as u8
    }
    pub fn pull(&mut self, now: Time) -> Option<Data> {
        self.with(|m, rng| m.pull(now, rng)).map(|(_, cached)| cached.what)
    }
    pub fn on_timeout(&mut self, now: Time) {
        self.with(|m, rng| m.on_timeout(now, rng));
    }
    /// The number of packets that were lost.
    pub fn restart(&mut self) -> u8 {
        self.under.clear();
        self.echoed.clear();
        self.acked.clear();
        self.machine.restart().len() as u8
    }

    /// Packets of other flows that could leave if the link took all.
    pub fn others_free(&self, flow: u8) -> usize {
        let mut rest = self.clone();
        let pulled = std::iter::from_fn(|| rest.pull(Time::ZERO));
        pulled.filter(|data| data.flow != flow).count()
    }

    /// An ACK comes from downstream; what it says when it has passed.
    pub fn on_ack(&mut self, now: Time, flow: u8, number: u8, came: BackPressure) -> BackPressure {
        let factor = if self.is(Mutant::DoubleCredit) { 2 } else { 1 };
        let before = (number as u32 + 1) * PACKET_BYTES as u32 * factor;
        let news = (flow, Arrived { before, highest: before });
        let said = self.bent_ack(now, news, came);
        if self.is(Mutant::NothingFreesAll) {
            self.acked.insert(flow, news.1);
        }
        match (asks(came), came.nonce) {
            (true, Some(nonce)) => drop(self.under.insert(flow, nonce)),
            _ if self.is(Mutant::EchoOutlivesAck) && self.echo_holds(flow) => {}
            (_, nonce) => {
                self.under.remove(&flow);
                if came.ask == BackPressureSignal::Cancel || self.is(Mutant::NothingFreesAll) {
                    self.under.retain(|_, by| Some(*by) != nonce);
                }
            }
        }
        said
    }
    fn straight_ack(&mut self, now: Time, news: (u8, Arrived), came: BackPressure) -> BackPressure {
        self.with(|m, _| m.on_ack(now, key(news.0), news.1, came))
    }
    /// What the machine would say, without input.
    fn asked_only(&self, now: Time, news: (u8, Arrived), came: BackPressure) -> BackPressure {
        self.machine.clone().on_ack(now, key(news.0), news.1, came)
    }
    fn echo_holds(&self, flow: u8) -> bool {
        let under = self.under.get(&flow).copied();
        let waits = self.machine.flows().any(|(f, _)| f == key(flow));
        waits && under.is_some() && self.echoed.get(&flow) == Some(&under)
    }
    fn bent_ack(&mut self, now: Time, news: (u8, Arrived), came: BackPressure) -> BackPressure {
        let flow = news.0;
        let known = came.nonce.filter(|_| came.ask == BackPressureSignal::SlowDown);
        let known = known.is_some_and(|n| self.under.get(&flow) == Some(&n));
        match self.mutant {
            Some(Mutant::EchoOutlivesAck) if !asks(came) => {
                if self.echo_holds(flow) {
                    self.asked_only(now, news, came)
                } else {
                    self.straight_ack(now, news, came)
                }
            }
            Some(Mutant::NothingFreesAll) if !asks(came) && came.nonce.is_some() => {
                let others = self.under.iter().filter(|&(_, by)| Some(*by) == came.nonce);
                let others: BTreeSet<u8> = others.map(|(&f, _)| f).filter(|&f| f != flow).collect();
                for other in others {
                    let free = BackPressure { nonce: None, ..came };
                    let last = self.acked.get(&other).copied().unwrap_or_default();
                    self.straight_ack(now, (other, last), free);
                }
                self.straight_ack(now, news, came)
            }
            Some(Mutant::NoCredit) if known => self.asked_only(now, news, came),
            Some(Mutant::ReadsItself) => {
                let said = self.straight_ack(now, news, came);
                if asks(said) && !asks(came) {
                    self.straight_ack(now, news, said);
                }
                said
            }
            Some(Mutant::SilentBetween)
                if self.state() == State::BackPressure
                    && self.machine.cache_bytes() <= self.machine.limits().high_bytes =>
            {
                let said = self.straight_ack(now, news, came);
                BackPressure {
                    ask: BackPressureSignal::Nothing,
                    allowance: 0,
                    nonce: came.nonce,
                    ..said
                }
            }
            Some(Mutant::PassesRequestOn) if came.ask == BackPressureSignal::SlowDown => {
                let said = self.straight_ack(now, news, came);
                BackPressure { ask: BackPressureSignal::SlowDown, nonce: came.nonce, ..said }
            }
            Some(Mutant::CancelsNever) => {
                let said = self.straight_ack(now, news, came);
                if said.ask == BackPressureSignal::Cancel && came.ask != BackPressureSignal::Cancel
                {
                    BackPressure { ask: BackPressureSignal::SlowDown, allowance: 0, ..said }
                } else {
                    said
                }
            }
            Some(Mutant::IgnoresCancel) if came.ask == BackPressureSignal::Cancel => {
                self.asked_only(now, news, came)
            }
            Some(Mutant::PausesAll) => {
                let said = self.straight_ack(now, news, came);
                let ask = if said.ask == BackPressureSignal::SlowDown {
                    BackPressureSignal::Pause
                } else {
                    said.ask
                };
                BackPressure { ask, ..said }
            }
            Some(Mutant::AllowsAnything) => {
                let said = self.straight_ack(now, news, came);
                if self.state() == State::BackPressure {
                    BackPressure { ask: BackPressureSignal::Nothing, allowance: 63, ..said }
                } else {
                    said
                }
            }
            _ => self.straight_ack(now, news, came),
        }
    }
}

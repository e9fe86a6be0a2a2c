//! When the application of a flow starts, writes and stops, if it does not write all it has at the
//! start.

use forebay_base::{FlowId, Rate, Rng, Span, Time};

/// Behaviour of the application of a flow other than writing all its bytes at its start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppSchedule {
    /// It opens its connection when another flow has ended.
    pub after: Option<After>,
    /// When it stops writing. Bytes written by then are delivered, and FIN follows. An application
    /// without a rate has written what has been sent. A flow that follows another does not start at
    /// all if it would start at its stop or later.
    pub stop: Option<Time>,
    /// How it writes; None: all it has at once.
    pub write: Option<Writing>,
    /// Bytes that the server sends back as soon as it is connected, whatever it is sent.
    pub answer_bytes: u64,
    /// Its client is not Forebay's: whoever connects to this port of its server has the next of the
    /// flows that listen there. Such a flow has one path, and its server one interface.
    pub listen: Option<u16>,
    /// That it has not started when the run ends is not a failure: it is one of more flows than
    /// there is time for.
    pub spare: bool,
}

/// A flow that follows another of the same client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct After {
    /// The other flow. It ends when both ends of its connection are closed and its client knows it,
    /// or when its client gives up.
    pub flow: FlowId,
    /// From then until the SYN is sent; drawn once, for each flow from its own random stream.
    pub think: TimeDistribution,
}

/// An application that writes over time. Its clock starts with the SYN, in a period in which it
/// writes. It does not wait for the transport: bytes that cannot be sent wait at the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writing {
    /// Writing rate: one chunk at the start of a period, and one more each time that the rate
    /// allows one. None: as fast as the transport sends.
    pub rate: Option<Rate>,
    /// Bytes written at once under a rate: 1 to 2^24 - 1.
    pub chunk_bytes: u32,
    /// How long it writes and how long it does not, in turn; each period is drawn anew, and lasts
    /// at least [`Writing::SHORTEST`]. None: it always writes.
    pub periods: Option<[TimeDistribution; 2]>,
}

impl Writing {
    /// No period is shorter.
    pub const SHORTEST: Span = Span::from_micros(1);
}

/// A span of time, or its distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeDistribution {
    /// Always this.
    Constant(Span),
    /// Exponential with this mean.
    Exponential(Span),
    /// Uniform between these two, both included. The first is not longer than the second.
    Uniform(Span, Span),
}

impl TimeDistribution {
    /// One draw.
    pub fn draw(&self, rng: &mut Rng) -> Span {
        match *self {
            TimeDistribution::Constant(span) => span,
            TimeDistribution::Exponential(mean) => {
                Span::from_secs_f64(mean.as_secs_f64() * rng.exponential())
            }
            TimeDistribution::Uniform(least, most) => {
                let width = most.saturating_sub(least).as_nanos();
                least + Span::from_nanos(rng.below(width.saturating_add(1).max(1)))
            }
        }
    }
    /// The mean.
    pub fn mean(&self) -> Span {
        match *self {
            TimeDistribution::Constant(mean) | TimeDistribution::Exponential(mean) => mean,
            TimeDistribution::Uniform(least, most) => (least + most) / 2,
        }
    }
    /// True if each draw is the same.
    pub fn is_constant(&self) -> bool {
        match *self {
            TimeDistribution::Constant(_) => true,
            TimeDistribution::Exponential(mean) => mean.is_zero(),
            TimeDistribution::Uniform(least, most) => least == most,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use forebay_base::Stream;

    #[test]
    fn laws_have_their_means() {
        let mut rng = Rng::new(1, Stream::Test, 0);
        let ms = Span::from_millis;
        assert_eq!(TimeDistribution::Constant(ms(7)).draw(&mut rng), ms(7));
        for law in
            [TimeDistribution::Exponential(ms(100)), TimeDistribution::Uniform(ms(50), ms(150))]
        {
            let draws: Vec<f64> = (0..20_000).map(|_| law.draw(&mut rng).as_secs_f64()).collect();
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            let (least, most) = draws.iter().fold((1.0, 0.0), |(a, b), &x| (x.min(a), x.max(b)));
            // The standard error of 20000 draws of an exponential is 0.7 %.
            assert!((mean - 0.1).abs() < 0.003, "{law:?}: {mean}");
            match law {
                // The largest of n draws is about 0.1 ln n = 1 s.
                TimeDistribution::Exponential(_) => {
                    assert!(least < 1e-4 && most > 0.6, "{least} {most}")
                }
                _ => assert!((0.05..=0.0501).contains(&least) && most <= 0.15, "{least} {most}"),
            }
        }
    }
}

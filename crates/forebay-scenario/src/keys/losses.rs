//! What a link loses: the key `loss` of links, a probability or a table.

use crate::format::fault::{Fault, Problem};
use crate::format::fields::{
    Field, Fields, Section, Spanned, property, read_section, section_schema, sections,
};
use crate::format::item::{Item, Value};
use crate::format::units::Probability;
use forebay_net::LossModel;
use serde_json::{Value as Json, json};

sections! {
    /// Losses that are not independent: a channel of two states (Gilbert and Elliott), or packets
    /// by their numbers.
    pub struct LossTable {
        required {}
        optional {
            /// Probability of a change from the good to the bad state after a packet. Range: more
            /// than 0, at most 1. Example: 0.01.
            enter: Probability,
            /// Probability of a change from the bad to the good state after a packet: the bad state
            /// lasts 1 / leave packets on average. Range: more than 0, at most 1. Example: 0.3.
            leave: Probability,
            /// Probability of a loss in the good state. Default: 0.
            good: Probability,
            /// Probability of a loss in the bad state. Default: 1.
            bad: Probability,
            /// Numbers of the packets that are lost, in ascending order: the first packet that the
            /// link transmits is 1. Range: 1 or more. Example: [3, 10].
            packets: Vec<u32>,
        }
    }
}

/// A probability, or a table.
#[derive(Clone, Debug)]
pub(crate) enum LossKey {
    /// Each packet is lost with this probability.
    Independent(Probability),
    /// Of two states, or by list.
    Model(LossModel),
}

impl Field for LossKey {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::Table(_) => {
                let at =
                    Spanned { value: LossTable::read(item, key)?, loc: item.loc, key: key.into() };
                model(&at).map(LossKey::Model)
            }
            _ => Probability::read(item, key).map(LossKey::Independent),
        }
    }
    fn write(&self) -> toml::Value {
        match self {
            LossKey::Independent(loss) => loss.write(),
            LossKey::Model(model) => describe(model).write(),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [Probability::schema(), LossTable::schema()] })
    }
    fn stand_in() -> Option<Self> {
        Probability::stand_in().map(LossKey::Independent)
    }
}

impl LossKey {
    /// The keys of what a link loses.
    pub fn of(loss: f64, model: Option<&LossModel>) -> LossKey {
        model.cloned().map_or(LossKey::Independent(Probability(loss)), LossKey::Model)
    }
    /// The probability of independent losses, and the model in their place.
    pub fn resolve(&self) -> (f64, Option<LossModel>) {
        match self {
            LossKey::Independent(loss) => (loss.0, None),
            LossKey::Model(model) => (0.0, Some(model.clone())),
        }
    }
}

fn model(at: &Spanned<LossTable>) -> Result<LossModel, Fault> {
    let LossTable { enter, leave, good, bad, packets } = &at.value;
    let probability =
        |key: &Option<Spanned<Probability>>, or: f64| key.as_ref().map_or(or, |at| at.value.0);
    match (enter, leave, packets) {
        (Some(enter), Some(leave), None) => {
            if let Some(zero) = [enter, leave].into_iter().find(|at| at.value.0 == 0.0) {
                let (found, expected) = ("0".to_string(), "more than 0, at most 1".to_string());
                return Err(zero.fault(Problem::OutOfRange { found, expected }));
            }
            let (good, bad) = (probability(good, 0.0), probability(bad, 1.0));
            Ok(LossModel::GilbertElliott { enter: enter.value.0, leave: leave.value.0, good, bad })
        }
        (None, None, Some(packets)) if good.is_none() && bad.is_none() => {
            let numbers: Vec<u64> = packets.value.iter().copied().map(u64::from).collect();
            let rising = numbers.windows(2).all(|pair| pair[0] < pair[1]);
            match numbers.first() {
                Some(1..) if rising => Ok(LossModel::List(numbers.into())),
                _ => {
                    let found = packets.value.write().to_string();
                    let expected = "numbers of packets from 1 on, rising".to_string();
                    Err(packets.fault(Problem::OutOfRange { found, expected }))
                }
            }
        }
        _ => {
            let text = "a table of losses has `enter` and `leave`, or `packets`";
            Err(at.fault(Problem::Conflict(text.into())))
        }
    }
}

fn describe(model: &LossModel) -> LossTable {
    let some = |p: f64| Some(Spanned::new(Probability(p)));
    match model {
        &LossModel::GilbertElliott { enter, leave, good, bad } => LossTable {
            enter: some(enter),
            leave: some(leave),
            good: some(good),
            bad: some(bad),
            packets: None,
        },
        LossModel::List(numbers) => LossTable {
            packets: Some(Spanned::new(numbers.iter().map(|&number| number as u32).collect())),
            ..LossTable::default()
        },
    }
}

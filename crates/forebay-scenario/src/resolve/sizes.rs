//! How much the flows of a group send.

use crate::format::fault::{Fault, Problem};
use crate::format::faults::both;
use crate::format::fields::{Field, Spanned};
use crate::format::units::{Bytes, Number};
use crate::keys::file::FlowGroup;
use crate::keys::sizes::{Amount, SizeOf, SizeTable};
use crate::model::sizes::{SizeClasses, SizeDistribution, SizeForm};

/// How much a flow sends.
#[derive(Clone, Copy)]
pub(crate) enum Size {
    Endless,
    Bytes(u64),
    Drawn(SizeDistribution),
}

impl Size {
    /// The most bytes that it can be; None: without end.
    pub fn most_bytes(&self) -> Option<u64> {
        match self {
            Size::Endless => None,
            Size::Bytes(bytes) => Some(*bytes),
            Size::Drawn(law) => Some(law.most_bytes()),
        }
    }
    /// The mean in bytes; None: without end.
    pub fn mean_bytes(&self) -> Option<f64> {
        match self {
            Size::Endless => None,
            Size::Bytes(bytes) => Some(*bytes as f64),
            Size::Drawn(law) => Some(law.mean_bytes()),
        }
    }
    pub fn law(&self) -> Option<SizeDistribution> {
        match self {
            Size::Drawn(law) => Some(*law),
            _ => None,
        }
    }
}

/// One of `bytes`, `packets` and `endless`.
pub(crate) fn of_group(group: &Spanned<FlowGroup>, mss_bytes: u64) -> Result<Size, Fault> {
    let flow = &group.value;
    let endless = flow.endless.as_ref().is_some_and(|at| at.value);
    let positive = |place: Spanned<()>, n: u64| match n {
        0 => {
            let expected = "1 or more".to_string();
            Err(place.fault(Problem::OutOfRange { found: "0".into(), expected }))
        }
        _ => Ok(n),
    };
    match (&flow.bytes, &flow.packets, endless) {
        (Some(bytes), None, false) => match &bytes.value {
            SizeOf::Number(number) => positive(bytes.place(), number.0).map(Size::Bytes),
            SizeOf::Distribution(table) => law(table, &bytes.place(), 1).map(Size::Drawn),
        },
        (None, Some(packets), false) => match &packets.value {
            SizeOf::Number(number) => {
                let packets = positive(packets.place(), u64::from(*number))?;
                // 2^32 packets of 2^16 bytes fit.
                Ok(Size::Bytes(packets * mss_bytes))
            }
            SizeOf::Distribution(table) => {
                in_packets(table)?;
                law(table, &packets.place(), mss_bytes).map(Size::Drawn)
            }
        },
        (None, None, true) => Ok(Size::Endless),
        (None, None, false) if flow.stop.is_some() => Ok(Size::Endless),
        (None, None, false) => {
            let meaning = "how much the flow sends; or `packets`, or `endless = true`".into();
            Err(group.fault(Problem::MissingKey { key: "bytes".into(), meaning }))
        }
        _ => {
            let text = "only one of `bytes`, `packets` and `endless` may be given";
            Err(group.fault(Problem::Conflict(text.into())))
        }
    }
}

/// A distribution in packets takes no byte units.
fn in_packets(table: &SizeTable) -> Result<(), Fault> {
    let amounts = [&table.exponential, &table.mean, &table.min, &table.max];
    match amounts.into_iter().flatten().find(|at| at.value.in_bytes) {
        Some(at) => {
            let text = "a number of packets has no unit; give the distribution under `bytes`";
            Err(at.fault(Problem::Conflict(text.into())))
        }
        None => Ok(()),
    }
}

/// The distribution of a table at `place`, in units of this many bytes.
fn law(table: &SizeTable, place: &Spanned<()>, unit_bytes: u64) -> Result<SizeDistribution, Fault> {
    let (form, most) = both(form(table, place), most(table, place, unit_bytes))?;
    let least = match form {
        SizeForm::Pareto { least, .. } => least,
        _ => 0.0,
    };
    if (most as f64) < least {
        let at = table.max.as_ref().expect("it was read");
        let expected = format!("the minimum ({least}) or more");
        return Err(at.fault(Problem::OutOfRange { found: most.to_string(), expected }));
    }
    Ok(SizeDistribution { form, most, unit_bytes })
}

/// No distribution gives more bytes: 2^50.
const MAX_BYTES: f64 = (1u64 << 50) as f64;

fn most(table: &SizeTable, place: &Spanned<()>, unit_bytes: u64) -> Result<u64, Fault> {
    let Some(at) = &table.max else {
        let meaning = "maximum: larger samples become this size".to_string();
        return Err(place.fault(Problem::MissingKey { key: "max".into(), meaning }));
    };
    let whole = at.value.value.fract() == 0.0;
    if whole && (1.0..=MAX_BYTES / unit_bytes as f64).contains(&at.value.value) {
        return Ok(at.value.value as u64);
    }
    let expected = "a whole number from 1 to 2^50 bytes".to_string();
    Err(at.fault(Problem::OutOfRange { found: at.value.value.to_string(), expected }))
}

fn form(table: &SizeTable, place: &Spanned<()>) -> Result<SizeForm, Fault> {
    match (&table.pareto, &table.lomax, &table.exponential) {
        (Some(shape), None, None) => match (&table.mean, &table.min) {
            (Some(mean), None) => {
                let (shape, mean) = both(above(shape, 1.0), positive(mean))?;
                Ok(SizeForm::Pareto { shape, least: mean * (shape - 1.0) / shape })
            }
            (None, Some(least)) => {
                let (shape, least) = both(above(shape, 0.0), positive(least))?;
                Ok(SizeForm::Pareto { shape, least })
            }
            (None, None) => Err(no_mean(place, "mean of the distribution; or `min`")),
            (Some(_), Some(at)) => {
                let text = "only one of `mean` and `min` may be given";
                Err(at.fault(Problem::Conflict(text.into())))
            }
        },
        (None, Some(shape), None) => {
            only_pareto(&table.min)?;
            let Some(mean) = &table.mean else {
                return Err(no_mean(place, "mean of the distribution"));
            };
            let (shape, mean) = both(above(shape, 1.0), positive(mean))?;
            Ok(SizeForm::Lomax { shape, mean })
        }
        (None, None, Some(mean)) => {
            only_pareto(&table.min)?;
            if let Some(at) = &table.mean {
                let text = "`exponential` is the mean already";
                return Err(at.fault(Problem::Conflict(text.into())));
            }
            positive(mean).map(SizeForm::Exponential)
        }
        _ => {
            let text = "one of `pareto`, `lomax` and `exponential`";
            Err(place.fault(Problem::Conflict(text.into())))
        }
    }
}

fn no_mean(place: &Spanned<()>, meaning: &str) -> Fault {
    place.fault(Problem::MissingKey { key: "mean".into(), meaning: meaning.to_string() })
}

fn only_pareto(least: &Option<Spanned<Amount>>) -> Result<(), Fault> {
    match least {
        Some(at) => {
            let text = "`min` goes with `pareto`: the other distributions start at 0";
            Err(at.fault(Problem::Conflict(text.into())))
        }
        None => Ok(()),
    }
}

/// A shape that the distribution allows: a mean needs one above 1.
fn above(shape: &Spanned<Number>, bound: f64) -> Result<f64, Fault> {
    if shape.value.0 > bound {
        return Ok(shape.value.0);
    }
    let found = shape.value.0.to_string();
    let expected = if bound > 0.0 {
        "more than 1: with a smaller shape there is no mean".to_string()
    } else {
        "more than 0".to_string()
    };
    Err(shape.fault(Problem::OutOfRange { found, expected }))
}

fn positive(at: &Spanned<Amount>) -> Result<f64, Fault> {
    if at.value.value > 0.0 {
        return Ok(at.value.value);
    }
    let (found, expected) = (at.value.value.to_string(), "more than 0".to_string());
    Err(at.fault(Problem::OutOfRange { found, expected }))
}

/// The bounds of the key `size_classes`: ascending numbers of packets, one at least.
pub(crate) fn bounds(at: &Spanned<Vec<u32>>) -> Result<&[u32], Fault> {
    let bounds = &at.value[..];
    let ascend = bounds.windows(2).all(|pair| pair[0] < pair[1]);
    if ascend && bounds.first().is_some_and(|&first| first > 0) {
        return Ok(bounds);
    }
    let expected = "numbers of packets, each larger than the one before".to_string();
    Err(at.fault(Problem::OutOfRange { found: at.value.write().to_string(), expected }))
}

/// The keys of a flow of this size.
pub(crate) fn describe(
    bytes: Option<u64>,
    law: Option<&SizeDistribution>,
    classes: Option<&SizeClasses>,
    group: &mut FlowGroup,
) {
    let amount = |value: f64| Spanned::new(Amount { value, in_bytes: false });
    match law {
        None => {
            group.bytes = bytes.map(|bytes| Spanned::new(SizeOf::Number(Bytes(bytes))));
            group.endless = bytes.is_none().then(|| Spanned::new(true));
        }
        Some(law) => {
            let shape = |shape| Some(Spanned::new(Number(shape)));
            let mut table = SizeTable { max: Some(amount(law.most as f64)), ..Default::default() };
            match law.form {
                SizeForm::Pareto { shape: of, least } => {
                    (table.pareto, table.min) = (shape(of), Some(amount(least)));
                }
                SizeForm::Lomax { shape: of, mean } => {
                    (table.lomax, table.mean) = (shape(of), Some(amount(mean)));
                }
                SizeForm::Exponential(mean) => table.exponential = Some(amount(mean)),
            }
            match law.unit_bytes {
                1 => group.bytes = Some(Spanned::new(SizeOf::Distribution(Box::new(table)))),
                _ => group.packets = Some(Spanned::new(SizeOf::Distribution(Box::new(table)))),
            }
        }
    }
    group.size_classes = classes.map(|classes| Spanned::new(classes.bounds_packets.clone()));
}

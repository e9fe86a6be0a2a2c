//! Expectations in words: what is expected, and what came of it.

use crate::terminal::{Estimate, Unit, exact, row, trimmed};
use forebay_lab::report::{MetricDoc, comparable};
use forebay_lab::scenario::{Expectation, Over};
use forebay_lab::{ExpectationResult, Status};

/// Most seeds that a sentence names one by one or in ranges.
const MAX_SEEDS: usize = 12;

/// What a scenario expects, such as "queue_delay_p95_ms <= 50 ms, largest over seeds".
pub fn expected(of: &Expectation) -> String {
    let (end, high) = of.bound.ends();
    let ends: Vec<f64> = [end].into_iter().chain(high).collect();
    let ends = self::ends(of.metric(), &ends);
    let subject = subject(of.metric, of.class.as_deref(), of.link.as_deref());
    let about = of.protocol.as_ref().map(|protocol| format!("{protocol}: ")).unwrap_or_default();
    named(&about, of.name.as_deref(), &says(&subject, of.bound.op(), &ends, of.over))
}

/// The same of a result, without its protocol: the name of a test.
pub fn title(of: &ExpectationResult) -> String {
    named("", of.name.as_deref(), &sentence(of).0)
}

/// What was expected under a protocol, and what the value is.
pub fn outcome(of: &ExpectationResult) -> String {
    let (expected, value) = sentence(of);
    named(&format!("{}: ", of.protocol), of.name.as_deref(), &expected) + ": " + &value
}

/// What was expected, and the value, in digits that distinguish the two.
fn sentence(of: &ExpectationResult) -> (String, String) {
    let metric = comparable().find(|metric| metric.name == of.metric);
    let metric = metric.expect("results name what expectations may name");
    // Of a share it is not a value of the metric.
    let found_value = of.value.filter(|_| !matches!(of.over, Over::Share(_)));
    let found_value = found_value.map(|found| value(metric, found, &of.expected));
    let ends = ends(metric, &of.expected);
    let subject = subject(of.metric, of.class.as_deref(), of.link.as_deref());
    (says(&subject, of.op, &ends, of.over), found(of, found_value))
}

fn named(about: &str, name: Option<&str>, sentence: &str) -> String {
    match name {
        Some(name) => format!("{about}{name} ({sentence})"),
        None => format!("{about}{sentence}"),
    }
}

fn subject(metric: &str, class: Option<&str>, link: Option<&str>) -> String {
    match (class, link) {
        (Some(class), _) => format!("{metric} of class {class}"),
        (None, Some(link)) => format!("{metric} of {link}"),
        (None, None) => metric.to_string(),
    }
}

fn says(subject: &str, op: &str, ends: &[String], over: Over) -> String {
    let over = match over {
        Over::Mean => String::new(),
        Over::Min => ", smallest over seeds".to_string(),
        Over::Max => ", largest over seeds".to_string(),
        Over::Share(share) => format!(", with {} of seeds", exact(Unit::Share, share)),
    };
    match ends {
        [low, high] => format!("{subject} within {low} and {high}{over}"),
        ends => format!("{subject} {op} {}{over}", ends.join(" ")),
    }
}

/// What came of it.
fn found(of: &ExpectationResult, value: Option<String>) -> String {
    let why = of.why.as_deref();
    let count = of.seeds.len();
    if of.status == Status::Unchecked {
        return format!("not checked, {}", why.unwrap_or("no runs"));
    }
    let text = match (of.over, value) {
        (Over::Share(_), _) => {
            let met = count - of.failing_seeds.len();
            let plural = if count == 1 { "" } else { "s" };
            format!("with {met} of {count} seed{plural}")
        }
        (_, None) => String::new(),
        (Over::Mean, Some(value)) if count > 1 => format!("{value}, mean over {count} seeds"),
        (_, Some(value)) => match of.seed.filter(|_| count > 1) {
            Some(seed) => format!("{value}, with seed {seed}"),
            None => value,
        },
    };
    let not = if of.status == Status::Fails && count > 1 && !of.failing_seeds.is_empty() {
        seeds_that_do_not(of)
    } else {
        None
    };
    let parts = [Some(text).filter(|text| !text.is_empty()), why.map(String::from), not];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// The seeds to look at, if they are few.
fn seeds_that_do_not(of: &ExpectationResult) -> Option<String> {
    let plural = if of.failing_seeds.len() == 1 { "" } else { "s" };
    let seeds = ranges(&of.failing_seeds);
    let few = seeds.split(", ").count() <= MAX_SEEDS;
    let one = of.seed.is_some_and(|seed| of.failing_seeds == [seed]);
    (few && !one).then(|| format!("not met with seed{plural} {seeds}"))
}

/// The ends of a bound with their units, in full.
fn ends(metric: &MetricDoc, ends: &[f64]) -> Vec<String> {
    ends.iter().map(|end| exact(metric.shown, end * metric.scale)).collect()
}

/// A value with its unit: in four digits, but in full where it is close to an end of its bound.
fn value(metric: &MetricDoc, value: f64, ends: &[f64]) -> String {
    let close = |end: &f64| (value - end).abs() <= 1e-3 * end.abs();
    let shown = value * metric.scale;
    if ends.iter().any(close) {
        return exact(metric.shown, shown);
    }
    let (unit, cells) = row(metric.shown, &[Some(Estimate { mean: shown, ci95: None })]);
    format!("{} {unit}", trimmed(&cells[0])).trim_end().to_string()
}

/// Numbers in order, as ranges: `1..3, 7`.
pub fn ranges(numbers: &[u64]) -> String {
    let mut texts = Vec::new();
    let mut rest = numbers;
    while let Some(&first) = rest.first() {
        let run =
            rest.windows(2).take_while(|pair| pair[0].checked_add(1) == Some(pair[1])).count();
        texts.push(match run {
            0 => first.to_string(),
            _ => format!("{first}..{}", rest[run]),
        });
        rest = &rest[run + 1..];
    }
    texts.join(", ")
}

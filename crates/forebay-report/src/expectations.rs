//! What the scenario expects of the results, and what came of it.

use super::escape::html;
use super::figures::{four_digits, prefix, ranges, second_prefix};
use super::look::Protocol;
use super::results::{Expected, OverSeeds, Results};
use forebay_metrics::{MetricDoc, Unit, comparable};

/// Most seeds that are named one by one.
const SEEDS: usize = 12;

/// The section of the page; empty if nothing was expected.
pub(super) fn section(results: &Results, protocols: &[Protocol]) -> String {
    if results.expectations.is_empty() {
        return String::new();
    }
    let all = results.expectations.len();
    let pass = results.expectations.iter().filter(|of| passes(of)).count();
    let rows: String = results.expectations.iter().map(|of| row(results, protocols, of)).collect();
    format!(
        "<section id=expectations data-pass={pass} data-all={all}>\
         <h2>Expectations: {pass} of {all} pass</h2><div class=wide><table><thead><tr>\
         <th scope=col>under</th><th scope=col>expected</th><th scope=col>found</th></tr></thead>\
         <tbody>{rows}</tbody></table></div></section>"
    )
}

/// Results written before version 0.2 say "holds".
fn passes(of: &Expected) -> bool {
    matches!(of.status.as_str(), "passes" | "holds")
}

fn row(results: &Results, protocols: &[Protocol], of: &Expected) -> String {
    let (class, mark) = match of.status.as_str() {
        _ if passes(of) => ("passes", "✓ passes"),
        "fails" => ("fails", "✗ fails"),
        _ => ("unchecked", "– not checked"),
    };
    let place = results.aggregate.iter().position(|a| a.protocol == of.protocol);
    let under = place.map_or(of.protocol.as_str(), |place| protocols[place].title.as_str());
    let name = of.name.as_ref().map_or(String::new(), |name| format!("<b>{}</b> ", html(name)));
    let (under, expected, found) = (html(under), html(&expected(of)), html(&found(of)));
    let found = if found.is_empty() { found } else { format!(": {found}") };
    format!(
        "<tr class={class}><th scope=row>{under}</th><td>{name}{expected}</td>\
         <td><b>{mark}</b>{found}</td></tr>"
    )
}

/// In words, such as "queue_delay_p95_ms at most 50 ms".
fn expected(of: &Expected) -> String {
    let subject = match (&of.class, &of.link) {
        (Some(class), _) => format!("{} of class {class}", of.metric),
        (None, Some(link)) => format!("{} of {link}", of.metric),
        (None, None) => of.metric.clone(),
    };
    let ends: Vec<String> = of.expected.iter().map(|end| value(of, *end, true)).collect();
    let bound = match ends.as_slice() {
        [low, high] => format!("within {low} and {high}"),
        ends => format!("{} {}", of.op, ends.join(" ")),
    };
    let over = match &of.over {
        OverSeeds::Named(name) if name == "min" => ", smallest over seeds".to_string(),
        OverSeeds::Named(name) if name == "max" => ", largest over seeds".to_string(),
        OverSeeds::Named(_) => String::new(),
        OverSeeds::Share { share } => format!(", with {} % of seeds", four_digits(share * 100.0)),
    };
    format!("{subject} {bound}{over}")
}

fn found(of: &Expected) -> String {
    let count = of.seeds.len();
    let value = match (&of.over, of.value) {
        (OverSeeds::Share { .. }, Some(_)) => {
            let met = count - of.failing_seeds.len();
            format!("with {met} of {count} seed{}", if count == 1 { "" } else { "s" })
        }
        (_, None) => String::new(),
        (_, Some(found)) => {
            let close = |end: &f64| (found - end).abs() <= 1e-3 * end.abs();
            let text = value(of, found, of.expected.iter().any(close));
            match (of.seed, count) {
                (_, 0 | 1) => text,
                (Some(seed), _) => format!("{text}, with seed {seed}"),
                (None, _) => format!("{text}, mean over {count} seeds"),
            }
        }
    };
    let failing = &of.failing_seeds;
    let said = of.seed.is_some_and(|seed| *failing == [seed]);
    let few = count > 1 && !said && (1..=SEEDS).contains(&failing.len());
    let plural = if failing.len() == 1 { "" } else { "s" };
    let failing = few.then(|| format!("not met with seed{plural} {}", ranges(failing)));
    let parts = [Some(value).filter(|text| !text.is_empty()), of.why.clone(), failing];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

/// A value of the metric with its unit: all digits if they matter, else four.
fn value(of: &Expected, value: f64, exact: bool) -> String {
    let metric: Option<&MetricDoc> = comparable().find(|metric| metric.name == of.metric);
    let Some(metric) = metric else { return value.to_string() };
    let shown = value * metric.scale;
    let ((letter, scale), name) = match metric.shown {
        Unit::Seconds => (second_prefix(shown), "s"),
        Unit::BitsPerSecond => (prefix(shown), "bit/s"),
        Unit::Bytes => (prefix(shown), "B"),
        Unit::Share => (("", 0.01), "%"),
        Unit::Plain | Unit::Count => (("", 1.0), ""),
    };
    let number = if exact {
        // Twelve digits: what a product of a decimal number adds comes after them.
        format!("{}", format!("{:.11e}", shown / scale).parse::<f64>().expect("a number"))
    } else {
        four_digits(shown / scale)
    };
    format!("{number} {letter}{name}").trim_end().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: serde_json::Value) -> Expected {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn expectations_in_words() {
        let mean = of(serde_json::json!({
            "protocol": "cubic", "metric": "queue_delay_p95_ms", "op": "<=", "expected": [50.0],
            "over": "mean", "seeds": [1, 2, 3], "value": 61.2345, "failing_seeds": [2, 3],
            "status": "fails"
        }));
        assert_eq!(expected(&mean), "queue_delay_p95_ms <= 50 ms");
        assert_eq!(found(&mean), "61.23 ms, mean over 3 seeds; not met with seeds 2..3");
        let share = of(serde_json::json!({
            "protocol": "cubic", "metric": "utilisation", "link": "a-b", "op": "within",
            "expected": [0.9, 1.0], "over": {"share": 0.9}, "seeds": [1, 2], "value": 0.5,
            "failing_seeds": [1], "status": "fails"
        }));
        assert_eq!(
            expected(&share),
            "utilisation of a-b within 90 % and 100 %, with 90 % of seeds"
        );
        assert_eq!(found(&share), "with 1 of 2 seeds; not met with seed 1");
        // As close as that, all digits matter.
        let close = of(serde_json::json!({
            "protocol": "cubic", "metric": "goodput_bps", "class": "web", "op": ">",
            "expected": [9.5e6], "over": "min", "seeds": [1], "value": 9_499_999.0,
            "failing_seeds": [1], "status": "fails"
        }));
        assert_eq!(expected(&close), "goodput_bps of class web > 9.5 Mbit/s, smallest over seeds");
        assert_eq!(found(&close), "9.499999 Mbit/s");
    }
}

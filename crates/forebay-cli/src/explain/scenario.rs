//! A scenario: what it shows, and its network in few lines.

use super::preset;
use crate::screen::{Estimate, Paint, Table, Unit, row, wrap};
use forebay_base::Span;
use forebay_lab::scenario::{Builtin, CSV_COLUMNS, CsvColumn, Flow, Scenario, Wire};
use std::fmt::Write;

/// Most links or flows that are shown one by one.
const SHOWN: usize = 12;

/// The explanation of a scenario. Writing to the string cannot fail.
pub fn text(name: &str, scenario: &Scenario, paint: Paint) -> String {
    let mut text = format!("{} - scenario\n\n", paint.bold(name));
    if !scenario.description.is_empty() {
        text.push_str(&wrap(&scenario.description, 0));
        text.push('\n');
    }
    text.push_str(&facts(scenario));
    let _ = write!(text, "\n{}\n{}", paint.bold("Links"), links(scenario, paint));
    let _ = write!(text, "\n{}\n{}", paint.bold("Flows"), flows(scenario, paint));
    let _ = writeln!(text, "\nTry: forebay run {name}");
    text
}

/// The explanation of a built-in scenario that needs files of the user's: its own text.
pub fn template(name: &str, paint: Paint) -> Option<String> {
    let builtin = Builtin::find(name)?;
    let head = format!("{} - scenario, to be completed with files", paint.bold(name));
    Some(format!("{head}\n\n{}\n{}", builtin.text, columns(paint)))
}

/// The columns of CSV files. Writing to the string cannot fail.
fn columns(paint: Paint) -> String {
    let mut text = String::new();
    for (i, CsvColumn { file, name, meaning }) in CSV_COLUMNS.iter().enumerate() {
        if i == 0 || CSV_COLUMNS[i - 1].file != *file {
            let _ = writeln!(text, "{}", paint.bold(format!("Columns of {file}")));
        }
        let _ = writeln!(text, "  {name:<10}{}", wrap(meaning, 12).trim());
    }
    text.push_str("\nThe first line names them, in any order; columns of others are not used. A line that begins\n");
    text.push_str("with # is a comment. A cell may stand in double quotes.\n");
    text
}

fn facts(scenario: &Scenario) -> String {
    let hosts = scenario.nodes.iter().filter(|node| node.is_host).count();
    let (preset, unlike) = preset::nearest(&scenario.tcp);
    let tcp = match unlike.is_empty() {
        true => format!("preset {preset}"),
        false => format!("preset {preset}, but {}", listed(&unlike)),
    };
    let end = match scenario.until {
        Some(time) => format!("at {} s, or when all flows have ended", time.as_secs_f64()),
        None => "when all flows have ended".into(),
    };
    let chance = match scenario.is_random() {
        true => "seeds differ",
        false => "none: all seeds give the same run",
    };
    let nodes = format!("{hosts} hosts, {} routers", scenario.nodes.len() - hosts);
    let mut rows =
        vec![("Protocols", scenario.protocols.join(", ")), ("Nodes", nodes), ("TCP", tcp)];
    for protocol in &scenario.protocols {
        let own = preset::unlike(&scenario.tcp_for(protocol), &scenario.tcp);
        if !own.is_empty() {
            rows.push(("", format!("of {protocol}: {}", listed(&own))));
        }
    }
    rows.extend([("Ends", end), ("Chance", chance.to_string())]);
    if !scenario.events.is_empty() {
        let times = scenario.events.iter().map(|event| event.at.as_secs_f64());
        let (first, last) = (times.clone().fold(f64::MAX, f64::min), times.fold(0.0, f64::max));
        let count = scenario.events.len();
        rows.push(("Events", format!("{count}, from {first} s to {last} s")));
    }
    let lines = rows.iter().map(|(label, value)| {
        let wrapped = wrap(value, 11);
        format!("{label:<11}{}", wrapped.trim_start())
    });
    lines.collect()
}

fn listed(values: &[(&str, String)]) -> String {
    let texts: Vec<String> = values.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    texts.join(", ")
}

fn links(scenario: &Scenario, paint: Paint) -> String {
    let headings = ["rate", "delay", "queue", "loss"];
    let mut table = Table::new(headings.map(String::from).to_vec());
    for link in scenario.links.iter().take(SHOWN) {
        table.push(format!("  {}", link.name), wire(&link.forward));
        if link.reverse != link.forward {
            table.push(format!("  {} reverse", link.name), wire(&link.reverse));
        }
    }
    table.render(paint) + &more(scenario.links.len(), "links")
}

fn wire(wire: &Wire) -> Vec<String> {
    let loss = if wire.loss > 0.0 { format!("{} %", wire.loss * 100.0) } else { "-".into() };
    let bps = one(Unit::BitsPerSecond, wire.rate.bps() as f64);
    vec![bps, span(wire.delay), wire.queue.to_string(), loss]
}

fn flows(scenario: &Scenario, paint: Paint) -> String {
    let headings = ["start", "bytes", "protocol"];
    let mut table = Table::new(headings.map(String::from).to_vec());
    let name = |node: forebay_base::NodeId| &scenario.nodes[node.index()].name;
    for (id, flow) in (1..).zip(scenario.flows.iter().take(SHOWN)) {
        let Flow { src, dst, start, bytes, protocol, .. } = flow;
        let bytes = bytes.map_or_else(|| "endless".into(), |bytes| bytes.to_string());
        let protocol = protocol.unwrap_or("of the run").to_string();
        let start = one(Unit::Seconds, start.as_secs_f64());
        table.push(
            format!("  {id}: {} to {}", name(*src), name(*dst)),
            vec![start, bytes, protocol],
        );
    }
    table.render(paint) + &more(scenario.flows.len(), "flows")
}

fn more(count: usize, what: &str) -> String {
    match count.checked_sub(SHOWN) {
        None | Some(0) => String::new(),
        Some(more) => format!("  and {more} more {what}\n"),
    }
}

fn span(span: Span) -> String {
    one(Unit::Seconds, span.as_secs_f64())
}

/// One value with its unit, without trailing zeros.
fn one(unit: Unit, value: f64) -> String {
    let (name, cells) = row(unit, &[Some(Estimate { mean: value, half: None })]);
    let digits = match cells[0].contains('.') {
        true => cells[0].trim_end_matches('0').trim_end_matches('.'),
        false => &cells[0],
    };
    format!("{digits} {name}")
}

//! A scenario: what it shows, and its network in few lines.

use super::preset;
use crate::expect;
use crate::terminal::{Estimate, Paint, Table, Unit, row, trimmed, wrap};
use forebay_base::{Span, Time};
use forebay_lab::scenario::{
    After, Attack, AttackKind, Builtin, CSV_COLUMNS, Channel, CsvColumn, Flow, Fragments,
    Knowledge, LinkDirection, Look, LossModel, MiddleboxSpec, Scenario, StripOptions,
    TimeDistribution, Writing,
};
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
    text.push_str(
        "\nThe first line names them, in any order; columns of others are not used. A line \
         that begins\n",
    );
    text.push_str("with # is a comment. A cell may stand in double quotes.\n");
    text
}

fn facts(scenario: &Scenario) -> String {
    let hosts = scenario.nodes.iter().filter(|node| node.is_host).count();
    let (preset, unlike) = preset::nearest(&scenario.tcp);
    let tcp = if unlike.is_empty() {
        format!("preset {preset}")
    } else {
        format!("preset {preset}, but {}", listed(&unlike))
    };
    let end = match scenario.until {
        Some(time) => format!("at {} s, or when all flows have ended", seconds(time)),
        None => "when all flows have ended".into(),
    };
    let chance =
        if scenario.is_random() { "seeds differ" } else { "none: all seeds give the same run" };
    let nodes = [(hosts, "host"), (scenario.nodes.len() - hosts, "router")];
    let nodes = nodes.map(|(count, what)| counted(count, what)).join(", ");
    let mut rows =
        vec![("Protocols", scenario.protocols.join(", ")), ("Nodes", nodes), ("TCP", tcp)];
    for protocol in &scenario.protocols {
        let own = preset::unlike(&scenario.tcp_for(protocol), &scenario.tcp);
        if !own.is_empty() {
            rows.push(("", format!("of {protocol}: {}", listed(&own))));
        }
    }
    rows.extend([("Ends", end), ("Random", chance.to_string())]);
    if !scenario.events.is_empty() {
        let times = || scenario.events.iter().map(|event| event.at);
        let ends = times().min().zip(times().max());
        let text = ends.map(|(first, last)| match times().count() {
            1 => format!("1, at {} s", seconds(first)),
            count => format!("{count}, from {} s to {} s", seconds(first), seconds(last)),
        });
        rows.extend(text.map(|text| ("Events", text)));
    }
    rows.extend(middleboxes(scenario).into_iter().map(|text| ("Middlebox", text)));
    rows.extend(scenario.attacks.iter().map(|a| ("Attack", attack(a, scenario))));
    let expected = scenario.expect.iter().map(expect::expected);
    let labels = std::iter::once("Expects").chain(std::iter::repeat(""));
    rows.extend(labels.zip(expected));
    let lines = rows.iter().map(|(label, value)| {
        let wrapped = wrap(value, 11);
        format!("{label:<11}{}", wrapped.trim_start())
    });
    lines.collect()
}

/// What stands on links and changes packets, a line for each direction.
fn middleboxes(scenario: &Scenario) -> Vec<String> {
    let of = |name: String, spec: &MiddleboxSpec| {
        let strips = match &spec.strip {
            StripOptions::None => None,
            StripOptions::Unknown => Some("strips unknown TCP options".to_string()),
            StripOptions::Kinds(kinds) => {
                let kinds: Vec<String> = kinds.iter().map(ToString::to_string).collect();
                Some(format!("strips TCP options {}", kinds.join(", ")))
            }
        };
        let fragments = match spec.fragments {
            Fragments::Pass => None,
            Fragments::Drop => Some("drops fragments"),
            Fragments::Whole => Some("reassembles datagrams"),
            Fragments::Pieces => Some("holds fragments until a datagram is complete"),
        };
        let df = spec.set_df.then_some("sets DF");
        let does = strips.into_iter().chain(df.into_iter().chain(fragments).map(String::from));
        format!("{name}: {}", does.collect::<Vec<_>>().join("; "))
    };
    let directions = scenario.links.iter().flat_map(|link| {
        let reverse = format!("{} reverse", link.name);
        [(link.name.clone(), &link.forward), (reverse, &link.reverse)]
    });
    directions.filter_map(|(name, wire)| Some(of(name, wire.wire.middlebox.as_ref()?))).collect()
}

fn attack(attack: &Attack, scenario: &Scenario) -> String {
    let from = &scenario.nodes[attack.from.index()].name;
    let (flow, noun) = (attack.flow.0 + 1, attack.what.noun());
    let (start, every, count, look, knows) = match attack.what {
        AttackKind::Forge { start, every, count, look, knows } => {
            (start, every, count, look, knows)
        }
        AttackKind::Replay { start, every, count, link, age, .. } => {
            return format!(
                "{} of what {from} has sent for flow {flow} on {}, from {} s on, one each {}, {} \
                 old or more",
                counted(count as usize, noun),
                scenario.links[link.index() / 2].name,
                seconds(start),
                span(every),
                span(age),
            );
        }
        AttackKind::Misbehave(_) => return format!("{from} is the {noun} of flow {flow}"),
    };
    let knows = match knows {
        Knowledge::Receiver => "the receiver alone",
        Knowledge::Addresses => "the addresses",
        Knowledge::Ports => "addresses and ports",
        Knowledge::Sequence => "addresses, ports and sequence number",
    };
    let length = match look {
        Look::Fragment { lead_bytes } => format!(", of {lead_bytes} bytes"),
        Look::Notice { .. } => String::new(),
    };
    format!(
        "{from} forges {} of flow {flow}{length}, from {} s on, one each {}; it knows {knows}",
        counted(count as usize, noun),
        seconds(start),
        span(every),
    )
}

/// A number and what is counted, such as "1 router".
fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// A time in seconds, to the nanosecond, without trailing zeros.
fn seconds(time: Time) -> String {
    let (whole, part) = (time.as_nanos() / 1_000_000_000, time.as_nanos() % 1_000_000_000);
    let digits = format!("{whole}.{part:09}");
    digits.trim_end_matches('0').trim_end_matches('.').to_string()
}

fn listed(values: &[(&str, String)]) -> String {
    let texts: Vec<String> = values.iter().map(|(key, value)| format!("{key} = {value}")).collect();
    texts.join(", ")
}

fn links(scenario: &Scenario, paint: Paint) -> String {
    let headings = ["rate", "delay", "queue", "loss"];
    let mut table = Table::new(headings.map(String::from).to_vec());
    for link in scenario.links.iter().take(SHOWN) {
        table.push(format!("  {}", link.name), direction(&link.forward));
        if link.reverse != link.forward {
            table.push(format!("  {} reverse", link.name), direction(&link.reverse));
        }
    }
    table.render(paint) + &more(scenario.links.len(), "links")
}

fn direction(direction: &LinkDirection) -> Vec<String> {
    let loss = match &direction.wire.loss_model {
        Some(LossModel::GilbertElliott { .. }) => "in bursts".into(),
        Some(LossModel::List(numbers)) => format!("{} packets by number", numbers.len()),
        None if direction.wire.loss > 0.0 => format!("{} %", direction.wire.loss * 100.0),
        None => "-".into(),
    };
    let bps = one(Unit::BitsPerSecond, direction.rate.bps() as f64);
    let bps = match &direction.channel {
        Channel::Constant => bps,
        Channel::Trace(file) => format!("{}, {bps} on average", file.path),
        Channel::Generated(generated) => {
            format!("{}, {bps} on average", generated.profile.name)
        }
        Channel::Bucket { burst_bytes, .. } => format!("{bps}, bursts of {burst_bytes} bytes"),
    };
    // Its parameters are in the file; a column of them would be wider than a terminal.
    let queue = if direction.discipline.is_default() {
        direction.queue.to_string()
    } else {
        format!("{}, {}", direction.queue, direction.discipline.name())
    };
    vec![bps, span(direction.wire.delay), queue, loss]
}

fn flows(scenario: &Scenario, paint: Paint) -> String {
    let lively = scenario.flows.iter().any(|flow| flow.life.is_some());
    let headings: &[&str] = if lively {
        &["start", "bytes", "stop", "writes", "protocol"]
    } else {
        &["start", "bytes", "protocol"]
    };
    let mut table = Table::new(headings.iter().map(ToString::to_string).collect());
    let name = |node: forebay_base::NodeId| &scenario.nodes[node.index()].name;
    for (id, flow) in (1..).zip(scenario.flows.iter().take(SHOWN)) {
        let Flow { src, dst, start, bytes, life, protocol, .. } = flow;
        let life = life.as_deref().cloned().unwrap_or_default();
        let bytes = match (bytes, life.stop) {
            (Some(bytes), _) => bytes.to_string(),
            (None, Some(_)) => "until it stops".into(),
            (None, None) => "endless".into(),
        };
        let protocol = protocol.as_deref().unwrap_or("of the run").to_string();
        let start = match life.after {
            None => one(Unit::Seconds, start.as_secs_f64()),
            Some(After { flow, think }) => format!("{} after {}", law(think), flow.0 + 1),
        };
        let stop =
            life.stop.map_or_else(|| "-".into(), |stop| one(Unit::Seconds, stop.as_secs_f64()));
        let writes = life.write.map_or_else(|| "at once".into(), writes);
        let mut cells = vec![start, bytes];
        if lively {
            cells.extend([stop, writes]);
        }
        cells.push(protocol);
        table.push(format!("  {id}: {} to {}", name(*src), name(*dst)), cells);
    }
    table.render(paint) + &more(scenario.flows.len(), "flows")
}

/// A time, or how it is drawn.
fn law(law: TimeDistribution) -> String {
    match law {
        TimeDistribution::Constant(constant) => span(constant),
        TimeDistribution::Exponential(mean) => format!("exp. {}", span(mean)),
        TimeDistribution::Uniform(least, most) => format!("{} to {}", span(least), span(most)),
    }
}

/// How an application writes over time.
fn writes(Writing { rate, periods, .. }: Writing) -> String {
    let rate = rate.map(|rate| one(Unit::BitsPerSecond, rate.bps() as f64));
    let periods = periods.map(|[on, off]| format!("{} on, {} off", law(on), law(off)));
    rate.into_iter().chain(periods).collect::<Vec<_>>().join(", ")
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
    let (name, cells) = row(unit, &[Some(Estimate { mean: value, ci95: None })]);
    let digits = trimmed(&cells[0]);
    format!("{digits} {name}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_and_counts_have_the_right_number() {
        // As a float of seconds this is 30.000000000000004.
        assert_eq!(seconds(Time::from_secs(30)), "30");
        assert_eq!(seconds(Time::from_nanos(1_500_000_001)), "1.500000001");
        assert_eq!(seconds(Time::ZERO), "0");
        assert_eq!(
            (counted(1, "router"), counted(2, "host")),
            ("1 router".into(), "2 hosts".into())
        );
    }
}

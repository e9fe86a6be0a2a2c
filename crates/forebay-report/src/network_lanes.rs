//! The ways of flows over several paths, drawn beside the links that they take.

use super::escape::html;
use super::network::{DrawnLink, Network};
use super::network_ways::{FlowWay, MAX_FLOWS};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Colours of the first paths of a flow, which no load has.
const PATHS: [&str; 4] = ["#332288", "#117733", "#882255", "#000000"];
/// From the middle of a link to the first line beside it, and from there to the next.
const BESIDE: f64 = 7.0;
const APART: f64 = 3.5;
/// Length of the arrow at the receiver.
const ARROW: f64 = 9.0;

/// A line for each way, with an arrow at its receiver.
pub(super) fn lanes(network: &Network, at: &[[f64; 2]], radius: f64, text: &mut String) {
    let mut taken: BTreeMap<[usize; 2], usize> = BTreeMap::new();
    for way in &network.flow_ways.ways {
        let mut points = Vec::new();
        for [from, to] in steps(way, &network.links) {
            let lane = taken.entry([from.min(to), from.max(to)]).or_default();
            points.extend(beside(at[from], at[to], BESIDE + APART * *lane as f64, radius));
            *lane += 1;
        }
        let Some((&last, before)) = points.split_last() else { continue };
        let colour = colour(way);
        let mut line = String::new();
        for (number, [x, y]) in points.iter().enumerate() {
            // Writing to a string cannot fail.
            let _ = write!(line, "{}{x:.1} {y:.1}", if number == 0 { 'M' } else { 'L' });
        }
        let _ = writeln!(
            text,
            "<g class=\"w\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.8\" \
             stroke-linejoin=\"round\"><title>{}</title><path d=\"{line}\" \
             stroke-dasharray=\"7 4\"/><path d=\"{}\" fill=\"{colour}\"/></g>",
            html(&title(way, network)),
            arrow(before.last().copied().unwrap_or(last), last)
        );
    }
}

/// Entries of the legend: a line and what it is of; none where no way is drawn.
pub(super) fn legend(network: &Network) -> Vec<(String, String)> {
    let of = &network.flow_ways;
    let mut entries = BTreeMap::new();
    for way in &of.ways {
        entries.entry(way.path).or_insert_with(|| colour(way));
    }
    let last = entries.len().saturating_sub(1);
    let words = |(number, (path, colour)): (usize, (usize, &'static str))| {
        let more = if number == last && of.flows > MAX_FLOWS {
            format!(" (of the first {MAX_FLOWS} of {} flows)", of.flows)
        } else {
            String::new()
        };
        let line = format!(
            "<path d=\"M0 0h14\" stroke=\"{colour}\" stroke-width=\"1.8\" \
             stroke-dasharray=\"7 4\"/>"
        );
        (line, format!("path {path}{more}"))
    };
    entries.into_iter().enumerate().map(words).collect()
}

/// Flow and path, and the nodes on it.
fn title(way: &FlowWay, network: &Network) -> String {
    let FlowWay { flow, path, ends: [from, _], .. } = way;
    let mut title = format!("flow {flow}, path {path}: {from}");
    for [_, to] in steps(way, &network.links) {
        title.push_str(" - ");
        title.push_str(&network.nodes[to].name);
    }
    title
}

/// The drawn nodes from which and to which a way goes, link by link.
fn steps(way: &FlowWay, links: &[DrawnLink]) -> Vec<[usize; 2]> {
    let ends = |&id: &usize| {
        let [a, b] = links.iter().find(|link| link.number == id / 2)?.ends;
        Some(if id % 2 == 0 { [a, b] } else { [b, a] })
    };
    way.links.iter().filter_map(ends).collect()
}

fn colour(way: &FlowWay) -> &'static str {
    PATHS[(way.path - 1) % PATHS.len()]
}

/// Both ends of a line beside the one from `from` to `to`, to the right of its direction.
fn beside(from: [f64; 2], to: [f64; 2], offset: f64, radius: f64) -> [[f64; 2]; 2] {
    let gap = [to[0] - from[0], to[1] - from[1]];
    let length = gap[0].hypot(gap[1]).max(1e-9);
    let along = gap.map(|x| x / length * radius.min(length / 3.0));
    let aside = [-gap[1] / length * offset, gap[0] / length * offset];
    let end =
        |at: [f64; 2], sign: f64| [0, 1].map(|axis| at[axis] + aside[axis] + sign * along[axis]);
    [end(from, 1.0), end(to, -1.0)]
}

/// A triangle whose tip is at the end of a line.
fn arrow(from: [f64; 2], tip: [f64; 2]) -> String {
    let gap = [tip[0] - from[0], tip[1] - from[1]];
    let length = gap[0].hypot(gap[1]).max(1e-9);
    let [x, y] = gap.map(|part| part / length * ARROW);
    let base = [tip[0] - x, tip[1] - y];
    format!(
        "M{:.1} {:.1}L{:.1} {:.1}L{:.1} {:.1}z",
        tip[0],
        tip[1],
        base[0] - y / 3.0,
        base[1] + x / 3.0,
        base[0] + y / 3.0,
        base[1] - x / 3.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two hosts with two links each, and a flow over both.
    const TWO: &str = r#"
        protocols = ["mptcp", "newreno"]
        routers = ["l0", "l1", "r0", "r1"]
        hosts = [{ name = "s" }, { name = "d" }]
        links = [
            { a = "l0", b = "r0" }, { a = "l1", b = "r1" },
            { a = "s", b = "l0" }, { a = "s", b = "l1" },
            { a = "d", b = "r0" }, { a = "d", b = "r1" },
        ]
        flows = [{ src = "s", dst = "d", paths = [["s-l0", "d-r0"], ["s-l1", "d-r1"]] }]
    "#;

    fn titles(text: &str, protocols: Option<&[&str]>) -> Vec<String> {
        let network = Network::of_scenario(text).expect("it has links");
        let network = match protocols {
            Some(protocols) => {
                let flow_ways = network.flow_ways.used_under(protocols);
                Network { flow_ways, ..network }
            }
            None => network,
        };
        let svg = network.svg();
        let lines = svg.split("<g class=\"w\"").skip(1);
        let title = |line: &str| {
            let (_, title) = line.split_once("<title>").expect("a title");
            title.split_once("</title>").expect("its end").0.to_string()
        };
        lines.map(title).collect()
    }

    #[test]
    fn each_path_of_a_flow_has_a_line_of_its_own() {
        let both = ["flow 1, path 1: s - l0 - r0 - d", "flow 1, path 2: s - l1 - r1 - d"];
        assert_eq!(titles(TWO, None), both);
        assert_eq!(titles(TWO, Some(&["mptcp"])), both);
        assert_eq!(titles(TWO, Some(&["newreno"])), both[..1], "NewReno has the first");
        // A variant is what it is of, and a flow may have a protocol of its own.
        let variant = format!("{TWO}\n[protocol.mine]\nof = \"mptcp-olia\"\n");
        assert_eq!(titles(&variant, Some(&["mine"])), both);
        let own = TWO.replace("src = \"s\"", "protocol = \"mptcp\", src = \"s\"");
        assert_eq!(titles(&own, Some(&["newreno"])), both);
    }

    #[test]
    fn the_ways_are_those_of_the_routes() {
        // The second path has a shorter way round now, and then a dearer one.
        let short = TWO.replace(
            "{ a = \"l1\", b = \"r1\" }",
            "{ a = \"l1\", b = \"l0\" }, \
                                 { a = \"r0\", b = \"r1\" }",
        );
        assert_eq!(titles(&short, None)[1], "flow 1, path 2: s - l1 - l0 - r0 - r1 - d");
        let dear = short.replace(
            "{ a = \"l1\", b = \"l0\" }",
            "{ a = \"l1\", b = \"l0\", weight = 9 }, { a = \"l1\", b = \"r1\", weight = 3 }",
        );
        assert_eq!(titles(&dear, None)[1], "flow 1, path 2: s - l1 - r1 - d");
        // By its ports a subflow may take any of several trees; and one path is no choice.
        let trees = format!("{TWO}\n[routes]\ntrees = 2\n");
        assert_eq!(titles(&trees, None), [""; 0]);
        let one =
            TWO.replace("[[\"s-l0\", \"d-r0\"], [\"s-l1\", \"d-r1\"]]", "[[\"s-l0\", \"d-r0\"]]");
        assert_eq!(titles(&one, None), [""; 0]);
    }

    #[test]
    fn lines_over_one_link_are_apart_and_the_legend_names_them() {
        let shared = TWO.replace("[\"s-l1\", \"d-r1\"]", "[\"s-l0\", \"d-r0\"]");
        let network = Network::of_scenario(&shared).expect("it has links");
        let svg = network.svg();
        let lines: Vec<&str> = svg
            .split("<g class=\"w\"")
            .skip(1)
            .map(|line| line.split("<path d=\"").nth(1).expect("a line"))
            .collect();
        assert!(lines.len() == 2 && lines[0] != lines[1]);
        assert!(svg.contains(">path 1</text>") && svg.contains(">path 2</text>"));
    }
}

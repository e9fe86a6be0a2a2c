//! The drawing of a network, as SVG: what a run did to it in colours and marks, and more where the
//! pointer rests.

use super::escape::html;
use super::figures::{four_digits, prefix};
use super::look::Protocol;
use super::network::{DrawnLink, DrawnNode, Network, Way};
use super::network_lanes;
use super::results::Results;
use forebay_topology::Role;
use std::fmt::Write;

/// How each SVG file begins that Forebay writes.
pub const SVG_HEAD: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" data-by=\"forebay\"";

const WIDTH: f64 = 1_000.0;
const MARGIN: f64 = 36.0;
const LEGEND: f64 = 30.0;
/// Least and greatest height of the network.
const HEIGHT: [f64; 2] = [160.0, 760.0];
/// Most nodes whose names are shown without a pointer.
const NAMED: usize = 70;
/// Most protocols whose networks a page shows.
const DRAWINGS: usize = 8;
/// Utilisation from which a link is more than idle.
const IDLE: f64 = 0.005;
/// Colours of utilisation up to 20, 40, 60, 80 and 100 %: of Okabe and Ito, distinct also under
/// colour blindness.
const LOADS: [&str; 5] = ["#56B4E9", "#0072B2", "#009E73", "#E69F00", "#D55E00"];
const QUIET: &str = "#a9a9a3";
/// Of links without a figure: those that no router feeds, and those of a map.
const UNKNOWN: &str = "#cfcfc9";
const CACHE: &str = "#CC79A7";

/// A network on its canvas.
struct Canvas<'a> {
    network: &'a Network,
    at: Vec<[f64; 2]>,
    height: f64,
    /// Rates of the slowest and the fastest link.
    rates: [f64; 2],
    /// Most bytes of any cache.
    most_cached: u64,
    /// Radius of a router.
    radius: f64,
}

impl Network {
    /// The drawing, as a file.
    pub fn svg(&self) -> String {
        let used = Network { flow_ways: self.flow_ways.used(), ..self.clone() };
        format!("{}</svg>\n", Canvas::new(&used).svg(SVG_HEAD))
    }
}

/// The networks of all protocols, as a section of the page; empty if the network is not drawn.
pub(super) fn section(results: &Results, protocols: &[Protocol]) -> String {
    let Some(network) = &results.network else { return String::new() };
    let mut drawings = String::new();
    for (number, (of, look)) in results.aggregate.iter().zip(protocols).enumerate().take(DRAWINGS) {
        let measured = network.measured(results, &of.name);
        let svg = Canvas::new(&measured).svg("<svg class=network");
        // Writing to a string cannot fail.
        let _ = write!(
            drawings,
            "<details{}><summary>{}{}</summary>{svg}</svg></details>",
            if number == 0 { " open" } else { "" },
            look.picture(),
            html(&look.title)
        );
    }
    let several = results.aggregate.iter().any(|of| of.seeds.len() > 1);
    let means = if several { " Means over seeds; of caches the highest." } else { "" };
    let left_out = results.aggregate.len().saturating_sub(DRAWINGS);
    let more = if left_out > 0 {
        format!(" The first {DRAWINGS} of {} protocols.", results.aggregate.len())
    } else {
        String::new()
    };
    format!(
        "<section id=network><h2>Network</h2><p class=about>Each half of a link has the colour of \
         the utilisation of the direction that begins there; thicker links are faster. Rest the \
         pointer on a link or a router for figures.{means}{more}</p>{drawings}</section>"
    )
}

impl<'a> Canvas<'a> {
    fn new(network: &'a Network) -> Canvas<'a> {
        let ends = |axis: usize| {
            let all = network.nodes.iter().map(move |node| node.at[axis]);
            all.fold([f64::MAX, f64::MIN], |[low, high], at| [low.min(at), high.max(at)])
        };
        let [x, y] = [ends(0), ends(1)];
        let size = [x, y].map(|[low, high]| (high - low).max(1e-9));
        let room = [WIDTH - 2.0 * MARGIN, HEIGHT[1] - 2.0 * MARGIN];
        let scale = (room[0] / size[0]).min(room[1] / size[1]);
        let height = (size[1] * scale + 2.0 * MARGIN).max(HEIGHT[0]);
        let middle = [x, y].map(|[low, high]| (low + high) / 2.0);
        let place = |node: &DrawnNode| {
            let [right, up] = [0, 1].map(|axis| (node.at[axis] - middle[axis]) * scale);
            [WIDTH / 2.0 + right, height / 2.0 - up]
        };
        let ways = || network.links.iter().flat_map(|link| &link.ways);
        let rates = ways().filter_map(|way| way.rate_bps);
        let rates = rates.fold([f64::MAX, 1.0], |[low, high], bps| [low.min(bps), high.max(bps)]);
        let most_cached = ways().filter_map(|way| way.cache_bytes).map(|[bytes, _]| bytes);
        let radius = match network.nodes.len() {
            0..=70 => 6.0,
            71..=200 => 4.5,
            _ => 3.0,
        };
        Canvas {
            network,
            at: network.nodes.iter().map(place).collect(),
            height,
            rates,
            most_cached: most_cached.max().unwrap_or(0),
            radius,
        }
    }

    /// All but the end of the element, which begins with `head`.
    fn svg(&self, head: &str) -> String {
        let loads = if self.network.measured { self.loads() } else { Vec::new() };
        let legends = [loads, network_lanes::legend(self.network)];
        let rows = || legends.iter().filter(|entries| !entries.is_empty());
        let mut text = format!(
            "{head} viewBox=\"0 0 {WIDTH} {:.0}\" font-family=\"sans-serif\" font-size=\"11\" \
             stroke-linecap=\"round\">\n\
             <style>.n{{stroke:#fff;stroke-width:1}}.t{{fill:#555;stroke:#fff;stroke-width:3;\
             paint-order:stroke;text-anchor:middle}}.l:hover path{{stroke:#000}}</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\" rx=\"4\"/>\n",
            self.height + LEGEND * rows().count() as f64
        );
        // What is busy is drawn over what is not.
        let load = |link: &&DrawnLink| {
            let loads = link.ways.iter().filter_map(|way| way.utilisation);
            loads.fold(-1.0, f64::max)
        };
        let mut links: Vec<&DrawnLink> = self.network.links.iter().collect();
        links.sort_by(|a, b| load(a).total_cmp(&load(b)));
        for link in links {
            self.link(link, &mut text);
        }
        for link in &self.network.links {
            self.marks(link, &mut text);
        }
        network_lanes::lanes(self.network, &self.at, self.radius, &mut text);
        for (node, &at) in self.network.nodes.iter().zip(&self.at) {
            self.node(node, at, &mut text);
        }
        for (row, entries) in rows().enumerate() {
            self.legend(row, entries, &mut text);
        }
        text
    }

    fn link(&self, link: &DrawnLink, text: &mut String) {
        let [from, to] = link.ends.map(|end| self.at[end]);
        let middle = between(from, to, 0.5);
        let width = self.width(&link.ways);
        let title: Vec<String> = link.ways.iter().map(title).collect();
        let _ = write!(text, "<g class=\"l\"><title>{}</title>", title.join("\n"));
        let colours = link.ways.each_ref().map(colour);
        let mut half = |from: [f64; 2], to: [f64; 2], colour: &str| {
            let ([a, b], [c, d]) = (from, to);
            let _ = write!(
                text,
                "<path d=\"M{a:.1} {b:.1}L{c:.1} {d:.1}\" stroke=\"{colour}\" \
                 stroke-width=\"{width:.1}\"/>"
            );
        };
        if colours[0] == colours[1] {
            half(from, to, colours[0]);
        } else {
            half(from, middle, colours[0]);
            half(to, middle, colours[1]);
        }
        text.push_str("</g>\n");
    }

    /// The width of a link: each factor of ten in rate is as much wider.
    fn width(&self, ways: &[Way; 2]) -> f64 {
        let rate = ways.iter().filter_map(|way| way.rate_bps).fold(0.0, f64::max);
        let [low, high] = self.rates;
        let decades = (high / low).log10().clamp(0.0, 6.0);
        let least = if self.radius < 4.0 { 0.7 } else { self.radius / 3.0 };
        let above = if rate > 0.0 { (rate / low).log10().clamp(0.0, 6.0) } else { 0.0 };
        least + if decades > 0.0 { above / decades.max(1.0) * self.radius / 1.8 } else { 0.0 }
    }

    /// Cache and detours of the ports of a link, near the router that each is of.
    fn marks(&self, link: &DrawnLink, text: &mut String) {
        let [a, b] = link.ends.map(|end| self.at[end]);
        let length = (a[0] - b[0]).hypot(a[1] - b[1]).max(1e-9);
        for (way, (from, to)) in link.ways.iter().zip([(a, b), (b, a)]) {
            let along = |pixels: f64| between(from, to, (pixels / length).min(0.45));
            if let Some([bytes, _]) = way.cache_bytes.filter(|[bytes, _]| *bytes > 0) {
                let share = bytes as f64 / self.most_cached.max(1) as f64;
                let radius = self.radius * (0.5 + 1.1 * share.sqrt());
                let [x, y] = along(2.0 * self.radius + radius);
                let _ = writeln!(
                    text,
                    "<circle class=\"n\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.1}\" \
                     fill=\"{CACHE}\"><title>{}</title></circle>",
                    title(way)
                );
            }
            if way.detoured > 0.0 {
                let [x, y] = along(5.5 * self.radius);
                let r = self.radius;
                let _ = writeln!(
                    text,
                    "<path class=\"n\" d=\"M{:.1} {y:.1}l{r} -{r}l{r} {r}l-{r} {r}z\" \
                     fill=\"#000\"><title>{}</title></path>",
                    x - r,
                    title(way)
                );
            }
        }
    }

    fn node(&self, node: &DrawnNode, [x, y]: [f64; 2], text: &mut String) {
        let DrawnNode { name, is_host, role, hosts, .. } = node;
        let name = html(name);
        let role = role.map_or(String::new(), |role| format!(", {role}"));
        let hosts = match hosts {
            0 => String::new(),
            1 => ", 1 host".to_string(),
            many => format!(", {many} hosts"),
        };
        let r = self.radius;
        let shape = if *is_host {
            let r = 0.7 * r;
            format!(
                "<rect class=\"n\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" \
                 fill=\"#777\">",
                x - r,
                y - r,
                2.0 * r,
                2.0 * r
            )
        } else {
            let fill = match node.role {
                Some(Role::Edge | Role::Stub) => "#8a8a84",
                Some(Role::Gateway | Role::Aggregation) => "#4d4d4a",
                _ => "#1a1a1a",
            };
            format!("<circle class=\"n\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{r}\" fill=\"{fill}\">")
        };
        let end = if *is_host { "</rect>" } else { "</circle>" };
        let _ = writeln!(text, "{shape}<title>{name}{role}{hosts}</title>{end}");
        if self.network.nodes.len() <= NAMED {
            let _ = writeln!(
                text,
                "<text class=\"t\" x=\"{x:.1}\" y=\"{:.1}\">{name}</text>",
                y - r - 4.0
            );
        }
    }

    /// Entries of the legend: shapes with words.
    fn loads(&self) -> Vec<(String, String)> {
        let line =
            |colour: &str| format!("<path d=\"M0 0h12\" stroke=\"{colour}\" stroke-width=\"4\"/>");
        let ways = || self.network.links.iter().flat_map(|link| &link.ways);
        let mut entries = Vec::new();
        if ways().any(|way| way.utilisation.is_none()) {
            entries.push((line(UNKNOWN), "not measured".to_string()));
        }
        entries.push((line(QUIET), "idle".to_string()));
        for (i, colour) in LOADS.iter().enumerate() {
            entries.push((line(colour), format!("{}\u{2013}{} %", 20 * i, 20 * (i + 1))));
        }
        if self.most_cached > 0 {
            let most = bytes(self.most_cached);
            let shape = format!("<circle cx=\"6\" r=\"6\" fill=\"{CACHE}\"/>");
            entries.push((shape, format!("cache, the largest peak {most}")));
        }
        if ways().any(|way| way.detoured > 0.0) {
            let shape = "<path d=\"M0 0l6 -6l6 6l-6 6z\"/>".to_string();
            entries.push((shape, "sends on detours".to_string()));
        }
        entries
    }

    /// Write a row of the legend, of those below the drawing.
    fn legend(&self, row: usize, entries: &[(String, String)], text: &mut String) {
        let y = self.height + LEGEND * (row as f64 + 0.5);
        let mut x = MARGIN;
        for (shape, words) in entries {
            let _ = writeln!(
                text,
                "<g transform=\"translate({x:.0} {y:.0})\">{shape}\
                 <text x=\"18\" y=\"4\" fill=\"#555\">{words}</text></g>",
            );
            x += 34.0 + 6.2 * words.chars().count() as f64;
        }
    }
}

fn between(from: [f64; 2], to: [f64; 2], share: f64) -> [f64; 2] {
    [0, 1].map(|axis| from[axis] + share * (to[axis] - from[axis]))
}

fn colour(way: &Way) -> &'static str {
    match way.utilisation {
        None => UNKNOWN,
        Some(share) if share < IDLE => QUIET,
        Some(share) => LOADS[((share * 5.0) as usize).min(LOADS.len() - 1)],
    }
}

fn bytes(bytes: u64) -> String {
    let (letter, scale) = prefix(bytes as f64);
    format!("{} {letter}B", four_digits(bytes as f64 / scale))
}

/// What is known of a direction.
fn title(way: &Way) -> String {
    let mut parts = vec![way.name.clone()];
    if let Some(bps) = way.rate_bps {
        let (letter, scale) = prefix(bps);
        parts.push(format!("{} {letter}bit/s", four_digits(bps / scale)));
    }
    if let Some(share) = way.utilisation {
        parts.push(format!("used {:.1} %", 100.0 * share));
    }
    if let Some([peak, size]) = way.cache_bytes {
        parts.push(format!("cache at most {} of {}", bytes(peak), bytes(size)));
    }
    if way.detoured > 0.0 {
        parts.push(format!("{:.1} % on detours", 100.0 * way.detoured));
    }
    html(&parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_topology::Generator;

    fn drawing(generator: Generator) -> String {
        let map = generator.map().expect("a map");
        Network::of_map(&map).expect("it is small").svg()
    }

    #[test]
    fn each_router_and_link_is_drawn_within_the_picture() {
        for (generator, routers, links) in [
            (Generator::Ring { nodes: 6 }, 6, 6),
            (Generator::Mesh { nodes: 50, degree: 4, seed: 1 }, 50, 100),
            (Generator::Chain { nodes: 400 }, 400, 399),
        ] {
            let svg = drawing(generator);
            assert!(svg.starts_with(SVG_HEAD) && svg.ends_with("</svg>\n"));
            assert!(!svg.contains("NaN") && !svg.contains("inf"));
            assert_eq!(svg.matches("<circle").count(), routers);
            assert_eq!(svg.matches("<g class=\"l\">").count(), links);
            let values = svg.split("cx=\"").skip(1).map(|rest| {
                rest.split('"').next().expect("a value").parse::<f64>().expect("a number")
            });
            assert!(values.into_iter().all(|x| (0.0..=WIDTH).contains(&x)));
        }
    }

    #[test]
    fn loads_have_the_colours_of_their_fifth() {
        let with = |share: f64| Way { utilisation: Some(share), ..Way::default() };
        let shares = [0.0, 0.01, 0.2, 0.5, 0.79, 0.99, 1.0];
        let found = shares.map(|share| colour(&with(share)));
        let [a, b, c, d, e] = LOADS;
        assert_eq!(found, [QUIET, a, b, c, d, e, e]);
        assert_eq!(colour(&Way::default()), UNKNOWN);
    }

    #[test]
    fn a_title_says_what_is_known() {
        let way = Way {
            name: "a<-b".into(),
            rate_bps: Some(2.5e6),
            utilisation: Some(0.5),
            cache_bytes: Some([1_500, 2_000_000]),
            detoured: 0.125,
        };
        let expected = "a&lt;-b, 2.500 Mbit/s, used 50.0 %, cache at most 1.500 kB of 2 MB, \
                        12.5 % on detours";
        assert_eq!(title(&way), expected);
    }
}

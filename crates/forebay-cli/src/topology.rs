//! `forebay topology`: what a network is like, as numbers and as a drawing.

use crate::args::{DetourConvention, ReduceMap, TopologyArgs};
use crate::failure::Failure;
use crate::output::Target;
use crate::terminal::{Paint, Table};
use forebay_lab::report::{Network, SVG_HEAD};
use forebay_lab::scenario::{Builtin, LoadOptions, Registry, Scenario, load_map};
use forebay_topology::{Convention, Detours, Map, Properties, ReadOptions, Reduction, Role};
use serde_json::json;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

/// Most characters of the name of a file above its numbers.
const NAME_CHARS: usize = 30;

/// A network to be described.
struct Described {
    map: Map,
    hosts: usize,
    /// The text of the scenario, if it is one.
    scenario: Option<String>,
}

/// Print what the network is like, and draw it.
pub fn topology(
    args: &TopologyArgs,
    registry: &Arc<Registry>,
    out: &mut impl Write,
    paint: Paint,
) -> Result<(), Failure> {
    let described = load(args, registry)?;
    let Described { map, hosts, .. } = &described;
    let properties = Properties::of(map);
    let detours = Detours::of(map, args.convention.into());
    if let Some(path) = &args.out {
        let target = Target { path, option: "--out", head: SVG_HEAD, force: args.force };
        target.is_not([&args.file])?;
        let svg = drawing(&described)?;
        target.put(|file| file.write_all(svg.as_bytes()))?;
    }
    if args.json {
        let mut object = as_json(map, &properties, &detours);
        object["hosts"] = json!(hosts);
        object["detours"]["convention"] = json!(convention_name(args.convention));
        writeln!(out, "{object}")?;
        return Ok(());
    }
    let name = args.file.rsplit('/').next().unwrap_or_default();
    let mut table = Table::new(vec![name.chars().take(NAME_CHARS).collect()]);
    for (label, value) in rows(map, *hosts, &properties) {
        table.push(label, vec![value]);
    }
    let name = convention_name(args.convention);
    table.push(format!("links that count for detours ({name})"), vec![detours.links.to_string()]);
    table.push("links with a detour [%]", vec![format!("{:.2}", detours.share_percent())]);
    for (number, share) in detours.shares_percent().into_iter().enumerate() {
        let label = match number {
            0 => "of these with 1 detour [%]".to_string(),
            4 => "with 5 and more [%]".to_string(),
            _ => format!("with {} [%]", number + 1),
        };
        table.push(label, vec![format!("{share:.2}")]);
    }
    table.push("most detours of a link", vec![detours.most.to_string()]);
    write!(out, "{}", table.render(paint))?;
    for note in &map.notes {
        writeln!(out, "note: {note}")?;
    }
    if let Some(path) = &args.out {
        writeln!(out, "{}", path.display())?;
    }
    Ok(())
}

fn convention_name(convention: DetourConvention) -> &'static str {
    match convention {
        DetourConvention::Simple => "simple",
        DetourConvention::Table1 => "table-1",
    }
}

impl From<DetourConvention> for Convention {
    fn from(convention: DetourConvention) -> Convention {
        match convention {
            DetourConvention::Simple => Convention::Simple,
            DetourConvention::Table1 => Convention::Table1,
        }
    }
}

fn load(args: &TopologyArgs, registry: &Arc<Registry>) -> Result<Described, Failure> {
    let path = Path::new(&args.file);
    let is_scenario = match path.extension() {
        Some(end) => end == "toml",
        // A name that is no file may be that of a built-in scenario, misspelled.
        None => Builtin::find(&args.file).is_some() || !path.exists(),
    };
    let reduction = match args.reduce {
        ReduceMap::None => Reduction::None,
        ReduceMap::Backbone => Reduction::Backbone,
        ReduceMap::Roles => Reduction::Roles,
    };
    if is_scenario {
        if args.reduce != ReduceMap::None {
            let text = "--reduce: of a map file; in a scenario, topology.reduce\n\
                        hint: --set topology.reduce=backbone";
            return Err(Failure::input(text));
        }
        let registry = Arc::clone(registry);
        let options = LoadOptions { set: args.set.clone(), registry, ..LoadOptions::default() };
        let scenario = Scenario::load(&args.file, &options).map_err(Failure::input)?;
        let mut map = scenario.router_map();
        map.notes.clone_from(&scenario.unused);
        let hosts = scenario.nodes.iter().filter(|node| node.is_host).count();
        return Ok(Described { map, hosts, scenario: Some(scenario.to_toml()) });
    }
    if !args.set.is_empty() {
        return Err(Failure::input("--set: overrides keys of a scenario, not of a map file"));
    }
    let map = load_map(&args.file, &ReadOptions::default()).map_err(Failure::input)?;
    Ok(Described { map: map.reduced(reduction), hosts: 0, scenario: None })
}

fn drawing(of: &Described) -> Result<String, Failure> {
    let network = match &of.scenario {
        Some(text) => Network::of_scenario(text),
        None => Network::of_map(&of.map),
    };
    let network = network.ok_or_else(|| {
        let (nodes, links) = (of.map.nodes.len(), of.map.links.len());
        let most = Network::MAX_ROUTERS;
        let why = if nodes > most {
            format!(
                "expected at most {most} routers, found {nodes}\nhint: --reduce backbone and \
                 --reduce roles make a Rocketfuel map smaller"
            )
        } else {
            format!("expected a link, found {links}")
        };
        Failure::input(format!("--out: no drawing: {why}"))
    })?;
    Ok(network.svg())
}

/// A label and a value for each row of the table.
fn rows(map: &Map, hosts: usize, of: &Properties) -> Vec<(String, String)> {
    let mut rows: Vec<(String, String)> = Vec::new();
    let mut row = |label: &str, value: String| rows.push((label.to_string(), value));
    row("routers", of.nodes.to_string());
    for role in Role::ALL {
        let number = map.nodes.iter().filter(|node| node.role == Some(role)).count();
        if number > 0 {
            row(&format!("  {role}"), number.to_string());
        }
    }
    if hosts > 0 {
        row("hosts", hosts.to_string());
    }
    row("links", of.links.to_string());
    if of.loops > 0 {
        row("  of a router with itself", of.loops.to_string());
    }
    if of.parallel > 0 {
        row("  beyond the first between two routers", of.parallel.to_string());
    }
    row("components", of.components.to_string());
    if of.components > 1 {
        row("  routers of the largest", of.largest_component.to_string());
    }
    row("neighbours of a router, mean", format!("{:.2}", of.mean_degree()));
    row("neighbours of a router, most", of.degrees.len().saturating_sub(1).to_string());
    if let Some(diameter) = of.diameter {
        row("diameter [links]", diameter.to_string());
    }
    if let Some(mean) = of.mean_distance {
        row("distance of two routers, mean [links]", format!("{mean:.2}"));
    }
    if of.demands.0 > 0 {
        row("demands", of.demands.0.to_string());
        row("demands, sum [Mbit/s]", format!("{:.3}", of.demands.1 / 1e6));
    }
    rows
}

fn as_json(map: &Map, of: &Properties, detours: &Detours) -> serde_json::Value {
    let roles = Role::ALL.into_iter().filter_map(|role| {
        let number = map.nodes.iter().filter(|node| node.role == Some(role)).count();
        (number > 0).then(|| (role.name().to_string(), json!(number)))
    });
    let roles: serde_json::Map<String, serde_json::Value> = roles.collect();
    json!({
        "name": map.name,
        "routers": of.nodes,
        "roles": roles,
        "links": of.links,
        "loops": of.loops,
        "parallel_links": of.parallel,
        "components": of.components,
        "largest_component": of.largest_component,
        "degrees": of.degrees,
        "mean_degree": of.mean_degree(),
        "diameter": of.diameter,
        "mean_distance": of.mean_distance,
        "routers_with_position": of.placed,
        "links_with_rate": of.rated,
        "demands": of.demands.0,
        "demands_bps": of.demands.1,
        "detours": {
            "links": detours.links,
            "with_detour": detours.detoured(),
            "share_percent": detours.share_percent(),
            "shares_percent": detours.shares_percent(),
            "most": detours.most,
        },
        "notes": map.notes,
    })
}

//! The map of `[topology]`: from a file or a generator, cut as the keys ask.

use crate::format::fault::{Fault, Problem};
use crate::format::faults::all;
use crate::format::fields::{Section, Spanned, shown, value_or};
use crate::format::input;
use crate::format::source::{Loc, Sources};
use crate::format::units::Number;
use crate::keys::topology::{Components, MapKind, Parallel, Reduce, TopologyTable};
use forebay_base::Rate;
use forebay_topology::{Generator, Map, MapError, ReadOptions, Reduction};

/// Routers of each transit domain and of each stub domain, and stub domains, as in the networks of
/// 100 routers of GT-ITM.
const TRANSIT: u32 = 4;
const STUBS: u32 = 3;
const STUB: u32 = 8;
const DEGREE: u32 = 3;
const SIDE_KM: f64 = 1_000.0;

/// The map that a table describes. Links that join a router with itself are left out.
pub(crate) fn map_of(at: &Spanned<TopologyTable>, sources: &mut Sources) -> Result<Map, Fault> {
    let table = &at.value;
    let (file, kind) = (table.file.as_ref(), table.kind.as_ref());
    let map = match (file, kind) {
        (Some(file), None) => from_file(file, table, sources)?,
        (None, Some(kind)) => generated(at, kind)?,
        (Some(_), Some(kind)) => {
            let text = "only one of `file` and `kind` may be given".to_string();
            return Err(kind.fault(Problem::Conflict(text)));
        }
        (None, None) => {
            let meaning = "the map file; or `kind`, the name of a generator".to_string();
            return Err(at.fault(Problem::MissingKey { key: "file".into(), meaning }));
        }
    };
    let place = file.map_or_else(|| at.place(), Spanned::place);
    if map.components() > 1 {
        let text = format!("the map has {} components: packets cannot cross", map.components());
        let hint = "components = \"largest\" keeps the largest";
        return Err(place.fault(Problem::Conflict(text)).hint(hint));
    }
    Ok(map)
}

fn from_file(
    file: &Spanned<String>,
    table: &TopologyTable,
    sources: &mut Sources,
) -> Result<Map, Fault> {
    let of_generator = given_of_generators(table);
    if let Some((key, place)) = of_generator.into_iter().flatten().next() {
        let text = format!("`{key}` is of a generator, not of a map file");
        return Err(place.fault(Problem::Conflict(text)));
    }
    let options = ReadOptions { unit_bps: table.unit.as_ref().map(|unit| unit.value.bps()) };
    let map = read(sources, file, &options)?;
    let reduction = match table.reduce.as_ref().map(|at| at.value) {
        None | Some(Reduce::None) => Reduction::None,
        Some(Reduce::Backbone) => Reduction::Backbone,
        Some(Reduce::Roles) => Reduction::Roles,
    };
    let mut map = map.reduced(reduction).without_loops();
    if matches!(table.components, Some(Spanned { value: Components::Largest, .. })) {
        map = map.largest_component();
    }
    if matches!(table.parallel, Some(Spanned { value: Parallel::Merge, .. })) {
        map = map.with_merged_links();
    }
    if map.nodes.is_empty() {
        let text = "nothing of the map is left after `reduce`".to_string();
        return Err(file.fault(Problem::Conflict(text)));
    }
    for note in &map.notes {
        sources.note(format!("{}: {note}", file.value));
    }
    Ok(map)
}

/// The map in the file that a value names.
fn read(
    sources: &mut Sources,
    file: &Spanned<String>,
    options: &ReadOptions,
) -> Result<Map, Fault> {
    let path = sources.files.path(&file.value).display().to_string();
    let text = sources.files.open(&file.value).and_then(input::text_of);
    let text = text.map_err(|error| {
        file.fault(Problem::File { path: path.clone(), why: input::reason(&error) })
    })?;
    let source = sources.add(&path, text);
    parse(sources, source, options)
}

/// The map in a text.
pub(crate) fn parse(sources: &Sources, source: u32, options: &ReadOptions) -> Result<Map, Fault> {
    forebay_topology::read(sources.text(source), options).map_err(|error| {
        let MapError { range, problem, hint } = error;
        let loc = Loc { source, start: range.start as u32, end: range.end as u32 };
        let fault = Fault::at(loc, "", Problem::Map(problem));
        if let Some(hint) = hint { fault.hint(hint) } else { fault }
    })
}

/// The keys of generators that are given.
fn given_of_generators(table: &TopologyTable) -> [Option<(&'static str, Spanned<()>)>; 9] {
    let TopologyTable { nodes, degree, domains, transit, stubs, stub, ports, .. } = table;
    let numbers = [
        ("nodes", nodes),
        ("degree", degree),
        ("domains", domains),
        ("transit", transit),
        ("stubs", stubs),
        ("stub", stub),
        ("ports", ports),
        ("seed", &table.seed),
    ];
    let side = table.side_km.as_ref().map(|at| ("side_km", at.place()));
    let mut all = numbers.map(|(key, at)| at.as_ref().map(|at| (key, at.place()))).into_iter();
    std::array::from_fn(|_| all.next().unwrap_or_else(|| side.clone()))
}

/// The keys of a generator.
fn keys_of(kind: MapKind) -> &'static [&'static str] {
    match kind {
        MapKind::Chain | MapKind::Ring => &["nodes"],
        MapKind::Mesh => &["nodes", "degree", "seed"],
        MapKind::TransitStub => &["domains", "transit", "stubs", "stub", "degree", "seed"],
        MapKind::FatTree => &["ports"],
        MapKind::Gabriel => &["nodes", "side_km", "seed"],
    }
}

fn generated(at: &Spanned<TopologyTable>, kind: &Spanned<MapKind>) -> Result<Map, Fault> {
    let table = &at.value;
    let name = shown(&kind.value);
    let own = keys_of(kind.value);
    let given = given_of_generators(table);
    let foreign = given.iter().flatten().filter(|(key, _)| !own.contains(key));
    all(foreign.map(|(key, place)| -> Result<(), Fault> {
        let text = format!("`{key}` is not a parameter of \"{name}\"");
        let hint = format!("its parameters: {}", own.join(", "));
        Err(place.fault(Problem::Conflict(text)).hint(hint))
    }))?;
    let of_files = [
        ("reduce", table.reduce.as_ref().map(Spanned::place)),
        ("components", table.components.as_ref().map(Spanned::place)),
        ("parallel", table.parallel.as_ref().map(Spanned::place)),
        ("unit", table.unit.as_ref().map(Spanned::place)),
        ("rate_scale", table.rate_scale.as_ref().map(Spanned::place)),
        ("demands", table.demands.as_ref().map(Spanned::place)),
    ];
    if let Some((key, Some(place))) = of_files.into_iter().find(|(_, place)| place.is_some()) {
        let text = format!("`{key}` is of a map file, not of a generator");
        return Err(place.fault(Problem::Conflict(text)));
    }
    let needed = |key: &'static str, value: &Option<Spanned<u32>>, meaning: &str| {
        let missing = Problem::MissingKey { key: key.into(), meaning: meaning.into() };
        value.as_ref().map(|at| at.value).ok_or_else(|| at.fault(missing))
    };
    let nodes = || needed("nodes", &table.nodes, "the number of routers");
    let (degree, seed) = (value_or(&table.degree, DEGREE), value_or(&table.seed, 1).into());
    let generator = match kind.value {
        MapKind::Chain => Generator::Chain { nodes: nodes()? },
        MapKind::Ring => Generator::Ring { nodes: nodes()? },
        MapKind::Mesh => Generator::Mesh { nodes: nodes()?, degree, seed },
        MapKind::TransitStub => Generator::TransitStub {
            domains: value_or(&table.domains, 1),
            transit: value_or(&table.transit, TRANSIT),
            stubs: value_or(&table.stubs, STUBS),
            stub: value_or(&table.stub, STUB),
            degree,
            seed,
        },
        MapKind::FatTree => {
            Generator::FatTree { ports: needed("ports", &table.ports, "ports of the switches")? }
        }
        MapKind::Gabriel => {
            let side_km = value_or(&table.side_km, Number(SIDE_KM)).0;
            Generator::Gabriel { nodes: nodes()?, side_km, seed }
        }
    };
    generator.map().map_err(|error| {
        let place = given.into_iter().flatten().find(|(key, _)| *key == error.param);
        let place = place.map_or_else(|| kind.place(), |(_, place)| place);
        let mut keys = toml::Table::new();
        table.put(&mut keys);
        let found = keys.get(error.param).map_or_else(|| name.clone(), toml::Value::to_string);
        place.fault(Problem::OutOfRange { found, expected: error.expected })
    })
}

/// A factor that is more than 0.
pub(crate) fn factor(at: Option<&Spanned<Number>>) -> Result<f64, Fault> {
    match at {
        Some(at) if at.value.0 <= 0.0 => Err(at.out_of_range("more than 0")),
        Some(at) => Ok(at.value.0),
        None => Ok(1.0),
    }
}

/// The rate of a link of the map, scaled. Errors if no link may have it.
pub(crate) fn scaled(
    bps: u64,
    scale: f64,
    fault: impl Fn(Problem) -> Fault,
) -> Result<Rate, Fault> {
    let scaled = bps as f64 * scale;
    let rate = (scaled <= u64::MAX as f64).then_some(scaled as u64).and_then(Rate::new);
    rate.ok_or_else(|| {
        let found = format!("{scaled} bit/s");
        let expected = "1kbit/s to 400Gbit/s".to_string();
        fault(Problem::OutOfRange { found, expected })
            .hint("`rate_scale` is a factor for all rates of the map; `rate` replaces them")
    })
}

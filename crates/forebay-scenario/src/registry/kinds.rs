//! The four kinds, and the lines of their tables.

use super::{Kind, Line, Lines, Made, Make, Over, Registry};
use crate::keys::inrpp;
use crate::keys::kickass;
pub use crate::keys::kinds::{Controllers, Disciplines, Routers, Schemes, Word};
use crate::keys::rcp;
use crate::registry::protocol::Bundle;
use crate::{Problem, Scenario};
use forebay_base::{IpVersion, NodeId, ParamError, Rate};
use forebay_cc::{AnyController, AnyFeedback, Init};
use forebay_net::MakeDiscipline;
use forebay_queue::{
    DISCIPLINES, DisciplineEntry, DisciplineSpec, SCHEMES, SchemeEntry, SchemeSpec,
};
use forebay_router::{ForwardingSpec, ROUTERS, RouterEntry};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// What makes both ends of a path.
#[derive(Clone)]
pub struct ControllerMachine {
    pub(crate) controller: Arc<dyn Fn(Init) -> AnyController + Send + Sync>,
    pub(crate) feedback: Arc<dyn Fn() -> AnyFeedback + Send + Sync>,
}

/// What else there is to know of a port scheme.
#[derive(Clone, Copy, Debug, Default)]
pub struct SchemeTraits {
    /// On which links it can do its work; None: on all.
    pub(crate) carries: Option<fn(&SchemeSpec, IpVersion) -> Carries>,
}

impl SchemeTraits {
    /// There is nothing else.
    pub const NONE: SchemeTraits = SchemeTraits { carries: None };
}

/// Links on which a port scheme can do its work.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carries {
    /// The scheme, and its title.
    pub scheme: &'static str,
    pub by: &'static str,
    /// The lowest and the highest rate.
    pub rates: (Rate, Rate),
    /// The length of packets with which it has something to do, in bytes; which of its keys says
    /// so, and why. An MTU below leaves it none.
    pub packet_bytes: u16,
    pub key: &'static str,
    pub why: &'static str,
}

/// What else there is to know of a kind of router.
#[derive(Clone, Copy, Debug, Default)]
pub struct RouterTraits {
    /// What links between two of this kind carry beyond their MTU, in bytes: room for what they add
    /// to a full-sized packet.
    pub mtu_room_bytes: u16,
    /// What they take from the network in a run under this protocol.
    pub(crate) fit: Option<Fit>,
    /// Errors if they cannot work in this network.
    pub(crate) check: Option<Check>,
}

type Fit = fn(&Scenario, &str, &mut [(NodeId, ForwardingSpec)]);
type Check = fn(&Scenario, &[(NodeId, ForwardingSpec)]) -> Result<(), Problem>;

/// The lines of this build.
pub(super) fn tables() -> Registry {
    let schemas = schemars::schema_for!(DisciplineSpec).to_value();
    let none = Line {
        name: "none".into(),
        title: "No scheme".to_string(),
        reference: String::new(),
        summary: "Ports queue, and do nothing else, whatever protocols run.".to_string(),
        about: Vec::new(),
        schema: no_parameters(),
        traits: SchemeTraits::NONE,
        make: fixed(SchemeSpec::None),
        over: None,
    };
    let disciplines = DISCIPLINES.iter().map(|entry| discipline(entry, &schemas));
    let schemes = [none].into_iter().chain(SCHEMES.iter().map(scheme));
    Registry {
        controllers: Vec::new(),
        disciplines: disciplines.map(Arc::new).collect(),
        schemes: schemes.map(Arc::new).collect(),
        routers: ROUTERS.iter().map(router).map(Arc::new).collect(),
    }
}

impl Kind for Controllers {
    type Machine = ControllerMachine;
    type Traits = Bundle;

    fn lines(of: &Registry) -> &Lines<Controllers> {
        &of.controllers
    }
    fn lines_mut(of: &mut Registry) -> &mut Lines<Controllers> {
        &mut of.controllers
    }
    fn is_taken(name: &str) -> bool {
        forebay_cc::TABLE.iter().any(|entry| entry.name == name)
    }
}

impl Kind for Disciplines {
    type Machine = MakeDiscipline;
    type Traits = ();

    fn lines(of: &Registry) -> &Lines<Disciplines> {
        &of.disciplines
    }
    fn lines_mut(of: &mut Registry) -> &mut Lines<Disciplines> {
        &mut of.disciplines
    }
}

impl Kind for Schemes {
    type Machine = SchemeSpec;
    type Traits = SchemeTraits;

    fn lines(of: &Registry) -> &Lines<Schemes> {
        &of.schemes
    }
    fn lines_mut(of: &mut Registry) -> &mut Lines<Schemes> {
        &mut of.schemes
    }
}

impl Kind for Routers {
    type Machine = ForwardingSpec;
    type Traits = RouterTraits;

    fn lines(of: &Registry) -> &Lines<Routers> {
        &of.routers
    }
    fn lines_mut(of: &mut Registry) -> &mut Lines<Routers> {
        &mut of.routers
    }
}

/// The parameters of a line of a table, as scenarios give them.
pub(crate) struct Params<K: Kind> {
    /// The line.
    pub name: &'static str,
    pub schema: fn() -> Json,
    pub make: fn(&toml::Table) -> Result<Made<K>, String>,
    pub over: Option<Over>,
    pub traits: K::Traits,
}

impl<K: Kind> Params<K> {
    fn parts(&self) -> (Json, Box<Make<K>>, Option<Over>, K::Traits) {
        ((self.schema)(), Box::new(self.make), self.over, self.traits.clone())
    }
}

/// Schemes and routers whose parameters scenarios give; the others have none.
const SCHEME_PARAMS: &[Params<Schemes>] = &[rcp::PARAMS, kickass::PARAMS];
const ROUTER_PARAMS: &[Params<Routers>] = &[inrpp::PARAMS];

fn scheme(entry: &SchemeEntry) -> Line<Schemes> {
    let params = SCHEME_PARAMS.iter().find(|params| params.name == entry.name);
    let fixed = || (no_parameters(), fixed((entry.spec)()), None, SchemeTraits::NONE);
    let (schema, make, over, traits) = params.map_or_else(fixed, Params::parts);
    Line {
        name: entry.name.into(),
        title: entry.title.to_string(),
        reference: entry.reference.to_string(),
        summary: entry.summary.to_string(),
        about: entry.about().map(str::to_string).collect(),
        schema,
        traits,
        make,
        over,
    }
}

fn router(entry: &RouterEntry) -> Line<Routers> {
    let params = ROUTER_PARAMS.iter().find(|params| params.name == entry.name);
    let fixed = || (no_parameters(), fixed((entry.spec)()), None, RouterTraits::default());
    let (schema, make, over, traits) = params.map_or_else(fixed, Params::parts);
    Line {
        name: entry.name.into(),
        title: entry.title.to_string(),
        reference: entry.reference.to_string(),
        summary: entry.summary.to_string(),
        about: entry.about().map(str::to_string).collect(),
        schema,
        traits,
        make,
        over,
    }
}

fn no_parameters() -> Json {
    json!({ "type": "object", "properties": {}, "additionalProperties": false })
}

/// What has no parameters.
fn fixed<K: Kind>(machine: K::Machine) -> Box<Make<K>>
where
    K::Machine: Sync,
{
    Box::new(move |params: &toml::Table| match params.keys().next() {
        Some(key) => Err(format!("unknown field `{key}`, there are no fields")),
        None => Ok(Made { machine: machine.clone(), params: toml::Table::new(), range: Ok(()) }),
    })
}

fn discipline(entry: &DisciplineEntry, schemas: &Json) -> Line<Disciplines> {
    let name = entry.name;
    Line {
        name: name.into(),
        title: entry.title.to_string(),
        reference: entry.reference.to_string(),
        summary: entry.summary.to_string(),
        about: entry.about().map(str::to_string).collect(),
        schema: parameters(schemas, name),
        traits: (),
        make: Box::new(move |given| {
            let mut tagged = toml::Table::new();
            tagged.insert(name.to_string(), toml::Value::Table(given.clone()));
            let spec: DisciplineSpec = toml::Value::Table(tagged).try_into().map_err(first_line)?;
            let written = toml::Value::try_from(&spec).expect("parameters are plain values");
            let params = written.get(name).and_then(toml::Value::as_table).cloned();
            let range: Result<(), ParamError> = spec.check();
            let machine: MakeDiscipline = Arc::new(move |init| spec.build(init));
            Ok(Made { machine, params: params.unwrap_or_default(), range })
        }),
        over: None,
    }
}

/// The first line says what is wrong; those behind it show a text that is not the user's.
pub(crate) fn first_line(error: toml::de::Error) -> String {
    error.message().lines().next().unwrap_or_default().to_string()
}

/// The parameters of that discipline, out of the schema of the enum of all disciplines, with what
/// they refer to.
fn parameters(schemas: &Json, name: &str) -> Json {
    let of = |schema: &Json| {
        let pointer = schema["$ref"].as_str().and_then(|r| r.strip_prefix('#'));
        pointer.and_then(|p| schemas.pointer(p)).cloned()
    };
    let variants = schemas["oneOf"].as_array().into_iter().flatten();
    let mut found = variants.filter_map(|variant| variant["properties"].get(name));
    let schema = found.next().cloned().unwrap_or_default();
    let mut schema = of(&schema).unwrap_or(schema);
    for (_, param) in schema["properties"].as_object_mut().into_iter().flatten() {
        let Some(Json::Object(referred)) = of(param) else { continue };
        let Some(param) = param.as_object_mut() else { continue };
        param.remove("$ref");
        referred.into_iter().for_each(|(key, value)| {
            param.entry(key).or_insert(value); // what stands here counts more
        });
    }
    schema
}

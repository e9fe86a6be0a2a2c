//! The four kinds, and the lines of their tables.

use super::specs::{over, params_of, read_spec};
use super::{Kind, Line, Lines, Made, Make, Registry, inrpp};
use crate::format::takes::lazy;
pub use crate::keys::kinds::{Controllers, Disciplines, Routers, Schemes, Word};
use crate::registry::protocol::NetworkRequirements;
use forebay_cc::{AnyController, AnyFeedback, Init};
use forebay_net::MakeDiscipline;
use forebay_queue::{
    DISCIPLINES, DisciplineEntry, DisciplineSpec, SCHEMES, SchemeEntry, SchemeSpec,
};
use forebay_router::{ForwardingSpec, ROUTERS, RouterEntry};
use forebay_signal::inrpp::DETOUR_TAG_BYTES;
use serde_json::{Value as Json, json};
use std::sync::{Arc, LazyLock};

/// Makes both ends of a path.
#[derive(Clone)]
pub struct ControllerMachine {
    pub(crate) controller: Arc<dyn Fn(Init) -> AnyController + Send + Sync>,
    pub(crate) feedback: Arc<dyn Fn() -> AnyFeedback + Send + Sync>,
}

/// Further properties of a kind of router.
#[derive(Clone, Copy, Debug, Default)]
pub struct RouterTraits {
    /// What links between two of this kind carry beyond their MTU, in bytes: room for what they add
    /// to a full-sized packet.
    pub mtu_room_bytes: u16,
}

// The schemas of the parameters of all: enums whose variants bear the names of the lines.
static DISCIPLINE_SCHEMAS: LazyLock<Json> =
    LazyLock::new(|| schemars::schema_for!(DisciplineSpec).to_value());
static SCHEME_SCHEMAS: LazyLock<Json> =
    LazyLock::new(|| schemars::schema_for!(SchemeSpec).to_value());
static ROUTER_SCHEMAS: LazyLock<Json> =
    LazyLock::new(|| schemars::schema_for!(ForwardingSpec).to_value());

/// The lines of this build.
pub(super) fn tables() -> Registry {
    let none = Line {
        name: "none".into(),
        title: "No scheme".to_string(),
        reference: String::new(),
        summary: "Ports queue, and do nothing else, whatever protocols run.".to_string(),
        about: Vec::new(),
        schema: lazy(no_parameters),
        traits: (),
        make: fixed(SchemeSpec::None),
        over: None,
    };
    let of_table = SCHEMES.iter().map(scheme);
    Registry {
        controllers: Vec::new(),
        disciplines: DISCIPLINES.iter().map(|entry| discipline(entry).into()).collect(),
        schemes: [none].into_iter().chain(of_table).map(Arc::new).collect(),
        routers: ROUTERS.iter().map(|entry| router(entry).into()).collect(),
    }
}

impl Kind for Controllers {
    type Machine = ControllerMachine;
    type Traits = NetworkRequirements;

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
    type Traits = ();

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

fn scheme(entry: &SchemeEntry) -> Line<Schemes> {
    let name = entry.name;
    Line {
        name: name.into(),
        title: entry.title.to_string(),
        reference: entry.reference.to_string(),
        summary: entry.summary.to_string(),
        about: entry.about().map(str::to_string).collect(),
        schema: lazy(move || parameters(&SCHEME_SCHEMAS, name)),
        traits: (),
        make: Box::new(move |given| over(name, &toml::Table::new(), given)),
        over: Some(Box::new(move |table, given| over(name, table, given))),
    }
}

fn router(entry: &RouterEntry) -> Line<Routers> {
    let name = entry.name;
    let plain = Line {
        name: name.into(),
        title: entry.title.to_string(),
        reference: entry.reference.to_string(),
        summary: entry.summary.to_string(),
        about: entry.about().map(str::to_string).collect(),
        schema: lazy(no_parameters),
        traits: RouterTraits::default(),
        make: fixed((entry.spec)()),
        over: None,
    };
    match (entry.spec)() {
        ForwardingSpec::PlainIp => plain,
        _ if name == inrpp::NAME => Line {
            schema: lazy(move || inrpp::schema(parameters(&ROUTER_SCHEMAS, name))),
            traits: RouterTraits { mtu_room_bytes: DETOUR_TAG_BYTES },
            make: Box::new(|given| inrpp::over(&toml::Table::new(), given)),
            over: Some(Box::new(inrpp::over)),
            ..plain
        },
        _ => Line {
            schema: lazy(move || parameters(&ROUTER_SCHEMAS, name)),
            make: Box::new(move |given| over(name, &toml::Table::new(), given)),
            over: Some(Box::new(move |table, given| over(name, table, given))),
            ..plain
        },
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

fn discipline(entry: &DisciplineEntry) -> Line<Disciplines> {
    let name = entry.name;
    Line {
        name: name.into(),
        title: entry.title.to_string(),
        reference: entry.reference.to_string(),
        summary: entry.summary.to_string(),
        about: entry.about().map(str::to_string).collect(),
        schema: lazy(move || parameters(&DISCIPLINE_SCHEMAS, name)),
        traits: (),
        make: Box::new(move |given| {
            let spec: DisciplineSpec = read_spec(name, given)?;
            let params = params_of(name, &spec);
            let range = spec.check();
            let machine: MakeDiscipline = Arc::new(move |init| spec.build(init));
            Ok(Made { machine, params, range })
        }),
        over: None,
    }
}

/// The parameters of that variant, out of the schema of the enum of all, with what they refer to. A
/// parameter that may be left out is of its type: TOML has no null.
fn parameters(schemas: &Json, name: &str) -> Json {
    let variants = schemas["oneOf"].as_array().into_iter().flatten();
    let mut found = variants.filter_map(|variant| variant["properties"].get(name));
    let mut schema = found.next().cloned().unwrap_or_default();
    refer(&mut schema, schemas);
    for (_, param) in schema["properties"].as_object_mut().into_iter().flatten() {
        refer(param, schemas);
        let forms = param["anyOf"].as_array().into_iter().flatten();
        let given: Vec<Json> = forms.filter(|form| form["type"] != "null").cloned().collect();
        if let ([given], Some(param)) = (&given[..], param.as_object_mut()) {
            param.remove("anyOf");
            param.remove("default");
            param.insert("$ref".to_string(), given["$ref"].clone());
        }
        refer(param, schemas);
    }
    schema
}

/// Put what a schema refers to in place of the reference; what stands next to it counts more.
fn refer(schema: &mut Json, root: &Json) {
    let pointer = schema["$ref"].as_str().and_then(|path| path.strip_prefix('#'));
    let Some(Json::Object(referred)) = pointer.and_then(|p| root.pointer(p)).cloned() else {
        return;
    };
    let Some(schema) = schema.as_object_mut() else { return };
    schema.remove("$ref");
    for (key, value) in referred {
        schema.entry(key).or_insert(value);
    }
}

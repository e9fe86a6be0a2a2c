//! What the names of a scenario file stand for, and whether their parameters are theirs.

use super::{Chosen, Kind, Line, Made, Registry};
use crate::format::fault::{Fault, Problem};
use crate::format::faults::{Faults, note};
use crate::format::fields::{Field, Spanned};
use crate::format::item::{Item, Value, join};
use crate::format::source::Loc;
use crate::format::takes::in_range;
use crate::keys::kinds::{Disciplines, Routers, Schemes, Word};
use crate::keys::links::Queue;
use crate::keys::named::{FORMS, NAMES, Named, OWN, Param};
use serde_json::{Value as Json, json};
use std::sync::Arc;

impl<K: Kind> Named<K> {
    /// It, every parameter known and within its range.
    pub fn resolve(&self, registry: &Registry) -> Result<Arc<Chosen<K>>, Fault> {
        choose(lookup(registry, &self.name)?, &self.params, &self.name.place()).map(Arc::new)
    }
}

/// A value of the document, its key, and what its names are looked up in.
pub(super) struct Place<'a> {
    pub registry: &'a Registry,
    pub item: &'a Item,
    pub key: String,
}

impl<'a> Place<'a> {
    pub fn get(&self, key: &str) -> Option<Place<'a>> {
        let Value::Table(entries) = &self.item.value else { return None };
        let entry = entries.iter().find(|entry| entry.key == key)?;
        Some(Place { item: &entry.item, key: join(&self.key, key), ..*self })
    }
    fn elements(&self, key: &str) -> Vec<Place<'a>> {
        let Some(list) = self.get(key) else { return Vec::new() };
        let Value::Array(items) = &list.item.value else { return Vec::new() };
        let place = |(i, item)| Place { item, key: format!("{}[{i}]", list.key), ..list };
        items.iter().enumerate().map(place).collect()
    }
    /// Look up the name at a key. What cannot be read is reported by the reader of the file.
    fn check<K: Kind>(&self, key: &str, faults: &mut Faults) {
        let Some(Place { registry, item, key }) = self.get(key) else { return };
        let Ok(named) = Named::<K>::read(item, &key) else { return };
        let (name, own) = (Some(&named.name), K::OWN_KEYS);
        faults.keep(check_keys::<K>(registry, name, &named.params, &key, own));
    }
    /// The same of a queue.
    fn check_queue(&self, faults: &mut Faults) {
        let Some(Place { registry, item, key }) = self.get("queue") else { return };
        let Ok(Queue { table, params }) = Queue::read(item, &key) else { return };
        let (name, own) = (table.discipline.as_ref(), Disciplines::OWN_KEYS);
        faults.keep(check_keys::<Disciplines>(registry, name, &params, &key, own));
    }
}

/// Look up the names of disciplines, port schemes and routers in a document, and the keys next to
/// them.
pub(crate) fn check(registry: &Registry, document: &Item, faults: &mut Faults) {
    let top = Place { registry, item: document, key: String::new() };
    top.check::<Routers>("router", faults);
    for router in top.elements("routers") {
        router.check::<Routers>("router", faults);
    }
    let mut wires: Vec<Place<'_>> = top.get("link_defaults").into_iter().collect();
    wires.extend(top.get("csv").and_then(|csv| csv.get("access")));
    for end in ["links", "hosts"].into_iter().flat_map(|list| top.elements(list)) {
        wires.extend(end.get("reverse"));
        wires.push(end);
    }
    for wire in wires {
        wire.check_queue(faults);
        wire.check::<Schemes>("port", faults);
    }
}

/// The line of that name.
pub(crate) fn lookup<K: Kind>(
    registry: &Registry,
    name: &Spanned<String>,
) -> Result<Arc<Line<K>>, Fault> {
    registry.line(&name.value).cloned().ok_or_else(|| {
        let problem = Problem::UnknownName { kind: K::WORD, name: name.value.clone() };
        let known = registry.lines::<K>().iter().map(|line| line.name.as_str());
        name.fault(problem).suggest(&name.value, known)
    })
}

/// Errors if a parameter of the table that is called `key` is none of what `name` names; without a
/// name, of none of the kind.
pub(crate) fn check_keys<K: Kind>(
    registry: &Registry,
    name: Option<&Spanned<String>>,
    params: &[Param],
    key: &str,
    own: &[&str],
) -> Result<(), Fault> {
    let lines = match name {
        Some(name) => vec![lookup::<K>(registry, name)?],
        None => registry.lines::<K>().to_vec(),
    };
    if params.is_empty() {
        return Ok(()); // no schema is made for nothing
    }
    let known: Vec<&str> = lines.iter().flat_map(|line| line.keys()).collect();
    let odd = params.iter().find(|param| !known.contains(&param.key.as_str()));
    odd.map_or(Ok(()), |param| {
        let fault = Fault::at(param.key_loc, key, Problem::UnknownKey(param.key.clone()));
        Err(fault.suggest(&param.key, known.iter().copied().chain(own.iter().copied())))
    })
}

/// What a line makes of parameters. `place` is where its table, or its name, stands.
pub(crate) fn choose<K: Kind>(
    line: Arc<Line<K>>,
    params: &[Param],
    place: &Spanned<()>,
) -> Result<Chosen<K>, Fault> {
    make(&line, params, place).map(|(made, given)| Chosen::of(line, made, given))
}

/// The same, and the parameters as a table. Each that is wrong is a fault of its own.
pub(super) fn make<K: Kind>(
    line: &Line<K>,
    params: &[Param],
    place: &Spanned<()>,
) -> Result<(Made<K>, toml::Table), Fault> {
    let (mut given, mut wrong) = (toml::Table::new(), None);
    for param in params {
        let mut more = given.clone();
        more.insert(param.key.clone(), param.value.value.clone());
        let finite = !matches!(param.value.value, toml::Value::Float(x) if !x.is_finite());
        match (line.make)(&more) {
            // The ranges of disciplines speak of numbers that are not finite themselves.
            Ok(_) if finite || line.over.is_none() => given = more,
            read => {
                let text = read.err().unwrap_or_default();
                let schema = line.param_schema();
                note(&mut wrong, schema.fault(&param.key, &param.value, text));
            }
        }
    }
    let made = in_range(
        &mut given,
        &mut wrong,
        |given| {
            let made = (line.make)(given).expect("it could be made with one more");
            let range = made.range.clone();
            (made, range)
        },
        |made, key| {
            let Param { value, .. } = params.iter().find(|param| param.key == key)?;
            // As it would be written, where it may come from a table of parameters, too.
            let written = made.params.get(key).filter(|_| line.over.is_some());
            let found = match written.unwrap_or(&value.value) {
                toml::Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            Some((value.place(), found))
        },
        |key, allowed| place.fault(Problem::Conflict(format!("`{key}` must be {allowed}"))),
    );
    wrong.map_or(Ok((made, given)), Err)
}

/// Parameters as they would be given.
pub(crate) fn given(params: &toml::Table) -> Vec<Param> {
    let param = |(key, value): (&String, &toml::Value)| {
        let (key, value) = (key.clone(), Spanned::new(value.clone()));
        Param { key, key_loc: Loc::default(), value }
    };
    params.iter().map(param).collect()
}

/// The schema of a table, one form for each line. `own` is that of the keys that all have.
fn schemas<K: Kind>(registry: &Registry, own: &Json) -> Vec<Json> {
    let of = |line: &Arc<Line<K>>| {
        let mut form = own.clone();
        form["title"] = line.title.as_str().into();
        form["description"] = line.summary.as_str().into();
        form["properties"][K::KEY]["const"] = line.name.as_str().into();
        for (key, schema) in line.key_schema()["properties"].as_object().into_iter().flatten() {
            form["properties"][key] = schema.clone();
        }
        form
    };
    registry.lines().iter().map(of).collect()
}

/// Put names and their parameters where a schema has places for them.
pub(crate) fn fill(registry: &Registry, schema: &mut Json) {
    let filled = |form: &mut Json| {
        let form = form.take();
        let kinds = [of_kind::<Disciplines>, of_kind::<Schemes>, of_kind::<Routers>];
        kinds.into_iter().find_map(|of| of(registry, &form)).unwrap_or_else(|| vec![form])
    };
    match schema {
        Json::Array(values) => values.iter_mut().for_each(|value| fill(registry, value)),
        Json::Object(map) => {
            if let Some(Json::Array(forms)) = map.get_mut("anyOf") {
                *forms = forms.iter_mut().flat_map(filled).collect();
            }
            map.values_mut().for_each(|value| fill(registry, value));
        }
        _ => {}
    }
}

/// What stands at a place for names or forms of this kind; None if it is none.
fn of_kind<K: Kind>(registry: &Registry, place: &Json) -> Option<Vec<Json>> {
    if place[NAMES] == K::KEY {
        let names: Vec<&str> =
            registry.lines::<K>().iter().map(|line| line.name.as_str()).collect();
        return Some(vec![json!({ "enum": names })]);
    }
    (place[FORMS] == K::KEY).then(|| schemas::<K>(registry, &place[OWN]))
}

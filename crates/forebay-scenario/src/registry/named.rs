//! What the names of a scenario file stand for, and whether their parameters are theirs.

use super::{Chosen, Kind, Line, Made, line, lines};
use crate::format::fault::{Fault, Problem};
use crate::format::faults::{Faults, note};
use crate::format::fields::{At, Field};
use crate::format::item::{Item, Value, join};
use crate::format::source::Loc;
use crate::keys::file::Queue;
use crate::keys::kinds::{Disciplines, Routers, Schemes, Word};
use crate::keys::named::{FORMS, NAMES, Named, OWN, Param};
use forebay_base::ParamError;
use serde_json::{Value as Json, json};
use std::sync::Arc;

impl<K: Kind> Named<K> {
    /// It, every parameter known and within its range.
    pub fn resolve(&self) -> Result<Arc<Chosen<K>>, Fault> {
        choose(lookup(&self.name)?, &self.params, &self.name.place()).map(Arc::new)
    }
}

/// A value of the document, and its key.
pub(super) struct Place<'a>(pub &'a Item, pub String);

impl<'a> Place<'a> {
    pub fn get(&self, key: &str) -> Option<Place<'a>> {
        let Value::Table(entries) = &self.0.value else { return None };
        let entry = entries.iter().find(|entry| entry.key == key)?;
        Some(Place(&entry.item, join(&self.1, key)))
    }
    fn elements(&self, key: &str) -> Vec<Place<'a>> {
        let Some(Place(Item { value: Value::Array(items), .. }, list)) = self.get(key) else {
            return Vec::new();
        };
        let place = |(i, item)| Place(item, format!("{list}[{i}]"));
        items.iter().enumerate().map(place).collect()
    }
    /// Look up the name at a key. What cannot be read is reported by whoever reads the file.
    fn check<K: Kind>(&self, key: &str, faults: &mut Faults) {
        let Some(Place(item, key)) = self.get(key) else { return };
        let Ok(named) = Named::<K>::read(item, &key) else { return };
        faults.keep(check_keys::<K>(Some(&named.name), &named.params, &key, K::OWN_KEYS));
    }
    /// The same of a queue.
    fn check_queue(&self, faults: &mut Faults) {
        let Some(Place(item, key)) = self.get("queue") else { return };
        let Ok(Queue { table, params }) = Queue::read(item, &key) else { return };
        let name = table.discipline.as_ref();
        faults.keep(check_keys::<Disciplines>(name, &params, &key, Disciplines::OWN_KEYS));
    }
}

/// Look up the names of disciplines, port schemes and routers in a document, and the keys beside
/// them.
pub(crate) fn check(document: &Item, faults: &mut Faults) {
    let top = Place(document, String::new());
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
pub(crate) fn lookup<K: Kind>(name: &At<String>) -> Result<&'static Line<K>, Fault> {
    line::<K>(&name.value).ok_or_else(|| {
        let problem = Problem::UnknownName { kind: K::WORD, name: name.value.clone() };
        name.fault(problem).suggest(&name.value, lines::<K>().iter().map(|line| line.name))
    })
}

/// Errors if a parameter of the table that is called `key` is none of what `name` names; without a
/// name, of none of the kind.
pub(crate) fn check_keys<K: Kind>(
    name: Option<&At<String>>,
    params: &[Param],
    key: &str,
    own: &[&str],
) -> Result<(), Fault> {
    let lines = match name {
        Some(name) => vec![lookup::<K>(name)?],
        None => lines::<K>(),
    };
    let known: Vec<&str> = lines.iter().flat_map(|line| line.keys()).collect();
    let odd = params.iter().find(|param| !known.contains(&param.key.as_str()));
    odd.map_or(Ok(()), |param| {
        let fault = Fault::at(param.key_loc, key, Problem::UnknownKey(param.key.clone()));
        Err(fault.suggest(&param.key, known.iter().copied().chain(own.iter().copied())))
    })
}

/// What a line makes of parameters. `place` is where its table, or its name, stands.
pub(crate) fn choose<K: Kind>(
    line: &'static Line<K>,
    params: &[Param],
    place: &At<()>,
) -> Result<Chosen<K>, Fault> {
    make(line, params, place).map(|(made, given)| Chosen::of(line, made, given))
}

/// The same, and the parameters as a table. Each that is wrong is a fault of its own.
pub(super) fn make<K: Kind>(
    line: &Line<K>,
    params: &[Param],
    place: &At<()>,
) -> Result<(Made<K>, toml::Table), Fault> {
    let (mut given, mut wrong) = (toml::Table::new(), None);
    let mut made = line.defaults();
    for param in params {
        let mut more = given.clone();
        more.insert(param.key.clone(), param.value.value.clone());
        let finite = !matches!(param.value.value, toml::Value::Float(x) if !x.is_finite());
        match (line.make)(&more) {
            // The ranges of disciplines speak of numbers that are not finite themselves.
            Ok(read) if finite || line.over.is_none() => (made, given) = (read, more),
            read => {
                let text = read.err().unwrap_or_default();
                let schema = line.param_schema();
                note(&mut wrong, schema.fault(&param.key, &param.value, text));
            }
        }
    }
    while let Err(ParamError { param: key, allowed, .. }) = made.range.clone() {
        let expected = allowed.to_string();
        let Some(Param { value, .. }) =
            params.iter().find(|p| p.key == key && given.contains_key(key))
        else {
            let problem = Problem::Conflict(format!("`{key}` must be {expected}"));
            note(&mut wrong, place.fault(problem));
            break;
        };
        // As it would be written, where it may come from a table of parameters, too.
        let written = made.params.get(key).filter(|_| line.over.is_some());
        let found = match written.unwrap_or(&value.value) {
            toml::Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        note(&mut wrong, value.fault(Problem::OutOfRange { found, expected }));
        given.remove(key);
        made = (line.make)(&given).expect("it could be made with one more");
    }
    wrong.map_or(Ok((made, given)), Err)
}

/// Parameters as they would be given.
pub(crate) fn given(params: &toml::Table) -> Vec<Param> {
    let param = |(key, value): (&String, &toml::Value)| {
        let (key, value) = (key.clone(), At::new(value.clone()));
        Param { key, key_loc: Loc::default(), value }
    };
    params.iter().map(param).collect()
}

/// The schema of a table, one form for each line. `own` is that of the keys that all have.
fn schemas<K: Kind>(own: &Json) -> Vec<Json> {
    let of = |line: &'static Line<K>| {
        let mut form = own.clone();
        form["title"] = line.title.into();
        form["description"] = line.summary.into();
        form["properties"][K::KEY]["const"] = line.name.into();
        for (key, schema) in line.schema["properties"].as_object().into_iter().flatten() {
            form["properties"][key] = schema.clone();
        }
        form
    };
    lines::<K>().into_iter().map(of).collect()
}

/// Put names and their parameters where a schema has places for them.
pub(crate) fn fill(schema: &mut Json) {
    let filled = |form: &mut Json| {
        let form = form.take();
        let kinds = [of_kind::<Disciplines>, of_kind::<Schemes>, of_kind::<Routers>];
        kinds.into_iter().find_map(|of| of(&form)).unwrap_or_else(|| vec![form])
    };
    match schema {
        Json::Array(values) => values.iter_mut().for_each(fill),
        Json::Object(map) => {
            if let Some(Json::Array(forms)) = map.get_mut("anyOf") {
                *forms = forms.iter_mut().flat_map(filled).collect();
            }
            map.values_mut().for_each(fill);
        }
        _ => {}
    }
}

/// What stands at a place for names or forms of this kind; None if it is none.
fn of_kind<K: Kind>(place: &Json) -> Option<Vec<Json>> {
    if place[NAMES] == K::KEY {
        let names: Vec<&str> = lines::<K>().iter().map(|line| line.name).collect();
        return Some(vec![json!({ "enum": names })]);
    }
    (place[FORMS] == K::KEY).then(|| schemas::<K>(&place[OWN]))
}

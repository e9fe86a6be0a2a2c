//! Values that name something of the registry: `"rcp"`, or `{ scheme = "rcp", alpha = 0.4 }`.

use crate::format::error::{Fault, Problem};
use crate::format::fields::{At, Field};
use crate::format::item::{Entry, Item, Value};
use crate::keys::file::{Param, param};
use crate::registry::{Chosen, Kind, Line, line, lines};
use forebay_base::ParamError;
use serde_json::{Value as Json, json};
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

/// A name of a kind, and the parameters beside it.
pub(crate) struct Named<K> {
    pub name: At<String>,
    pub params: Vec<Param>,
    kind: PhantomData<K>,
}

impl<K> Clone for Named<K> {
    fn clone(&self) -> Self {
        Named { name: self.name.clone(), params: self.params.clone(), kind: PhantomData }
    }
}

impl<K> fmt::Debug for Named<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Named").field(&self.name.value).field(&self.params).finish()
    }
}

impl<K: Kind> Field for Named<K> {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let (name, others): (At<String>, Vec<&Entry>) = match &item.value {
            Value::Table(entries) => {
                let Some(named) = entries.iter().find(|entry| entry.key == K::KEY) else {
                    let meaning = format!("name of the {}", K::WORD);
                    let problem = Problem::MissingKey { key: K::KEY, meaning };
                    return Err(Fault::at(item.loc, key, problem));
                };
                let others = entries.iter().filter(|entry| entry.key != K::KEY);
                let name = At::read(&named.item, &crate::format::fields::join(key, K::KEY))?;
                (name, others.collect())
            }
            Value::String(_) => (At::read(item, key)?, Vec::new()),
            _ => {
                let expected = format!("the name of a {}, or a table with `{}`", K::WORD, K::KEY);
                return Err(item.expected(key, expected));
            }
        };
        let params: Vec<Param> = others.into_iter().map(|entry| param(entry, key)).collect();
        check_keys::<K>(Some(&name), &params, key, K::OWN_KEYS)?;
        Ok(Named { name, params, kind: PhantomData })
    }
    fn write(&self) -> toml::Value {
        let name = toml::Value::String(self.name.value.clone());
        if self.params.is_empty() {
            return name;
        }
        let params = self.params.iter().map(|p| (p.key.clone(), p.value.value.clone()));
        let all = [(K::KEY.to_string(), name)].into_iter().chain(params);
        toml::Value::Table(all.collect())
    }
    fn schema() -> Json {
        let names: Vec<&str> = lines::<K>().iter().map(|line| line.name).collect();
        let own = json!({
            "type": "object",
            "properties": { K::KEY: { "description": format!("Name of the {}.", K::WORD) } },
            "required": [K::KEY],
            "additionalProperties": false,
        });
        let mut forms = vec![json!({ "enum": names })];
        forms.extend(schemas::<K>(&own));
        json!({ "anyOf": forms })
    }
}

impl<K: Kind> Named<K> {
    /// What a scenario would write for it.
    pub fn describe(chosen: &Chosen<K>) -> Named<K> {
        let name = At::new(chosen.name().to_string());
        Named { name, params: crate::resolve::text::given(&chosen.params), kind: PhantomData }
    }
    /// It, every parameter known and within its range.
    pub fn resolve(&self) -> Result<Arc<Chosen<K>>, Fault> {
        choose(lookup(&self.name)?, &self.params, &self.name.place()).map(Arc::new)
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
    let mut given = toml::Table::new();
    let mut made = line.defaults();
    for param in params {
        given.insert(param.key.clone(), param.value.value.clone());
        let read = (line.make)(&given);
        made = read.map_err(|text| match line.over {
            // The words are those of the keys of its table.
            Some(_) => param.value.fault(Problem::Conflict(text)),
            None => line.param_schema().fault(&param.key, &param.value, text),
        })?;
    }
    let Err(ParamError { param: key, allowed }) = made.range else {
        return Ok(Chosen::of(line, made, given));
    };
    let expected = allowed.to_string();
    Err(match params.iter().find(|param| param.key == key) {
        Some(Param { value, .. }) => {
            value.fault(Problem::OutOfRange { found: value.value.to_string(), expected })
        }
        None => place.fault(Problem::Conflict(format!("`{key}` must be {expected}"))),
    })
}

/// The schema of a table, one form for each line. `own` is that of the keys that all have.
pub(crate) fn schemas<K: Kind>(own: &Json) -> Vec<Json> {
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

//! `[tcp]` and `[tcp_of.NAME]`: a preset, and parameters of the transport.

use crate::format::fault::Fault;
use crate::format::faults::all;
use crate::format::fields::{Field, Spanned, property};
use crate::format::item::{Entry, Item, Value, join};
use crate::format::takes::{LazySchema, entries_of, lazy, plain};
use forebay_transport::TcpConfig;
use schemars::generate::SchemaSettings;
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::sync::LazyLock;

const PRESET: &str = "preset";
const PRESET_DOC: &str =
    "Named configuration to start from. Default: \"modern\". Example: \"linux-6.18\".";

/// A table of transport keys: those that are given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tcp {
    pub preset: Option<Spanned<String>>,
    /// Parameters of [`TcpConfig`], each of its type.
    pub params: Vec<Entry>,
    /// What messages call the table.
    pub key: String,
}

impl Tcp {
    /// The table of these parameters.
    pub fn of(params: &toml::Table) -> Tcp {
        let Value::Table(params) = Item::of(&toml::Value::Table(params.clone())).value else {
            unreachable!("a table")
        };
        Tcp { params, ..Tcp::default() }
    }
    /// Where the value of a parameter stands, or of one in it (`ack_policy.packets`); None if it is
    /// not given.
    pub fn given(&self, param: &str) -> Option<Spanned<()>> {
        let (mut entries, mut loc) = (&self.params[..], None);
        for part in param.split('.') {
            let entry = entries.iter().find(|entry| entry.key == part)?;
            loc = Some(entry.item.loc);
            entries = match &entry.item.value {
                Value::Table(entries) => entries,
                _ => &[],
            };
        }
        Some(Spanned { value: (), loc: loc?, key: join(&self.key, param) })
    }
}

/// The parameters of the transport.
static PARAMS: LazyLock<Json> = LazyLock::new(|| {
    let settings = SchemaSettings::default().with(|settings| settings.inline_subschemas = true);
    settings.into_generator().into_root_schema_for::<TcpConfig>().to_value()
});

/// The keys of the table. Each is put in the words of the format once, when a table first has it:
/// every point of a sweep reads such a table.
static KEYS: LazyLock<BTreeMap<String, LazySchema>> = LazyLock::new(|| {
    let params = PARAMS["properties"].as_object().into_iter().flatten();
    let params = params.map(|(key, schema)| (key.clone(), lazy(|| plain(&PARAMS, schema))));
    let preset = (PRESET.to_string(), lazy(|| property::<String>(&[PRESET_DOC])));
    params.chain([preset]).collect()
});

impl Field for Tcp {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let Value::Table(entries) = &item.value else {
            return Err(item.expected(key, "a table"));
        };
        let typed = entries_of(&*KEYS, entries, key);
        let (preset, params): (Vec<&Entry>, Vec<&Entry>) =
            entries.iter().partition(|entry| entry.key == PRESET);
        typed?;
        let preset = preset.first().map(|entry| Spanned::read(&entry.item, &join(key, PRESET)));
        let params = params.into_iter().cloned().collect();
        Ok(Tcp { preset: preset.transpose()?, params, key: key.to_string() })
    }
    fn write(&self) -> toml::Value {
        let preset = self.preset.iter().map(|at| (PRESET.to_string(), at.write()));
        let params = self.params.iter().map(|entry| (entry.key.clone(), entry.item.to_toml()));
        toml::Value::Table(preset.chain(params).collect())
    }
    fn schema() -> Json {
        let mut schema = plain(&PARAMS, &PARAMS);
        if let Some(properties) = schema["properties"].as_object_mut() {
            properties.insert(PRESET.to_string(), KEYS[PRESET].clone());
        }
        schema
    }
}

/// Tables of transport keys, by protocol.
#[derive(Clone, Debug, Default)]
pub(crate) struct TcpOf(pub Vec<(Spanned<String>, Tcp)>);

impl Field for TcpOf {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let Value::Table(entries) = &item.value else {
            return Err(item.expected(key, "a table of tables, one per protocol"));
        };
        let tables = entries.iter().map(|entry| {
            let key = join(key, &entry.key);
            let table = Tcp::read(&entry.item, &key)?;
            Ok((Spanned { value: entry.key.clone(), loc: entry.key_loc, key }, table))
        });
        all(tables).map(TcpOf)
    }
    fn write(&self) -> toml::Value {
        let tables = self.0.iter().map(|(name, tcp)| (name.value.clone(), tcp.write()));
        toml::Value::Table(tables.collect())
    }
    fn schema() -> Json {
        // Its properties are the names of protocols.
        json!({ "type": "object", "properties": {}, "additionalProperties": Tcp::schema() })
    }
}

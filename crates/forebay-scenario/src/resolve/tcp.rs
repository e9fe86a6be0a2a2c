//! A table of transport keys (`[tcp]`, `[tcp_of.NAME]`) and the configuration that it stands for.

use crate::format::fault::{Fault, Problem};
use crate::format::faults::both;
use crate::format::fields::Spanned;
use crate::format::item::whole;
use crate::format::takes::in_range;
use crate::keys::tcp::Tcp;
use forebay_base::Params;
use forebay_transport::{PRESETS, Preset, TcpConfig};

/// TCP header without options, in bytes.
pub(crate) const TCP_HEADER_BYTES: u64 = 20;

/// The configuration that `[tcp]` stands for.
pub(crate) fn resolve(tcp: &Tcp) -> Result<TcpConfig, Fault> {
    let preset = preset(tcp);
    let known = preset.as_ref().ok().copied().flatten();
    let base = known.map_or(PRESETS[0].config, |preset| preset.config);
    let top = Spanned { value: (), loc: whole(0), key: "tcp".into() };
    // Without its preset, what a table does not give says nothing.
    let overwritten = overwritten(tcp, base, &top);
    both(preset, overwritten).map(|(_, config)| config)
}

/// The preset that a table names.
pub(crate) fn preset(tcp: &Tcp) -> Result<Option<&'static Preset>, Fault> {
    let Some(name) = &tcp.preset else { return Ok(None) };
    let found = PRESETS.iter().find(|p| p.name == name.value);
    found.map(Some).ok_or_else(|| {
        let problem = Problem::UnknownName { kind: "preset", name: name.value.clone() };
        name.fault(problem).suggest(&name.value, PRESETS.iter().map(|p| p.name))
    })
}

/// `base` with what the table at `owner` gives. A fault has the place of what is given, or of the
/// table where that made a value wrong that it does not give.
pub(crate) fn overwritten(
    tcp: &Tcp,
    base: TcpConfig,
    owner: &Spanned<()>,
) -> Result<TcpConfig, Fault> {
    let given = tcp.params.iter().map(|entry| (entry.key.clone(), entry.item.to_toml()));
    let (before, mut fault) = (described(&base), None);
    let config = in_range(
        &mut given.collect(),
        &mut fault,
        |given| {
            let mut table = before.clone();
            table.extend(given.clone());
            let config = TcpConfig { fast_path: base.fast_path, ..read(&table) };
            (config, config.check())
        },
        |config, param| Some((tcp.given(param)?, shown(&described(config), param))),
        |_, allowed| {
            let text = format!(
                "a value that is not given here does not fit the others: expected {allowed}"
            );
            owner.fault(Problem::Conflict(text))
        },
    );
    fault.map_or(Ok(config), Err)
}

/// The configuration of a table of all parameters, which are of their types.
fn read(table: &toml::Table) -> TcpConfig {
    toml::Value::Table(table.clone()).try_into().expect("the types were checked")
}

/// The text of a parameter, or of one in it.
pub(crate) fn shown(table: &toml::Table, param: &str) -> String {
    let mut parts = param.split('.');
    let value = parts.next().and_then(|key| table.get(key));
    match parts.try_fold(value, |value, part| Some(value?.get(part))).flatten() {
        Some(toml::Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

/// All parameters of a configuration.
pub(crate) fn described(config: &TcpConfig) -> toml::Table {
    toml::Table::try_from(config).expect("parameters are plain values")
}

/// The table of what `config` has otherwise than `base`.
pub(crate) fn describe_difference(config: &TcpConfig, base: &TcpConfig) -> Tcp {
    let (mut table, base) = (described(config), described(base));
    table.retain(|key, value| base.get(key) != Some(value));
    Tcp::of(&table)
}

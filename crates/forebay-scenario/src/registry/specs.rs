//! Parameters as the tables of their crates have them: enums of all disciplines, schemes, routers.

use super::{Kind, Made};
use forebay_base::ParamError;
use forebay_queue::SchemeSpec;
use forebay_router::ForwardingSpec;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Parameters in the enum of all schemes, or of all routers.
pub(super) trait Spec: Serialize + DeserializeOwned {
    fn check(&self) -> Result<(), ParamError>;
    fn implied(&self, given: &dyn Fn(&str) -> bool, table: &Self) -> Self;
}

macro_rules! specs {
    ($($Spec:ident)*) => { $(
        impl Spec for $Spec {
            fn check(&self) -> Result<(), ParamError> {
                self.check()
            }
            fn implied(&self, given: &dyn Fn(&str) -> bool, table: &Self) -> Self {
                self.implied(given, table)
            }
        }
    )* };
}
specs!(SchemeSpec ForwardingSpec);

/// What is made of the parameters that are given and, for the rest, those of a table.
pub(super) fn over<S: Spec, K: Kind<Machine = S>>(
    name: &str,
    table: &toml::Table,
    given: &toml::Table,
) -> Result<Made<K>, String> {
    let own: S = read_spec(name, given)?;
    let implied = own.implied(&|key| given.contains_key(key), &read_spec(name, table)?);
    let mut params = params_of(name, &implied);
    params.extend(given.clone());
    // Keys that only stand for others are read and not written.
    let params = params_of(name, &read_spec::<S>(name, &params)?);
    let machine: S = read_spec(name, &params)?;
    Ok(Made { range: machine.check(), machine, params })
}

/// The variant `name` of an enum with these parameters.
pub(super) fn read_spec<S: DeserializeOwned>(
    name: &str,
    params: &toml::Table,
) -> Result<S, String> {
    let params = toml::Value::Table(params.clone());
    let tagged = toml::Table::from_iter([(name.to_string(), params)]);
    toml::Value::Table(tagged).try_into().map_err(first_line)
}

/// All parameters of a variant.
pub(super) fn params_of(name: &str, spec: &impl Serialize) -> toml::Table {
    let written = toml::Value::try_from(spec).expect("parameters are plain values");
    written.get(name).and_then(toml::Value::as_table).cloned().unwrap_or_default()
}

/// The first line says what is wrong; those after it show a text that is not the user's.
pub(crate) fn first_line(error: toml::de::Error) -> String {
    error.message().lines().next().unwrap_or_default().to_string()
}

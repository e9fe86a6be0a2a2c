//! Routers of INRPP: a cache besides the parameters of their table, whose size may follow from the
//! network.

use super::specs::{self, params_of};
use super::{Made, Routers};
use crate::format::fields::{Field, Spanned};
use crate::format::item::Item;
pub(super) use crate::keys::inrpp::NAME;
use crate::keys::inrpp::{CACHE, GivenCache, InrppKeys, cache};
use forebay_router::ForwardingSpec;
use forebay_router::inrpp::Settings;
use serde_json::Value as Json;
use std::sync::Arc;

/// The schema of a router of its own parameters.
pub(super) fn schema(mut params: Json) -> Json {
    params["properties"][CACHE] = InrppKeys::schema()["properties"][CACHE].clone();
    params
}

/// A router of these parameters, and, for the rest, those of a table.
pub(super) fn over(table: &toml::Table, given: &toml::Table) -> Result<Made<Routers>, String> {
    let without = |params: &toml::Table| {
        let mut params = params.clone();
        let cache = params.remove(CACHE);
        (params, cache)
    };
    let ((table, common), (given, own)) = (without(table), without(given));
    let mut made: Made<Routers> = specs::over(NAME, &table, &given)?;
    let Some(value) = own.or(common) else { return Ok(made) };
    let read = GivenCache::read(&Item::of(&value), CACHE);
    let size = read.and_then(|given| cache(&Spanned::new(given)));
    if let ForwardingSpec::Inrpp(settings) = &mut made.machine {
        Arc::make_mut(settings).cache = size.map_err(|fault| fault.problem.to_string())?;
    }
    made.params.insert(CACHE.to_string(), value);
    Ok(made)
}

/// What these parameters, which are all that there are but for caches, configure.
pub(crate) fn settings(params: &toml::Table) -> Settings {
    match over(&toml::Table::new(), params).map(|made| made.machine) {
        Ok(ForwardingSpec::Inrpp(settings)) => Settings::clone(&settings),
        _ => unreachable!("they were read"),
    }
}

/// All parameters of a configuration but for its caches.
pub(crate) fn params(settings: &Settings) -> toml::Table {
    params_of(NAME, &ForwardingSpec::Inrpp(Arc::new(settings.clone())))
}

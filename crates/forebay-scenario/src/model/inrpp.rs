//! INRPP in a scenario.

use crate::format::fields::Field;
use crate::keys::inrpp::{CACHE, CacheRule, GivenCache, sizes};
use crate::registry::inrpp::params;
use forebay_router::inrpp::Settings;
use std::sync::Arc;

/// INRPP in a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct InrppNetwork {
    /// Configuration of its routers.
    pub settings: Settings,
    /// True if each cache has the size that the margin rule gives it; that of `settings` is for
    /// interfaces that no flow of INRPP takes at the start.
    pub margin_rule: bool,
    /// Key of links that have none of their own.
    pub key: Option<Arc<str>>,
}

impl Default for InrppNetwork {
    fn default() -> InrppNetwork {
        InrppNetwork { settings: Settings::default(), margin_rule: true, key: None }
    }
}

impl InrppNetwork {
    /// What a scenario would write for its caches.
    pub(crate) fn cache(&self) -> GivenCache {
        if self.margin_rule {
            return GivenCache::Rule(CacheRule::Margin);
        }
        GivenCache::Sizes(sizes(&self.settings.cache))
    }
    /// All parameters of its routers.
    pub(crate) fn params(&self) -> toml::Table {
        let mut params = params(&self.settings);
        params.insert(CACHE.to_string(), self.cache().write());
        params
    }
}

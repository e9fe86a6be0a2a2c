//! `[inrpp]`: which routers run INRPP, their caches, and the parameters of all of them.

use crate::format::fault::{Fault, Problem};
use crate::format::fields::{
    Field, Fields, Section, Spanned, choices, property, read_section, section_schema, sections,
    shown,
};
use crate::format::item::{Item, Value};
use crate::format::units::Room;
use crate::keys::named::{Param, read_own, write_own};
use forebay_base::Span;
use forebay_router::inrpp::{CacheLimits, CacheSize, Settings};
use forebay_signal::inrpp::guard::{LinkSecret, ShortSecret};
use serde_json::{Value as Json, json};
use std::sync::Arc;

/// The table and the router that it is about.
pub(crate) const NAME: &str = "inrpp";
/// The key of caches, which routers of their own parameters have, too.
pub(crate) const CACHE: &str = "cache";

/// The table: its own keys, and the parameters of routers.
#[derive(Clone, Debug, Default)]
pub(crate) struct InrppTable {
    pub table: InrppKeys,
    pub params: Vec<Param>,
}

impl Field for InrppTable {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        let (table, params) = read_own(item, key)?;
        Ok(InrppTable { table, params })
    }
    fn write(&self) -> toml::Value {
        write_own(&self.table, &self.params)
    }
    fn schema() -> Json {
        InrppKeys::schema()
    }
}

sections! {
    /// Which routers run INRPP, and their parameters.
    pub struct InrppKeys {
        required {}
        optional {
            /// Names of the routers that run INRPP, whatever protocol is compared. Default: all if
            /// the protocol of the run, or of a flow, is inrpp; otherwise none. Example: ["r0",
            /// "r1"].
            routers: Vec<Spanned<String>>,
            /// Cache of each interface: "margin", sized by what may arrive until a request to slow
            /// down takes effect; "paper", 10 s at the rate of the interface; a size ("10MB") or a
            /// time ("8s"), which sets `total`; or a table of sizes. An interface that no INRPP
            /// flow uses at the start then has the paper's. Default: "margin".
            cache: GivenCache,
            /// Key with which neighbouring routers authenticate notices, on all links between INRPP
            /// routers, at least 16 bytes. Routers then ignore what hosts forge, and ACKs carry 7
            /// bytes more. Default: none. Example: "not known elsewhere".
            key: String,
        }
    }
    /// Cache of an interface: three sizes ("10MB"), or three times at the rate of the interface
    /// ("8s"). With `total` alone, `high` is four fifths of it, and `low` half of `high`, as in the
    /// paper.
    pub struct CacheTable {
        required {}
        optional {
            /// Below this level back-pressure ends. Default: high / 2. Example: "2MB".
            low: Room,
            /// Above this level back-pressure begins. Default: 4/5 total ("8s"). Example: "4MB".
            high: Room,
            /// Capacity of the cache. Default: 5/4 high ("10s"). Example: "5MB".
            total: Room,
        }
    }
}

choices! {
    /// A rule for the sizes of caches.
    pub(crate) enum CacheRule {
        /// As the margin rule says, by topology and flows.
        Margin = "margin",
        /// 10 s at the rate of the interface.
        Paper = "paper",
    }
}

/// What `cache` may be.
#[derive(Clone, Debug)]
pub(crate) enum GivenCache {
    /// A rule.
    Rule(CacheRule),
    /// Sizes.
    Sizes(CacheTable),
}

const CACHE_EXPECTED: &str = "\"margin\", \"paper\", a size such as \"10MB\", a time such as \
                              \"8s\", or a table of low, high and total";

impl GivenCache {
    pub fn is_margin(&self) -> bool {
        matches!(self, GivenCache::Rule(CacheRule::Margin))
    }
}

impl Field for GivenCache {
    fn read(item: &Item, key: &str) -> Result<Self, Fault> {
        match &item.value {
            Value::Table(_) => CacheTable::read(item, key).map(GivenCache::Sizes),
            Value::String(text) if text.starts_with(|c: char| !c.is_ascii_digit() && c != '-') => {
                let rule = CacheRule::read(item, key).map(GivenCache::Rule);
                let names = ["margin", "paper"];
                rule.map_err(|_| item.expected(key, CACHE_EXPECTED).suggest(text, names))
            }
            Value::String(_) | Value::Integer(_) => {
                let total = Some(Spanned::<Room>::read(item, key)?);
                Ok(GivenCache::Sizes(CacheTable { total, ..CacheTable::default() }))
            }
            _ => Err(item.expected(key, CACHE_EXPECTED)),
        }
    }
    fn write(&self) -> toml::Value {
        match self {
            GivenCache::Rule(rule) => rule.write(),
            GivenCache::Sizes(table) => table.write(),
        }
    }
    fn schema() -> Json {
        json!({ "anyOf": [CacheRule::schema(), Room::schema(), CacheTable::schema()] })
    }
}

/// Three sizes in order, or three times.
pub(crate) fn cache(at: &Spanned<GivenCache>) -> Result<CacheSize, Fault> {
    let CacheTable { low, high, total } = match &at.value {
        GivenCache::Rule(_) => return Ok(Settings::default().cache),
        GivenCache::Sizes(table) => table,
    };
    let amount = |room: Room| match room {
        Room::Bytes(bytes) => bytes,
        Room::Time(span) => span.as_nanos(),
    };
    let given: Vec<&Spanned<Room>> = [low, high, total].into_iter().flatten().collect();
    let in_bytes = |room: &Spanned<Room>| matches!(room.value, Room::Bytes(_));
    let Some(first) = given.first() else { return Ok(Settings::default().cache) };
    if let Some(other) = given.iter().find(|room| in_bytes(room) != in_bytes(first)) {
        let text = "low, high and total of a cache are all sizes or all times".to_string();
        return Err(other.fault(Problem::Conflict(text)));
    }
    let value = |room: &Option<Spanned<Room>>| room.as_ref().map(|at| amount(at.value));
    let (high_value, total_value) = match (value(high), value(total)) {
        (Some(high), Some(total)) => (high, total),
        (Some(high), None) => (high, high.saturating_add(high / 4)),
        (None, Some(total)) => (total - total / 5, total),
        (None, None) => {
            let meaning = "low alone does not say how large a cache is".to_string();
            return Err(at.fault(Problem::MissingKey { key: "total".into(), meaning }));
        }
    };
    let low_value = value(low).unwrap_or(high_value / 2);
    let below = |at: &Spanned<Room>, key: &str, bound: u64| {
        let bound =
            if in_bytes(first) { Room::Bytes(bound) } else { Room::Time(Span::from_nanos(bound)) };
        Err(at.out_of_range(format!("less than cache.{key} ({})", shown(&bound))))
    };
    match (low, high) {
        (Some(low), _) if low_value >= high_value => return below(low, "high", high_value),
        (_, Some(high)) if high_value >= total_value => return below(high, "total", total_value),
        _ => {}
    }
    let ns = Span::from_nanos;
    Ok(if in_bytes(first) {
        CacheSize::Bytes(CacheLimits {
            low_bytes: low_value,
            high_bytes: high_value,
            total_bytes: total_value,
        })
    } else {
        CacheSize::Time { low: ns(low_value), high: ns(high_value), total: ns(total_value) }
    })
}

/// The table that says these sizes.
pub(crate) fn sizes(cache: &CacheSize) -> CacheTable {
    let rooms = match cache {
        CacheSize::Bytes(CacheLimits { low_bytes, high_bytes, total_bytes }) => {
            [low_bytes, high_bytes, total_bytes].map(|&bytes| Room::Bytes(bytes))
        }
        CacheSize::Time { low, high, total } => [low, high, total].map(|&span| Room::Time(span)),
        CacheSize::Ports(_) => unreachable!("a scenario gives all routers the same"),
    };
    let [low, high, total] = rooms.map(|room| Some(Spanned::new(room)));
    CacheTable { low, high, total }
}

/// A key as a secret; `fault` places what is wrong with it.
pub(crate) fn link_key(at: &Spanned<String>, of: impl Fn() -> String) -> Result<Arc<str>, Fault> {
    match LinkSecret::new(at.value.as_bytes()) {
        Ok(_) => Ok(at.value.as_str().into()),
        Err(ShortSecret(bytes)) => {
            let expected = format!("at least {} bytes for {}", LinkSecret::MIN_BYTES, of());
            let found = format!("a key of {bytes} bytes");
            Err(at.fault(Problem::OutOfRange { found, expected }))
        }
    }
}

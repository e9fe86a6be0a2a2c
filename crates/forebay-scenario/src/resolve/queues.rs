//! The queue of a link: its limit in bytes or packets, its discipline, and what is odd about them.

use crate::format::fault::{Fault, Problem};
use crate::format::faults::both;
use crate::format::fields::{Spanned, shown};
use crate::format::units::GivenLimit;
use crate::keys::links::Queue;
use crate::registry::named;
use crate::registry::{Chosen, Disciplines, Registry};
use forebay_base::{Rate, Span};
use forebay_queue::Limit;
use std::sync::Arc;

/// A limit and where it stands, and a discipline.
type Placed = (Spanned<()>, Limit, Arc<Chosen<Disciplines>>);

/// The limit of a queue and where it stands, and the discipline.
pub(crate) fn queue_of(
    registry: &Registry,
    queue: &Spanned<Queue>,
    rate: Rate,
    missing: &impl Fn(&'static str, &str) -> Fault,
) -> Result<Placed, Fault> {
    let table = &queue.value.table;
    let given = table.limit.as_ref().ok_or_else(|| missing("queue.limit", "limit of its queue"));
    let limit = given.and_then(|limit| {
        let value = queue_limit(limit, table.rtt.as_ref(), rate)?;
        Ok((limit.place(), value))
    });
    let ((place, limit), discipline) = both(limit, discipline_of(registry, queue))?;
    Ok((place, limit, discipline))
}

fn discipline_of(
    registry: &Registry,
    queue: &Spanned<Queue>,
) -> Result<Arc<Chosen<Disciplines>>, Fault> {
    let name = queue.value.table.discipline.as_ref();
    let line = match name {
        Some(name) => named::lookup(registry, name)?,
        None => Arc::clone(&registry.lines::<Disciplines>()[0]),
    };
    named::check_keys::<Disciplines>(registry, name, &queue.value.params, &queue.key, &[])?;
    named::choose(line, &queue.value.params, &queue.place()).map(Arc::new)
}

/// What a limit stands for at the rate of its link.
fn queue_limit(
    limit: &Spanned<GivenLimit>,
    rtt: Option<&Spanned<Span>>,
    rate: Rate,
) -> Result<Limit, Fault> {
    let queue = match limit.value {
        GivenLimit::Bytes(bytes) => Limit::Bytes(bytes),
        GivenLimit::Packets(packets) => Limit::Packets(packets),
        GivenLimit::Time(span) => Limit::Bytes(rate.bytes_in(span)),
        GivenLimit::Bdp { millionths } => {
            let Some(rtt) = rtt else {
                let text = "a limit in BDP needs the round-trip time: `rtt` next to `limit`";
                let hint = "queue = { limit = \"1BDP\", rtt = \"40ms\" }";
                return Err(limit.fault(Problem::Conflict(text.into())).hint(hint));
            };
            let bdp = u128::from(rate.bytes_in(rtt.value));
            let bytes = bdp * u128::from(millionths) / 1_000_000;
            Limit::Bytes(u64::try_from(bytes).map_err(|_| {
                let expected = "a queue of less than 2^64 bytes".to_string();
                limit.fault(Problem::OutOfRange { found: bytes.to_string(), expected })
            })?)
        }
    };
    match queue {
        Limit::Bytes(0) | Limit::Packets(0) => {
            let expected = "room for a full-sized packet".to_string();
            Err(limit.fault(Problem::OutOfRange { found: shown(&limit.value), expected }))
        }
        _ => Ok(queue),
    }
}

/// Parameters that say from which queue on packets are marked.
const THRESHOLDS: [&str; 2] = ["ce_threshold_ms", "min_packets"];

/// Where the threshold of a queue stands, if it is given.
pub(crate) fn threshold_of(queue: &Queue) -> Option<Spanned<()>> {
    let mut params = queue.params.iter();
    params.find(|param| THRESHOLDS.contains(&param.key.as_str())).map(|param| param.value.place())
}

//! Shares of a sweep for several machines.

use super::SweepPlan;
use forebay_scenario::packet_hops;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt;
use std::str::FromStr;

/// Most points that are looked at one by one, to share their work out evenly; of more, every n-th
/// run is the same work.
const MAX_LOOKED_AT: u64 = 5_000;

/// One of several shares.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Shard {
    /// Its number, from 1.
    pub number: u64,
    /// How many there are.
    pub of: u64,
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl From<Shard> for String {
    fn from(shard: Shard) -> String {
        shard.to_string()
    }
}

impl TryFrom<String> for Shard {
    type Error = String;
    fn try_from(text: String) -> Result<Shard, String> {
        text.parse()
    }
}

impl FromStr for Shard {
    type Err = String;
    fn from_str(text: &str) -> Result<Shard, String> {
        let expected = || format!("`{text}` is no shard: expected I/N with I from 1 to N");
        let (number, of) = text.split_once('/').ok_or_else(expected)?;
        let parsed = [number, of].map(|text| text.trim().parse::<u64>().map_err(|_| expected()));
        let [number, of] = parsed;
        let shard = Shard { number: number?, of: of? };
        let is_sound = (1..=shard.of).contains(&shard.number) && shard.of <= 1_000_000;
        if is_sound { Ok(shard) } else { Err(expected()) }
    }
}

impl Shard {
    /// The numbers of its runs, in order. They follow from the plan alone: the runs are dealt out
    /// by their estimated work, the most first, each to the shard that has least.
    pub fn runs(&self, plan: &SweepPlan<'_>, runs: u64) -> Vec<u64> {
        let points = plan.swept.grid().points().unwrap_or(u64::MAX);
        if points > MAX_LOOKED_AT {
            return (0..runs).filter(|run| run % self.of == self.number - 1).collect();
        }
        let work: Vec<u64> = (0..points).map(|point| work(plan, point)).collect();
        let of_point = (plan.protocols.len() * plan.seeds.len()) as u64;
        let mut order: Vec<u64> = (0..runs).collect();
        order.sort_by_key(|run| (Reverse(work[(run / of_point) as usize]), *run));
        let mut shards: BinaryHeap<Reverse<(u64, u64)>> =
            (1..=self.of).map(|number| Reverse((0, number))).collect();
        let mut own = Vec::new();
        for run in order {
            let Some(Reverse((load, number))) = shards.pop() else { break };
            shards.push(Reverse((load + work[(run / of_point) as usize], number)));
            if number == self.number {
                own.push(run);
            }
        }
        own.sort_unstable();
        own
    }
}

/// Work of a run at a point, in packet-hops; of one that cannot be made, that of saying so.
fn work(plan: &SweepPlan<'_>, point: u64) -> u64 {
    estimate_hops(plan, point).map_or(1, |hops| hops.max(1.0) as u64)
}

/// About how many packet-hops a run at a point has; None if it cannot be made.
pub(super) fn estimate_hops(plan: &SweepPlan<'_>, point: u64) -> Option<f64> {
    let scenario = plan.swept.scenario(&plan.swept.grid().point(point)).ok()?;
    let spec = scenario.build(plan.protocols.first()?, *plan.seeds.first()?).ok()?;
    Some(packet_hops(&spec, scenario.until))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_a_number_of_several() {
        let shard: Shard = "2/8".parse().unwrap();
        assert_eq!((shard, shard.to_string().as_str()), (Shard { number: 2, of: 8 }, "2/8"));
        for wrong in ["0/8", "9/8", "1", "1/0", "a/b", "1/2/3", "-1/2", "1/9999999"] {
            let said = wrong.parse::<Shard>().unwrap_err();
            assert!(said.contains("expected I/N"), "{wrong}: {said}");
        }
    }
}

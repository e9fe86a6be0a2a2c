//! What identifies a sweep: `sweep.json` of its folder, and the first line of its journal.

use super::{Shard, SweepPlan, SweepRun};
use forebay_report::schema::RESULTS_VERSION;
use forebay_scenario::SweptKey;
use forebay_sim::HASH_EPOCH;
use serde::{Deserialize, Serialize};

/// What is run, where, and with which version: rows of equal manifests belong together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the format of results.
    pub results_version: u32,
    /// Version of Forebay.
    pub forebay: String,
    /// Which definition of trace hashes this is.
    pub hash_epoch: u32,
    /// Name of the scenario, as the user gave it.
    pub scenario: String,
    /// Digest of its text, changes, points and files, 16 hexadecimal digits.
    pub digest: String,
    /// The changes of all points.
    pub set: Vec<String>,
    /// The keys that are swept.
    pub keys: Vec<SweptKey>,
    /// Which keys change together, the last first.
    pub axes: Vec<AxisRecord>,
    /// Number of points.
    pub points: u64,
    /// The protocols.
    pub protocols: Vec<String>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// The protocol from which the page shows differences.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<String>,
    /// True if runs have no reference.
    pub without_reference: bool,
    /// The share of the runs that is here; absent if it is all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<Shard>,
}

/// Keys that change together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AxisRecord {
    /// Their numbers in [`Manifest::keys`].
    pub keys: Vec<usize>,
    /// How many values each has.
    pub steps: u64,
    /// What the steps differ in, if the scenario says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The names of the steps, if all have one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
}

/// `sweep.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepRecord {
    /// What was run.
    #[serde(flatten)]
    pub manifest: Manifest,
    /// Rows of the table.
    pub rows: u64,
    /// Of these, those of runs that failed.
    pub failed: u64,
    /// Notes for readers.
    pub notes: Vec<String>,
}

impl Manifest {
    /// Of `plan`, whose scenario the user calls `name` and changes by `set`.
    ///
    /// Panics if the plan has 2^64 points.
    pub fn new(plan: &SweepPlan<'_>, name: &str, set: &[String]) -> Manifest {
        let grid = plan.swept.grid();
        let axes = grid.axes().zip(grid.names()).map(|((keys, steps), (name, names))| AxisRecord {
            keys: keys.to_vec(),
            steps: steps as u64,
            name: name.map(str::to_string),
            names: names.into_iter().map(str::to_string).collect(),
        });
        Manifest {
            results_version: RESULTS_VERSION,
            forebay: env!("CARGO_PKG_VERSION").to_string(),
            hash_epoch: HASH_EPOCH,
            scenario: name.to_string(),
            digest: format!("{:016x}", plan.swept.digest()),
            set: set.to_vec(),
            keys: grid.keys().to_vec(),
            axes: axes.collect(),
            points: grid.points().expect("a sweep has fewer than 2^64 points"),
            protocols: plan.protocols.to_vec(),
            seeds: plan.seeds.to_vec(),
            baseline: None,
            without_reference: false,
            shard: None,
        }
    }

    /// Runs of all shards.
    pub(super) fn runs(&self) -> u64 {
        self.points * (self.protocols.len() * self.seeds.len()) as u64
    }

    /// The run of this number, which is one of all.
    pub(super) fn run(&self, number: u64) -> SweepRun<'_> {
        let (protocols, seeds) = (self.protocols.len() as u64, self.seeds.len() as u64);
        SweepRun {
            point: number / (protocols * seeds),
            seed: self.seeds[(number / protocols % seeds) as usize],
            protocol: &self.protocols[(number % protocols) as usize],
        }
    }

    /// The number of a run; None if the sweep does not have it.
    pub(super) fn number(&self, point: u64, protocol: &str, seed: u64) -> Option<u64> {
        let (protocols, seeds) = (self.protocols.len() as u64, self.seeds.len() as u64);
        let protocol = self.protocols.iter().position(|known| known == protocol)? as u64;
        let seed = self.seeds.iter().position(|known| *known == seed)? as u64;
        (point < self.points).then(|| (point * seeds + seed) * protocols + protocol)
    }

    /// What of `other` differs first, in words, shards aside; None if they belong together.
    pub(super) fn difference(&self, other: &Manifest) -> Option<String> {
        let said = |what: &str, own: &dyn std::fmt::Display, its: &dyn std::fmt::Display| {
            Some(format!("{what} {its}, not {own}"))
        };
        if self.forebay != other.forebay {
            return said("it was made by Forebay", &self.forebay, &other.forebay);
        }
        if self.results_version != other.results_version {
            let (own, its) = (self.results_version, other.results_version);
            return said("its format of results is version", &own, &its);
        }
        if self.hash_epoch != other.hash_epoch {
            return said("its trace hashes are of epoch", &self.hash_epoch, &other.hash_epoch);
        }
        if self.protocols != other.protocols {
            let [own, its] = [self, other].map(|of| of.protocols.join(", "));
            return said("its protocols are", &own, &its);
        }
        if self.seeds != other.seeds {
            return Some("it has other seeds".to_string());
        }
        if self.keys != other.keys || self.points != other.points || self.axes != other.axes {
            let words = |of: &Manifest| {
                let keys: Vec<&str> = of.keys.iter().map(|key| key.key.as_str()).collect();
                format!("{} points of {}", of.points, keys.join(", "))
            };
            return said("it has", &words(self), &words(other));
        }
        if self.digest != other.digest || self.set != other.set {
            return Some(format!(
                "its scenario `{}` has another text, other files, changes or values",
                other.scenario
            ));
        }
        let differs = self.without_reference != other.without_reference;
        differs.then(|| "only one of them has the fluid reference".to_string())
    }
}

//! Sweeps and their shards.

use clap::Args;
use forebay_lab::Shard;
use std::path::PathBuf;

/// Many points of one scenario.
#[derive(Debug, Default, Args)]
pub struct SweepArgs {
    /// Run a point for each value of a key: KEY=V1,V2 or KEY=FROM..TO [log] N (repeatable: every
    /// value with every value of the others). All points have the same seeds
    #[arg(long, value_name = "KEY=VALUES")]
    pub sweep: Vec<String>,
    /// Go on with the sweep in --out that was stopped: what has finished is not run again
    #[arg(long, requires = "out")]
    pub resume: bool,
    /// Make one of N shares of the runs of a sweep; `forebay merge` joins their folders
    #[arg(long, value_name = "I/N", requires = "out")]
    pub shard: Option<Shard>,
    /// Begin a sweep of more than 100 000 runs
    #[arg(long)]
    pub yes: bool,
    /// Only the points of [[sweep]] with these names, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub point: Vec<String>,
}

/// Options of `forebay reproduce matrix` alone.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Of `matrix` alone")]
pub struct MatrixArgs {
    /// Only the paths and companies with these names, separated by commas: wired-1bdp,twice
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    pub point: Vec<String>,
    /// Go on with what was stopped in --out
    #[arg(long)]
    pub resume: bool,
    /// Make one of N shares of the runs; `forebay merge` joins their folders
    #[arg(long, value_name = "I/N", requires = "out")]
    pub shard: Option<Shard>,
    /// Replace the results that are in the folder
    #[arg(long)]
    pub force: bool,
    /// Print on how many paths each controller is far from CUBIC, as a Markdown table, and nothing
    /// else
    #[arg(long, conflicts_with_all = ["json", "markdown"])]
    pub findings: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  forebay run mine.toml --sweep links.0.rate=1Mbit/s,9Mbit/s --shard 1/2 --out a
  forebay run mine.toml --sweep links.0.rate=1Mbit/s,9Mbit/s --shard 2/2 --out b
  forebay merge a b --out all            as one machine would have written it

Exit codes: 0 done, 1 it cannot be written, 2 the folders do not belong together.")]
pub struct MergeArgs {
    /// The folders of all shards
    #[arg(value_name = "DIR", required = true)]
    pub folders: Vec<PathBuf>,
    /// The new folder
    #[arg(long, short, value_name = "DIR")]
    pub out: PathBuf,
    /// Replace the results that are in the folder of --out
    #[arg(long)]
    pub force: bool,
}

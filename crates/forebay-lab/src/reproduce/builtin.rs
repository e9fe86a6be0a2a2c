//! The experiments that are built into the binary.

use super::file::Experiment;

/// An experiment of the binary.
#[derive(Clone, Copy, Debug)]
pub struct BuiltinExperiment {
    /// Its source: a paper, or a system that was measured.
    pub source: &'static str,
    /// Its name among those of the source.
    pub experiment: &'static str,
    /// `source/experiment`.
    pub name: &'static str,
    /// The text of its file.
    pub(super) text: &'static str,
}

macro_rules! experiments {
    ($($source:literal / $experiment:literal),* $(,)?) => {
        /// The experiments that can be reproduced, in the order in which they are run.
        pub const EXPERIMENTS: &[BuiltinExperiment] = &[$(BuiltinExperiment {
            source: $source,
            experiment: $experiment,
            name: concat!($source, "/", $experiment),
            text: include_str!(
                concat!("../../../../experiments/", $source, "/", $experiment, ".toml")
            ),
        },)*];
    };
}

experiments!["inrpp" / "dumbbell", "linux" / "one-flow"];

impl BuiltinExperiment {
    /// The experiments that `name` asks for: those of a source, or one of them as
    /// `source/experiment`. Empty if there is none.
    pub fn find(name: &str) -> Vec<&'static BuiltinExperiment> {
        let wanted = |e: &&BuiltinExperiment| e.name == name || e.source == name;
        EXPERIMENTS.iter().filter(wanted).collect()
    }
    /// What it is, in a line.
    pub fn title(&self) -> String {
        let experiment = Experiment::parse(self.text, self.name);
        experiment.expect("a test reads every file of the binary").file.title
    }
}

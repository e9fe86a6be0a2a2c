//! The experiments that are built into the binary.

use super::paper::Experiment;

/// An experiment of the binary.
#[derive(Clone, Copy, Debug)]
pub struct PaperExperiment {
    /// Its paper.
    pub paper: &'static str,
    /// Its name within the paper.
    pub experiment: &'static str,
    /// `paper/experiment`.
    pub name: &'static str,
    /// The text of its file.
    pub(super) text: &'static str,
}

macro_rules! experiments {
    ($($paper:literal / $experiment:literal),* $(,)?) => {
        /// The experiments of papers that can be reproduced, in the order in which they are run.
        pub const PAPER_EXPERIMENTS: &[PaperExperiment] = &[$(PaperExperiment {
            paper: $paper,
            experiment: $experiment,
            name: concat!($paper, "/", $experiment),
            text: include_str!(concat!("../../../../papers/", $paper, "/", $experiment, ".toml")),
        },)*];
    };
}

experiments!["inrpp" / "dumbbell"];

impl PaperExperiment {
    /// The experiments that `name` asks for: those of a paper, or one of them as `paper/experiment`. None if there is none.
    pub fn find(name: &str) -> Vec<&'static PaperExperiment> {
        let wanted = |e: &&PaperExperiment| e.name == name || e.paper == name;
        PAPER_EXPERIMENTS.iter().filter(wanted).collect()
    }
    /// What it is, in a line.
    pub fn title(&self) -> String {
        let experiment = Experiment::parse(self.text, self.name);
        experiment.expect("a test reads every file of the binary").file.title
    }
}

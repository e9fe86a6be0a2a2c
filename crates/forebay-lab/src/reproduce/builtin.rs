//! The experiments that are built into the binary, and those of files.

use super::ExperimentHead;
use super::file::Experiment;
use std::io;
use std::path::Path;
use std::sync::Arc;

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
        pub static EXPERIMENTS: &[BuiltinExperiment] = &[$(BuiltinExperiment {
            source: $source,
            experiment: $experiment,
            name: concat!($source, "/", $experiment),
            text: include_str!(
                concat!("../../experiments/", $source, "/", $experiment, ".toml")
            ),
        },)*];
    };
}

experiments![
    "inrpp" / "dumbbell",
    "inrpp" / "fig1",
    "inrpp" / "multihomed",
    "inrpp" / "hierarchy",
    "inrpp" / "caches",
    "inrpp" / "friendly",
    "inrpp" / "load",
    "inrpp" / "order",
    "inrpp" / "tiscali",
    "inrpp" / "attacks",
    "kickass" / "joins",
    "kickass" / "static",
    "kickass" / "light",
    "kickass" / "topologies",
    "kickass" / "mixed",
    "kickass" / "partial",
    "kickass" / "testbed",
    "kickass" / "edge",
    "kickass" / "overhead",
    "kickass" / "limits",
    "kickass" / "web",
    "verus" / "channels",
    "verus" / "phones",
    "verus" / "mobility",
    "verus" / "fairness",
    "verus" / "rapid",
    "verus" / "micro",
    "verus" / "tcp",
    "verus" / "profile",
    "verus" / "parameters",
    "verus" / "short",
    "verus" / "now",
    "verus" / "steps",
    "verus" / "rules",
    "linux" / "one-flow",
    "linux" / "tail-loss",
    "linux" / "reordering",
    "controllers" / "alone",
    "controllers" / "twice",
    "controllers" / "beside-cubic",
    "controllers" / "bbr1",
    "controllers" / "copa",
    "controllers" / "sprout",
    "controllers" / "marks",
];

impl BuiltinExperiment {
    /// The experiments that `name` asks for: those of a source, or one of them as
    /// `source/experiment`. Empty if there is none.
    pub fn find(name: &str) -> Vec<&'static BuiltinExperiment> {
        let wanted = |e: &&BuiltinExperiment| e.name == name || e.source == name;
        EXPERIMENTS.iter().filter(wanted).collect()
    }
    /// The text of its file.
    pub fn text(&self) -> &'static str {
        self.text
    }
    /// Its description, in a line. Nothing is parsed for it.
    pub fn title(&self) -> &'static str {
        let quoted = self.text.lines().find_map(|line| line.strip_prefix("title = \""));
        quoted.and_then(|rest| rest.strip_suffix('"')).unwrap_or_default()
    }
    /// What it is: its set-ups, and what is compared.
    pub fn head(&self) -> ExperimentHead {
        let experiment = Experiment::parse(self.text, self.name, &Arc::default());
        super::head(&self.into(), &experiment.expect("a test reads every file of the binary"))
    }
}

/// The text of an experiment, and what it is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExperimentText {
    /// Its source; of a file the folder.
    pub(super) source: String,
    /// Its name among those of the source; of a file its name.
    pub(super) experiment: String,
    /// What messages call it.
    pub(super) file: String,
    pub(super) text: String,
}

impl ExperimentText {
    /// That of the file at `path`. Scenarios that it names by a path are relative to the current
    /// folder, as on the command line.
    pub fn read(path: &Path) -> io::Result<ExperimentText> {
        let text = forebay_scenario::input::read_text(path)?;
        let folder = path.parent().map(|folder| folder.display().to_string());
        let folder = folder.filter(|folder| !folder.is_empty());
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(ExperimentText {
            source: folder.unwrap_or_else(|| ".".to_string()),
            experiment: file.into_owned(),
            file: path.display().to_string(),
            text,
        })
    }

    /// `source/experiment`.
    pub(super) fn name(&self) -> String {
        format!("{}/{}", self.source, self.experiment)
    }
}

impl From<&BuiltinExperiment> for ExperimentText {
    fn from(of: &BuiltinExperiment) -> ExperimentText {
        ExperimentText {
            source: of.source.to_string(),
            experiment: of.experiment.to_string(),
            file: format!("{}.toml", of.name),
            text: of.text.to_string(),
        }
    }
}

//! The text of a scenario: from the binary, a file, a pipe, or standard input. It is read once.

use super::builtin::{BUILTINS, Builtin};
use super::{LoadOptions, Readable, read_file, resolve};
use crate::Scenario;
use crate::format::error::{Problem, ScenarioError};
use crate::format::fault::Fault;
use crate::format::files::Files;
use crate::format::input;
use crate::format::source::Sources;
use crate::plan::memory_estimate::Outline;
use crate::plan::outline;
use std::io;
use std::path::{Path, PathBuf};

/// The name that stands for standard input.
const STDIN: &str = "-";

/// The text of a scenario, of which nothing has been read further.
#[derive(Clone, Debug)]
pub struct ScenarioText {
    text: String,
    name: String,
    /// What messages call it.
    file: String,
    /// The folder that its paths are relative to.
    base: PathBuf,
}

impl ScenarioText {
    /// That of the built-in scenario of that name, or of that file; `-` is standard input, read to
    /// its end.
    pub fn read(name_or_path: &str) -> Result<ScenarioText, ScenarioError> {
        if name_or_path == STDIN {
            return ScenarioText::of_stdin().map_err(|fault| fault.resolve(&Sources::default()));
        }
        if let Some(builtin) = Builtin::find(name_or_path) {
            let (text, name) = (builtin.text.to_string(), builtin.name.to_string());
            let file = format!("{name}.toml");
            return Ok(ScenarioText { text, name, file, base: PathBuf::new() });
        }
        let path = Path::new(name_or_path);
        let text = input::read_text(path)
            .map_err(|error| not_read(name_or_path, &error).resolve(&Sources::default()))?;
        let base = path.parent().unwrap_or(Path::new("")).to_path_buf();
        let [name, file] = [name_or_path; 2].map(str::to_string);
        Ok(ScenarioText { text, name, file, base })
    }

    fn of_stdin() -> Result<ScenarioText, Fault> {
        let [name, file] = ["<stdin>"; 2].map(str::to_string);
        let text = input::read_stdin().map_err(|error| of_file("<stdin>", &error))?;
        Ok(ScenarioText { text, name, file, base: PathBuf::new() })
    }

    /// As it was read.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What results call it: the name or path that it was read by, `<stdin>` for standard input.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The scenario, with every choice made.
    pub fn scenario(&self, options: &LoadOptions) -> Result<Scenario, ScenarioError> {
        let files = self.files(options);
        Scenario::parse(&self.text, &self.file, &LoadOptions { files, ..options.clone() })
    }

    /// Its keys, of which nothing is made yet. Errors if nothing of it can be read, or if it has
    /// more hosts or flows than any scenario may have.
    pub fn keys(&self, options: &LoadOptions) -> Result<ScenarioKeys, ScenarioError> {
        let options = LoadOptions { files: self.files(options), ..options.clone() };
        let mut sources = Sources::with(options.files.clone());
        let read = read_file(&self.text, &self.file, &options, &mut sources);
        let readable = read.map_err(|faults| faults.resolve(&sources))?;
        if readable.too_large {
            return Err(readable.faults.resolve(&sources));
        }
        Ok(ScenarioKeys { readable, sources, options })
    }

    /// A text that stands in no file: `name` is what results and messages call it, and its paths
    /// are relative to `base`.
    pub fn of(text: String, name: String, base: PathBuf) -> ScenarioText {
        ScenarioText { text, file: name.clone(), name, base }
    }

    /// The text, and what messages call it.
    pub(super) fn text_and_file(&self) -> (&str, &str) {
        (&self.text, &self.file)
    }

    pub(super) fn files(&self, options: &LoadOptions) -> Files {
        options.files.beside(&self.base)
    }
}

/// What the text of a scenario says, before hosts and flows are made of it.
pub struct ScenarioKeys {
    readable: Readable,
    sources: Sources,
    options: LoadOptions,
}

impl ScenarioKeys {
    /// How large the scenario is, without making it.
    pub fn outline(&self) -> Outline {
        outline::outline(&self.readable.file, &self.options.files)
    }

    /// The scenario, with every choice made.
    pub fn scenario(mut self) -> Result<Scenario, ScenarioError> {
        let scenario = resolve(self.readable, &self.options, &mut self.sources);
        scenario.map_err(|faults| faults.resolve(&self.sources))
    }
}

/// The fault of a scenario that cannot be read: where it is no path, the names that there are.
fn not_read(name_or_path: &str, error: &io::Error) -> Fault {
    let is_path = name_or_path.contains(['/', '\\']) && !Builtin::has_group_of(name_or_path);
    let named = is_path || name_or_path.ends_with(".toml");
    if Path::new(name_or_path).exists() || named {
        return of_file(name_or_path, error);
    }
    let problem = Problem::UnknownName { kind: "scenario", name: name_or_path.to_string() };
    Fault::nowhere(problem).suggest(name_or_path, BUILTINS.iter().map(|b| b.name))
}

/// The fault of a file that cannot be read.
pub(super) fn of_file(path: &str, error: &io::Error) -> Fault {
    Fault::nowhere(Problem::File { path: path.to_string(), why: input::reason(error) })
}

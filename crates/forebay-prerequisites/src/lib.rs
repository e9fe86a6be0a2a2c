//! What tests need from outside the repository: data and programs.
//!
//! A test asks for what it needs. Where the environment promises it, it must be there, or the test
//! fails and names what is missing. Where the environment promises nothing and it is not there,
//! the test is skipped, and a line `skipped: NAME: REASON` records that:
//!
//! - in the file that `FOREBAY_SKIPPED` names, else in `skipped-tests.txt` in the folder of the
//!   profile (`target/debug`); lines are appended;
//! - on standard error, past the capture of libtest, which hides what a passing test prints.
//!
//! | Variable | Promise |
//! |---|---|
//! | `FOREBAY_TRACES=DIR` | `DIR` holds the measured delivery traces |
//! | `FOREBAY_BENCH_DATA=DIR` | `DIR` holds the files of scenario `s3`, as for `forebay bench` |
//! | `FOREBAY_ROCKETFUEL=DIR` | `DIR` holds Rocketfuel's maps, and that of the INRPP paper |
//! | `FOREBAY_REQUIRE_TSHARK=1` | `tshark` is installed |
//! | `FOREBAY_REQUIRE_CHROMIUM=1` | Chromium or Chrome is installed |
//! | `FOREBAY_REQUIRE_PARALLEL=1` | GNU parallel is installed |
//!
//! Folders are absolute: tests run in the folder of their crate.
#![forbid(unsafe_code)]

mod record;

pub use record::skip;

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

const TRACES: &str = "FOREBAY_TRACES";
const BENCH_DATA: &str = "FOREBAY_BENCH_DATA";
const ROCKETFUEL: &str = "FOREBAY_ROCKETFUEL";

/// A measured delivery trace, by the name of its file. None, with a record, where no traces are
/// promised.
///
/// # Panics
///
/// If `FOREBAY_TRACES` is set and the file is not in that folder.
#[track_caller]
pub fn measured_trace(file: &str) -> Option<PathBuf> {
    promised(TRACES, &[file]).map(|folder| folder.join(file))
}

/// The folder with the files of scenario `s3`. None, with a record, where it is not promised.
///
/// # Panics
///
/// If `FOREBAY_BENCH_DATA` is set and a file is not in that folder.
#[track_caller]
pub fn s3_data() -> Option<PathBuf> {
    promised(BENCH_DATA, &["s3_links.csv", "s3_hosts.csv", "s3_flows.csv"])
}

/// The folder with these maps of Rocketfuel. None, with a record, where it is not promised.
///
/// # Panics
///
/// If `FOREBAY_ROCKETFUEL` is set and a file is not in that folder.
#[track_caller]
pub fn rocketfuel(files: &[&str]) -> Option<PathBuf> {
    promised(ROCKETFUEL, files)
}

/// The first of these programs that runs with `--version`. None, with a record, where none does
/// and none is required.
///
/// # Panics
///
/// If none runs and `FOREBAY_REQUIRE_NAME` is 1, NAME being the first name in capitals.
#[track_caller]
pub fn program(names: &[&'static str]) -> Option<&'static str> {
    let [main, ..] = names else { panic!("a program has a name") };
    let runs = |name: &&'static str| {
        Command::new(name).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    let found = names.iter().copied().find(runs);
    if found.is_none() {
        let variable = format!("FOREBAY_REQUIRE_{}", main.to_uppercase());
        let required = env::var_os(&variable).is_some_and(|value| value == "1");
        assert!(!required, "{variable} is 1, and none of {names:?} can be run");
        skip(&format!("{main} is not installed"));
    }
    found
}

/// The folder of a variable, which must hold these files. None, with a record, if it is not set.
#[track_caller]
fn promised(variable: &str, files: &[&str]) -> Option<PathBuf> {
    match folder(env::var_os(variable), files) {
        Ok(Some(folder)) => Some(folder),
        Ok(None) => {
            skip(&format!("{} is outside the repository, and {variable} is not set", files[0]));
            None
        }
        Err(why) => panic!("{variable}: {why}"),
    }
}

/// The folder that a variable names, if it is set.
fn folder(value: Option<OsString>, files: &[&str]) -> Result<Option<PathBuf>, String> {
    let Some(value) = value else { return Ok(None) };
    let folder = PathBuf::from(value);
    if !folder.is_absolute() {
        let given = folder.display();
        return Err(format!("`{given}` is relative; tests run in the folder of their crate"));
    }
    match files.iter().map(|file| folder.join(file)).find(|path| !path.is_file()) {
        Some(missing) => Err(format!("there is no file {}", missing.display())),
        None => Ok(Some(folder)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::SKIPPED;
    use std::fs;
    use std::path::Path;

    #[test]
    fn a_folder_that_is_named_must_be_absolute_and_hold_the_files() {
        let found = |value: &Path, files: &[&str]| folder(Some(value.into()), files);
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(folder(None, &["Cargo.toml"]), Ok(None));
        assert_eq!(found(here, &["Cargo.toml", "README.md"]), Ok(Some(here.to_path_buf())));
        let missing = found(here, &["Cargo.toml", "none.trace"]).expect_err("it is not there");
        assert!(missing.ends_with("forebay-prerequisites/none.trace"), "{missing}");
        assert!(found(&here.join("none"), &["Cargo.toml"]).is_err());
        assert!(found(Path::new("."), &["Cargo.toml"]).expect_err("relative").contains("relative"));
        assert!(found(Path::new(""), &["Cargo.toml"]).is_err(), "set and empty is set");
    }

    /// Not a test of its own: the one below runs it in processes with other environments.
    #[test]
    #[ignore = "run by the test below"]
    fn probe() {
        assert!(measured_trace("Cargo.toml").is_some() || program(&["no-such-program"]).is_none());
    }

    /// The probe with these variables: whether it passes, what it says, and its records.
    fn probe_with(scratch: &str, variables: &[(&str, &str)]) -> (bool, String, String) {
        let record = env::temp_dir().join(format!("forebay-{}-{scratch}", std::process::id()));
        let mut command = Command::new(env::current_exe().expect("a test is a program"));
        command.args(["--ignored", "--exact", "tests::probe", "--test-threads=2"]);
        for variable in [TRACES, "FOREBAY_REQUIRE_NO-SUCH-PROGRAM"] {
            command.env_remove(variable);
        }
        command.env(SKIPPED, &record).envs(variables.iter().copied());
        let output = command.output().expect("it starts");
        let said = [&output.stdout, &output.stderr].map(|b| String::from_utf8_lossy(b)).concat();
        let records = fs::read_to_string(&record).unwrap_or_default();
        let _ = fs::remove_file(&record);
        (output.status.success(), said, records)
    }

    #[test]
    fn what_is_promised_must_be_there_and_the_rest_is_recorded() {
        let (passes, said, records) = probe_with("skip", &[]);
        assert!(passes, "{said}");
        let lines: Vec<&str> = records.lines().collect();
        let expected = [
            "skipped: forebay_prerequisites::tests::probe: Cargo.toml is outside the repository, \
             and FOREBAY_TRACES is not set",
            "skipped: forebay_prerequisites::tests::probe: no-such-program is not installed",
        ];
        assert_eq!(lines, expected);
        assert!(lines.iter().all(|line| said.contains(line)), "not captured: {said}");

        let here = env!("CARGO_MANIFEST_DIR");
        let (passes, said, records) = probe_with("found", &[(TRACES, here)]);
        assert!(passes && records.is_empty(), "{said}{records}");

        let none = format!("{here}/src");
        let (passes, said, records) = probe_with("missing", &[(TRACES, &none)]);
        assert!(!passes && records.is_empty(), "{said}{records}");
        assert!(said.contains("FOREBAY_TRACES") && said.contains("src/Cargo.toml"), "{said}");

        let required = [("FOREBAY_REQUIRE_NO-SUCH-PROGRAM", "1")];
        let (passes, said, _) = probe_with("required", &required);
        assert!(!passes && said.contains("no-such-program"), "{said}");
    }
}

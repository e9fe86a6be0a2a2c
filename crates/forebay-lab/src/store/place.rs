//! A folder that appears whole or not at all.

use super::leftovers::{self, Beside, Lock, Taken};
use super::names::{entries, is_own};
use crate::error::StoreError;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Treatment of results that are at the place already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// They stay, and nothing else is written.
    Keep,
    /// They go when the new ones are whole.
    Replace,
}

/// A folder next to its final place. Dropped before [`StagingFolder::settle`], it is removed.
#[derive(Debug)]
pub(super) struct StagingFolder {
    target: PathBuf,
    partial: PathBuf,
    /// Where the results that were at `target` are for a moment.
    replaced: PathBuf,
    /// Folders above that were made for it, the outermost first.
    made: Vec<PathBuf>,
    existing: Existing,
    settled: bool,
    /// What is in it stays if it is not settled.
    stays: bool,
    /// Says that this process writes to `partial`.
    _lock: Option<Taken>,
}

impl StagingFolder {
    /// Make `target.partial-<process>` next to `target`, if `target` is free or holds results that
    /// may be replaced. What killed
    /// runs left there is removed.
    pub fn prepare(target: &Path, existing: Existing) -> Result<StagingFolder, StoreError> {
        if target.file_name().is_none() {
            let why = "is not the name of a folder of its own".into();
            return Err(StoreError::Occupied { path: target.to_path_buf(), why });
        }
        let real = followed(target)?;
        let target = real.as_path();
        if target.parent().is_some_and(|p| p.as_os_str().is_empty() || p.is_dir()) {
            leftovers::clear(target)?;
        }
        check_free(target, existing)?;
        let process = std::process::id();
        let mut place = StagingFolder {
            target: target.to_path_buf(),
            partial: Beside::Partial.of(target, process),
            replaced: Beside::Replaced.of(target, process),
            made: Vec::new(),
            existing,
            settled: false,
            stays: false,
            _lock: None,
        };
        place.make_parents()?;
        let taken = leftovers::make(&place.partial).map_err(|source| {
            // Another process has made it and keeps it.
            place.settled = true;
            StoreError::Io { what: "create", path: place.partial.clone(), source }
        })?;
        place._lock = Some(taken);
        Ok(place)
    }
    /// The same with `target.unfinished`, which may be there, and stays if it is not settled.
    /// [`StoreError::Busy`] if another process is writing to it.
    pub fn take_up(target: &Path, existing: Existing) -> Result<StagingFolder, StoreError> {
        let mut place = StagingFolder::prepare(target, existing)?;
        let mut name = place.target.file_name().expect("the target has a name").to_os_string();
        name.push(".unfinished");
        let unfinished = place.target.with_file_name(name);
        if !unfinished.exists() {
            fs::create_dir(&unfinished).map_err(StoreError::io("create", &unfinished))?;
        }
        let lock = Lock::take(&unfinished);
        if matches!(lock, Taken::Elsewhere) {
            return Err(StoreError::Busy { path: unfinished });
        }
        if let Some(foreign) = entries(&unfinished)?.iter().find(|name| !is_unfinished(name)) {
            let why = format!("holds `{foreign}`, which is not a result of Forebay");
            return Err(StoreError::Occupied { path: unfinished, why });
        }
        // The folder of this process was made to see that it can be.
        fs::remove_dir_all(&place.partial).map_err(StoreError::io("remove", &place.partial))?;
        (place.partial, place._lock, place.stays) = (unfinished, Some(lock), true);
        Ok(place)
    }
    fn make_parents(&mut self) -> Result<(), StoreError> {
        let above = self.target.ancestors().skip(1);
        let missing = above.take_while(|p| !p.as_os_str().is_empty() && !p.exists());
        let missing: Vec<PathBuf> = missing.map(Path::to_path_buf).collect();
        for folder in missing.into_iter().rev() {
            fs::create_dir(&folder).map_err(StoreError::io("create", &folder))?;
            self.made.push(folder);
        }
        Ok(())
    }
    /// The folder for now.
    pub fn folder(&self) -> &Path {
        &self.partial
    }
    /// Where it will be.
    pub fn target(&self) -> &Path {
        &self.target
    }
    /// The path of a file in it for now.
    pub fn file(&self, name: &str) -> PathBuf {
        self.partial.join(name)
    }
    /// Remove every file that is not a result.
    pub fn remove_others(&self, keep: impl Fn(&str) -> bool) -> Result<(), StoreError> {
        for name in entries(&self.partial)? {
            if !keep(&name) {
                let path = self.file(&name);
                fs::remove_file(&path).map_err(StoreError::io("remove", &path))?;
            }
        }
        Ok(())
    }
    /// Put it in its place. What was there goes; if that fails, what was there stays.
    pub fn settle(mut self) -> Result<(), StoreError> {
        check_free(&self.target, self.existing)?;
        let replaces = self.target.exists();
        if replaces {
            let renamed = fs::rename(&self.target, &self.replaced);
            renamed.map_err(StoreError::io("rename", &self.target))?;
        }
        if let Err(source) = fs::rename(&self.partial, &self.target) {
            if replaces {
                let back = fs::rename(&self.replaced, &self.target);
                back.map_err(StoreError::io("rename", &self.replaced))?;
            }
            let path = self.target.clone();
            return Err(StoreError::Io { what: "rename", path, source });
        }
        self.settled = true;
        if replaces {
            let removed = fs::remove_dir_all(&self.replaced);
            removed.map_err(StoreError::io("remove", &self.replaced))?;
        }
        Ok(())
    }
}

impl Drop for StagingFolder {
    fn drop(&mut self) {
        if self.settled || self.stays {
            return;
        }
        // No one is left to receive an error; what cannot be removed has "partial" in its name.
        let _ = fs::remove_dir_all(&self.partial);
        for folder in self.made.iter().rev() {
            let _ = fs::remove_dir(folder); // not if something has come into it since
        }
    }
}

/// The folder that a symbolic link stands for; any other path as it is.
fn followed(target: &Path) -> Result<PathBuf, StoreError> {
    let is_link = fs::symlink_metadata(target).is_ok_and(|found| found.is_symlink());
    if is_link && target.is_dir() {
        fs::canonicalize(target).map_err(StoreError::io("read", target))
    } else {
        Ok(target.to_path_buf())
    }
}

/// Ok if nothing is at `target`, or an empty folder, or a folder of results and nothing else that
/// may be replaced.
fn check_free(target: &Path, existing: Existing) -> Result<(), StoreError> {
    let occupied =
        |why: &str| Err(StoreError::Occupied { path: target.to_path_buf(), why: why.into() });
    match fs::symlink_metadata(target) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(source) => {
            return Err(StoreError::Io { what: "read", path: target.to_path_buf(), source });
        }
        Ok(found) if !found.is_dir() => return occupied("is not a folder"),
        Ok(_) => {}
    }
    let names = entries(target)?;
    if names.is_empty() {
        return Ok(());
    }
    if let Some(foreign) = names.iter().find(|name| !is_own(name)) {
        return occupied(&format!("holds `{foreign}`, which is not a result of Forebay"));
    }
    let marks = ["summary.json", "sweep.json"].map(|name| target.join(name));
    let Some((Marked { scenario, .. }, path)) =
        marks.into_iter().find_map(|path| Some((marked(&path)?, path)))
    else {
        return occupied("has no summary.json of Forebay");
    };
    match existing {
        Existing::Replace => Ok(()),
        Existing::Keep => {
            let modified = fs::metadata(&path).and_then(|found| found.modified()).ok();
            let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let made = since.map(|since| minute(since.as_secs()));
            Err(StoreError::Results { path: target.to_path_buf(), scenario, made })
        }
    }
}

/// Files that the folder of a sweep may hold until it is finished.
fn is_unfinished(name: &str) -> bool {
    is_own(name) || name.starts_with(&format!("{}.partial-", forebay_report::REPORT_NAME))
}

/// What is read of a summary.
#[derive(Deserialize)]
struct Marked {
    #[serde(rename = "forebay")]
    _forebay: IgnoredAny,
    #[serde(default)]
    scenario: String,
}

/// The summary at `path`, if Forebay wrote it.
fn marked(path: &Path) -> Option<Marked> {
    let file = fs::File::open(path).map(std::io::BufReader::new).ok()?;
    serde_json::from_reader(file).ok()
}

/// A time since 1970 as `2026-11-22 04:12 UTC`.
fn minute(seconds: u64) -> String {
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days from 0000-03-01 in eras of 400 years (Hinnant, "chrono-compatible low-level date
    // algorithms").
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = era * 400 + year + next;
    let (hour, minute) = (second / 3_600, second / 60 % 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_temporary_folder(test: impl FnOnce(&Path)) {
        let folder = tempfile::tempdir().unwrap();
        test(folder.path());
    }

    fn listing(folder: &Path) -> Vec<String> {
        entries(folder).unwrap()
    }

    #[test]
    fn it_appears_when_it_is_settled_and_replaces_results() {
        in_temporary_folder(|top| {
            let target = top.join("deep/results");
            for round in ["{\"forebay\":1}", "{\"forebay\":2}"] {
                let place = StagingFolder::prepare(&target, Existing::Replace).unwrap();
                fs::write(place.file("summary.json"), round).unwrap();
                let before = fs::read_to_string(target.join("summary.json")).ok();
                assert_ne!(before.as_deref(), Some(round));
                place.settle().unwrap();
                assert_eq!(fs::read_to_string(target.join("summary.json")).unwrap(), round);
                assert_eq!(listing(&top.join("deep")), ["results"]);
            }
        });
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_folder_stands_for_the_folder() {
        in_temporary_folder(|top| {
            fs::create_dir_all(top.join("disk/results")).unwrap();
            let link = top.join("link");
            std::os::unix::fs::symlink(top.join("disk/results"), &link).unwrap();
            let place = StagingFolder::prepare(&link, Existing::Keep).unwrap();
            fs::write(place.file("summary.json"), "{\"forebay\":1}").unwrap();
            place.settle().unwrap();
            assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
            assert_eq!(listing(&link), ["summary.json"]);
            assert_eq!(listing(&top.join("disk")), ["results"]);
        });
    }

    #[test]
    fn dropped_before_that_it_leaves_nothing() {
        in_temporary_folder(|top| {
            let place = StagingFolder::prepare(&top.join("a/b/results"), Existing::Keep).unwrap();
            fs::write(place.file("summary.json"), "{").unwrap();
            drop(place);
            assert!(listing(top).is_empty());
        });
    }

    #[test]
    fn what_is_not_ours_stays() {
        in_temporary_folder(|top| {
            let message = |path: &Path| {
                let error = StagingFolder::prepare(path, Existing::Replace).unwrap_err();
                error.to_string()
            };
            let thesis = top.join("thesis");
            fs::create_dir(&thesis).unwrap();
            fs::write(thesis.join("summary.json"), "{\"forebay\": 1}").unwrap();
            fs::write(thesis.join("notes.txt"), "ten years of work").unwrap();
            assert!(message(&thesis).contains("holds `notes.txt`"), "{}", message(&thesis));
            fs::remove_file(thesis.join("notes.txt")).unwrap();
            fs::write(thesis.join("summary.json"), "{\"sums\": 1}").unwrap();
            assert!(message(&thesis).contains("no summary.json of Forebay"));
            assert!(message(&thesis.join("summary.json")).contains("is not a folder"));
            assert!(message(&thesis.join("summary.json/x")).contains("cannot"));
            assert!(message(Path::new("/")).contains("`/`"));
            assert_eq!(listing(top), ["thesis"]);
            fs::remove_file(thesis.join("summary.json")).unwrap();
            StagingFolder::prepare(&thesis, Existing::Keep).unwrap().settle().unwrap();
        });
    }

    #[test]
    fn what_came_to_the_place_meanwhile_stays() {
        in_temporary_folder(|top| {
            let target = top.join("results");
            let place = StagingFolder::prepare(&target, Existing::Replace).unwrap();
            fs::create_dir(&target).unwrap();
            fs::write(target.join("other"), "").unwrap();
            assert!(place.settle().is_err());
            assert_eq!(listing(top), ["results"]);
            assert_eq!(listing(&target), ["other"]);
        });
    }

    /// The right sides are what `date -u -d @SECONDS` prints.
    #[test]
    fn times_are_read_as_dates() {
        assert_eq!(minute(0), "1970-01-01 00:00 UTC");
        assert_eq!(minute(951_782_399), "2000-02-28 23:59 UTC");
        assert_eq!(minute(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(minute(1_795_320_737), "2026-11-22 04:12 UTC");
        assert_eq!(minute(4_107_542_400), "2100-03-01 00:00 UTC");
    }

    #[test]
    fn results_stay_unless_they_may_be_replaced() {
        in_temporary_folder(|top| {
            let target = top.join("results");
            fs::create_dir(&target).unwrap();
            let summary = "{\"forebay\": \"1\", \"scenario\": \"s1\"}";
            fs::write(target.join("summary.json"), summary).unwrap();
            let error = StagingFolder::prepare(&target, Existing::Keep).unwrap_err().to_string();
            assert!(error.contains("holds results of `s1`, made 20"), "{error}");
            assert_eq!(listing(top), ["results"]);
            assert!(StagingFolder::prepare(&target, Existing::Replace).is_ok());
        });
    }
}

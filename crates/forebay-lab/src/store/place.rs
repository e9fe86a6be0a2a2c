//! A folder that appears whole or not at all.

use super::error::StoreError;
use crate::report::REPORT_NAME;
use serde::Deserialize;
use serde::de::IgnoredAny;
use std::fs;
use std::path::{Path, PathBuf};

/// Files that a folder of results may hold.
const OWN_FILES: [&str; 5] =
    ["scenario.toml", "summary.json", "flows.parquet", "series.parquet", REPORT_NAME];
const CAPTURE_SUFFIX: &str = ".pcapng";

/// A folder beside its final place. Dropped before [`Place::settle`], it is removed.
#[derive(Debug)]
pub(super) struct Place {
    target: PathBuf,
    partial: PathBuf,
    /// Where the results that were at `target` are for a moment.
    replaced: PathBuf,
    /// Folders above that were made for it, the outermost first.
    made: Vec<PathBuf>,
    settled: bool,
}

impl Place {
    /// Make `target.partial-<process>` beside `target`, if `target` is free or holds results.
    pub fn prepare(target: &Path) -> Result<Place, StoreError> {
        check_replaceable(target)?;
        let name = target.file_name().ok_or_else(|| StoreError::Occupied {
            path: target.to_path_buf(),
            why: "is not the name of a folder of its own".into(),
        })?;
        let beside = |what: &str| {
            let mut beside = name.to_os_string();
            beside.push(format!(".{what}-{}", std::process::id()));
            target.with_file_name(beside)
        };
        let mut place = Place {
            target: target.to_path_buf(),
            partial: beside("partial"),
            replaced: beside("replaced"),
            made: Vec::new(),
            settled: false,
        };
        place.make_parents()?;
        fs::create_dir(&place.partial).map_err(|source| {
            // Whoever else has made it keeps it.
            place.settled = true;
            StoreError::Io { what: "create", path: place.partial.clone(), source }
        })?;
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
        check_replaceable(&self.target)?;
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

impl Drop for Place {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        // Nobody is left to be told of an error; what cannot be removed has "partial" in its name.
        let _ = fs::remove_dir_all(&self.partial);
        for folder in self.made.iter().rev() {
            let _ = fs::remove_dir(folder); // not if something has come into it since
        }
    }
}

/// Ok if nothing is at `target`, or an empty folder, or a folder of results and nothing else.
fn check_replaceable(target: &Path) -> Result<(), StoreError> {
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
    if !is_summary(&target.join("summary.json")) {
        return occupied("has no summary.json of Forebay");
    }
    Ok(())
}

fn is_own(name: &str) -> bool {
    OWN_FILES.contains(&name) || name.starts_with("packets") && name.ends_with(CAPTURE_SUFFIX)
}

fn is_summary(path: &Path) -> bool {
    #[derive(Deserialize)]
    struct Marked {
        #[serde(rename = "forebay")]
        _forebay: IgnoredAny,
    }
    let file = fs::File::open(path).map(std::io::BufReader::new);
    file.is_ok_and(|reader| serde_json::from_reader::<_, Marked>(reader).is_ok())
}

/// Names of what a folder holds, in order.
fn entries(folder: &Path) -> Result<Vec<String>, StoreError> {
    let read = || -> std::io::Result<Vec<String>> {
        let names = fs::read_dir(folder)?.map(|entry| Ok(entry?.file_name()));
        let names = names.map(|name| name.map(|n| n.to_string_lossy().into_owned()));
        names.collect()
    };
    let mut names = read().map_err(StoreError::io("read", folder))?;
    names.sort();
    Ok(names)
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
                let place = Place::prepare(&target).unwrap();
                fs::write(place.file("summary.json"), round).unwrap();
                let before = fs::read_to_string(target.join("summary.json")).ok();
                assert_ne!(before.as_deref(), Some(round));
                place.settle().unwrap();
                assert_eq!(fs::read_to_string(target.join("summary.json")).unwrap(), round);
                assert_eq!(listing(&top.join("deep")), ["results"]);
            }
        });
    }

    #[test]
    fn dropped_before_that_it_leaves_nothing() {
        in_temporary_folder(|top| {
            let place = Place::prepare(&top.join("a/b/results")).unwrap();
            fs::write(place.file("summary.json"), "{").unwrap();
            drop(place);
            assert!(listing(top).is_empty());
        });
    }

    #[test]
    fn what_is_not_ours_stays() {
        in_temporary_folder(|top| {
            let message = |path: &Path| Place::prepare(path).unwrap_err().to_string();
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
            Place::prepare(&thesis).unwrap().settle().unwrap();
        });
    }

    #[test]
    fn what_came_to_the_place_meanwhile_stays() {
        in_temporary_folder(|top| {
            let target = top.join("results");
            let place = Place::prepare(&target).unwrap();
            fs::create_dir(&target).unwrap();
            fs::write(target.join("other"), "").unwrap();
            assert!(place.settle().is_err());
            assert_eq!(listing(top), ["results"]);
            assert_eq!(listing(&target), ["other"]);
        });
    }
}

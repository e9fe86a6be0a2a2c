//! Folders of runs that were killed: `DIR.partial-<process>` and `DIR.replaced-<process>` next to a
//! folder of results.
//!
//! A run holds a lock (`flock`) on its partial folder. The system releases the lock when the
//! process ends, however it ends, so a
//! folder without a lock whose process is gone belongs to no one. Where there are no such locks,
//! nothing is removed.

use super::names::{entries, is_own};
use crate::error::StoreError;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// Purpose of a folder next to the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    /// Results in the making.
    Partial,
    /// Results that are about to be replaced.
    Replaced,
}

impl Beside {
    const fn word(self) -> &'static str {
        match self {
            Beside::Partial => "partial",
            Beside::Replaced => "replaced",
        }
    }
    /// The folder of a process next to `target`. Panics if `target` has no name.
    pub fn of(self, target: &Path, process: u32) -> PathBuf {
        let mut name = target.file_name().expect("the target has a name").to_os_string();
        name.push(format!(".{}-{process}", self.word()));
        target.with_file_name(name)
    }
    /// All such folders next to `target`, with their processes, in order of name.
    fn all(self, target: &Path) -> Result<Vec<(PathBuf, u32)>, StoreError> {
        let parent = match target.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let read = || -> std::io::Result<Vec<OsString>> {
            fs::read_dir(parent)?.map(|entry| Ok(entry?.file_name())).collect()
        };
        let mut names = read().map_err(StoreError::io("read", parent))?;
        names.sort();
        let process = |name: &OsString| {
            let digits = name.to_str()?.rsplit_once('-')?.1;
            let process = digits.parse().ok()?;
            let path = self.of(target, process);
            (path.file_name()? == name && is_folder(&path)).then_some((path, process))
        };
        Ok(names.iter().filter_map(process).collect())
    }
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Says that a live process writes to a folder, for as long as it is held.
#[derive(Debug)]
pub(super) struct Lock(File);

/// What became of an attempt to lock a folder.
#[derive(Debug)]
pub(super) enum Taken {
    /// It is locked now.
    Here(Lock),
    /// Another holds it.
    Elsewhere,
    /// The folder, or the system, has no locks.
    Unknown,
}

impl Lock {
    /// Try to lock `folder`.
    #[cfg(unix)]
    pub fn take(folder: &Path) -> Taken {
        use rustix::fs::{FlockOperation, flock};
        let Ok(file) = File::open(folder) else { return Taken::Unknown };
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Taken::Here(Lock(file)),
            Err(rustix::io::Errno::WOULDBLOCK) => Taken::Elsewhere,
            Err(_) => Taken::Unknown,
        }
    }
    #[cfg(not(unix))]
    pub fn take(_: &Path) -> Taken {
        Taken::Unknown
    }
    /// True if the folder that is locked is the one at `path` now.
    #[cfg(unix)]
    fn is_of(&self, path: &Path) -> bool {
        use std::os::unix::fs::MetadataExt;
        let number = |found: fs::Metadata| (found.dev(), found.ino());
        let locked = self.0.metadata().map(number).ok();
        locked.is_some() && locked == fs::symlink_metadata(path).map(number).ok()
    }
    #[cfg(not(unix))]
    fn is_of(&self, _: &Path) -> bool {
        true
    }
}

/// True if no process of that number runs, or it is this one.
#[cfg(unix)]
fn is_gone(process: u32) -> bool {
    use rustix::process::{Pid, test_kill_process};
    let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) else { return true };
    // This process has not made its folder yet: it is that of an earlier one with the same number.
    process == std::process::id()
        || test_kill_process(pid) == Err(rustix::io::Errno::SRCH)
        || has_ended(process)
}

/// True if the process has ended and its parent has not asked for its status yet: its number is
/// taken until then. False where the system has no `/proc`.
#[cfg(unix)]
fn has_ended(process: u32) -> bool {
    let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else { return false };
    // proc_pid_stat(5): the state follows the name, which may hold parentheses itself.
    let state = stat.rsplit_once(") ").map(|(_, rest)| rest);
    state.is_some_and(|state| state.starts_with(['Z', 'X']))
}
#[cfg(not(unix))]
fn is_gone(_: u32) -> bool {
    false
}

/// Make `folder`, which must not be there, and lock it. A run that clears what killed ones left may
/// remove it before it has its lock: then it is made again.
pub(super) fn make(folder: &Path) -> std::io::Result<Taken> {
    for _ in 0..MAX_TRIES {
        fs::create_dir(folder)?;
        match Lock::take(folder) {
            Taken::Here(lock) if lock.is_of(folder) => return Ok(Taken::Here(lock)),
            Taken::Unknown if folder.exists() => return Ok(Taken::Unknown),
            // Its holder removes it.
            Taken::Elsewhere => await_removal(folder),
            Taken::Here(_) | Taken::Unknown => {}
        }
    }
    Err(std::io::Error::other("another process removes it again and again"))
}

/// Most times that a folder is made.
const MAX_TRIES: usize = 100;
/// Milliseconds for which its removal is awaited: who removes it may wait for a processor.
const MAX_WAIT_MS: usize = 10_000;

#[allow(clippy::disallowed_methods)] // Another process is at it: only time passes here.
fn await_removal(folder: &Path) {
    for _ in 0..MAX_WAIT_MS {
        if !folder.exists() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
}

/// Remove what killed runs left next to `target`. Errors if a live process writes results to
/// `target`.
pub(super) fn clear(target: &Path) -> Result<(), StoreError> {
    for (folder, process) in Beside::Partial.all(target)? {
        match Lock::take(&folder) {
            // Its number says nothing: a process that has ended may still have it, and another may
            // have got it. One that is about to lock its new folder makes it again.
            Taken::Here(lock) if lock.is_of(&folder) => remove(&folder, is_partial)?,
            // Its owner removed it meanwhile, and may have made another, which is his.
            Taken::Here(_) | Taken::Unknown => {}
            Taken::Elsewhere => {
                return Err(StoreError::InUse { path: target.to_path_buf(), process });
            }
        }
    }
    for (folder, process) in Beside::Replaced.all(target)? {
        let missing = fs::symlink_metadata(target).is_err();
        match (is_gone(process), missing) {
            (false, _) => {}
            // Killed between two renames: what was there comes back.
            (true, true) => {
                fs::rename(&folder, target).map_err(StoreError::io("rename", &folder))?;
            }
            (true, false) => remove(&folder, is_own)?,
        }
    }
    Ok(())
}

/// Remove a folder, unless it holds what Forebay does not write.
fn remove(folder: &Path, ours: impl Fn(&str) -> bool) -> Result<(), StoreError> {
    let plain = |name: &String| ours(name) && folder.join(name).is_file();
    if entries(folder)?.iter().all(plain) {
        fs::remove_dir_all(folder).map_err(StoreError::io("remove", folder))
    } else {
        Ok(())
    }
}

/// Files that a folder of results may hold while it is written.
fn is_partial(name: &str) -> bool {
    let page = format!("{}.partial-", forebay_report::REPORT_NAME);
    is_own(name)
        || name.starts_with("series-") && name.ends_with(".part")
        || name.starts_with(&page)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// A number that no process has: Linux gives at most 2^22, others less.
    const NOBODY: u32 = 2_000_000_000;

    fn in_temporary_folder(test: impl FnOnce(&Path)) {
        let folder = tempfile::tempdir().unwrap();
        test(folder.path());
    }

    fn folder_with(path: &Path, files: &[&str]) {
        fs::create_dir(path).unwrap();
        files.iter().for_each(|name| fs::write(path.join(name), "x").unwrap());
    }

    #[test]
    fn what_a_killed_run_left_goes_and_what_is_not_ours_stays() {
        in_temporary_folder(|top| {
            let target = top.join("out");
            folder_with(&Beside::Partial.of(&target, NOBODY), &["series-cubic-1.part"]);
            folder_with(&top.join(format!("out.partial-{}", NOBODY - 1)), &["notes.txt"]);
            folder_with(&top.join("out.partial-draft"), &["summary.json"]);
            folder_with(&top.join("other.partial-7"), &["summary.json"]);
            clear(&target).unwrap();
            let kept = ["other.partial-7", "out.partial-1999999999", "out.partial-draft"];
            assert_eq!(entries(top).unwrap(), kept);
        });
    }

    /// A process that was killed keeps its number until its parent asks for its status, and a new
    /// process may have the number of an old one.
    #[test]
    fn a_folder_without_a_lock_goes_whatever_its_number_says() {
        in_temporary_folder(|top| {
            let target = top.join("out");
            let mut child = std::process::Command::new("true").spawn().unwrap();
            let alive = std::os::unix::process::parent_id();
            for process in [child.id(), alive] {
                folder_with(&Beside::Partial.of(&target, process), &["series-cubic-1.part"]);
            }
            clear(&target).unwrap();
            assert_eq!(entries(top).unwrap(), [""; 0]);
            while !has_ended(child.id()) {
                std::thread::yield_now();
            }
            folder_with(&Beside::Replaced.of(&target, child.id()), &["summary.json"]);
            clear(&target).unwrap();
            assert_eq!(entries(top).unwrap(), ["out"]);
            child.wait().unwrap();
        });
    }

    #[test]
    fn a_folder_that_is_removed_before_it_has_its_lock_is_made_again() {
        in_temporary_folder(|top| {
            let folder = top.join("out.partial-7");
            let done = std::sync::atomic::AtomicBool::new(false);
            let made = || -> std::io::Result<bool> {
                let mut all_locked = true;
                for _ in 0..200 {
                    let taken = make(&folder)?;
                    all_locked &= matches!(&taken, Taken::Here(lock) if lock.is_of(&folder));
                    fs::write(folder.join("summary.json"), "x")?;
                    fs::remove_dir_all(&folder)?;
                }
                Ok(all_locked)
            };
            let made = std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !done.load(std::sync::atomic::Ordering::Relaxed) {
                        clear(&top.join("out")).unwrap_or_default();
                    }
                });
                // Without a panic, for which the other thread would be waited without end.
                let made = made();
                done.store(true, std::sync::atomic::Ordering::Relaxed);
                made
            });
            assert!(made.expect("all were made"));
        });
    }

    #[test]
    fn a_folder_with_a_lock_is_in_use_whatever_its_number_says() {
        in_temporary_folder(|top| {
            let target = top.join("out");
            let partial = Beside::Partial.of(&target, NOBODY);
            folder_with(&partial, &[]);
            let Taken::Here(lock) = Lock::take(&partial) else { panic!("nobody has it") };
            let error = clear(&target).unwrap_err().to_string();
            assert!(error.contains("process 2000000000"), "{error}");
            drop(lock);
            clear(&target).unwrap();
            assert!(!partial.exists());
        });
    }

    #[test]
    fn a_run_that_was_killed_between_two_renames_gives_back_what_was_there() {
        in_temporary_folder(|top| {
            let target = top.join("out");
            let replaced = Beside::Replaced.of(&target, NOBODY);
            folder_with(&replaced, &["summary.json"]);
            clear(&target).unwrap();
            assert_eq!(entries(top).unwrap(), ["out"]);
            folder_with(&replaced, &["summary.json"]);
            clear(&target).unwrap();
            assert_eq!(entries(top).unwrap(), ["out"]);
        });
    }
}

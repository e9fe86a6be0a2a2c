//! Files that a command writes.

use crate::failure::Failure;
use forebay_lab::report::replace;
use forebay_lab::scenario::input;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// A file that a command writes. What is there already is replaced only if the command
/// wrote it itself, or with `--force`.
pub struct Target<'a> {
    pub path: &'a Path,
    /// The option that names it; empty if none does.
    pub option: &'static str,
    /// How every file of this kind that Forebay writes begins; empty where other programs write the
    /// same.
    pub head: &'static str,
    /// True with `--force`.
    pub force: bool,
}

impl Target<'_> {
    /// Errors if the file may not be written, so that no work is in vain.
    pub fn check(&self) -> Result<(), Failure> {
        if self.path.is_dir() {
            return Err(self.input("expected a file, found a folder"));
        }
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        if folder.is_some_and(|folder| !folder.is_dir()) {
            return Err(self.input("its folder is not there"));
        }
        if self.path.file_name().is_none() {
            return Err(self.input("expected the name of a file"));
        }
        if self.force || !self.is_foreign() {
            Ok(())
        } else {
            let what = match self.head {
                "" => "the file is there already",
                _ => "the file is there already, and Forebay did not write it",
            };
            Err(self.input(&format!("{what}\nhint: another name, or --force to replace it")))
        }
    }

    /// True if a file of others is there. A device or a pipe is not such a file, nor is an empty
    /// one.
    fn is_foreign(&self) -> bool {
        if !fs::metadata(self.path).is_ok_and(|there| there.is_file() && there.len() > 0) {
            return false;
        }
        let mut begins = vec![0; self.head.len()];
        let read = File::open(self.path).and_then(|mut file| file.read_exact(&mut begins));
        self.head.is_empty() || read.is_err() || begins != self.head.as_bytes()
    }

    /// Errors if the file is one that the command reads.
    pub fn is_not(
        &self,
        inputs: impl IntoIterator<Item = impl AsRef<Path>>,
    ) -> Result<(), Failure> {
        if inputs.into_iter().any(|input| is_same_file(self.path, input.as_ref())) {
            Err(self.input("the command reads it\nhint: another name"))
        } else {
            Ok(())
        }
    }

    /// Write the file, if it may be written.
    pub fn put(&self, content: impl FnOnce(&mut File) -> io::Result<()>) -> Result<(), Failure> {
        self.check()?;
        put(self.path, content).map_err(|error| {
            let path = self.path.display();
            let text = format!("{}cannot write `{path}`: {error}", self.prefix());
            match error.kind() {
                ErrorKind::NotFound
                | ErrorKind::PermissionDenied
                | ErrorKind::NotADirectory
                | ErrorKind::InvalidInput
                | ErrorKind::ReadOnlyFilesystem => Failure::Input(text),
                _ => Failure::Run(text),
            }
        })
    }

    fn input(&self, why: &str) -> Failure {
        let path = self.path.display();
        Failure::input(format!("{}cannot write `{path}`: {why}", self.prefix()))
    }

    fn prefix(&self) -> String {
        if self.option.is_empty() { String::new() } else { format!("{}: ", self.option) }
    }
}

/// True if both paths lead to one file.
pub fn is_same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Write a file next to its place, and rename it: readers see all of it or what was there
/// before. Nothing is left if that fails.
///
/// A link leads to the file that is written. A device or a pipe is written to as
/// it is: to rename onto it would take it away from others.
fn put(path: &Path, content: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let there = fs::metadata(path).ok();
    if there.as_ref().is_some_and(|there| !there.is_file() && !there.is_dir()) {
        return content(&mut input::open_to_write(path)?);
    }
    let target = if there.is_some() { fs::canonicalize(path)? } else { path.to_path_buf() };
    if target.file_name().is_none() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not the name of a file"));
    }
    replace(&target, content).map_err(|failed| failed.source)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::os::unix::fs::FileTypeExt;

    #[test]
    fn a_link_stays_a_link_and_a_device_a_device() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        put(&link, |file| file.write_all(b"new")).expect("written");
        let mut text = String::new();
        File::open(&file).and_then(|mut file| file.read_to_string(&mut text)).expect("read");
        assert_eq!(text, "new");
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        let left = fs::read_dir(folder.path()).expect("listed").count();
        assert_eq!(left, 2, "nothing is left beside them");

        put(Path::new("/dev/null"), |file| file.write_all(b"gone")).expect("written");
        let null = fs::metadata("/dev/null").expect("there");
        assert!(null.file_type().is_char_device());
    }

    /// What is written is not said to be when it is not.
    #[test]
    #[cfg(target_os = "linux")]
    fn a_full_device_is_an_error() {
        put(Path::new("/dev/full"), |file| file.write_all(b"too much")).expect_err("full");
        assert!(fs::metadata("/dev/full").expect("there").file_type().is_char_device());
    }
}

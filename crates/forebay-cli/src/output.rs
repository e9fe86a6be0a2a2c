//! Files that a command was told to write.

use forebay_lab::report::replace;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::Path;

/// Write a file beside its place, and rename it: whoever reads it sees all of it or what was there
/// before. Nothing is left if that fails.
///
/// A link leads to the file that is written. What is no file, a device or a pipe, is written to as
/// it is: to rename onto it would take it away from others.
pub fn put(path: &Path, content: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let there = fs::metadata(path).ok();
    if there.as_ref().is_some_and(|there| !there.is_file() && !there.is_dir()) {
        return content(&mut OpenOptions::new().write(true).open(path)?);
    }
    let target = if there.is_some() { fs::canonicalize(path)? } else { path.to_path_buf() };
    if target.file_name().is_none() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not the name of a file"));
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

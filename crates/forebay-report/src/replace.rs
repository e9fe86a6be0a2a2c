//! Files that are written next to their place and renamed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A file was not written, and what was there before is still there.
#[derive(Debug)]
pub struct NotReplaced {
    /// What was tried: "write" or "rename".
    pub what: &'static str,
    /// The file next to it.
    pub path: PathBuf,
    /// Why it failed.
    pub source: io::Error,
}

/// Write `path.partial-<process>`, and rename it to `path`: the one that reads `path` sees all of
/// it or what was there before. Nothing is left if that fails.
pub fn replace(
    path: &Path,
    content: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), NotReplaced> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(format!(".partial-{}", std::process::id()));
    let partial = PathBuf::from(partial);
    let failed = |what| {
        let path = partial.clone();
        move |source| NotReplaced { what, path, source }
    };
    let fill = |mut file: File| content(&mut file).and_then(|()| file.sync_all());
    let written = File::create(&partial).and_then(fill).map_err(failed("write"));
    let renamed = written.and_then(|()| fs::rename(&partial, path).map_err(failed("rename")));
    if renamed.is_err() {
        // The error that is reported is the first one; what cannot be removed has "partial" in its
        // name.
        let _ = fs::remove_file(&partial);
    }
    renamed
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_was_there_stays_until_all_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let (file, inner) = (folder.path().join("file"), folder.path().join("folder/inner"));
        fs::write(&file, "old").unwrap();
        fs::create_dir(inner.parent().unwrap()).unwrap();
        fs::write(&inner, "").unwrap();
        let full = |file: &mut File| {
            file.write_all(b"ne")?;
            Err(io::ErrorKind::StorageFull.into())
        };
        let failed = replace(&file, full).unwrap_err();
        assert_eq!((failed.what, failed.source.kind()), ("write", io::ErrorKind::StorageFull));
        assert_eq!(fs::read_to_string(&file).unwrap(), "old");
        let failed = replace(inner.parent().unwrap(), |_| Ok(())).unwrap_err();
        assert_eq!(failed.what, "rename");
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 2, "nothing is left beside them");
        replace(&file, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
    }
}

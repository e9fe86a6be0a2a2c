//! Files that a person names: plain files, pipes, devices.
//!
//! To open a named pipe (FIFO) that no process writes to would wait for ever. Here that is an
//! error; a pipe that has a writer is read to its end, however long the writer takes.

use std::fs::{self, File};
use std::io::{self, Cursor, Read};
use std::path::Path;

/// Longest text that is read, in bytes.
const MAX_TEXT_BYTES: u64 = 1 << 28;

/// A file that is open for reading: what has been read of it already, and the rest.
pub type Input = io::Chain<Cursor<Vec<u8>>, File>;

/// Open a file for reading. Errors if it cannot be opened, if it is a folder, and if it is a named
/// pipe that no process opens for writing within 2 s.
pub fn open(path: &Path) -> io::Result<Input> {
    let found = fs::metadata(path)?;
    if found.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if is_pipe(&found) {
        return open_pipe(path);
    }
    Ok(Cursor::new(Vec::new()).chain(File::open(path)?))
}

/// Open a pipe or a device for writing. Errors if it cannot be opened, and if it is a named pipe
/// that no process reads from.
pub fn open_to_write(path: &Path) -> io::Result<File> {
    if is_pipe(&fs::metadata(path)?) {
        open_pipe_to_write(path)
    } else {
        File::options().write(true).open(path)
    }
}

/// The text of a file. Errors as [`open`] does, and if it is longer than 256 MiB or not UTF-8.
pub fn read_text(path: &Path) -> io::Result<String> {
    text_of(open(path)?)
}

/// All of standard input.
pub(crate) fn read_stdin() -> io::Result<String> {
    text_of(io::stdin().lock())
}

/// The text of what is read to its end. Errors if it is longer than 256 MiB or not UTF-8.
pub(crate) fn text_of(input: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    input.take(MAX_TEXT_BYTES + 1).read_to_end(&mut bytes)?;
    let wrong = |why: String| Err(io::Error::new(io::ErrorKind::InvalidData, why));
    if bytes.len() as u64 > MAX_TEXT_BYTES {
        return wrong("it is longer than 256 MiB".into());
    }
    String::from_utf8(bytes).or_else(|e| {
        let good = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        let line = good.iter().filter(|&&b| b == b'\n').count() + 1;
        wrong(format!("it is not UTF-8 (line {line})"))
    })
}

/// Why a file cannot be read or written, in words.
pub fn reason(error: &io::Error) -> String {
    use io::ErrorKind;
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".into(),
        ErrorKind::PermissionDenied => "permission denied".into(),
        ErrorKind::IsADirectory => "it is a folder".into(),
        _ => error.to_string(),
    }
}

#[cfg(unix)]
fn is_pipe(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    found.file_type().is_fifo()
}

#[cfg(unix)]
fn open_pipe(path: &Path) -> io::Result<Input> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use rustix::io::retry_on_intr;
    use std::os::unix::fs::OpenOptionsExt;

    /// How long a writer may take to open the pipe.
    const PATIENCE: Timespec = Timespec { tv_sec: 2, tv_nsec: 0 };

    let without_waiting = OFlags::NONBLOCK.bits() as i32;
    let mut file = File::options().read(true).custom_flags(without_waiting).open(path)?;
    // Ends when bytes are there, and when a writer has come and gone.
    let mut watched = [PollFd::new(&file, PollFlags::IN)];
    let events = retry_on_intr(|| poll(&mut watched, Some(&PATIENCE)))?;
    let mut first = vec![0; 1 << 16];
    match file.read(&mut first) {
        Ok(0) if events == 0 => {
            let why = "it is a named pipe that no process writes to (waited 2 s)";
            return Err(io::Error::new(io::ErrorKind::TimedOut, why));
        }
        Ok(bytes) => first.truncate(bytes),
        // A writer is there and has not written yet.
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => first.clear(),
        Err(error) => return Err(error),
    }
    fcntl_setfl(&file, fcntl_getfl(&file)?.difference(OFlags::NONBLOCK))?;
    Ok(Cursor::new(first).chain(file))
}

#[cfg(unix)]
fn open_pipe_to_write(path: &Path) -> io::Result<File> {
    use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
    use rustix::io::Errno;
    use std::os::unix::fs::OpenOptionsExt;

    let without_waiting = OFlags::NONBLOCK.bits() as i32;
    let opened = File::options().write(true).custom_flags(without_waiting).open(path);
    let file = opened.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::NXIO) => {
            let why = "it is a named pipe that no process reads from";
            io::Error::new(io::ErrorKind::NotFound, why)
        }
        _ => error,
    })?;
    fcntl_setfl(&file, fcntl_getfl(&file)?.difference(OFlags::NONBLOCK))?;
    Ok(file)
}

#[cfg(not(unix))]
fn open_pipe_to_write(path: &Path) -> io::Result<File> {
    File::options().write(true).open(path)
}

#[cfg(not(unix))]
fn is_pipe(_: &fs::Metadata) -> bool {
    false
}

#[cfg(not(unix))]
fn open_pipe(path: &Path) -> io::Result<Input> {
    Ok(Cursor::new(Vec::new()).chain(File::open(path)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_plain_words() {
        let reason_of = |kind: io::ErrorKind| reason(&kind.into());
        assert_eq!(reason_of(io::ErrorKind::PermissionDenied), "permission denied");
        assert_eq!(reason_of(io::ErrorKind::NotFound), "there is no such file");
        assert_eq!(reason_of(io::ErrorKind::IsADirectory), "it is a folder");
    }

    #[test]
    #[cfg(unix)]
    fn a_pipe_is_read_to_its_end_and_one_without_a_writer_is_an_error() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        use std::io::Write;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        let alone = read_text(&path).unwrap_err().to_string();
        assert_eq!(alone, "it is a named pipe that no process writes to (waited 2 s)");
        // More than a pipe holds, in two parts.
        let (long, to) = ("0123456789".repeat(20_000), path.clone());
        let text = long.clone();
        let writer = std::thread::spawn(move || {
            let mut pipe = File::options().write(true).open(to).unwrap();
            pipe.write_all(&text.as_bytes()[..70_000]).unwrap();
            pipe.write_all(&text.as_bytes()[70_000..]).unwrap();
        });
        assert!(read_text(&path).unwrap() == long);
        writer.join().unwrap();
    }
}

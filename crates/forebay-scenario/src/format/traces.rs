//! Delivery traces in files, in the format of mahimahi's mm-link: a whole number of milliseconds in
//! each line, none below the one before it, the last above 0. Each is an opportunity for 1504
//! bytes.
//!
//! A file is read in pieces of 64 KiB, and its trace takes 12 bytes for each different millisecond:
//! what is held grows with the time that a trace spans, not with its length.

use crate::format::input;
use forebay_base::Span;
use forebay_net::TraceError;
pub use forebay_net::{CHANNEL_PROFILES, ChannelProfile, DeliveryTrace, DeliveryTraceBuilder};
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

/// Bytes of an opportunity: PACKET_SIZE of mahimahi, 1500 of IP and 4 of the header of its tun
/// device, which every packet has as well ([`OPPORTUNITY_OVERHEAD_BYTES`]).
pub const OPPORTUNITY_BYTES: u32 = 1504;
/// Bytes that a packet takes of its opportunities besides those of IP.
pub const OPPORTUNITY_OVERHEAD_BYTES: u16 = 4;

/// Latest opportunity: a year, in milliseconds.
const MAX_MS: u64 = 365 * 86_400_000;
/// Characters of a line that a message shows, and that a number may have.
const MAX_CHARACTERS: usize = 40;

/// A file that is not a trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceFileError {
    /// It cannot be read or written.
    #[error("cannot {what} `{path}`: {why}")]
    Io {
        /// What was tried.
        what: &'static str,
        /// The file.
        path: String,
        /// Why not.
        why: String,
    },
    /// A line is wrong.
    #[error("`{path}` line {line}: {why}")]
    Line {
        /// The file.
        path: String,
        /// From 1.
        line: u64,
        /// What was expected, and what is there.
        why: String,
    },
    /// The lines together make no trace.
    #[error("`{path}` is no delivery trace: {why}")]
    Whole {
        /// The file.
        path: String,
        /// What is wrong.
        why: &'static str,
    },
}

/// The trace in a file.
pub fn read_trace(path: &Path) -> Result<DeliveryTrace, TraceFileError> {
    let shown = path.display().to_string();
    let io = |why: String| TraceFileError::Io { what: "read", path: shown.clone(), why };
    let file = input::open(path).map_err(|e| io(input::reason(&e)))?;
    parse_trace(file, &shown)
}

/// The trace in a text, which messages call `path`.
pub fn parse_trace(text: impl Read, path: &str) -> Result<DeliveryTrace, TraceFileError> {
    let mut reader = BufReader::with_capacity(1 << 16, text);
    let mut lines = Lines::default();
    loop {
        let bytes = reader.fill_buf().map_err(|e| TraceFileError::Io {
            what: "read",
            path: path.into(),
            why: input::reason(&e),
        })?;
        let taken = bytes.len();
        if taken == 0 {
            break;
        }
        lines.take(bytes).map_err(|why| lines.fault(path, why))?;
        reader.consume(taken);
    }
    lines.end().map_err(|why| lines.fault(path, why))?;
    let whole = |why| TraceFileError::Whole { path: path.to_string(), why };
    lines.builder.finish(OPPORTUNITY_BYTES).map_err(|error| {
        whole(match error {
            TraceError::Empty => "it is empty; expected a time in ms in each line",
            _ => "it has no duration: expected a last time above 0 ms, after which it repeats",
        })
    })
}

/// What has been read of a text.
#[derive(Default)]
struct Lines {
    builder: DeliveryTraceBuilder,
    /// Lines before this one.
    before: u64,
    /// The beginning of this line.
    line: Vec<u8>,
}

impl Lines {
    fn take(&mut self, bytes: &[u8]) -> Result<(), String> {
        for &byte in bytes {
            match byte {
                b'\n' => self.end_line()?,
                _ if self.line.len() <= MAX_CHARACTERS => self.line.push(byte),
                _ => return self.end_line(), // which is too long for a number
            }
        }
        Ok(())
    }
    /// The text is over; its last line may lack the end.
    fn end(&mut self) -> Result<(), String> {
        if self.line.is_empty() { Ok(()) } else { self.end_line() }
    }
    fn end_line(&mut self) -> Result<(), String> {
        let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        // Editors put a byte order mark before the first number.
        let marked = line.strip_prefix("\u{feff}".as_bytes()).filter(|_| self.before == 0);
        let line = marked.unwrap_or(line);
        let ms = milliseconds(line)?;
        self.builder.push(Span::from_millis(ms)).map_err(|error| match error {
            TraceError::NotInOrder { .. } => {
                let last = self.builder.last().map_or(0, |last| last.as_nanos() / 1_000_000);
                format!("expected a time of {last} ms or more, as in the line before, found {ms}")
            }
            _ => "a trace has at most 2^32 - 1 opportunities at 2^26 different times".to_string(),
        })?;
        self.line.clear();
        self.before += 1;
        Ok(())
    }
    fn fault(&self, path: &str, why: String) -> TraceFileError {
        TraceFileError::Line { path: path.to_string(), line: self.before + 1, why }
    }
}

/// The number in a line.
fn milliseconds(line: &[u8]) -> Result<u64, String> {
    let text = String::from_utf8_lossy(line);
    let found = crate::format::source::readable(&text, MAX_CHARACTERS);
    if line.is_empty() {
        return Err("expected a whole number of ms, found an empty line".into());
    }
    let digits = line.len() <= MAX_CHARACTERS && line.iter().all(u8::is_ascii_digit);
    match text.parse::<u64>() {
        Ok(ms) if digits && ms <= MAX_MS => Ok(ms),
        Ok(_) | Err(_) if digits => {
            Err(format!("expected at most {MAX_MS} ms (a year), found `{found}`"))
        }
        _ if text.strip_prefix('-').is_some_and(|rest| rest.parse::<f64>().is_ok()) => {
            Err(format!("expected a time of 0 ms or more, found `{found}`"))
        }
        _ => Err(format!("expected a whole number of ms, found `{found}`")),
    }
}

/// Write a trace as [`parse_trace`] reads it. Times are rounded down to milliseconds.
pub fn write_trace(trace: &DeliveryTrace, out: impl Write) -> std::io::Result<()> {
    let mut out = BufWriter::new(out);
    for (at, count) in trace.times() {
        for _ in 0..count {
            writeln!(out, "{}", at.as_nanos() / 1_000_000)?;
        }
    }
    out.flush()
}

//! Rows side by side on all cores, and the comparison with a file.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// `work` on each case, on as many threads as there are cores; results in the order of the cases.
pub fn map<C: Sync, R: Send>(cases: &[C], work: impl Fn(&C) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(Vec::new());
    let threads = thread::available_parallelism().map_or(1, |n| n.get());
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                // From the back, where the largest networks are: the longest runs begin first.
                while let Some(i) =
                    cases.len().checked_sub(1 + next.fetch_add(1, Ordering::Relaxed))
                {
                    let result = work(&cases[i]);
                    results.lock().expect("no thread panicked").push((i, result));
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no thread panicked");
    results.sort_by_key(|&(i, _)| i);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Join rows, and fail with all complaints at once.
pub fn join(head: &str, rows: Vec<(String, Vec<String>)>) -> String {
    let complaints: Vec<&str> =
        rows.iter().flat_map(|(_, c)| c.iter().map(String::as_str)).collect();
    let lines: Vec<&str> = rows.iter().map(|(line, _)| line.as_str()).collect();
    let text = format!("{head}\n{}\n", lines.join("\n"));
    assert!(complaints.is_empty(), "{text}\n{}", complaints.join("\n"));
    text
}

/// A time, to 0.1 s from one second on and to 0.01 s below.
pub fn seconds(s: f64) -> String {
    if s < 0.995 { format!("{s:.2}") } else { format!("{s:.1}") }
}

/// Fails unless the file holds `text`, and leaves the text where it can be taken from.
pub fn compare(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/controllers/duels").join(name);
    let expected = fs::read_to_string(&path).unwrap_or_else(|error| format!("{error}"));
    if text != expected {
        let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::write(&new, text).expect("the temporary folder is there");
        let changed = text.lines().filter(|line| !expected.lines().any(|old| old == *line));
        let changed: Vec<&str> = changed.collect();
        panic!(
            "new lines:\n{}\nif they are right: cp {} {}",
            changed.join("\n"),
            new.display(),
            path.display()
        );
    }
}

//! Runs benchmarks under callgrind, and reads what it counted.

use std::hint::black_box;
use std::process::{Command, Output};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the line begins with on which a child tells how many operations it did.
pub const OPERATIONS: &str = "operations: ";

/// A benchmark.
pub struct Bench {
    /// What is measured, and how: `what/how`.
    pub name: String,
    /// Sets up, has the work counted by [`counted_section`], and returns the number of operations
    /// in it.
    pub run: Box<dyn Fn() -> u64>,
}

impl Bench {
    pub fn new(name: impl Into<String>, run: impl Fn() -> u64 + 'static) -> Bench {
        Bench { name: name.into(), run: Box::new(run) }
    }
}

/// Instructions count from here to its end. Callgrind knows it by its name, see [`TOGGLE`]; called
/// again and again, its counts add up.
#[inline(never)]
pub fn counted_section(work: &mut dyn FnMut()) {
    work();
    black_box(()); // the work must return here, not to the caller
}

/// The functions with this in their names switch counting on when they are entered, and off when
/// they are left.
const TOGGLE: &str = "--toggle-collect=*counted_section*";

/// Have `operations` calls of `operation` counted, after as many uncounted calls as `before` says.
/// Returns `operations`.
pub fn repeat(before: u64, operations: u64, mut operation: impl FnMut()) -> u64 {
    (0..before).for_each(|_| operation());
    counted_section(&mut || (0..operations).for_each(|_| operation()));
    operations
}

/// What a counted section of its own adds to an operation: controllers have one around each.
pub fn nothing() -> u64 {
    let operations = 10_000;
    (0..operations).for_each(|_| counted_section(&mut || ()));
    operations
}

/// Instructions per operation of the benchmarks with these names, in their order. As many run at a
/// time as there are cores: that changes no count.
pub fn count_all(names: &[&str]) -> Result<Vec<(String, f64)>, String> {
    let next = AtomicUsize::new(0);
    let results = Mutex::new(vec![None; names.len()]);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = count(name);
                    let at = names.iter().position(|n| n == name).expect("it is from there");
                    results.lock().expect("nobody panicked")[at] = Some(result);
                }
            });
        }
    });
    let results = results.into_inner().expect("nobody panicked");
    let of = |(name, result): (&&str, Option<Result<f64, String>>)| {
        result.expect("each was run").map(|count| (name.to_string(), count))
    };
    names.iter().zip(results).map(of).collect()
}

/// Instructions per operation of one benchmark.
fn count(name: &str) -> Result<f64, String> {
    let this = std::env::current_exe().map_err(|e| format!("this program is nowhere: {e}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", TOGGLE])
        .arg(this)
        .args(["--only", name])
        .output()
        .map_err(|e| format!("valgrind cannot be run: {e}"))?;
    if !output.status.success() {
        return Err(format!("{name} failed:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    let instructions = number(&output.stderr, "Collected : ");
    match (instructions, number(&output.stdout, OPERATIONS)) {
        (Some(instructions), Some(operations)) if instructions > 0 && operations > 0 => {
            Ok(instructions as f64 / operations as f64)
        }
        _ => Err(format!("{name}: callgrind counted nothing:\n{}", text(&output))),
    }
}

/// The number behind `mark`.
fn number(output: &[u8], mark: &str) -> Option<u64> {
    let output = String::from_utf8_lossy(output);
    let (_, rest) = output.split_once(mark)?;
    rest.split_whitespace().next()?.parse().ok()
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

/// What counts depend on next to the code.
pub fn circumstances() -> String {
    let version = |program: &str| {
        let output = Command::new(program).arg("--version").output();
        let output = output.map_err(|e| format!("{program}: {e}"));
        output.map_or_else(|why| why, |o| String::from_utf8_lossy(&o.stdout).trim().to_string())
    };
    [version("rustc"), version("valgrind"), std::env::consts::ARCH.to_string()].join(", ")
}

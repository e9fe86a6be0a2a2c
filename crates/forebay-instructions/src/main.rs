//! Instructions per operation of what the packet path is made of, and of the start of a run,
//! counted by callgrind.
//!
//! Instructions do not say how fast a thing is (cache misses decide), but they are the same on a
//! busy machine as on a quiet one, so a change of a few percent is a change of the code.
//!
//! `.ci/instructions` runs it: each benchmark in a process of its own under valgrind, printed with
//! its record in `instructions.txt`. It fails if a count is more than 1 % above its record under
//! the recorded compiler and valgrind, and where a benchmark has no row or a row no benchmark.
//! `--write` adds rows and lowers them; a row is raised by hand, with `# reason` after its count. A
//! word leaves only the benchmarks with that word in their names. `--only NAME` runs one benchmark
//! here, without counting: for a profiler.
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints a table")]

mod agenda;
mod controllers;
mod harness;
mod hops;
mod links;
mod packets;
mod pooling;
mod ports;
mod recorded;
mod refits;
mod start;
mod wire;

use harness::Bench;
use std::process::ExitCode;

/// All benchmarks. Controllers, and with them their names, come from the table of `forebay-cc`.
fn benches() -> Vec<Bench> {
    let rooms = [
        agenda::benches(),
        links::benches(),
        ports::benches(),
        controllers::benches(),
        refits::benches(),
        pooling::benches(),
        wire::benches(),
        hops::benches(),
        start::benches(),
        vec![Bench::new("harness/nothing", harness::nothing)],
    ];
    rooms.into_iter().flatten().collect()
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let benches = benches();
    match words[..] {
        ["--only", name] => only(&benches, name),
        ["--write"] => count(&benches, "", true),
        [] => count(&benches, "", false),
        [word] if !word.starts_with('-') => count(&benches, word, false),
        _ => fail("arguments: none, a word of the names, --write, or --only NAME"),
    }
}

/// The child's side: do the work, tell how much of it there was.
fn only(benches: &[Bench], name: &str) -> ExitCode {
    let Some(bench) = benches.iter().find(|bench| bench.name == name) else {
        return fail(&format!("there is no benchmark `{name}`"));
    };
    println!("{}{}", harness::OPERATIONS, (bench.run)());
    ExitCode::SUCCESS
}

/// The parent's side: count, and compare or write.
fn count(benches: &[Bench], word: &str, write: bool) -> ExitCode {
    let names: Vec<&str> = benches.iter().map(|bench| bench.name.as_str()).collect();
    let chosen: Vec<&str> = names.iter().copied().filter(|name| name.contains(word)).collect();
    let counted = match harness::count_all(&chosen) {
        Ok(counted) => counted,
        Err(why) => return fail(&why),
    };
    let circumstances = harness::circumstances();
    let recorded = match recorded::read() {
        Ok(recorded) => recorded,
        Err(why) => return fail(&why),
    };
    print!("{}", recorded.table(&circumstances, &counted));
    let mut wrong = recorded.exceeded(&circumstances, &counted);
    if write && let Err(why) = recorded.write(&circumstances, &counted) {
        return fail(&why);
    } else if !write {
        wrong.extend(recorded.gaps(&names));
    }
    if wrong.is_empty() {
        return ExitCode::SUCCESS;
    }
    fail(&format!(
        "{}\n.ci/instructions --write adds and lowers rows of instructions.txt; a row is \
         raised by hand, with its reason",
        wrong.join("\n")
    ))
}

fn fail(why: &str) -> ExitCode {
    eprintln!("{why}");
    ExitCode::FAILURE
}

//! The command `forebay`: reads what is asked, lets `forebay-lab` do it, and shows the results.
//!
//! A program with algorithms of its own registers them and has the whole command: see
//! [`Registration`] and `examples/aimd.rs`.
//!
//! Standard output has results and nothing else; progress, notes on the way and errors go to
//! standard error. Exit codes: 0 done, 1 a run failed or an expectation does not hold, 2 the input
//! is wrong, 3 a live run is no evidence, 4 not possible here, 130 interrupted.
#![forbid(unsafe_code)]

mod args;
mod bench;
mod catalogue;
mod channel;
mod completions;
mod expect;
mod explain;
mod export;
mod failure;
mod huge_pages;
mod interrupt;
#[cfg(target_os = "linux")]
mod kernel_choice;
mod late;
mod list;
#[cfg(target_os = "linux")]
mod live;
mod man;
mod merge;
mod output;
mod replay;
mod report;
mod reproduce;
mod run;
mod schema;
mod terminal;
mod topology;
mod xml;

#[cfg(not(target_os = "linux"))]
use args::BenchArgs;
use args::{Cli, Command};
use clap::Parser;
use failure::Failure;
use std::io::{self, BufWriter, Write};
use std::process::ExitCode;
use std::sync::Arc;
use terminal::Paint;

pub use forebay_lab::scenario::{
    NetworkRequirements, NoParams, RegisterError, Registration, Registry,
};

/// The command: reads the arguments of the process, and does what they ask.
pub fn main() -> ExitCode {
    run_with(Arc::default())
}

/// The command, with what `registry` knows.
fn run_with(registry: Arc<Registry>) -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(message) => {
            // Help goes to standard output with code 0, the rest to standard error with code 2.
            // If no one reads it, the exit code must suffice.
            let _ = message.print();
            return ExitCode::from(message.exit_code() as u8);
        }
    };
    if matches!(cli.command, Command::Run(_) | Command::Reproduce(_) | Command::Bench(_)) {
        huge_pages::ask_for_huge();
    }
    match execute(cli.command, &registry) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => ExitCode::from(failure.report()),
    }
}

/// [`main`] after `register` has registered what the program brings: its names are known as those
/// of the tables are. An error of it ends the process with exit code 2.
pub fn main_with(register: impl FnOnce(&mut Registry) -> Result<(), RegisterError>) -> ExitCode {
    let mut registry = Registry::default();
    match register(&mut registry) {
        Ok(()) => run_with(Arc::new(registry)),
        Err(error) => ExitCode::from(Failure::input(error).report()),
    }
}

fn execute(command: Command, registry: &Arc<Registry>) -> Result<(), Failure> {
    let stdout = io::stdout();
    let paint = Paint::of(&stdout);
    let mut out = BufWriter::new(stdout);
    match command {
        Command::Run(args) => run::run(*args, registry, &mut out, paint),
        #[cfg(target_os = "linux")]
        Command::Live(args) => live::live(args, registry, &mut out, paint),
        #[cfg(target_os = "linux")]
        Command::Compare(args) => live::compare(args, registry, &mut out, paint),
        #[cfg(target_os = "linux")]
        Command::Bench(args) if args.live.is_some() => live::bench(&args, &mut out, paint),
        #[cfg(not(target_os = "linux"))]
        Command::Live(_)
        | Command::Compare(_)
        | Command::Bench(BenchArgs { live: Some(_), .. }) => {
            let what = "live runs need Linux: network namespaces and packet sockets";
            Err(Failure::Impossible(format!("{what}\nhint: `forebay replay` runs everywhere")))
        }
        Command::Replay(args) => replay::replay(args, registry, &mut out, paint),
        Command::List(args) => list::list(&args, registry, &mut out, paint),
        Command::Explain(args) => explain::explain(&args, registry, &mut out, paint),
        Command::Schema => schema::schema(registry, &mut out),
        Command::Reproduce(args) => reproduce::reproduce(&args, registry, &mut out, paint),
        Command::Report(args) => report::report(&args, &mut out),
        Command::Merge(args) => merge::merge(&args, &mut out),
        Command::Export(args) => export::export(&args, &mut out),
        Command::Channel(args) => channel::channel(&args, &mut out, paint),
        Command::Topology(args) => topology::topology(&args, registry, &mut out, paint),
        Command::Bench(args) => bench::bench(&args, &mut out, paint),
        Command::Completions(args) => completions::completions(&args, registry, &mut out),
        Command::Man(args) => man::man(&args, &mut out),
    }?;
    out.flush()?;
    Ok(())
}

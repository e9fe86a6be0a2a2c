//! `forebay completions SHELL`: a script that completes commands, options and names.

use crate::args::{Cli, CompletionsArgs};
use crate::catalogue;
use crate::failure::Failure;
use clap::builder::PossibleValuesParser;
use clap::{Command, CommandFactory};
use clap_complete::{Shell, generate};
use forebay_lab::reproduce::EXPERIMENTS;
use forebay_lab::scenario::Registry;
use std::io::Write;

/// Print the script.
pub fn completions(
    args: &CompletionsArgs,
    registry: &Registry,
    out: &mut impl Write,
) -> Result<(), Failure> {
    let mut command = with_names(registry, Cli::command());
    // Generating panics where its output cannot be written: it writes to memory.
    let mut script = Vec::new();
    generate(args.shell, &mut command, "forebay", &mut script);
    match args.shell {
        Shell::Zsh => out.write_all(with_files(&String::from_utf8_lossy(&script)).as_bytes())?,
        _ => out.write_all(&script)?,
    }
    Ok(())
}

/// The script for zsh, which offers nothing but the names of an argument that has some, with files
/// next to them. Other shells offer files by themselves where no name fits.
fn with_files(script: &str) -> String {
    let line = |line: &str| {
        let named = line.starts_with("':scenario --") || line.starts_with("'::name --");
        let parts = line.strip_suffix(")' \\").and_then(|line| line.rsplit_once(":("));
        match parts.filter(|_| named) {
            Some((head, names)) => format!(
                "{head}:{{_alternative \"names:name:({names})\" \"files:file:_files\"}}' \\\n"
            ),
            None => format!("{line}\n"),
        }
    };
    script.lines().map(line).collect()
}

/// The command line with the names that its arguments take, which are more than clap knows: a
/// scenario may be a file as well.
fn with_names(registry: &Registry, command: Command) -> Command {
    let all = catalogue::all(registry);
    let of = |kind| {
        let own = all.iter().filter(|entry| entry.kind == kind).map(|entry| entry.name.to_string());
        own.collect::<Vec<_>>()
    };
    let scenarios = of(catalogue::Kind::Scenario);
    let protocols = of(catalogue::Kind::Protocol);
    let experiments = EXPERIMENTS.iter().flat_map(|e| [e.source, e.name]);
    let mut experiments: Vec<String> = experiments.map(str::to_string).collect();
    experiments.sort_unstable();
    experiments.dedup();
    let mut names: Vec<String> =
        all.iter().map(|entry| entry.name.to_string()).chain(experiments.clone()).collect();
    names.sort_unstable();
    names.dedup();
    let takes = |command: Command, argument: &str, names: Vec<String>| {
        let parser = PossibleValuesParser::new(names);
        command.mut_arg(argument, |argument| argument.value_parser(parser))
    };
    command
        .mut_subcommand("run", |run| {
            takes(takes(run, "scenario", scenarios), "protocol", protocols)
        })
        .mut_subcommand("reproduce", |reproduce| takes(reproduce, "name", experiments))
        .mut_subcommand("explain", |explain| takes(explain, "name", names))
}

//! `forebay man`: the manual page, from the definition of the command line.

use crate::args::{Cli, ManArgs};
use crate::failure::Failure;
use crate::output::Target;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::fs;
use std::io::{self, Write};

/// How each page begins that clap writes.
const PRELUDE: &str = ".ie \\n(.g";

/// Print the page of the command, or write those of all commands.
pub fn man(args: &ManArgs, out: &mut impl Write) -> Result<(), Failure> {
    let mut command = Cli::command();
    command.build();
    match &args.out {
        None => out.write_all(&page(command, "forebay")?)?,
        Some(folder) => {
            fs::create_dir_all(folder).map_err(|error| {
                Failure::run(format!("cannot write `{}`: {error}", folder.display()))
            })?;
            for (name, command) in pages(command, "forebay") {
                let path = folder.join(format!("{name}.1"));
                let page = page(command, &name)?;
                let (option, force) = ("--out", args.force);
                let target = Target { path: &path, option, head: PRELUDE, force };
                target.put(|file| file.write_all(&page))?;
                writeln!(out, "{}", path.display())?;
            }
        }
    }
    Ok(())
}

/// The command and all below it, with the names of their pages.
fn pages(command: Command, name: &str) -> Vec<(String, Command)> {
    let below: Vec<Command> =
        command.get_subcommands().filter(|c| c.get_name() != "help").cloned().collect();
    let mut all = vec![(name.to_string(), command)];
    for command in below {
        let name = format!("{name}-{}", command.get_name());
        all.extend(pages(command, &name));
    }
    all
}

/// The page in roff.
fn page(command: Command, name: &str) -> io::Result<Vec<u8>> {
    let source = concat!("forebay ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command).title(name.to_uppercase()).source(source).manual("Forebay");
    let mut page = Vec::new();
    man.render(&mut page)?;
    Ok(page)
}

//! `forebay man`: the manual page, from the definition of the command line.

use crate::args::{Cli, ManArgs};
use crate::failure::Failure;
use crate::output::put;
use clap::{Command, CommandFactory};
use clap_mangen::Man;
use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// Print the page of the command, or write those of all commands.
pub fn man(args: &ManArgs, out: &mut impl Write) -> Result<(), Failure> {
    let mut command = Cli::command();
    command.build();
    match &args.out {
        None => out.write_all(&page(command, "forebay")?)?,
        Some(folder) => {
            let failed = |path: &Path| {
                let path = path.to_path_buf();
                move |error: io::Error| {
                    Failure::run(format!("cannot write `{}`: {error}", path.display()))
                }
            };
            fs::create_dir_all(folder).map_err(failed(folder))?;
            for (name, command) in pages(command, "forebay") {
                let path = folder.join(format!("{name}.1"));
                let page = page(command, &name)?;
                put(&path, |file| file.write_all(&page)).map_err(failed(&path))?;
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

//! The command `forebay`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    forebay_cli::main()
}

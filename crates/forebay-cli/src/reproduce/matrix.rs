//! `forebay reproduce matrix`: every controller on the paths of the scenario `matrix`. It is a
//! sweep of `forebay run`, with all protocols that there are, ten seeds and CUBIC as baseline.

use crate::args::{ReproduceArgs, ResultArgs, RunArgs, Seeds, SweepArgs};
use crate::failure::Failure;
use crate::run::run;
use crate::terminal::Paint;
use forebay_lab::report::{REPORT_NAME, sweep_findings, sweep_markdown};
use forebay_lab::scenario::{LoadOptions, Registry, ScenarioText};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

/// The name of the scenario, and of what is reproduced.
pub const NAME: &str = "matrix";
/// What others are compared with.
const BASELINE: &str = "cubic";
/// Seeds of the whole and of `--quick`.
const SEEDS: [u64; 2] = [10, 2];
/// The paths of `--quick`: one of each kind.
const QUICK: [&str; 7] =
    ["wired-1bdp", "thin-2bdp", "fat-fq", "cell-car-2bdp", "wifi-4bdp", "sat-1bdp", "dc-1bdp"];

/// Run, store, say where the results are.
pub fn reproduce(
    args: &ReproduceArgs,
    registry: &Arc<Registry>,
    out: &mut impl Write,
    paint: Paint,
) -> Result<(), Failure> {
    refuse_what_compares(args)?;
    let asked = &args.matrix;
    let point = match (args.quick, asked.point.is_empty()) {
        (true, true) => QUICK.map(str::to_string).to_vec(),
        _ => asked.point.clone(),
    };
    let folder = args.out.clone().unwrap_or_else(|| PathBuf::from(NAME));
    let [all, quick] = SEEDS;
    let wanted = RunArgs {
        protocol: protocols(registry)?,
        seeds: Seeds((1..=if args.quick { quick } else { all }).collect()),
        baseline: Some(BASELINE.to_string()),
        jobs: args.jobs,
        sweep: SweepArgs {
            point,
            resume: asked.resume,
            shard: asked.shard,
            ..SweepArgs::default()
        },
        results: ResultArgs {
            out: Some(folder.clone()),
            force: asked.force,
            json: args.json,
            no_reference: true,
            ..ResultArgs::default()
        },
        ..RunArgs::quiet(NAME.to_string())
    };
    if args.json {
        return run(wanted, registry, out, paint);
    }
    // Some thousand lines: the page has them.
    run(wanted, registry, &mut io::sink(), paint)?;
    if asked.findings {
        out.write_all(sweep_findings(&folder).map_err(Failure::run)?.as_bytes())?;
    } else if args.markdown {
        out.write_all(sweep_markdown(&folder).map_err(Failure::run)?.as_bytes())?;
    } else {
        writeln!(out, "Results: {}", folder.join(REPORT_NAME).display())?;
    }
    Ok(())
}

/// Those of the scenario, and what else is registered.
fn protocols(registry: &Arc<Registry>) -> Result<Vec<String>, Failure> {
    let options = LoadOptions { registry: registry.clone(), ..LoadOptions::default() };
    let text = ScenarioText::read(NAME).map_err(Failure::input)?;
    let swept = text.swept(&[], &options, None).map_err(Failure::input)?;
    let mut all = swept.map_or_else(Vec::new, |swept| swept.protocols().to_vec());
    for algorithm in registry.algorithms() {
        if !all.iter().any(|known| known == algorithm.name()) {
            all.push(algorithm.name().to_string());
        }
    }
    Ok(all)
}

/// Options of comparisons with published values: there are none here.
fn refuse_what_compares(args: &ReproduceArgs) -> Result<(), Failure> {
    let options = [("--verbose", args.verbose), ("--data", args.data.is_some())];
    match options.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(Failure::input(format!("{option}: is not for `{NAME}`"))),
        None => Ok(()),
    }
}

/// Errors if options of the matrix are given for something else.
pub fn refuse_elsewhere(args: &ReproduceArgs) -> Result<(), Failure> {
    let of = &args.matrix;
    let options = [
        ("--point", !of.point.is_empty()),
        ("--shard", of.shard.is_some()),
        ("--resume", of.resume),
        ("--force", of.force),
        ("--findings", of.findings),
    ];
    match options.iter().find(|(_, given)| *given) {
        Some((option, _)) => {
            let hint = format!("hint: forebay reproduce {NAME} {option} …");
            Err(Failure::input(format!("{option}: is for `{NAME}` alone\n{hint}")))
        }
        None => Ok(()),
    }
}

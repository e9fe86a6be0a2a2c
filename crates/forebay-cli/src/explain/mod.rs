//! `forebay explain NAME`: whatever has a name says what it is.

mod algorithm;
mod experiment;
mod key;
mod machine;
mod metric;
mod params;
mod preset;
mod reference;
mod result;
mod scenario;
mod words;

use crate::args::{ExplainArgs, Reference};
use crate::catalogue::{self, Kind};
use crate::failure::Failure;
use crate::terminal::Paint;
use forebay_lab::scenario::registry::{Disciplines, Routers, Schemes};
use forebay_lab::scenario::{Keys, LoadOptions, Scenario, keys};
use std::io::Write;
use std::path::Path;

/// Least likeness (Jaro-Winkler) of a name that is suggested.
const ALIKE: f64 = 0.75;

/// Explain what is asked for.
pub fn explain(args: &ExplainArgs, out: &mut impl Write, paint: Paint) -> Result<(), Failure> {
    let text = match (&args.all, &args.name) {
        (Some(Reference::Keys), _) => reference::of_keys(),
        (Some(Reference::Metrics), _) => reference::of_metrics(),
        (Some(Reference::Results), _) => reference::of_results(),
        (None, Some(name)) => of_name(name, paint)?,
        (None, None) => unreachable!("the command line has a name or --all"),
    };
    out.write_all(text.as_bytes())?;
    Ok(())
}

/// All that is called `name`: what `forebay list` has, and keys of scenarios.
fn of_name(name: &str, paint: Paint) -> Result<String, Failure> {
    let entries = catalogue::all().into_iter().filter(|entry| entry.name == name);
    let texts: Result<Vec<String>, Failure> =
        entries.map(|entry| of_kind(entry.kind, name, paint)).collect();
    let mut texts = texts?;
    texts.extend(experiment::text(name, paint));
    if texts.is_empty() && result::has(name) {
        texts.push(result::text(name, paint));
    }
    let keys = keys();
    texts.extend(key::text(name, &keys, paint));
    match texts {
        texts if !texts.is_empty() => Ok(texts.join("\n")),
        _ if looks_like_a_file(name) => of_scenario(name, paint),
        _ => Err(unknown(name, &keys)),
    }
}

fn of_kind(kind: Kind, name: &str, paint: Paint) -> Result<String, Failure> {
    Ok(match kind {
        Kind::Protocol => algorithm::text(name, paint),
        Kind::Discipline => {
            let what = ("queue discipline", "queue.discipline");
            machine::text::<Disciplines>(name, what, paint)
        }
        Kind::Port => machine::text::<Schemes>(name, ("port scheme", "port.scheme"), paint),
        Kind::Router => machine::text::<Routers>(name, ("kind of router", "router.kind"), paint),
        Kind::Preset => preset::text(name, paint),
        Kind::Metric => metric::text(name, paint),
        Kind::Scenario => of_scenario(name, paint)?,
    })
}

fn looks_like_a_file(name: &str) -> bool {
    name.contains(['/', '\\']) || name.ends_with(".toml") || Path::new(name).exists()
}

fn of_scenario(name: &str, paint: Paint) -> Result<String, Failure> {
    // A template that is not complete without files of the user's is explained by its own text.
    match Scenario::load(name, &LoadOptions::default()) {
        Ok(scenario) => Ok(scenario::text(name, &scenario, paint)),
        Err(error) => match scenario::template(name, paint) {
            Some(text) => Ok(text),
            None => Err(Failure::input(error)),
        },
    }
}

fn unknown(name: &str, keys: &Keys) -> Failure {
    let all = catalogue::all();
    let likeness =
        |entry: &catalogue::Entry| strsim::jaro_winkler(&name.to_lowercase(), entry.name);
    let named = all
        .iter()
        .map(|entry| (format!("the {} `{}`", entry.kind.name(), entry.name), likeness(entry)));
    let key = keys.nearest(name).map(|(path, likeness)| (format!("the key `{path}`"), likeness));
    // Of two that are equally near the last counts: a name before a key.
    let nearest = key.into_iter().chain(named).max_by(|a, b| a.1.total_cmp(&b.1));
    let hint = match nearest.filter(|(_, likeness)| *likeness >= ALIKE) {
        Some((what, _)) => format!("did you mean {what}?"),
        None => "`forebay list` shows all names, `forebay explain --all keys` all keys of \
                 scenarios"
            .into(),
    };
    Failure::input(format!("there is nothing called `{name}`\nhint: {hint}"))
}

//! `forebay explain NAME`: whatever has a name says what it is.

mod algorithm;
mod experiment;
mod machine;
mod metric;
mod params;
mod preset;
mod result;
mod scenario;

use crate::catalogue::{self, Kind};
use crate::failure::Failure;
use crate::terminal::Paint;
use forebay_lab::scenario::registry::{Disciplines, Routers, Schemes};
use forebay_lab::scenario::{LoadOptions, Scenario};
use std::io::Write;
use std::path::Path;

/// Least likeness (Jaro-Winkler) of a name that is suggested.
const ALIKE: f64 = 0.75;

/// Explain `name`.
pub fn explain(name: &str, out: &mut impl Write, paint: Paint) -> Result<(), Failure> {
    let entries = catalogue::all().into_iter().filter(|entry| entry.name == name);
    let texts: Result<Vec<String>, Failure> =
        entries.map(|entry| of_kind(entry.kind, name, paint)).collect();
    let mut texts = texts?;
    texts.extend(experiment::text(name, paint));
    let text = match texts {
        texts if !texts.is_empty() => texts.join("\n"),
        _ if result::has(name) => result::text(name, paint),
        _ if looks_like_a_file(name) => of_scenario(name, paint)?,
        _ => return Err(unknown(name)),
    };
    out.write_all(text.as_bytes())?;
    Ok(())
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

fn unknown(name: &str) -> Failure {
    let all = catalogue::all();
    let likeness =
        |entry: &catalogue::Entry| strsim::jaro_winkler(&name.to_lowercase(), entry.name);
    let nearest = all.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let hint = match nearest.filter(|entry| likeness(entry) >= ALIKE) {
        Some(entry) => format!("did you mean the {} `{}`?", entry.kind.name(), entry.name),
        None => "`forebay list` shows all names".into(),
    };
    Failure::input(format!("there is nothing called `{name}`\nhint: {hint}"))
}

//! `forebay list`: everything that has a name, of all kinds or of one.

use crate::args::ListArgs;
use crate::catalogue::{self, EXPERIMENTS_KIND, Kind};
use crate::failure::Failure;
use crate::terminal::{Paint, wrap};
use forebay_lab::reproduce::EXPERIMENTS;
use forebay_lab::scenario::Registry;
use serde::Serialize;
use std::borrow::Cow;
use std::io::Write;

/// The names of a kind.
struct Section {
    plural: &'static str,
    heading: &'static str,
    entries: Vec<Named>,
}

/// A name with one line about it.
#[derive(Clone, Debug, Serialize)]
struct Named {
    name: Cow<'static, str>,
    summary: Cow<'static, str>,
}

/// Print all names, by kind, or those of one kind.
pub fn list(
    args: &ListArgs,
    registry: &Registry,
    out: &mut impl Write,
    paint: Paint,
) -> Result<(), Failure> {
    let wanted = |plural: &str| args.kind.as_ref().is_none_or(|kind| kind == plural);
    let sections = sections(registry).into_iter().filter(|section| wanted(section.plural));
    let sections: Vec<Section> = sections.collect();
    if args.json {
        let by_kind = sections.iter().map(|of| (of.plural, serde_json::json!(of.entries)));
        let object: serde_json::Map<_, _> = by_kind.map(|(k, v)| (k.to_string(), v)).collect();
        writeln!(out, "{}", serde_json::Value::Object(object))?;
        return Ok(());
    }
    let names = sections.iter().flat_map(|section| &section.entries).map(|of| of.name.len());
    let column = names.max().unwrap_or_default() + 4;
    for Section { heading, entries, .. } in &sections {
        writeln!(out, "{}", paint.bold(heading))?;
        for Named { name, summary } in entries {
            let lines = wrap(summary, column);
            writeln!(out, "  {name:<width$}{}", lines.trim(), width = column - 2)?;
        }
        writeln!(out)?;
    }
    writeln!(out, "forebay explain NAME says more about each.")?;
    Ok(())
}

fn sections(registry: &Registry) -> Vec<Section> {
    let all = catalogue::all(registry);
    let of_kind = |kind: Kind| {
        let entries = all.iter().filter(|entry| entry.kind == kind);
        let entries = entries
            .map(|of| Named { name: of.name.clone(), summary: of.summary.clone() })
            .collect();
        Section { plural: kind.plural(), heading: kind.heading(), entries }
    };
    let experiments =
        EXPERIMENTS.iter().map(|of| Named { name: of.name.into(), summary: of.title().into() });
    let experiments = Section {
        plural: EXPERIMENTS_KIND,
        heading: "Experiments (reproduce NAME)",
        entries: experiments.collect(),
    };
    Kind::ALL.map(of_kind).into_iter().chain([experiments]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_lab::scenario::BUILTINS;

    /// Every line is a part of a text of the program: to list it no scenario and no experiment is
    /// parsed or built, which takes seconds.
    #[test]
    fn lines_about_scenarios_and_experiments_are_parts_of_their_texts() {
        let texts: Vec<&str> = BUILTINS.iter().map(|builtin| builtin.text).collect();
        let experiments: Vec<&str> = EXPERIMENTS.iter().map(|of| of.text()).collect();
        for (plural, texts) in [("scenarios", texts), ("experiments", experiments)] {
            let section =
                sections(&Registry::default()).into_iter().find(|section| section.plural == plural);
            let entries = section.expect("a kind").entries;
            assert_eq!(entries.len(), texts.len());
            for (Named { name, summary }, text) in entries.iter().zip(texts) {
                let within = text.as_bytes().as_ptr_range();
                assert!(within.contains(&summary.as_ptr()), "{name}: {summary}");
            }
        }
    }
}

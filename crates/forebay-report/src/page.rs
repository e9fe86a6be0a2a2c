//! The page: header, table, plots, script.

use super::charts::Chart;
use super::escape::{html, json_in_script, shell};
use super::expectations;
use super::figures::ranges;
use super::look::Protocol;
use super::results::Results;
use super::scatter::{self, Scatter};
use super::tables;

const UPLOT: &str = include_str!("../assets/uplot-1.6.32.min.js");
const UPLOT_STYLE: &str = include_str!("../assets/uplot-1.6.32.min.css");
const UPLOT_LICENCE: &str = include_str!("../assets/uplot-LICENSE");
const SCRIPT: &str = include_str!("../assets/report.js");
const LINES: &str = include_str!("../assets/lines.js");
const SAVE: &str = include_str!("../assets/save.js");
const STYLE: &str = include_str!("../assets/report.css");
/// Counts errors of the scripts that follow, where a test can read them.
const WATCH: &str = "document.documentElement.dataset.errors=0;\
                     addEventListener('error',e=>{const d=document.documentElement.dataset;\
                     d.errors=+d.errors+1;d.error=e.message});";
/// Nothing is fetched, whatever stands in the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

/// What is drawn by the script.
pub(super) struct Plots {
    /// The numbers.
    pub json: String,
    /// The part of them that is left out.
    pub notes: Vec<String>,
    /// True if anything is drawn.
    pub drawn: bool,
    /// True if plots over all runs are: they stand next to the table.
    pub curves: bool,
    /// Charts over all runs.
    pub charts: Vec<Chart>,
    /// Throughput over delay.
    pub scatters: Vec<Scatter>,
    /// Differences from a baseline, as HTML.
    pub paired: String,
    /// Drawings of the network, as HTML.
    pub networks: String,
}

/// Name of the page, and what it says of where its numbers come from.
pub(super) struct Heading {
    /// As text.
    pub title: String,
    /// As HTML.
    pub header: String,
    /// Of the folders, if there are several.
    pub labels: Vec<String>,
    /// Notes for readers before comparing.
    pub notes: Vec<String>,
}

/// Of the page of one folder.
pub(super) fn heading(results: &Results) -> Heading {
    let title = results.scenario.clone();
    Heading { title, header: header(results), labels: Vec::new(), notes: Vec::new() }
}

/// The whole page.
pub(super) fn page(
    heading: &Heading,
    results: &Results,
    protocols: &[Protocol],
    plots: &Plots,
) -> String {
    let title = html(&heading.title);
    let version = env!("CARGO_PKG_VERSION");
    let policy = html(POLICY);
    let header = &heading.header;
    let table = tables::metrics(results, protocols);
    let notes = list(&results.notes) + &references(results, protocols);
    let notes = list(&heading.notes) + &notes;
    let charts: String = plots.charts.iter().map(Chart::html).collect();
    let (beside, below) =
        if plots.curves { (String::new(), charts) } else { (charts, String::new()) };
    let expected = expectations::section(results, protocols);
    let scatter = scatter::section(&plots.scatters);
    let (paired, networks) = (&plots.paired, &plots.networks);
    let left_out = list(&plots.notes);
    let without = if plots.drawn {
        ""
    } else {
        "<p>No time series recorded, so there are no plots over time.</p>"
    };
    let pictures = !plots.charts.is_empty() || !plots.scatters.is_empty();
    let scripts = if plots.drawn || pictures { scripts(&plots.json) } else { String::new() };
    format!(
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\
         <meta http-equiv=Content-Security-Policy content=\"{policy}\">\
         <meta name=viewport content='width=device-width,initial-scale=1'>\
         <meta name=generator content='Forebay {version}'>\n<title>{title}</title>\n\
         <style>{UPLOT_STYLE}\n{STYLE}</style></head>\n<body>\n\
         <header><h1>{title}</h1>{header}</header>\n<main>\n\
         <div class=top><section id=results>{table}{notes}</section>\
         <div class=side><div id=curves></div>{beside}</div></div>\n\
         {paired}{expected}{scatter}\n<div class=pair>{below}</div>\n{networks}\n\
         <div id=toolbar hidden></div>\n<div id=plots>{without}</div>\n\
         <footer>{left_out}<noscript><p>The plots need JavaScript.</p></noscript></footer>\n\
         </main>\n{scripts}\n</body></html>\n"
    )
}

fn header(results: &Results) -> String {
    let description = match results.description.as_str() {
        "" => String::new(),
        text => format!("<p>{}</p>", html(text)),
    };
    let protocols: Vec<&str> = results.aggregate.iter().map(|a| a.protocol.as_str()).collect();
    let seeds = results.aggregate.iter().map(|a| &a.seeds).max_by_key(|seeds| seeds.len());
    let seeds = seeds.map_or(String::new(), |seeds| ranges(seeds));
    let many = results.aggregate.iter().any(|a| a.seeds.len() > 1);
    let mean = if many { "; means with 95 % confidence intervals" } else { "" };
    let word = if many { "seeds" } else { "seed" };
    let version = html(&results.forebay);
    let argument = if seeds.contains(',') || seeds.contains("..") {
        seeds.clone()
    } else {
        format!("{seeds}..{seeds}")
    };
    let again = format!(
        "forebay run scenario.toml --protocol {} --seeds {}",
        shell(&protocols.join(",")),
        shell(&argument.replace(' ', ""))
    );
    let again = html(&again);
    format!(
        "{description}<p class=meta>Forebay {version}, {word} {seeds}{mean}. Rerun in this \
         folder: <code>{again}</code></p>"
    )
}

/// The baseline of each protocol.
fn references(results: &Results, protocols: &[Protocol]) -> String {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for (aggregate, protocol) in results.aggregate.iter().zip(protocols) {
        let Some(run) = results.runs_of(&aggregate.protocol).next() else { continue };
        let reference = &run.reference;
        // A run without a reference has no mode, or an empty one.
        let mode = reference.mode.as_deref().filter(|mode| !mode.is_empty());
        let mode = mode.map_or(String::new(), |mode| format!(", {mode}"));
        let why = reference.why.as_deref().filter(|why| !why.is_empty());
        let why = why.map_or(String::new(), |why| format!(" ({why})"));
        let text = format!("{}{mode}{why}", reference.kind);
        match found.iter_mut().find(|(other, _)| *other == text) {
            Some((_, titles)) => titles.push(&protocol.title),
            None => found.push((text, vec![&protocol.title])),
        }
    }
    let lines = found.iter().map(|(text, titles)| match found.len() {
        1 if titles.len() > 1 => text.clone(),
        _ => format!("{text} for {}", titles.join(", ")),
    });
    let text = html(&lines.collect::<Vec<_>>().join("; "));
    if text.is_empty() { text } else { format!("<p class=about>Reference: {text}.</p>") }
}

fn list(notes: &[String]) -> String {
    let items: String = notes.iter().map(|note| format!("<li>{}</li>", html(note))).collect();
    if items.is_empty() { items } else { format!("<ul class='notes about'>{items}</ul>") }
}

fn scripts(json: &str) -> String {
    let json = json_in_script(json);
    format!(
        "<script>{WATCH}</script>\n<script id=data type=application/json>{json}</script>\n\
         <!-- uPlot\n{UPLOT_LICENCE}-->\n\
         <script>{UPLOT}</script>\n<script>{SAVE}</script>\n<script>{LINES}</script>\n\
         <script>{SCRIPT}</script>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_the_page_closes_a_script_or_a_comment_early() {
        for script in [UPLOT, SAVE, LINES, SCRIPT, WATCH] {
            // What ends the element or begins a comment in it, by section 13.2.5.4 of HTML.
            let lower = script.to_ascii_lowercase();
            assert!(!lower.contains("</script") && !lower.contains("<script"), "a script in it");
            assert!(!script.contains("<!--"), "a comment in it");
        }
        assert!(!UPLOT_LICENCE.contains("--"));
        assert!(!STYLE.contains("</") && !STYLE.contains("url("));
    }
}

//! How large a scenario is, before its groups are expanded and its CSV files are read.

use crate::format::fault::{Fault, Problem};
use crate::format::fields::Spanned;
use crate::format::files::Files;
use crate::format::source::Sources;
use crate::keys::file::{CsvFiles, File, FlowGroup};
use crate::keys::topology::{DemandUse, TopologyTable};
use crate::plan::memory_estimate::{MemoryEstimate, Outline, Size};
use crate::resolve::life;
use crate::resolve::maps;
use crate::resolve::topology::MAX_ENTITIES;
use forebay_base::Span;
use std::io::{BufRead, BufReader};

/// The sizes of a file; of its CSV files the number of lines, none where there is no such file.
pub(crate) fn outline(file: &File, files: &Files) -> Outline {
    let mut outline = Outline::default();
    let csv = file.csv.as_ref().map(|at| &at.value);
    let lines = |path: fn(&CsvFiles) -> &Option<Spanned<String>>| {
        csv.and_then(|csv| path(csv).as_ref()).map_or(0, |at| rows(files, &at.value))
    };
    let [links, hosts, flows] = [lines(|c| &c.links), lines(|c| &c.hosts), lines(|c| &c.flows)];
    outline.nodes = file.routers.as_ref().map_or(0, |at| at.value.len() as u64) + hosts;
    outline.links = file.links.as_ref().map_or(0, |at| at.value.len() as u64) + links + hosts;
    outline.flows = flows;
    for group in file.hosts.iter().flat_map(|at| &at.value) {
        let count = number(group.value.count.as_ref());
        outline.nodes += count;
        let homes = group.value.attach.as_ref().map_or(0, |at| at.value.0.len() as u64);
        outline.links += homes * count;
    }
    if let Some(at) = &file.topology {
        add_map(at, files, &mut outline);
    }
    let groups = file.flows.iter().flat_map(|at| &at.value);
    let until = until(file);
    let flows = groups.map(|group| flows_of(&group.value, until));
    outline.flows += flows.fold(0, u64::saturating_add);
    outline
}

/// The sizes of a map. One that is wrong, which is reported where it is made, and one from a pipe
/// have none.
fn add_map(at: &Spanned<TopologyTable>, files: &Files, outline: &mut Outline) {
    let again = |file: &Spanned<String>| files.open_again(&file.value).is_some();
    if !at.value.file.as_ref().is_none_or(again) {
        return;
    }
    let Ok(map) = maps::map_of(at, &mut Sources::with(files.clone())) else { return };
    let each = at.value.hosts.as_ref().map_or(0, |at| u64::from(at.value));
    let routers = if at.value.hosts_at.is_some() { map.nodes.len() } else { map.edges().len() };
    let hosts = each.saturating_mul(routers as u64);
    outline.nodes = outline.nodes.saturating_add(map.nodes.len() as u64).saturating_add(hosts);
    outline.links = outline.links.saturating_add(map.links.len() as u64).saturating_add(hosts);
    let is_flows = at.value.demands.as_ref().is_some_and(|at| at.value == DemandUse::Flows);
    outline.flows += if is_flows { map.demands.len() as u64 } else { 0 };
}

fn number(count: Option<&Spanned<u32>>) -> u64 {
    count.map_or(1, |count| u64::from(count.value))
}
/// The code that makes the flows reports what is wrong with their rounds.
fn flows_of(group: &FlowGroup, until: Option<Span>) -> u64 {
    let rounds = life::rounds(group, until).unwrap_or(0) as u64;
    number(group.count.as_ref()).saturating_mul(rounds)
}
fn until(file: &File) -> Option<Span> {
    file.until_s.as_ref().map(|at| at.value.0)
}

/// Rows of a CSV file below the names of its columns. Its reader reports what is wrong with it.
/// Of a pipe, which can be read once, none.
fn rows(files: &Files, name: &str) -> u64 {
    let Some(file) = files.open_again(name) else { return 0 };
    let (mut reader, mut lines) = (BufReader::with_capacity(1 << 16, file), 0u64);
    loop {
        let (ends, len) = match reader.fill_buf() {
            Ok(bytes) if !bytes.is_empty() => {
                (bytes.iter().filter(|&&byte| byte == b'\n').count(), bytes.len())
            }
            _ => return lines.saturating_sub(1),
        };
        lines += ends as u64;
        reader.consume(len);
    }
}

/// Refuse more hosts with an access link, or more flows, than a scenario may have, before the first
/// of them is made. Hosts without one are no more than links have ends, which is looked at where
/// those are known.
pub(crate) fn check(file: &File) -> Result<(), Fault> {
    let groups = file.hosts.iter().flat_map(|at| &at.value);
    let attached = groups.filter(|group| group.value.attach.is_some());
    let hosts = attached.map(|group| {
        let count = group.value.count.as_ref();
        (count.map(Spanned::place), number(count))
    });
    let flows = file.flows.iter().flat_map(|at| &at.value).map(|at| {
        let group = &at.value;
        let rounds = group.rounds.as_ref().map(Spanned::place);
        (rounds.or(group.count.as_ref().map(Spanned::place)), flows_of(group, until(file)))
    });
    within("hosts", hosts, |nodes| Outline { nodes, links: nodes, flows: 0 })?;
    within("flows", flows, |flows| Outline { flows, ..Outline::default() })
}

/// Refuse a group that is too large, and one that is with those before it.
fn within(
    what: &str,
    counts: impl Iterator<Item = (Option<Spanned<()>>, u64)>,
    of: fn(u64) -> Outline,
) -> Result<(), Fault> {
    let mut all = 0u64;
    for (at, number) in counts {
        all = all.saturating_add(number);
        let Some(at) = at.filter(|_| all > MAX_ENTITIES as u64) else { continue };
        let (found, expected) = if number == all {
            (all.to_string(), "1 to 2^24, and numbers below 2^32".to_string())
        } else {
            let found = format!("{number}, {all} with those before");
            (found, format!("at most 2^24 {what} in all"))
        };
        let estimate = Size(MemoryEstimate::at_least(&of(all)).bytes());
        let hint = format!("this number of {what} would need about {estimate} of memory");
        return Err(at.fault(Problem::OutOfRange { found, expected }).hint(hint));
    }
    Ok(())
}

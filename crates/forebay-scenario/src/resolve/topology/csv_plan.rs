//! Nodes and links from the rows of CSV files.

use super::{Joined, Placed, Topology};
use crate::format::csv;
use crate::format::fault::Fault;
use crate::format::faults::{Faults, both};
use crate::format::fields::Spanned;
use crate::format::source::Sources;
use crate::keys::file::CsvFiles;
use crate::keys::links::LinkParams;
use crate::keys::routes::{self, Weight};

/// The CSV files of a network, opened.
#[derive(Default)]
pub(super) struct CsvPlan {
    links: Option<csv::Csv>,
    hosts: Option<csv::Csv>,
    /// The key that names the file of links: what its columns do not give is missing there.
    links_key: Spanned<()>,
    host_prefix: String,
    router_prefix: String,
    access: Spanned<LinkParams>,
}

impl CsvPlan {
    pub(super) fn open(files: &CsvFiles, sources: &mut Sources) -> Result<CsvPlan, Fault> {
        let mut open = |path: &Option<Spanned<String>>, columns: &[&'static str]| {
            let extra = files.extra_columns.as_ref();
            let open = |path| csv::open(sources, path, columns, extra);
            let csv = path.as_ref().map(open);
            let csv = csv.transpose()?;
            if let Some(csv) = &csv {
                csv.need(&[0, 1, 2, 3][..columns.len().min(csv::WEIGHT)])?;
            }
            Ok::<_, Fault>(csv)
        };
        let links = open(&files.links, csv::LINK_COLUMNS);
        let (links, hosts) = both(links, open(&files.hosts, csv::HOST_COLUMNS))?;
        let text = |at: &Option<Spanned<String>>| at.as_ref().map(|at| at.value.clone());
        Ok(CsvPlan {
            links,
            hosts,
            links_key: files.links.as_ref().map(Spanned::place).unwrap_or_default(),
            host_prefix: text(&files.host_prefix).unwrap_or_else(|| "h".into()),
            router_prefix: text(&files.router_prefix).unwrap_or_default(),
            access: files.access.clone().unwrap_or_default(),
        })
    }

    /// Rows of the file of links.
    pub(super) fn links(&self, sources: &Sources) -> usize {
        self.links.as_ref().map_or(0, |links| links.rows(sources).count())
    }

    /// Routers that only the file of links names.
    pub(super) fn add_routers(
        &self,
        topology: &mut Topology,
        sources: &Sources,
        faults: &mut Faults,
    ) {
        let Some(csv) = &self.links else { return };
        // A row that cannot be read is reported where its link is made.
        for row in csv.rows(sources).flatten() {
            for column in [0, 1] {
                let name = format!("{}{}", self.router_prefix, row.text(column));
                if topology.by_name.contains_key(&name) || topology.lost.has_node(&name) {
                    continue;
                }
                let added =
                    topology.add_node(name.clone(), false, |problem| row.fault(column, problem));
                if faults.keep(added).is_none() {
                    topology.lost.node(name);
                }
            }
        }
    }

    pub(super) fn add_links(
        &self,
        topology: &mut Topology,
        sources: &Sources,
        defaults: &LinkParams,
        faults: &mut Faults,
    ) {
        let Some(csv) = &self.links else { return };
        for row in csv.rows(sources) {
            let Some(row) = faults.keep(row) else {
                topology.lost.all_names();
                continue;
            };
            if faults.keep(self.add_link(topology, &row, defaults)).is_none() {
                let [a, b] = [0, 1].map(|end| format!("{}{}", self.router_prefix, row.text(end)));
                topology.lost.link(format!("{a}-{b}"));
            }
        }
    }

    fn add_link(
        &self,
        topology: &mut Topology,
        row: &csv::Row<'_>,
        defaults: &LinkParams,
    ) -> Result<(), Fault> {
        let end = |column: usize| topology.named_in(row, column, &self.router_prefix);
        let (ends, values) = (both(end(0), end(1)), both(row.rate(2), row.delay(3)));
        let (ends, ((rate, delay), weight)) = both(ends, both(values, weight_of(row)))?;
        if ends.0 == ends.1 {
            return Err(row.wrong(1, "another node than in column a"));
        }
        let own = LinkParams {
            rate: Some(Spanned::new(rate)),
            delay: Some(Spanned::new(delay)),
            ..LinkParams::default()
        };
        let wires = topology.wires(&own, None, defaults, &self.links_key)?;
        let joined = Joined { ends: ends.into(), weight, wires: &wires };
        topology.add_link(None, joined, |problem| row.fault(0, problem))
    }

    pub(super) fn add_hosts(
        &self,
        topology: &mut Topology,
        sources: &Sources,
        defaults: &LinkParams,
        faults: &mut Faults,
    ) {
        let Some(csv) = &self.hosts else { return };
        let wires = topology.wires(&self.access.value, None, defaults, &self.access);
        let Some(wires) = faults.keep(wires) else { return topology.lost.all_names() };
        for row in csv.rows(sources) {
            let Some(row) = faults.keep(row) else {
                topology.lost.all_names();
                continue;
            };
            if faults.keep(self.add_host(topology, &row, &wires)).is_none() {
                let host = format!("{}{}", self.host_prefix, row.text(0));
                topology.lost.link(format!("{host}-{}{}", self.router_prefix, row.text(1)));
                topology.lost.node(host);
            }
        }
    }

    fn add_host(
        &self,
        topology: &mut Topology,
        row: &csv::Row<'_>,
        wires: &[Placed; 2],
    ) -> Result<(), Fault> {
        let host = format!("{}{}", self.host_prefix, row.text(0));
        let b = topology.named_in(row, 1, &self.router_prefix)?;
        if topology.is_host(b) {
            return Err(row.wrong(1, "a router"));
        }
        let a = topology.add_node(host, true, |problem| row.fault(0, problem))?;
        topology.add_link(None, Joined::access([a, b], wires), |problem| row.fault(0, problem))
    }
}

fn weight_of(row: &csv::Row<'_>) -> Result<u32, Fault> {
    if !row.has(csv::WEIGHT) {
        return Ok(1);
    }
    let wrong = || row.wrong(csv::WEIGHT, routes::WEIGHT_RANGE);
    let value = row.text(csv::WEIGHT).parse().map_err(|_| wrong())?;
    let fault = |problem| row.fault(csv::WEIGHT, problem);
    Weight::new(value).map(|Weight(value)| value).ok_or_else(|| Weight::fault(value, fault))
}

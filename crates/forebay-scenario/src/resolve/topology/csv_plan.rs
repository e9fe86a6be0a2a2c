//! Nodes and links from the rows of CSV files.

use super::{Joined, Placed, Topology};
use crate::format::csv;
use crate::format::fault::{Fault, Problem};
use crate::format::faults::{Faults, both};
use crate::format::fields::Spanned;
use crate::format::source::{Loc, Sources};
use crate::keys::file::CsvFiles;
use crate::keys::links::LinkParams;
use crate::keys::routes::{self, Weight};
use forebay_base::{NodeId, Rate, Span};
use std::collections::BTreeMap;

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
        let mut open =
            |path: &Option<Spanned<String>>, columns: &[&'static str], need: &[usize]| {
                let extra = files.extra_columns.as_ref();
                let open = |path| csv::open(sources, path, columns, extra);
                let csv = path.as_ref().map(open);
                let csv = csv.transpose()?;
                if let Some(csv) = &csv {
                    csv.need(need)?;
                }
                Ok::<_, Fault>(csv)
            };
        let links = open(&files.links, csv::LINK_COLUMNS, &[0, 1, 2, 3]);
        let (links, hosts) = both(links, open(&files.hosts, csv::HOST_COLUMNS, &[0, csv::ROUTER]))?;
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
        // What is wrong with all of them, whatever the rows say, is told once.
        let given = LinkParams {
            rate: csv.has(csv::ACCESS_RATE).then(|| Spanned::new(Rate::mbps(1))),
            delay: csv.has(csv::ACCESS_DELAY).then(|| Spanned::new(Span::ZERO)),
            ..LinkParams::default()
        };
        let given = given.or(&self.access.value);
        if faults.keep(topology.wires(&given, None, defaults, &self.access)).is_none() {
            return topology.lost.all_names();
        }
        let wires = topology.wires(&self.access.value, None, defaults, &self.access).ok();
        let access = Access { wires, defaults };
        let mut made = BTreeMap::new();
        for row in csv.rows(sources) {
            let Some(row) = faults.keep(row) else {
                topology.lost.all_names();
                continue;
            };
            if faults.keep(self.add_host(topology, &row, &access, &mut made, sources)).is_none() {
                let host = self.host_name(&row);
                let router = row.text(csv::ROUTER);
                topology.lost.link(format!("{host}-{}{router}", self.router_prefix));
                topology.lost.node(host);
            }
        }
    }

    fn host_name(&self, row: &csv::Row<'_>) -> String {
        format!("{}{}", self.host_prefix, row.text(0))
    }

    /// A host, or a further link of one that an earlier row has made.
    fn add_host(
        &self,
        topology: &mut Topology,
        row: &csv::Row<'_>,
        access: &Access<'_>,
        made: &mut BTreeMap<NodeId, Vec<(NodeId, Loc)>>,
        sources: &Sources,
    ) -> Result<(), Fault> {
        let host = self.host_name(row);
        let wires = self.wires_of(topology, row, access);
        let router = topology.named_in(row, csv::ROUTER, &self.router_prefix);
        let (router, wires) = both(router, wires)?;
        if topology.is_host(router) {
            return Err(row.wrong(csv::ROUTER, "a router"));
        }
        let known = topology.by_name.get(&host).copied().filter(|node| made.contains_key(node));
        let mut homes = known.and_then(|node| made.get(&node)).into_iter().flatten();
        if let Some(&(_, earlier)) = homes.find(|home| home.0 == router) {
            let line = sources.place(earlier, String::new()).line;
            let name = &topology.nodes[router.index()].name;
            let text = format!(
                "`{host}` is at `{name}` already, by line {line}: a host has one link to a router"
            );
            return Err(row.fault(csv::ROUTER, Problem::Conflict(text)));
        }
        let add = || topology.add_node(host, true, |problem| row.fault(0, problem));
        let node = known.map_or_else(add, Ok)?;
        let wires = wires.as_ref().or(access.wires.as_ref()).expect("one of them is there");
        let joined = Joined::access([node, router], wires);
        topology.add_link(None, joined, |problem| row.fault(0, problem))?;
        made.entry(node).or_default().push((router, row.loc(csv::ROUTER)));
        Ok(())
    }

    /// Both directions of the access link of a row that says something of it; None if it is like
    /// all others.
    fn wires_of(
        &self,
        topology: &Topology,
        row: &csv::Row<'_>,
        access: &Access<'_>,
    ) -> Result<Option<[Placed; 2]>, Fault> {
        let has = |column| row.has(column).then_some(column);
        let rate = has(csv::ACCESS_RATE).map(|column| row.rate(column)).transpose();
        let delay = has(csv::ACCESS_DELAY).map(|column| row.delay(column)).transpose();
        let (rate, delay) = both(rate, delay)?;
        if rate.is_none() && delay.is_none() && access.wires.is_some() {
            return Ok(None);
        }
        let own = LinkParams {
            rate: rate.map(Spanned::new),
            delay: delay.map(Spanned::new),
            ..LinkParams::default()
        };
        let params = own.or(&self.access.value);
        let wires = topology.wires(&params, None, access.defaults, &self.access);
        let lacks = |column| access.wires.is_none() && row.lacks(column);
        wires.map(Some).map_err(|fault| {
            if lacks(csv::ACCESS_RATE) {
                row.wrong(csv::ACCESS_RATE, "a rate, or one in csv.access")
            } else if lacks(csv::ACCESS_DELAY) {
                row.wrong(csv::ACCESS_DELAY, "a delay, or one in csv.access")
            } else {
                fault
            }
        })
    }
}

/// Access links of the hosts of a file.
struct Access<'a> {
    /// Those of rows that say nothing of them; None where rows have to.
    wires: Option<[Placed; 2]>,
    defaults: &'a LinkParams,
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

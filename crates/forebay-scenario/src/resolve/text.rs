//! A scenario as a file that gives the same scenario: every group expanded, every choice made.

use crate::format::fields::{Section, Spanned};
use crate::format::units::{Bytes, GivenLimit, Number, Seconds};
use crate::keys::channels::{BucketTable, GeneratorKey, TraceKey};
use crate::keys::file::{
    File, FlowGroup, HostEntry, HostGroup, LinkEntry, ProtocolTable, Protocols, RoleKey,
    RouterEntry, RouterTable,
};
use crate::keys::life::LawOf;
use crate::keys::links::{LinkParams, Queue, QueueTable};
use crate::keys::named::Named;
use crate::keys::reassembly;
use crate::keys::routes;
use crate::keys::routes::{Prefixes, Weight};
use crate::keys::tcp::Tcp;
use crate::model::inrpp::InrppNetwork;
use crate::registry::named::given;
use crate::registry::{Chosen, Kind, Schemes};
use crate::resolve::arrivals;
use crate::resolve::attacks;
use crate::resolve::events;
use crate::resolve::inrpp;
use crate::resolve::life;
use crate::resolve::paths;
use crate::resolve::sizes;
use crate::resolve::tcp;
use crate::resolve::tcp_of;
use crate::{Channel, Flow, Link, LinkDirection, ProtocolSpec, Scenario};
use forebay_base::{NodeId, PortId, Time};
use forebay_net::{ReassemblyLimits, RouteRule, TimeDistribution};
use forebay_queue::Limit;
use std::fmt::Write;

fn some<T>(value: T) -> Option<Spanned<T>> {
    Some(Spanned::new(value))
}

fn all<T>(values: impl Iterator<Item = T>) -> Vec<Spanned<T>> {
    values.map(Spanned::new).collect()
}

impl Scenario {
    /// As the text of a file that gives the same scenario, with all groups, CSV files, presets and
    /// defaults written out.
    pub fn to_toml(&self) -> String {
        write(self)
    }
}

/// The text, one line for each link, host, flow and event.
pub(crate) fn write(scenario: &Scenario) -> String {
    let mut table = toml::Table::new();
    file(scenario).put(&mut table);
    for line in scenario.registry.lines::<Schemes>() {
        let needs = |name: &str| scenario.bundle(name).port.as_ref() == Some(&line.name);
        let params = scenario.ports.get(line.name.as_str()).cloned();
        let is_needed = line.over.is_some() && scenario.named_protocols().into_iter().any(needs);
        if let Some(params) = params.or_else(|| is_needed.then(|| line.defaults().params)) {
            table.insert(line.name.to_string(), toml::Value::Table(params));
        }
    }
    let expect = scenario.expectations_that_stand().map(|of| toml::Value::Table(of.keys.clone()));
    let expect: Vec<_> = expect.collect();
    if !expect.is_empty() {
        table.insert("expect".into(), toml::Value::Array(expect));
    }
    let (lists, plain): (Vec<_>, Vec<_>) = table.into_iter().partition(|(_, v)| is_list(v));
    let (tables, plain): (Vec<_>, Vec<_>) = plain.into_iter().partition(|(_, v)| v.is_table());
    let mut text = String::new();
    // Writing to a string cannot fail.
    for (key, value) in plain {
        let _ = writeln!(text, "{key} = {value}");
    }
    for (key, value) in lists {
        let _ = writeln!(text, "{key} = [");
        for element in value.as_array().into_iter().flatten() {
            let _ = writeln!(text, "  {element},");
        }
        let _ = writeln!(text, "]");
    }
    for (key, value) in tables {
        put_table(&mut text, &key, &value);
    }
    text
}

/// A table under its header, its own tables under theirs if they are tables of parameters.
fn put_table(text: &mut String, key: &str, value: &toml::Value) {
    let nested = matches!(key, "protocol" | "tcp_of");
    if !nested {
        let _ = writeln!(text, "\n[{key}]");
    }
    for (name, value) in value.as_table().into_iter().flatten() {
        if nested {
            put_table(text, &format!("{key}.{name}"), value)
        } else {
            let _ = writeln!(text, "{name} = {value}");
        }
    }
}

fn is_list(value: &toml::Value) -> bool {
    value.as_array().is_some_and(|a| a.iter().any(toml::Value::is_table))
}

fn file(scenario: &Scenario) -> File {
    let name = |id: NodeId| scenario.nodes[id.index()].name.clone();
    let of = |host: bool| scenario.nodes.iter().filter(move |n| n.is_host == host);
    let host = |node: &crate::Node| {
        let name = Spanned::new(node.name.clone());
        let reassembly = node.reassembly.map(|limits| Spanned::new(reassembly::table_of(limits)));
        let prefixes =
            (!node.prefixes.is_empty()).then(|| Spanned::new(Prefixes(node.prefixes.clone())));
        HostEntry(HostGroup { name, reassembly, prefixes, ..HostGroup::default() })
    };
    let is_inrpp = scenario.inrpp != InrppNetwork::default() || !scenario.ever_inrpp().is_empty();
    let differs = scenario.reassembly != ReassemblyLimits::of(scenario.ip_version);
    let routed = scenario.routes != RouteRule::default();
    let links = scenario.links_of_nodes();
    let link_name =
        |node: NodeId, port: PortId| scenario.links[links[node.index()][port.index()]].name.clone();
    let seconds = |time: Time| Seconds(time.since(Time::ZERO));
    let events = scenario.events.iter();
    let events = events.map(|e| events::describe(e, &scenario.nodes, &scenario.links));
    File {
        // An earlier version may not know what stands below.
        forebay: some(env!("CARGO_PKG_VERSION").to_string()),
        description: some(scenario.description.clone()),
        protocols: some(all(scenario.protocols.iter().map(ToString::to_string))),
        until_s: scenario.until.map(|t| Spanned::new(seconds(t))),
        measure_from_s: some(seconds(scenario.measure_from)),
        sample_s: some(Seconds(scenario.sample)),
        fct: some(scenario.fct),
        start_jitter: some(scenario.start_jitter),
        ip_version: some(scenario.ip_version),
        tcp: some(Tcp::of(&tcp::described(&scenario.tcp))),
        tcp_of: some(tcp_of::describe(scenario)),
        inrpp: is_inrpp.then(|| Spanned::new(inrpp::describe(&scenario.inrpp))),
        reassembly: differs.then(|| Spanned::new(reassembly::table_of(scenario.reassembly))),
        routes: routed.then(|| Spanned::new(routes::table_of(scenario.routes))),
        protocol: some(Protocols(scenario.specs.iter().map(protocol).collect())),
        link_defaults: None,
        router: scenario.router.as_ref().map(|router| Spanned::new(of_registry(router))),
        topology: None, // its routers, hosts and links are listed
        routers: some(all(of(false).map(router))),
        hosts: some(all(of(true).map(host))),
        links: some(all(scenario.links.iter().map(|l| link(l, name(l.a), name(l.b))))),
        flows: some(all(scenario.flows.iter().map(|f| FlowGroup {
            paths: paths::describe(f, link_name).map(Spanned::new),
            ..flow(f, name(f.src), name(f.dst))
        }))),
        events: some(all(events)),
        attacks: some(all(scenario.attacks.iter().map(|a| attacks::describe(a, scenario)))),
        csv: None,
        expect: None, // its keys are kept
        sweep: None,  // it is one point
    }
}

fn router(node: &crate::Node) -> RouterEntry {
    let router = node.router.as_ref().map(|router| Spanned::new(of_registry(router)));
    let on_map = node.on_map.as_deref();
    let at = on_map.and_then(|on_map| on_map.at).map(|at| Spanned::new(at.map(Number).into()));
    let role = on_map.and_then(|on_map| on_map.role).map(|role| Spanned::new(RoleKey(role)));
    RouterEntry(RouterTable { name: Spanned::new(node.name.clone()), router, at, role })
}

fn protocol(spec: &ProtocolSpec) -> ProtocolTable {
    let of = spec.algorithm.name();
    ProtocolTable {
        name: Spanned::new(spec.name.to_string()),
        of: (spec.name != of).then(|| Spanned::new(of.to_string())),
        title: spec.title.clone().map(Spanned::new),
        params: given(&spec.algorithm.params()),
    }
}

fn of_registry<K: Kind>(chosen: &Chosen<K>) -> Named<K> {
    Named::new(chosen.name(), given(&chosen.params))
}

fn link(link: &Link, a: String, b: String) -> LinkEntry {
    let symmetric = link.forward == link.reverse;
    // What one direction says the other takes over, unless it says something else.
    let named = !(link.forward.discipline.is_default() && link.reverse.discipline.is_default());
    let boxed = link.forward.wire.middlebox.is_some() || link.reverse.wire.middlebox.is_some();
    let params = |wire| params(wire, named, boxed);
    LinkEntry {
        a: Spanned::new(a),
        b: Spanned::new(b),
        name: some(link.name.clone()),
        reverse: (!symmetric).then(|| Spanned::new(params(&link.reverse))),
        weight: (link.weight != 1).then(|| Spanned::new(Weight(link.weight))),
        inrpp_key: link.inrpp_key.as_ref().map(|key| Spanned::new(key.to_string())),
        params: params(&link.forward),
    }
}

/// The keys of one direction. `named`, `boxed`: one of the two has a discipline of its own, a
/// middlebox.
fn params(direction: &LinkDirection, named: bool, boxed: bool) -> LinkParams {
    let limit = match direction.queue {
        Limit::Packets(packets) => GivenLimit::Packets(packets),
        limit => GivenLimit::Bytes(limit.most()),
    };
    let discipline = named.then(|| Spanned::new(direction.discipline.name().to_string()));
    let table = QueueTable { discipline, limit: some(limit), ..QueueTable::default() };
    let queue = Queue { table, params: given(&direction.discipline.params) };
    LinkParams {
        rate: (!direction.channel.is_trace()).then(|| Spanned::new(direction.rate)),
        trace: direction.channel.file().map(|file| Spanned::new(TraceKey::describe(file))),
        generator: match &direction.channel {
            Channel::Generated(generated) => some(GeneratorKey::describe(generated)),
            _ => None,
        },
        bucket: match direction.channel {
            Channel::Bucket { burst_bytes, peak } => {
                some(BucketTable { burst: Spanned::new(Bytes(burst_bytes)), peak: some(peak) })
            }
            _ => None,
        },
        schedule: None, // its steps are events
        queue: some(queue),
        port: direction.port.as_ref().map(|port| Spanned::new(of_registry(port))),
        ..LinkParams::of_wire(&direction.wire, boxed)
    }
}

fn flow(flow: &Flow, src: String, dst: String) -> FlowGroup {
    let mut group = FlowGroup {
        src: Spanned::new(src),
        dst: Spanned::new(dst),
        start: some(LawOf(match flow.start_law {
            None => TimeDistribution::Constant(flow.start.since(Time::ZERO)),
            Some(law) => law,
        })),
        protocol: flow.protocol.as_ref().map(|name| Spanned::new(name.to_string())),
        class: flow.class.as_ref().map(|name| Spanned::new(name.to_string())),
        ..FlowGroup::default()
    };
    if let Some(arrival) = &flow.arrival {
        group.arrivals = Some(Spanned::new(arrivals::describe(arrival)));
    }
    let law = flow.size_law.as_ref();
    sizes::describe(flow.bytes, law, flow.by_size.as_deref(), &mut group);
    if let Some(life) = &flow.life {
        life::describe(life, &mut group);
    }
    group
}

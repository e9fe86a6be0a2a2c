//! Expectations about a scenario that is complete but for them.

use crate::Scenario;
use crate::format::fault::{Fault, Problem};
use crate::format::faults::{Faults, Unresolved, all, both};
use crate::format::fields::{Field, Section, Spanned, shown};
use crate::format::item::{Item, Value};
use crate::format::names::Name;
use crate::format::source::is_unseen;
use crate::format::units::in_unit_of;
use crate::keys::expect::{ExpectEntry, Expected, Op, OverName, OverRule, Scalar, ShareTable};
use crate::keys::file::File;
use crate::model::expectation::{Bound, Expectation, Over};
use crate::model::link_names::LinkNames;
use crate::model::protocols::Names;
use forebay_metrics::{METRICS, MetricDoc, OfLinks, Unit, comparable};
use std::collections::BTreeSet;

/// The expectations of a file about a scenario that is complete but for them.
pub(crate) fn resolve(
    file: &File,
    scenario: &Scenario,
    names: &Names,
    lost: &Unresolved,
    faults: &mut Faults,
) -> Vec<Expectation> {
    let Some(entries) = &file.expect else { return Vec::new() };
    let wrong = |keys: &[&str]| keys.iter().any(|key| faults.about(key) || lost.has_key(key));
    let known = Known {
        scenario,
        names,
        protocols_wrong: wrong(&["protocols", "protocol"]),
        flows_wrong: wrong(&["flows", "csv", "protocols", "protocol"]),
        links_wrong: wrong(&["links", "routers", "hosts", "csv"]) || lost.any_of_network(),
    };
    let read = entries.value.iter().map(|entry| known.expectation(entry));
    faults.or(all(read), Vec::new())
}

/// What expectations can be about, and what of that is not known because of other mistakes.
struct Known<'a> {
    scenario: &'a Scenario,
    names: &'a Names,
    protocols_wrong: bool,
    flows_wrong: bool,
    links_wrong: bool,
}

impl Known<'_> {
    fn expectation(&self, entry: &Spanned<ExpectEntry>) -> Result<Expectation, Fault> {
        let ExpectEntry { metric, op, value, name, protocol, class, link, over } = &entry.value;
        let protocol = protocol.as_ref().map(|at| self.protocol(at)).transpose();
        let name = name.as_ref().map(one_line).transpose();
        let over = over.as_ref().map_or(Over::Mean, |at| over_seeds(&at.value));
        let metric = metric_of(metric);
        let of_metric = metric.and_then(|metric| {
            let bound = bound(metric, op, value);
            let link = self.link(metric, link.as_ref(), entry);
            let ends = both(bound, both(link, self.class(metric, class.as_ref())));
            ends.map(|ends| (metric, ends))
        });
        let ((metric, (bound, (link, of_class))), (protocol, name)) =
            both(of_metric, both(protocol, name))?;
        let keys = written(&entry.value);
        let (metric, class_name) = (metric.name, of_class);
        let made =
            Expectation { name, metric, protocol, class: class_name, link, bound, over, keys };
        match class {
            Some(at) if !self.flows_wrong => self.has_class(&made, at).map(|()| made),
            _ => Ok(made),
        }
    }

    /// A protocol that the scenario compares.
    fn protocol(&self, at: &Spanned<String>) -> Result<Name, Fault> {
        let follows = self.protocols_wrong;
        let name = self.names.lookup(at).map_err(|fault| fault.following(follows))?;
        if self.scenario.protocols.contains(&name) {
            return Ok(name);
        }
        let text = format!("the scenario does not compare `{name}`");
        let mut flows = self.scenario.flows.iter();
        let hint = if flows.any(|flow| flow.protocol.as_ref() == Some(&name)) {
            format!("for the flows that have it: class = \"{name}\"")
        } else {
            format!("protocols that it compares: {}", self.scenario.protocols.join(", "))
        };
        Err(at.fault(Problem::Conflict(text)).hint(hint).following(follows))
    }

    /// The directed link that a metric of links is about.
    fn link(
        &self,
        metric: &MetricDoc,
        link: Option<&Spanned<String>>,
        entry: &Spanned<ExpectEntry>,
    ) -> Result<Option<String>, Fault> {
        let Some(at) = link else {
            if metric.by_link == OfLinks::No {
                return Ok(None);
            }
            let meaning = format!("the directed link whose `{}` is meant", metric.name);
            let fault = entry.fault(Problem::MissingKey { key: "link".into(), meaning });
            let links = self.scenario.links_with(metric);
            let hint = if links.is_empty() {
                "no link follows a trace".to_string()
            } else {
                format!("one of: {}", links.join(", "))
            };
            return Err(fault.hint(hint).following(self.links_wrong));
        };
        if metric.by_link == OfLinks::No {
            let text = format!("`{}` is of no link", metric.name);
            return Err(at.fault(Problem::Conflict(text)));
        }
        let links = self.scenario.links_with(metric);
        if links.contains(&at.value) {
            return Ok(Some(at.value.clone()));
        }
        let kind = match metric.by_link {
            OfLinks::All => "directed link",
            OfLinks::Traces => "directed link with a trace",
            OfLinks::Measured | OfLinks::No => "directed link between routers",
        };
        let problem = Problem::UnknownName { kind, name: at.value.clone() };
        let fault = at.fault(problem).suggest(&at.value, links.iter().map(String::as_str));
        Err(fault.following(self.links_wrong))
    }

    /// The class that it is about, if classes have the metric.
    fn class(
        &self,
        metric: &MetricDoc,
        class: Option<&Spanned<String>>,
    ) -> Result<Option<String>, Fault> {
        let Some(at) = class else { return Ok(None) };
        if metric.by_class {
            return Ok(Some(at.value.clone()));
        }
        let text = format!("classes have no `{}`: it is of the whole run", metric.name);
        Err(at.fault(Problem::Conflict(text)))
    }

    /// Errors if under a protocol that `made` is about no flow has its class.
    fn has_class(&self, made: &Expectation, at: &Spanned<String>) -> Result<(), Fault> {
        let scenario = self.scenario;
        let classes: BTreeSet<&str> =
            scenario.protocols.iter().flat_map(|protocol| scenario.classes(protocol)).collect();
        if !classes.contains(at.value.as_str()) {
            let problem = Problem::UnknownName { kind: "class of flows", name: at.value.clone() };
            return Err(at.fault(problem).suggest(&at.value, classes));
        }
        let Some(without) = made.without_class(scenario) else { return Ok(()) };
        let text = format!("no flow has the class `{}` in runs under `{without}`", at.value);
        let with = scenario.protocols.iter().find(|protocol| {
            made.is_about(protocol) && scenario.classes(protocol).contains(at.value.as_str())
        });
        let fault = at.fault(Problem::Conflict(text));
        Err(match with {
            Some(with) => {
                fault.hint(format!("protocol = \"{with}\" limits it to the runs that have such"))
            }
            None => fault,
        })
    }
}

impl Expectation {
    /// The first protocol of those that it is about under which no flow has its class.
    fn without_class<'a>(&'a self, scenario: &'a Scenario) -> Option<&'a Name> {
        let class = self.class.as_deref()?;
        let mut about = scenario.protocols.iter().filter(|protocol| self.is_about(protocol));
        about.find(|protocol| !scenario.classes(protocol).contains(class))
    }
}

impl Scenario {
    /// The classes of flows in runs under `protocol`.
    pub fn classes<'a>(&'a self, protocol: &'a str) -> BTreeSet<&'a str> {
        self.flows.iter().flat_map(|flow| flow.classes(protocol)).collect()
    }

    /// The directed links whose utilisation results have, by name: those between routers; all if
    /// there are none.
    pub fn measured_links(&self) -> Vec<String> {
        let names = LinkNames::new(self);
        let named = |keep: &dyn Fn(usize) -> bool| -> Vec<String> {
            names.iter().enumerate().filter(|(i, _)| keep(*i)).map(|(_, n)| n.to_string()).collect()
        };
        let router = |node: forebay_base::NodeId| !self.nodes[node.index()].is_host;
        let between = |i: usize| router(self.links[i / 2].a) && router(self.links[i / 2].b);
        let found = named(&between);
        if found.is_empty() { named(&|_| true) } else { found }
    }

    /// The directed links that follow a delivery trace, by name.
    pub fn traced_links(&self) -> Vec<String> {
        let directions = self.links.iter().flat_map(|link| [&link.forward, &link.reverse]);
        let names = LinkNames::new(self);
        let named = names.iter().zip(directions);
        named.filter(|(_, wire)| wire.channel.is_trace()).map(|(n, _)| n.to_string()).collect()
    }

    /// The directed links that `metric` is of, by name.
    fn links_with(&self, metric: &MetricDoc) -> Vec<String> {
        match metric.by_link {
            OfLinks::No => Vec::new(),
            OfLinks::Measured => self.measured_links(),
            OfLinks::Traces => self.traced_links(),
            OfLinks::All => LinkNames::new(self).iter().map(str::to_string).collect(),
        }
    }

    /// The expectations that a file of this scenario may have: none of protocols and classes that
    /// are not there because others are compared now.
    pub(crate) fn expectations_that_stand(&self) -> impl Iterator<Item = &Expectation> {
        self.expect.iter().filter(|expectation| {
            expectation.protocol.as_ref().is_none_or(|own| self.protocols.contains(own))
                && expectation.without_class(self).is_none()
        })
    }
}

/// The metric of that name, which is one number, or one for each link.
fn metric_of(at: &Spanned<String>) -> Result<&'static MetricDoc, Fault> {
    if let Some(metric) = comparable().find(|metric| metric.name == at.value) {
        return Ok(metric);
    }
    if METRICS.iter().any(|metric| metric.name == at.value) {
        let text = format!("`{}` is not one number that can be compared", at.value);
        return Err(at.fault(Problem::Conflict(text)));
    }
    let problem = Problem::UnknownName { kind: "metric", name: at.value.clone() };
    Err(at.fault(problem).suggest(&at.value, comparable().map(|metric| metric.name)))
}

fn bound(metric: &MetricDoc, op: &Spanned<Op>, value: &Spanned<Expected>) -> Result<Bound, Fault> {
    let wrong = |expected: &str, found: &str| {
        let (expected, found) = (expected.to_string(), found.to_string());
        value.fault(Problem::WrongType { expected, found })
    };
    if op.value == Op::Within {
        let pair = "the lower and the upper end, [low, high], with op = \"within\"";
        let ends = match &value.value {
            Expected::Range(ends) => ends,
            Expected::One(one) => return Err(wrong(pair, &one.to_string())),
        };
        let [low, high] = ends.as_slice() else {
            let found = format!("{} value{}", ends.len(), if ends.len() == 1 { "" } else { "s" });
            return Err(wrong(pair, &found));
        };
        let (low, high) = both(number(metric, low), number(metric, high))?;
        if low > high {
            let found = format!("[{}, {}]", ends[0].value, ends[1].value);
            let expected = "the lower end first".to_string();
            return Err(value.fault(Problem::OutOfRange { found, expected }));
        }
        return Ok(Bound::Within(low, high));
    }
    let Expected::One(scalar) = &value.value else {
        let op = shown(&op.value);
        return Err(wrong(&format!("one value with op = \"{op}\""), "an array"));
    };
    let scalar = Spanned { value: scalar.clone(), loc: value.loc, key: value.key.clone() };
    let end = number(metric, &scalar)?;
    Ok(match op.value {
        Op::Below => Bound::Below(end),
        Op::AtMost => Bound::AtMost(end),
        Op::Above => Bound::Above(end),
        Op::AtLeast => Bound::AtLeast(end),
        Op::Equal | Op::Within => Bound::Equal(end),
    })
}

/// The value in the unit of results. No metric is negative.
fn number(metric: &MetricDoc, at: &Spanned<Scalar>) -> Result<f64, Fault> {
    let value = match &at.value {
        Scalar::Number(number) => *number,
        Scalar::Text(text) => {
            let item = Item { value: Value::String(text.clone()), loc: at.loc };
            in_unit_of(metric, &item, &at.key)?
        }
    };
    let (allowed, expected) = match metric.shown {
        Unit::Share => (0.0..=1.0, "0.0 to 1.0"),
        _ => (0.0..=f64::MAX, "0 or more"),
    };
    if allowed.contains(&value) {
        Ok(value)
    } else {
        let (found, expected) = (at.value.to_string(), expected.to_string());
        Err(at.fault(Problem::OutOfRange { found, expected }))
    }
}

fn over_seeds(rule: &OverRule) -> Over {
    match rule {
        OverRule::Named(OverName::Mean) => Over::Mean,
        OverRule::Named(OverName::Min) => Over::Min,
        OverRule::Named(OverName::Max) => Over::Max,
        OverRule::Share(ShareTable { share }) => Over::Share(share.value.0),
    }
}

/// The keys of an entry with its default.
fn written(entry: &ExpectEntry) -> toml::Table {
    let mut keys = toml::Table::new();
    entry.put(&mut keys);
    keys.entry("over").or_insert_with(|| OverName::Mean.write());
    keys
}

/// A name, which is printed as it stands.
fn one_line(at: &Spanned<String>) -> Result<String, Fault> {
    let plain = !at.value.is_empty() && !at.value.chars().any(is_unseen);
    if plain {
        return Ok(at.value.clone());
    }
    let expected = "text in one line, without control characters".to_string();
    Err(at.fault(Problem::OutOfRange { found: at.value.clone(), expected }))
}

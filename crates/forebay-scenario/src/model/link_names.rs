//! Names of directed links in results.

use crate::Scenario;
use forebay_base::NodeId;
use std::collections::BTreeSet;

/// The name of each directed link, by id.
///
/// A link that is called after its ends, `a-b`, is `a-b` in one direction and `b-a` in the other;
/// one with a name of its own is `name` and `name:reverse`. A second link that would have the same
/// name has `#2` after it.
#[derive(Clone, Debug)]
pub struct LinkNames(Vec<String>);

impl LinkNames {
    /// The names of all links of `scenario`.
    pub fn new(scenario: &Scenario) -> LinkNames {
        let name = |node: NodeId| scenario.nodes[node.index()].name.as_str();
        let links = scenario.links.iter();
        LinkNames::of_links(links.map(|link| (link.name.as_str(), [link.a, link.b].map(name))))
    }
    /// The names of links of which the own name and the names of both ends are known.
    pub fn of_links(
        links: impl IntoIterator<Item = (impl AsRef<str>, [impl AsRef<str>; 2])>,
    ) -> LinkNames {
        let mut taken = BTreeSet::new();
        let mut names = Vec::new();
        for (name, ends) in links {
            let (name, [a, b]) = (name.as_ref(), ends.each_ref().map(AsRef::as_ref));
            let after_a = name.strip_prefix(a).and_then(|rest| rest.strip_prefix('-'));
            let reverse = match after_a {
                Some(rest) if rest == b => [b, "-", a].concat(),
                _ => [name, ":reverse"].concat(),
            };
            names.push(unique(name.to_string(), &mut taken));
            names.push(unique(reverse, &mut taken));
        }
        LinkNames(names)
    }
    /// All names in order of id.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
    /// The name of the directed link with this index.
    pub fn of(&self, index: usize) -> &str {
        &self.0[index]
    }
}

fn unique(name: String, taken: &mut BTreeSet<String>) -> String {
    if taken.insert(name.clone()) {
        return name;
    }
    let numbered = (2..).map(|n| format!("{name}#{n}"));
    let mut free = numbered.filter(|name| taken.insert(name.clone()));
    free.next().expect("there are more numbers than links")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::LoadOptions;

    #[test]
    fn every_direction_has_a_name_of_its_own() {
        let text = r#"
            routers = ["a", "b"]
            link_defaults = { rate = "1Mbit/s", delay = "1ms", queue = "9kB" }
            links = [{ a = "a", b = "b" }, { a = "b", b = "a" }, { a = "a", b = "b", name = "up" }]
            hosts = [{ name = "h", attach = "a" }, { name = "g", attach = "b" }]
            flows = [{ src = "h", dst = "g", bytes = 1 }]
        "#;
        let scenario = Scenario::parse(text, "x.toml", &LoadOptions::default()).unwrap();
        let names = LinkNames::new(&scenario);
        let names: Vec<&str> = (0..6).map(|i| names.of(i)).collect();
        assert_eq!(names, ["a-b", "b-a", "b-a#2", "a-b#2", "up", "up:reverse"]);
    }
}

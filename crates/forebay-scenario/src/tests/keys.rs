//! The reference of keys: what it says of each key is what the reader of scenarios does.

use super::*;
use crate::explain::{ANY_NAME, Key, Keys, keys};

/// A path with the number of an element after each list of tables at the top.
fn with_numbers(path: &str) -> String {
    const LISTS: [&str; 7] = ["routers", "hosts", "links", "flows", "events", "attacks", "expect"];
    let (top, rest) = path.split_once('.').unwrap_or((path, ""));
    if LISTS.contains(&top) && !rest.is_empty() {
        format!("{top}.0.{rest}")
    } else {
        path.to_string()
    }
}

fn only(keys: &Keys, asked: &str) -> Key {
    let found = keys.find(asked);
    assert_eq!(found.len(), 1, "{asked}: {found:?}");
    found[0].clone()
}

#[test]
fn every_key_is_found_by_each_of_its_places() {
    let keys = keys(&Registry::default());
    assert!(keys.all.len() > 300, "{} keys", keys.all.len());
    for key in &keys.all {
        assert!(!key.meaning.is_empty(), "nothing is said about {}", key.places[0].path);
        assert!(!key.types.is_empty(), "{} takes nothing", key.places[0].path);
        for place in &key.places {
            let path = with_numbers(&place.path.replace(ANY_NAME, "mine"));
            assert!(keys.find(&path).iter().any(|found| found.name == key.name), "{path}");
        }
    }
}

#[test]
fn a_key_is_found_by_its_path_and_by_the_end_of_it() {
    let keys = keys(&Registry::default());
    assert_eq!(only(&keys, "rto_rule").places[0].path, "tcp.rto_rule");
    assert_eq!(only(&keys, "links.loss.packets").types, ["list of integers"]);
    assert_eq!(only(&keys, "links[3].loss.packets").name, "packets");
    assert_eq!(only(&keys, "loss.packets").name, "packets");
    assert_eq!(only(&keys, "tcp_of.cubic.ecn").places[0].path, "tcp.ecn");
    assert_eq!(only(&keys, "queue").places[0].path, "link_defaults.queue");
    let delays: Vec<String> = keys.find("delay").iter().map(|k| k.places[0].path.clone()).collect();
    assert_eq!(delays, ["link_defaults.delay", "link_defaults.schedule.delay"]);
    // The events' delay is that of a step of a schedule: the same words, type and range.
    let step = only(&keys, "events.delay");
    assert!(step.places.iter().any(|place| place.path == "link_defaults.schedule.delay"));
    // An algorithm has its name before the table of its parameters.
    assert!(keys.find("cubic").is_empty() && keys.find("protocol.cubic").len() == 1);
    assert!(keys.find("").is_empty() && keys.find("no.such.key").is_empty());
    assert_eq!(keys.nearest("tcp.rto_rle").map(|(path, _)| path).as_deref(), Some("tcp.rto_rule"));
}

/// The RFC's and the kernel's numbers, written by hand.
#[test]
fn a_key_has_its_type_range_default_and_unit() {
    let keys = keys(&Registry::default());
    let rto = only(&keys, "tcp.min_rto");
    assert_eq!(rto.types, ["time"]);
    assert_eq!(rto.default.as_deref(), Some("\"1s\"; \"200ms\" with the preset linux-6.18"));
    let beta = only(&keys, "protocol.cubic.beta");
    assert_eq!(beta.default.as_deref(), Some("0.7"));
    assert_eq!(beta.range.as_deref(), Some("above 0 and below 1"));
    let mss = only(&keys, "tcp.mss_bytes");
    assert_eq!((mss.unit, mss.range.as_deref()), ("bytes", Some("64 to 65535")));
    let batch = only(&keys, "queue.drop_batch").places[0].when.clone();
    assert_eq!(batch, Some(("discipline".into(), "fq-codel".into())));
    let discipline = only(&keys, "queue.discipline");
    assert!(discipline.types.contains(&"\"fq-codel\"".to_string()), "{discipline:?}");
    assert!(only(&keys, "flows.src").required && !only(&keys, "flows.start").required);
    let enter = only(&keys, "links.loss.enter");
    assert_eq!(enter.range.as_deref(), Some("more than 0, at most 1"));
}

/// What is wrong with an example, if its value is.
fn fault_of_example(key: &Key, keys: &Keys) -> Option<String> {
    let text = key.example_at(&key.places[0], keys)?;
    let text = text.replace(ANY_NAME, "cubic");
    let error = parse_with(&text, &[]).err()?;
    let mine = error.mistakes.iter().find(|mistake| {
        let of = mistake.place.as_ref().is_some_and(|place| place.key.ends_with(&key.name));
        let kind = matches!(
            *mistake.problem,
            Problem::WrongType { .. } | Problem::Unit { .. } | Problem::OutOfRange { .. }
        );
        let unknown = matches!(*mistake.problem, Problem::UnknownKey(_) | Problem::Syntax(_));
        unknown || (of && kind)
    });
    mine.map(|mistake| format!("{text}\n{}", mistake.problem))
}

/// An example alone is no whole scenario: what is missing next to it is not its fault.
#[test]
fn every_example_has_a_value_of_the_type_and_in_the_range() {
    let keys = keys(&Registry::default());
    let with: Vec<&Key> = keys.all.iter().filter(|key| key.example.is_some()).collect();
    assert!(with.len() > 250, "{} examples", with.len());
    let wrong: Vec<String> =
        with.into_iter().filter_map(|key| fault_of_example(key, &keys)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// Setting a key to its default changes nothing.
#[test]
fn a_default_is_what_holds_without_the_key() {
    const BASE: &str = r#"until_s = 5
routers = ["left", "right"]
[[links]]
a = "left"
b = "right"
rate = "10Mbit/s"
delay = "5ms"
queue = { limit = "50ms" }
[[hosts]]
name = "s"
attach = "left"
rate = "100Mbit/s"
delay = "1ms"
queue = { limit = "50ms" }
[[hosts]]
name = "d"
attach = "right"
rate = "100Mbit/s"
delay = "1ms"
queue = { limit = "50ms" }
[[flows]]
src = "s"
dst = "d"
bytes = 10000
"#;
    const TABLES: [&str; 9] =
        ["", "tcp", "inrpp", "rcp", "kickass", "reassembly", "links", "flows", "hosts"];
    // Without the numbers of a group they would mean nothing, and are refused.
    const OF_GROUPS: [&str; 4] = ["first", "every", "delay_step", "think"];
    let (base, keys) = (parse(BASE), keys(&Registry::default()));
    let mut checked = 0;
    for key in &keys.all {
        let here = key.places.iter().find(|place| {
            let table = place.path.rsplit_once('.').map_or("", |(table, _)| table);
            TABLES.contains(&table) && place.when.is_none()
        });
        let default = key.default.as_deref().map(|d| d.split("; ").next().unwrap_or(d));
        let (Some(place), Some(default)) = (here, default) else { continue };
        let toml = toml::from_str::<toml::Table>(&format!("k = {default}")).is_ok();
        if !toml || OF_GROUPS.contains(&key.name.as_str()) {
            continue;
        }
        let path = with_numbers(&place.path);
        let same = parse_with(BASE, &[&format!("{path}={default}")]);
        let same = same.unwrap_or_else(|error| panic!("{path} = {default}: {error}"));
        assert!(same == base, "{path} = {default} changes the scenario");
        checked += 1;
    }
    assert!(checked > 50, "{checked} defaults were checked");
}

/// TOML has no null, descriptions say the default, and names stand in one list.
#[test]
fn tables_of_schemes_and_routers_are_in_the_words_of_the_format() {
    let schema = schema(&Registry::default());
    for table in ["rcp", "kickass", "inrpp"] {
        let text = schema["properties"][table].to_string();
        for word in ["null", "\"default\"", "oneOf", "$ref", "\\n"] {
            assert!(!text.contains(word), "{table}: {word} in {text}");
        }
    }
}

//! Points of sweeps.

use crate::{LoadOptions, Point, ScenarioText, Swept, SweptKind, SweptScenario, SweptValue};
use std::path::PathBuf;

const SMALL: &str = r#"routers = ["r0", "r1"]
link_defaults = { delay = "5ms", queue = "50ms" }
hosts = [
    { name = "s", attach = "r0", rate = "1Gbit/s" },
    { name = "d", attach = "r1", rate = "1Gbit/s" },
]
links = [{ a = "r0", b = "r1", rate = "10Mbit/s" }]
flows = [{ src = "s", dst = "d", bytes = 1000 }]
"#;

fn try_swept(text: &str, asked: &[Swept]) -> Result<Option<SweptScenario>, String> {
    let text = ScenarioText::of(text.to_string(), "x.toml".to_string(), PathBuf::new());
    let swept = text.swept(asked, &LoadOptions::default(), None);
    swept.map_err(|error| error.to_string())
}

fn swept(text: &str, asked: &[Swept]) -> SweptScenario {
    try_swept(text, asked).unwrap().unwrap()
}

fn argument(text: &str) -> Swept {
    Swept::Argument(text.to_string())
}

#[test]
fn points_are_numbered_with_the_last_key_changing_first() {
    let asked = [argument("links.0.rate=1Mbit/s,2Mbit/s"), argument("flows.0.bytes=1..3 3")];
    let swept = swept(SMALL, &asked);
    let grid = swept.grid();
    assert_eq!(grid.points(), Some(6));
    let kinds: Vec<_> = grid.keys().iter().map(|key| (key.kind, key.unit.as_str())).collect();
    assert_eq!(kinds, [(SweptKind::Real, "bit/s"), (SweptKind::Integer, "")]);
    let expected = [SweptValue::Real(2e6), SweptValue::Integer(2)].map(Some);
    assert_eq!(grid.values(4), expected);
    let point = grid.point(4);
    assert_eq!(point.set, ["links.0.rate=\"2Mbit/s\"", "flows.0.bytes=2"]);
    // As plain data, in another process.
    let sent: Point = serde_json::from_str(&serde_json::to_string(&point).unwrap()).unwrap();
    assert_eq!(sent, point);
    let scenario = swept.scenario(&sent).unwrap();
    assert_eq!(
        (scenario.links[0].forward.rate.bps(), scenario.flows[0].bytes),
        (2_000_000, Some(2))
    );
    assert_eq!(swept.protocols(), ["cubic"]);
}

#[test]
fn values_of_one_type_are_numbers_and_others_are_texts() {
    let kind = |values: &str| {
        let swept = swept(SMALL, &[argument(&format!("links.0.queue={values}"))]);
        let key = &swept.grid().keys()[0];
        (key.kind, key.unit.clone())
    };
    assert_eq!(kind("10ms,1s"), (SweptKind::Real, "s".to_string()));
    assert_eq!(kind("10packets,20packets"), (SweptKind::Real, "packets".to_string()));
    assert_eq!(kind("10ms,20packets"), (SweptKind::Text, String::new()));
    let table = "{ discipline = \"codel\", limit = \"1MB\" }";
    assert_eq!(kind(&format!("50ms,{table}")).0, SweptKind::Text);
    let swept = swept(SMALL, &[argument("tcp.sack=true,false")]);
    assert_eq!(swept.grid().values(1), [Some(SweptValue::Boolean(false))]);
}

#[test]
fn a_program_gives_axes_and_points() {
    let axis = |key: &str, values: &[&str]| {
        (key.to_string(), values.iter().map(|value| value.to_string()).collect::<Vec<_>>())
    };
    let together = Swept::Together(vec![
        axis("links.0.rate", &["\"1Mbit/s\"", "2Mbit/s"]),
        axis("flows.0.bytes", &["1", "2"]),
    ]);
    let points = Swept::Points(vec![
        (Some("near".to_string()), vec!["links.0.delay=1ms".to_string()]),
        (None, vec!["fct=established".to_string()]),
    ]);
    let swept = swept(SMALL, &[together, points]);
    assert_eq!(swept.grid().points(), Some(4));
    let point = swept.grid().point(2);
    assert_eq!(point.name.as_deref(), Some("near"));
    let expected = ["links.0.rate=\"2Mbit/s\"", "flows.0.bytes=2", "links.0.delay=\"1ms\""];
    assert_eq!(point.set, expected);
    assert!((0..4).all(|n| swept.scenario(&swept.grid().point(n)).is_ok()));
    let uneven = Swept::Together(vec![
        axis("links.0.rate", &["1Mbit/s"]),
        axis("fct", &["syn", "established"]),
    ]);
    let said = try_swept(SMALL, &[uneven]).unwrap_err();
    assert!(said.contains("`fct` has 2 values, and `links.0.rate` has 1"), "{said}");
    let wrong = Swept::Together(vec![axis("links.0.rate", &["1Mbit/s", "x"])]);
    let said = try_swept(SMALL, &[wrong]).unwrap_err();
    assert!(said.starts_with("--sweep:1:1: links[0].rate: expected a rate"), "{said}");
}

#[test]
fn what_is_swept_in_a_file_is_checked_wherever_it_is_read() {
    let with = |sweep: &str| format!("{SMALL}[[sweep]]\n{sweep}\n");
    let said = |sweep: &str| {
        let text = with(sweep);
        let plain = crate::Scenario::parse(&text, "x.toml", &LoadOptions::default());
        (try_swept(&text, &[]).unwrap_err(), plain.map(drop).map_err(|error| error.to_string()))
    };
    let (both, plain) = said("grid = { fct = [\"syn\"] }\nzip = { start_jitter = [\"0s\"] }");
    assert!(both.contains("a sweep has one of `grid`, `zip` and `points`"), "{both}");
    assert!(both.starts_with("x.toml:"), "{both}");
    assert!(plain.is_ok(), "a run of one scenario does not sweep");
    let (empty, plain) = said("grid = { fct = [] }");
    assert!(empty.contains("sweep[0].grid.fct: `[]` is out of range"), "{empty}");
    assert_eq!(plain.unwrap_err(), empty);
    let (unknown, plain) = said("gird = { fct = [\"syn\"] }");
    assert!(unknown.contains("unknown key `gird`") && unknown.contains("did you mean `grid`"));
    assert_eq!(plain.unwrap_err(), unknown);
    let (wrong, _) = said("grid = { \"flows.0.bytes\" = [1, \"a\"] }");
    assert!(wrong.contains("x.toml:10:") && wrong.contains("flows[0].bytes"), "{wrong}");
    let (none, _) = said("points = []");
    assert!(none.contains("at least one point"), "{none}");
    assert!(try_swept(SMALL, &[]).unwrap().is_none());
}

#[test]
fn steps_that_cannot_be_told_apart_are_refused() {
    let said = try_swept(SMALL, &[argument("links.0.rate=1Mbit/s,2Mbit/s,1Mbit/s")]).unwrap_err();
    let expected = "--sweep:1:30: `links.0.rate = \"1Mbit/s\"` is there twice\n";
    assert!(said.starts_with(expected), "{said}");
    for (texts, second) in [
        ("links.0.delay=1ms,0.001s", "\"0.001s\""),
        ("links.0.rate=1Mbit/s,1000kbit/s", "\"1000kbit/s\""),
        ("flows.0.bytes=3,3.0", "3.0"),
    ] {
        let said = try_swept(SMALL, &[argument(texts)]).unwrap_err();
        let key = texts.split_once('=').unwrap().0;
        assert!(said.contains(&format!("`{key} = {second}` is there twice")), "{said}");
    }
    let point = |name: &str, bytes: u32| {
        format!("{{ name = \"{name}\", set = {{ \"flows.0.bytes\" = {bytes} }} }}")
    };
    let points = |second: &str, bytes: u32| {
        let (first, second) = (point("near", 1), point(second, bytes));
        try_swept(&format!("{SMALL}[[sweep]]\npoints = [{first}, {second}]\n"), &[])
    };
    let said = points("near", 2).unwrap_err();
    assert!(said.starts_with("x.toml:10:"), "{said}");
    assert!(said.contains("two points are called `near`"), "{said}");
    // Under two names it is two points, if the values are the same: a check of what is drawn.
    assert!(points("far", 1).is_ok());
    let zip = |rates: &str| {
        let bytes = "\"flows.0.bytes\" = [1, 1]";
        let text = format!("{SMALL}[[sweep]]\nzip = {{ {bytes}, \"links.0.rate\" = {rates} }}\n");
        try_swept(&text, &[])
    };
    assert!(zip("[\"1Mbit/s\", \"2Mbit/s\"]").is_ok());
    let said = zip("[\"1Mbit/s\", \"1Mbit/s\"]").unwrap_err();
    let expected = "`flows.0.bytes = 1`, `links.0.rate = \"1Mbit/s\"` is there twice";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn a_point_fails_where_its_values_do_not_go_together() {
    // At 1 kbit/s the queue of 50 ms holds no packet; with 5 s it does.
    let asked =
        [argument("links.0.rate=1kbit/s,1Mbit/s"), argument("link_defaults.queue=50ms,50s")];
    let swept = swept(SMALL, &asked);
    let made = |n: u64| swept.scenario(&swept.grid().point(n)).is_ok();
    assert_eq!([0, 1, 2, 3].map(made), [false, true, true, true]);
    let said = try_swept(SMALL, &[argument("links.0.rate=1kbit/s,2kbit/s")]).unwrap_err();
    assert!(said.contains("a full-sized packet has"), "where no point can be made: {said}");
}

#[test]
fn the_digest_is_that_of_text_values_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let digest = |text: &str, rates: &str, rows: &str| {
        std::fs::write(folder.path().join("flows.csv"), rows).unwrap();
        let text = format!("{text}[csv]\nflows = \"flows.csv\"\nhost_prefix = \"\"\n");
        let text = ScenarioText::of(text, "x".to_string(), folder.path().to_path_buf());
        let asked = [argument(&format!("links.0.rate={rates}"))];
        text.swept(&asked, &LoadOptions::default(), None).unwrap().unwrap().digest()
    };
    let rows = "start_s,src_host,dst_host,packets\n0,s,d,5\n";
    let first = digest(SMALL, "1Mbit/s,2Mbit/s", rows);
    assert_eq!(first, digest(SMALL, "1Mbit/s,2Mbit/s", rows));
    assert_ne!(first, digest(SMALL, "1Mbit/s,3Mbit/s", rows));
    assert_ne!(first, digest(&SMALL.replace("5ms", "6ms"), "1Mbit/s,2Mbit/s", rows));
    assert_ne!(first, digest(SMALL, "1Mbit/s,2Mbit/s", &rows.replace(",5", ",6")));
}

#[test]
fn points_are_selected_by_their_names() {
    let text = SMALL.to_string()
        + r#"
[[sweep]]
name = "speed"
points = [
    { name = "slow", set = { "links.0.rate" = "1Mbit/s" } },
    { name = "fast", set = { "links.0.rate" = "1Gbit/s", "links.0.delay" = "1ms" } },
]
[[sweep]]
points = [
    { name = "short", set = { "flows.0.bytes" = 1 } },
    { name = "long", set = { "flows.0.bytes" = 9 } },
]
"#;
    let only = |names: &[&str]| Swept::Only(names.iter().map(ToString::to_string).collect());
    let names = |names: &[&str]| {
        let swept = swept(&text, &[only(names)]);
        let grid = swept.grid();
        let points = 0..grid.points().unwrap();
        points.map(|point| grid.point(point).name.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(names(&["fast", "long"]), ["fast, long"]);
    // Of the other table all: keys and their order stay.
    assert_eq!(names(&["slow"]), ["slow, short", "slow, long"]);
    let [all, one] = [vec![], vec![only(&["long"])]].map(|asked| swept(&text, &asked));
    assert_eq!(all.grid().keys(), one.grid().keys());
    let expected = [(Some("speed"), vec!["slow", "fast"]), (None, vec!["long"])];
    assert_eq!(one.grid().names().collect::<Vec<_>>(), expected);
    assert_ne!(all.digest(), one.digest());
    let said = try_swept(&text, &[only(&["fast", "lon"])]).unwrap_err();
    assert!(said.contains("there is no point `lon`"), "{said}");
    assert!(said.contains("did you mean `long`?"), "{said}");
    let other = text.replace("\"short\"", "\"lonely\"");
    let said = try_swept(&other, &[only(&["lon"])]).unwrap_err();
    assert!(said.contains("one of: lonely, long"), "{said}");
    let grid = "[[sweep]]\nname = \"x\"\ngrid = { \"flows.0.bytes\" = [1] }\n";
    let said = try_swept(&(SMALL.to_string() + grid), &[]).unwrap_err();
    assert!(said.contains("a grid has the names of its keys"), "{said}");
    // Nothing has a name.
    let said = try_swept(SMALL, &[only(&["fast"])]).unwrap_err();
    assert!(said.contains("there is no point `fast`"), "{said}");
}

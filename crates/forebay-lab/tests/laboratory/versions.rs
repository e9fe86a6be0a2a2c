//! Files that the version before wrote, read by this one, and files of a later one, refused:
//! docs/reference/compatibility.md. `tests/versions/VERSION/` is as that version left it, but for
//! the pages; `keys.txt` is [`keys_of`] its JSON Schema. Expected values are read off those files.

use forebay_base::{Rate, Span, Time};
use forebay_lab::record::{Record, RecordError, verify};
use forebay_lab::report::schema::{PARQUET, RESULTS_VERSION, VERSION_KEY};
use forebay_lab::report::{Cell, ReportError, open_table, read_series, sweep_rows};
use forebay_lab::report::{write_report, write_sweep_report};
use forebay_lab::scenario::{LoadOptions, Registry, Scenario, schema};
use forebay_lab::{
    BatchOptions, BatchPlan, ExportError, ExportFormat, MergeError, RunOptions, Summary, batch,
    export, merge,
};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::file::reader::FileReader;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The version before this one.
const BEFORE: &str = "0.1.0";

/// Keys of the scenario, all defaults written out, whose default is another since [`BEFORE`]; the
/// changelog names them.
const OTHER_DEFAULTS: [&str; 0] = [];

fn kept(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/versions").join(BEFORE).join(path)
}

/// A copy of a folder of these files, to write into.
fn copy_of(path: &str) -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a folder");
    for entry in fs::read_dir(kept(path)).expect("files of the version before") {
        let from = entry.expect("an entry").path();
        fs::copy(&from, copy.path().join(from.file_name().expect("a name"))).expect("copied");
    }
    copy
}

fn load(path: &Path) -> Scenario {
    let path = path.to_str().expect("UTF-8");
    Scenario::load(path, &LoadOptions::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).expect("a file")).expect("JSON")
}

#[test]
fn a_scenario_of_the_version_before_means_what_it_meant() {
    let scenario = load(&kept("scenario.toml"));
    let names: Vec<String> = scenario.protocols.iter().map(ToString::to_string).collect();
    assert_eq!(names, ["cubic", "slow", "inrpp"]);
    assert_eq!(scenario.until, Some(Time::from_secs(6)));
    assert_eq!(
        (scenario.measure_from, scenario.sample),
        (Time::from_secs(1), Span::from_millis(500))
    );
    assert_eq!((scenario.tcp.mss_bytes, scenario.tcp.min_rto), (1_200, Span::from_millis(300)));
    assert_eq!(scenario.tcp_of[0].1.min_rto, Span::from_secs(1));
    let thin = scenario.links.iter().find(|link| link.name == "thin").expect("the link");
    let [forward, reverse] = [&thin.forward, &thin.reverse];
    let rates = [forward.rate, reverse.rate];
    assert_eq!(rates, [4, 2].map(Rate::mbps));
    assert_eq!((scenario.flows.len(), scenario.events.len(), scenario.expect.len()), (5, 6, 1));
}

/// Values by their paths, elements of lists by their numbers.
fn flat(value: &toml::Value, path: &str, found: &mut BTreeMap<String, String>) {
    match value {
        toml::Value::Table(table) => {
            table.iter().for_each(|(key, value)| flat(value, &format!("{path}.{key}"), found));
        }
        toml::Value::Array(list) => list
            .iter()
            .enumerate()
            .for_each(|(at, value)| flat(value, &format!("{path}.{at}"), found)),
        value => drop(found.insert(path.trim_start_matches('.').to_string(), value.to_string())),
    }
}

/// What the version before wrote out, every default included, and what this one writes of the same.
#[test]
fn a_scenario_has_the_defaults_that_it_had() {
    let small = {
        let text = fs::read_to_string(kept("scenario.toml")).expect("a file");
        let (text, _) = text.split_once("[[sweep]]").expect("what is swept stands at its end");
        Scenario::parse(text, "small.toml", &LoadOptions::default()).expect("sound")
    };
    let written = fs::read_to_string(kept("results/scenario.toml")).expect("a file");
    let [mut before, mut now] = [BTreeMap::new(), BTreeMap::new()];
    flat(&toml::Value::Table(toml::from_str(&written).expect("TOML")), "", &mut before);
    flat(&toml::Value::Table(toml::from_str(&small.to_toml()).expect("TOML")), "", &mut now);
    assert!(before.len() > 150, "{}", before.len());
    before.retain(|key, value| {
        now.get(key) != Some(value) && !OTHER_DEFAULTS.contains(&key.as_str())
    });
    assert!(before.is_empty(), "another meaning, or gone, since {BEFORE}: {before:?}");
    // What it wrote out is a scenario, too.
    assert_eq!(load(&kept("results/scenario.toml")).to_toml(), small.to_toml());
}

/// Each key of a JSON Schema of scenarios with the types and words it takes: `tcp.ecn: boolean`,
/// `fct = "syn"`.
fn keys_of(schema: &Value) -> BTreeSet<String> {
    fn walk(node: &Value, path: &str, root: &Value, found: &mut BTreeSet<String>) {
        if let Some(name) = node["$ref"].as_str().and_then(|of| of.rsplit('/').next()) {
            walk(&root["$defs"][name], path, root, found);
        }
        for word in ["anyOf", "oneOf", "allOf"] {
            let branches = node[word].as_array().into_iter().flatten();
            branches.for_each(|branch| walk(branch, path, root, found));
        }
        let types = node["type"].as_array().map_or(std::slice::from_ref(&node["type"]), |t| t);
        let types = types.iter().filter_map(Value::as_str).filter(|name| *name != "null");
        found.extend(types.filter(|_| !path.is_empty()).map(|name| format!("{path}: {name}")));
        let words = node["enum"].as_array().into_iter().flatten().chain([&node["const"]]);
        found.extend(words.filter(|word| !word.is_null()).map(|word| format!("{path} = {word}")));
        for (key, value) in node["properties"].as_object().into_iter().flatten() {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            walk(value, &path, root, found);
        }
        for (key, more) in [("additionalProperties", ".*"), ("items", "[]")] {
            if node[key].is_object() {
                walk(&node[key], &format!("{path}{more}"), root, found);
            }
        }
    }
    let mut found = BTreeSet::new();
    walk(schema, "", schema, &mut found);
    found
}

#[test]
fn no_key_of_the_version_before_is_gone() {
    let now = keys_of(&schema(&Registry::default()));
    let before = fs::read_to_string(kept("keys.txt")).expect("a file");
    assert!(before.lines().count() > 2_000);
    let gone: Vec<&str> = before.lines().filter(|line| !now.contains(*line)).collect();
    assert!(gone.is_empty(), "in {BEFORE} and not here: {gone:#?}");
}

/// Name and type of each column, as in the table of columns.
fn columns(path: &Path) -> Vec<(String, &'static str)> {
    let reader = open_table(path).expect("a table");
    let described = reader.metadata().file_metadata().schema_descr_ptr();
    let columns = described.columns().iter().map(|column| {
        let null = column.self_type().get_basic_info().repetition() == Repetition::OPTIONAL;
        let text = column.logical_type_ref() == Some(&LogicalType::String);
        let kind = match (column.physical_type(), null) {
            (Physical::INT64, false) => "int64",
            (Physical::INT64, true) => "int64 or null",
            (Physical::DOUBLE, false) => "double",
            (Physical::DOUBLE, true) => "double or null",
            (Physical::BYTE_ARRAY, false) if text => "string",
            (Physical::BYTE_ARRAY, true) if text => "string or null",
            other => panic!("{} is {other:?}", column.name()),
        };
        (column.name().to_string(), kind)
    });
    columns.collect()
}

/// In one version of the format names and types stay.
#[test]
fn columns_of_the_version_before_are_columns_of_this_one() {
    let swept = ["links.thin.delay", "ip_version"];
    for file in PARQUET {
        let folder = if file.name == "sweep.parquet" { "sweep" } else { "results" };
        let before = columns(&kept(&format!("{folder}/{}", file.name)));
        let now = file.columns();
        for (name, kind) in before.iter().filter(|(name, _)| !swept.contains(&name.as_str())) {
            let here = now.iter().find(|column| column.name == name);
            assert_eq!(here.map(|column| column.kind), Some(*kind), "{}: {name}", file.name);
        }
        assert!(before.len() > 5, "{}", file.name);
    }
}

/// Keys of an object by their paths, those of all elements of a list together, with their types.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            object.iter().for_each(|(key, value)| paths(value, &format!("{path}.{key}"), found));
        }
        Value::Array(list) => {
            list.iter().for_each(|value| paths(value, &format!("{path}[]"), found));
        }
        Value::Null => {}
        Value::Number(_) => drop(found.insert(format!("{path}: number"))),
        Value::String(_) => drop(found.insert(format!("{path}: string"))),
        Value::Bool(_) => drop(found.insert(format!("{path}: boolean"))),
    }
}

#[test]
fn keys_in_the_json_of_the_version_before_are_keys_of_this_one() {
    let scenario = load(&kept("results/scenario.toml"));
    let protocols: Vec<String> = scenario.protocols.iter().map(ToString::to_string).collect();
    let plan = BatchPlan { scenario: &scenario, protocols: &protocols, seeds: &[1, 2] };
    let options = BatchOptions { jobs: 1, run: RunOptions::default(), progress: None };
    let mut result = batch(&plan, &options);
    // The command says what there was before the first run.
    result.memory.available_mib = Some(1_000.0);
    let summary = Summary::new("small.toml", &scenario, result);
    let [mut before, mut now] = [BTreeSet::new(), BTreeSet::new()];
    paths(&json(&kept("results/summary.json")), "", &mut before);
    paths(&serde_json::to_value(&summary).expect("plain data"), "", &mut now);
    // Which reasons there are for drops, and what interfaces do, is a matter of the run.
    let of_the_run = [".drops.", ".interfaces", ".notes[]"];
    before.retain(|path| !now.contains(path) && !of_the_run.iter().any(|of| path.contains(of)));
    assert!(now.len() > 200 && before.is_empty(), "in {BEFORE} and not here: {before:#?}");
}

#[test]
fn results_of_the_version_before_are_shown_and_exported() {
    let folder = copy_of("results");
    let page = fs::read_to_string(write_report(folder.path()).expect("a page")).expect("a file");
    for words in ["Forebay 0.1.0", "CUBIC, beta 0.5", "A bottleneck with two disciplines"] {
        assert!(page.contains(words), "{words}");
    }
    let out = folder.path().join("csv");
    let files = export(ExportFormat::Csv, folder.path(), &out).expect("CSV");
    assert_eq!(files, ["flows.csv", "delays.csv", "series.csv"]);
    let text = fs::read_to_string(out.join("flows.csv")).expect("a file");
    let (heads, rows) = text.split_once('\n').expect("two lines and more");
    let place = |name: &str| heads.split(',').position(|head| head == name).expect(name);
    let cells: Vec<&str> = rows.lines().nth(1).expect("a second flow").split(',').collect();
    let flow = json(&kept("results/summary.json"))["runs"][0]["per_flow"][1].clone();
    assert_eq!(flow["fct_s"], 0.825_966_511);
    assert_eq!(cells[place("fct_s")], "0.825966511");
    assert_eq!((cells[place("src")], cells[place("ce_received")]), ("s1", "2"));
    let files = export(ExportFormat::Qlog, folder.path(), &folder.path().join("qlog"));
    assert_eq!(files.expect("qlog").len(), 20, "flows that lived at a sample, as it counted them");
    let mut first = None;
    read_series(
        &kept("results/series.parquet"),
        |_| true,
        |row| {
            first.get_or_insert((row.t_ns, row.entity().to_vec(), row.value, row.unit().to_vec()));
        },
    )
    .expect("series");
    assert_eq!(first, Some((500_000_000, b"flow/1".to_vec(), 51_600.0, b"B".to_vec())));
}

#[test]
fn a_sweep_of_the_version_before_is_read() {
    let folder = copy_of("sweep");
    let page = write_sweep_report(folder.path()).expect("a page");
    assert!(fs::read_to_string(page).expect("a file").contains("links.thin.delay"));
    let (names, rows) = sweep_rows(&folder.path().join("sweep.parquet")).expect("a table");
    let rows: Vec<Vec<Cell>> = rows.collect::<Result<_, _>>().expect("rows");
    let place = |name: &str| names.iter().position(|known| known == name).expect(name);
    assert_eq!(rows.len(), 18);
    // The third point, under its third protocol.
    let (delay, version) = (place("links.thin.delay"), place("ip_version"));
    let row = &rows[8];
    assert_eq!((&row[delay], &row[version]), (&Cell::Real(0.01), &Cell::Integer(4)));
    assert_eq!(row[place("run_protocol")], Cell::Text("inrpp".into()));
    let out = folder.path().join("csv");
    assert_eq!(export(ExportFormat::Csv, folder.path(), &out).expect("CSV"), ["sweep.csv"]);
    let text = fs::read_to_string(out.join("sweep.csv")).expect("a file");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!((lines.len(), lines[0]), (19, names.join(",").as_str()));
    assert!(lines[9].starts_with("2,,inrpp,1,0.01,4,,"), "{}", lines[9]);
    let qlog = export(ExportFormat::Qlog, folder.path(), &folder.path().join("qlog"));
    assert!(qlog.unwrap_err().to_string().ends_with("has no flows, for it is a sweep"));
}

#[test]
fn a_record_of_the_version_before_is_replayed() {
    let record = Record::open(&kept("record"), &Arc::new(Registry::default())).expect("a record");
    assert_eq!((record.protocol.as_str(), record.seed, record.is_whole()), ("newreno", 1, true));
    // What left over wires when it was made: 50 packets, in three places.
    let inputs: Vec<usize> = record.sites.iter().map(|site| site.inputs().count()).collect();
    assert_eq!((inputs.len(), inputs.iter().sum::<usize>()), (3, 50));
    let spec = record.scenario.build(&record.protocol, record.seed).expect("sound");
    let verdicts = verify(&record, &spec).expect("sound");
    assert!(verdicts.iter().all(|verdict| verdict.same == Some(true)), "{verdicts:?}");
}

/// Write `file` again with the first `from` in it as `to`, which is as long.
fn change(file: &Path, from: &[u8], to: &[u8]) {
    assert_eq!(from.len(), to.len());
    let mut bytes = fs::read(file).expect("a file");
    let at = bytes.windows(from.len()).position(|part| part == from).expect("it is there");
    bytes[at..at + from.len()].copy_from_slice(to);
    fs::write(file, bytes).expect("written");
}

/// A table whose metadata say that it has a later version. Thrift writes a field with a string as a
/// byte for the field, the length, and the bytes.
fn make_later(table: &Path) {
    let said = |version: u8| [VERSION_KEY.as_bytes(), &[0x18, 1, version]].concat();
    change(table, &said(b'1'), &said(b'9'));
}

#[test]
fn results_of_a_later_version_are_refused_by_name() {
    let said = |error: ReportError, file: &str| {
        let ReportError::Later { path, made_by, found: 9 } = &error else { panic!("{error}") };
        assert_eq!((made_by.as_str(), path.ends_with(file)), (BEFORE, true), "{error}");
        let text = error.to_string();
        let reads =
            format!("reads versions up to {RESULTS_VERSION}\nhint: read it with the version");
        assert!(text.contains("written by Forebay 0.1.0") && text.contains(&reads), "{text}");
    };
    let later = (&b"\"results_version\":"[..], &b"\"results_version\": 9,\"x\":"[..]);
    let make_json_later = |path: &Path| {
        let text = fs::read(path).expect("a file");
        let at = text.windows(later.0.len()).position(|part| part == later.0).expect("a version");
        // What this version does not know stands there as well.
        let text = [&text[..at], later.1, b"[", b"],\"y\":", &text[at + later.0.len()..]].concat();
        fs::write(path, text).expect("written");
    };
    let folder = copy_of("results");
    for name in ["series.parquet", "delays.parquet", "flows.parquet"] {
        make_later(&folder.path().join(name));
        said(open_table(&folder.path().join(name)).map(drop).unwrap_err(), name);
    }
    said(write_report(folder.path()).unwrap_err(), "delays.parquet");
    let csv = export(ExportFormat::Csv, folder.path(), &folder.path().join("csv"));
    let Err(ExportError::Read(error)) = csv else { panic!("{csv:?}") };
    said(error, "flows.parquet");
    make_json_later(&folder.path().join("summary.json"));
    said(write_report(folder.path()).unwrap_err(), "summary.json");
    let sweep = copy_of("sweep");
    make_later(&sweep.path().join("sweep.parquet"));
    said(sweep_rows(&sweep.path().join("sweep.parquet")).map(drop).unwrap_err(), "sweep.parquet");
    make_json_later(&sweep.path().join("sweep.json"));
    said(write_sweep_report(sweep.path()).unwrap_err(), "sweep.json");
    let merged = merge(&[sweep.path().to_path_buf()], &sweep.path().join("all"), false);
    let Err(MergeError::Read(error)) = merged else { panic!("{merged:?}") };
    said(error, "sweep.json");
}

#[test]
fn records_of_a_later_form_are_refused_by_name() {
    let folder = copy_of("record");
    let form = (b"\"forebay_record\":2", b"\"forebay_record\":9");
    change(&folder.path().join("a.pcapng"), form.0, form.1);
    // And a key that this version does not know.
    change(&folder.path().join("a.pcapng"), b"\"hash_epoch\"", b"\"hash_epocx\"");
    let refused = Record::open(folder.path(), &Arc::new(Registry::default())).map(drop);
    let Err(RecordError::Later { found: 9, made_by, .. }) = &refused else { panic!("{refused:?}") };
    assert_eq!(made_by, BEFORE);
    let text = refused.unwrap_err().to_string();
    assert!(text.contains("a record of form 9, made by Forebay 0.1.0"), "{text}");
}

#[test]
fn a_scenario_for_a_later_version_is_refused_by_name() {
    let text = fs::read_to_string(kept("scenario.toml")).expect("a file");
    let with = |version: &str| {
        let text = format!("forebay = {version}\nnew_key = 1\n{text}");
        let read = Scenario::parse(&text, "new.toml", &LoadOptions::default()).map(drop);
        read.unwrap_err().to_string()
    };
    let said = with("\"99.1\"");
    let own = env!("CARGO_PKG_VERSION");
    let expected = format!("forebay: the file asks for Forebay 99.1, and this is {own}");
    assert!(said.starts_with("new.toml:1:11") && said.contains(&expected), "{said}");
    assert!(said.contains("hint: use Forebay 99.1 or a later version"), "{said}");
    assert!(!said.contains("new_key"), "{said}");
    // One for this version, or an earlier one, has the mistakes that it has.
    for version in [format!("\"{own}\""), "\"0.1\"".to_string()] {
        assert!(with(&version).contains("unknown key `new_key`"), "{}", with(&version));
    }
    assert!(with("0.2").contains("expected a version such as \"0.2\""), "{}", with("0.2"));
    assert!(with("\"two\"").contains("`two` is out of range"), "{}", with("\"two\""));
}

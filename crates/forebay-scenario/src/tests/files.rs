//! Files: those that cannot be read, and CSV files next to a scenario.

use super::*;
use std::fs;
use tempfile::TempDir;

const WITH_CSV: &str = r#"start_jitter = "0s"
[link_defaults]
queue = "50ms"
[csv]
links = "links.csv"
hosts = "hosts.csv"
flows = "flows.csv"
access = { rate = "1Gbit/s", delay = "1ms" }
"#;
const LINKS: &str = "a,b,rate_bps,delay_ns\n0,1,100000000,5000000\n1,2,1000000000,5000000\n";
const HOSTS: &str = "host,router\n0,0\n1,2\n";
const FLOWS: &str = "start_s,src_host,dst_host,packets\n0.000093378,0,1,40\n1.5,1,0,7\n";

pub(super) fn folder(links: &str, hosts: &str, flows: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in
        [("s.toml", WITH_CSV), ("links.csv", links), ("hosts.csv", hosts), ("flows.csv", flows)]
    {
        fs::write(folder.path().join(name), text).expect("written");
    }
    folder
}

pub(super) fn load(folder: &TempDir, set: &[&str]) -> Result<Scenario, String> {
    let path = folder.path().join("s.toml");
    let set = set.iter().map(ToString::to_string).collect();
    let options = LoadOptions { set, ..LoadOptions::default() };
    let root = format!("{}/", folder.path().display());
    Scenario::load(&path.display().to_string(), &options)
        .map_err(|error| error.to_string().replace(&root, ""))
}

fn unreadable(path: &str) -> String {
    let error = Scenario::load(path, &LoadOptions::default());
    error.expect_err("an unreadable file is refused").to_string()
}

#[test]
fn csv_files_beside_the_scenario() {
    let scenario = load(&folder(LINKS, HOSTS, FLOWS), &[]).expect("loads");
    let names: Vec<&str> = scenario.nodes.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["0", "1", "2", "h0", "h1"]);
    let links: Vec<&str> = scenario.links.iter().map(|l| l.name.as_str()).collect();
    assert_eq!(links, ["0-1", "1-2", "h0-0", "h1-2"]);
    assert_eq!(scenario.links[0].forward.queue, Limit::Bytes(625_000));
    assert_eq!(scenario.links[3].forward.queue, Limit::Bytes(6_250_000));
    assert_eq!(scenario.links[3].reverse.wire.delay, Span::from_millis(1));
    assert_eq!(scenario.flows[0].start.as_nanos(), 93_378);
    assert_eq!(scenario.flows[0].bytes, Some(40 * 1448));
    assert_eq!((scenario.flows[1].src, scenario.flows[1].dst), (NodeId(4), NodeId(3)));
    assert_eq!(parse(&scenario.to_toml()), scenario);
}

#[test]
fn a_text_with_its_files_needs_no_file_system() {
    let text = format!(
        "{WITH_CSV}[[links]]\na = \"0\"\nb = \"2\"\ntrace = \"down/x.trace\"\ndelay = \"1ms\"\n"
    );
    let given = [("links.csv", LINKS), ("hosts.csv", HOSTS), ("flows.csv", FLOWS)];
    let parse = |files: Files| {
        Scenario::parse(&text, "page", &LoadOptions { files, ..LoadOptions::default() })
    };
    let trace = ("down/x.trace", "0\n5\n5\n20\n");
    let scenario = parse(given.into_iter().chain([trace]).collect()).expect("parses");
    assert_eq!((scenario.nodes.len(), scenario.links.len(), scenario.flows.len()), (5, 5, 2));
    let files = scenario.trace_files();
    assert_eq!((files[0].path.as_str(), files[0].trace.opportunities()), (trace.0, 4));
    // What is not among them is not looked for elsewhere.
    let here = ("Cargo.toml", "");
    let error = parse(given[..2].iter().copied().chain([here, trace]).collect()).unwrap_err();
    let message = error.to_string();
    assert!(message.contains("cannot read `flows.csv`: there is no such file"), "{message}");
    assert!(parse(given.into_iter().collect()).unwrap_err().to_string().contains("`down/x.trace`"));
}

#[test]
fn columns_in_another_order_with_full_names_and_bytes() {
    // With what spreadsheets add: a byte order mark, CR LF, spaces, an empty line.
    let flows = "\u{feff}bytes,dst,start_s,src\r\n5, h1,0 ,h0\r\n\r\n";
    let scenario = load(&folder(LINKS, HOSTS, flows), &[]).expect("loads");
    assert_eq!((scenario.flows.len(), scenario.flows[0].bytes), (1, Some(5)));
}

/// A host at several routers: a link to each, in the order of its rows, and a subflow of MPTCP over
/// each.
#[test]
fn a_host_with_several_rows_has_as_many_links() {
    let hosts = "host,router,rate_bps,delay_ns\n0,0,10Mbit/s,20ms\n1,2,,\n0,1,,3ms\n";
    let scenario = load(&folder(LINKS, hosts, FLOWS), &["protocols=[\"mptcp\"]"]).expect("loads");
    let names: Vec<&str> = scenario.nodes.iter().map(|n| n.name.as_str()).collect();
    assert_eq!(names, ["0", "1", "2", "h0", "h1"]);
    let access: Vec<_> = scenario.links[2..]
        .iter()
        .map(|link| {
            let LinkDirection { rate, wire, .. } = &link.reverse;
            (link.name.as_str(), rate.bps() / 1_000_000, wire.delay.as_nanos() / 1_000_000)
        })
        .collect();
    assert_eq!(access, [("h0-0", 10, 20), ("h1-2", 1_000, 1), ("h0-1", 1_000, 3)]);
    let [first, second] = [0, 1].map(forebay_base::PortId);
    let paths = |flow: usize| scenario.flows[flow].paths.as_deref().expect("two paths").to_vec();
    assert_eq!(paths(0), [(first, first), (second, first)]);
    assert_eq!(paths(1), [(first, first), (first, second)]);
    assert!(scenario.build("mptcp", 1).expect("builds").flows[0].paths.len() == 2);
    assert_eq!(parse(&scenario.to_toml()), scenario);
}

/// What one row lacks another may have; a row that says nothing needs the rate of `access`.
#[test]
fn rows_of_hosts_may_say_what_access_does_not() {
    let hosts = "host,router,rate_bps\n0,0,1Mbit/s\n1,2,2Mbit/s\n";
    let set = ["csv.access={ delay = \"1ms\" }"];
    let scenario = load(&folder(LINKS, hosts, FLOWS), &set).expect("loads");
    let rates: Vec<u64> = scenario.links[2..].iter().map(|link| link.forward.rate.bps()).collect();
    assert_eq!(rates, [1_000_000, 2_000_000]);
    let error = load(&folder(LINKS, "host,router,rate_bps\n0,0,1Mbit/s\n1,2,\n", FLOWS), &set);
    let error = error.expect_err("h1 has no rate");
    let expected = "hosts.csv:3:5: rate_bps: expected a rate, or one in csv.access, found ``";
    assert!(error.contains(expected), "{error}");
    // What no row can mend is told once.
    let set = ["csv.access={ rate = \"1Mbit/s\" }"];
    let error = load(&folder(LINKS, hosts, FLOWS), &set).expect_err("no delay");
    assert_eq!(error.matches("the key `delay` is missing").count(), 1, "{error}");
}

/// A host of the scenario file is no host of the CSV file.
#[test]
fn a_host_is_declared_in_one_file() {
    let text = format!("{WITH_CSV}[[hosts]]\nname = \"h0\"\nattach = \"1\"\nrate = \"1Mbit/s\"\n");
    let text = text.replace("[link_defaults]", "[link_defaults]\ndelay = \"1ms\"");
    let files = [("links.csv", LINKS), ("hosts.csv", HOSTS), ("flows.csv", FLOWS)];
    let options = LoadOptions { files: files.into_iter().collect(), ..LoadOptions::default() };
    let error = Scenario::parse(&text, "page", &options).expect_err("h0 is there twice");
    let message = error.to_string();
    assert!(message.contains("hosts.csv:2:1: host: the node `h0` is declared twice"), "{message}");
}

#[test]
fn s3_loads_from_a_folder() {
    let folder = folder(LINKS, HOSTS, FLOWS);
    for kind in ["links", "hosts", "flows"] {
        let (old, new) = (format!("{kind}.csv"), format!("s3_{kind}.csv"));
        fs::rename(folder.path().join(old), folder.path().join(new)).expect("renamed");
    }
    let options = LoadOptions { files: Files::In(folder.path().into()), ..LoadOptions::default() };
    let s3 = Scenario::load("s3", &options).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((s3.nodes.len(), s3.flows.len(), s3.until), (5, 2, Some(Time::from_secs(60))));
    assert!(!s3.is_random());
}

#[test]
fn bad_rows_name_file_line_and_column() {
    let cases = [
        (
            "x",
            HOSTS,
            FLOWS,
            "links.csv:1:1: the columns `a`, `b`, `rate_bps`, `delay_ns` are missing",
        ),
        ("a,b,rate_bps\n", HOSTS, FLOWS, "links.csv:1:1: the column `delay_ns` is missing"),
        (
            "a,a,rate_bps,delay_ns\n",
            HOSTS,
            FLOWS,
            "links.csv:1:3: the column `a` is declared twice",
        ),
        (
            "a,b,rate_bps,delay_ns\n0,1,fast,5\n",
            HOSTS,
            FLOWS,
            "links.csv:2:5: rate_bps: expected a number of bit/s or a rate such as \"10Mbit/s\", \
             found a string (\"fast\")\n  2 | 0,1,fast,5\n    |     ^^^^",
        ),
        (
            "a,b,rate_bps,delay_ns\n0,1,0,5\n",
            HOSTS,
            FLOWS,
            "links.csv:2:5: rate_bps: expected 1000 to 400000000000 bit/s, found `0`",
        ),
        (
            "a,b,rate_bps,delay_ns\n0,1,1000,1000000000001\n",
            HOSTS,
            FLOWS,
            "links.csv:2:10: delay_ns: expected at most 1000000000000 ns (1000 s), found \
             `1000000000001`",
        ),
        (
            "a,b,rate_bps,delay_ns\n0,1,1000\n",
            HOSTS,
            FLOWS,
            "links.csv:2:1: expected 4 columns, found 3",
        ),
        (
            "a,b,rate_bps,delay_ns\n0,0,1000,5\n",
            HOSTS,
            FLOWS,
            "links.csv:2:3: b: expected another node than in column a",
        ),
        (
            LINKS,
            "host,router\n0,0\n1,1\n\n0,0\n",
            FLOWS,
            "hosts.csv:5:3: router: `h0` is at `0` already, by line 2: a host has one link to a \
             router\n  5 | 0,0",
        ),
        (
            LINKS,
            "rate_bps,host,router\n1e6,0,0\n2e6,0,0\n,1,1\n",
            FLOWS,
            "hosts.csv:3:7: router: `h0` is at `0` already, by line 2",
        ),
        (
            LINKS,
            "host,router,delay_ns\n0,0,soon\n1,1,\n",
            FLOWS,
            "hosts.csv:2:5: delay_ns: expected a number of nanoseconds or a time",
        ),
        (LINKS, "host,router\n0,9\n", FLOWS, "hosts.csv:2:3: router: there is no node `9`"),
        (
            LINKS,
            HOSTS,
            "start_s,src_host,dst_host,packets\n0,0,77,1\n",
            "flows.csv:2:5: dst_host: there is no node `h77` (`77` with the prefix `h`)",
        ),
        (
            LINKS,
            HOSTS,
            "start_s,src_host,dst_host,packets\n-1,0,1,1\n",
            "flows.csv:2:1: start_s: expected 0 s to 100 years, found `-1`",
        ),
        (
            LINKS,
            HOSTS,
            "start_s,src_host,dst_host,packets\n0,0,1,99999999999999999999\n",
            "flows.csv:2:7: packets: expected 1 to 4294967295 packets, found \
             `99999999999999999999`",
        ),
        (
            LINKS,
            HOSTS,
            "start_s,src_host,dst_host,packets\n0,0,1,18446744073709551615\n",
            "flows.csv:2:7: packets: expected 1 to 4294967295 packets, found \
             `18446744073709551615`",
        ),
        (
            LINKS,
            HOSTS,
            "start_s,src_host,dst_host,packets,bytes\n0,0,1,1,1\n",
            "flows.csv:1:35: only one of the columns `packets` and `bytes` may be there",
        ),
        (
            LINKS,
            HOSTS,
            "start_s,dst,src,src_host,packets\n",
            "flows.csv:1:17: only one of the columns `src_host` and `src` may be there",
        ),
        (
            LINKS,
            HOSTS,
            "start_s,src_host,dst_host,packets,after\n0,0,1,1,\n,0,1,1,2\n",
            "flows.csv:3:8: after: expected the number of an earlier row, from 1 on, found `2`",
        ),
        (
            LINKS,
            HOSTS,
            "start_s,src_host,dst_host,packets,after\n0,0,1,1,\n,1,0,1,1\n",
            "flows.csv:3:8: after: this flow starts at `h1`, the one before it at `h0`: a host \
             knows only of its own",
        ),
        (
            LINKS,
            HOSTS,
            "start_s,src_host,dst_host,packets,stop_s\n2,0,1,1,1.5\n",
            "flows.csv:2:9: stop_s: expected a time after the flow starts (2s), found `1.5`",
        ),
        (
            LINKS,
            HOSTS,
            "start_s,src_host,dst_host,packets,rate_bps\n2,0,1,1,0\n",
            "flows.csv:2:9: rate_bps: expected 1000 to 400000000000 bit/s, found `0`",
        ),
        (
            LINKS,
            "\u{feff}\n",
            FLOWS,
            "hosts.csv:1:1: the file is empty: expected the names of columns (host, router, \
             rate_bps, delay_ns)",
        ),
        ("\n1,2,3,4\n", HOSTS, FLOWS, "links.csv:1:1: the first line is empty: expected the names"),
        (
            LINKS,
            HOSTS,
            "start_s,src_host,dst_host\n",
            "flows.csv:1:1: the column `packets` is missing",
        ),
        (
            LINKS,
            HOSTS,
            "start_s,src_host,dst_host,packets\n",
            "s.toml:1:1: flows: the scenario has no flows",
        ),
    ];
    for (links, hosts, flows, expected) in cases {
        let found = load(&folder(links, hosts, flows), &[]).expect_err(expected);
        assert!(found.starts_with(expected), "expected {expected}\nfound {found}");
    }
}

/// A typo in a column that may be absent, and a column of another program.
#[test]
fn columns_that_are_not_known() {
    let links = "a,b,rate_bps,delay_ns,metric\n0,1,100000000,5000000,3\n";
    let flows = "start_s,src_host,dst_host,packets,thnk_s\n0,0,0,40,1\n";
    let found = load(&folder(links, HOSTS, FLOWS), &[]).expect_err("a column too many");
    let expected = "links.csv:1:23: there is no column `metric`\n  1 | \
                    a,b,rate_bps,delay_ns,metric\n    |                       ^^^^^^\n\
                    hint: columns: a, b, rate_bps, delay_ns, weight; extra_columns = \"ignore\" \
                    passes over others";
    assert!(found.starts_with(expected), "{found}");
    let found = load(&folder(LINKS, HOSTS, flows), &[]).expect_err("a typo");
    let expected = "flows.csv:1:35: there is no column `thnk_s`\n";
    assert!(found.starts_with(expected) && found.ends_with("did you mean `think_s`?"), "{found}");
    let both = "host,router,x\n0,0,0\n1,1,0\n";
    let scenario = load(&folder(links, both, FLOWS), &["csv.extra_columns=ignore"]).expect("loads");
    let notes = scenario.notes();
    for told in ["links.csv: column not used: `metric`", "hosts.csv: column not used: `x`"] {
        assert!(notes.iter().any(|note| note.ends_with(told)), "{notes:?}");
    }
    let found = load(&folder(LINKS, HOSTS, FLOWS), &["csv.extra_columns=ignored"]);
    let found = found.expect_err("no such choice");
    assert!(found.ends_with("did you mean `ignore`?"), "{found}");
}

#[test]
fn columns_of_a_schedule_that_are_not_known() {
    let of_schedule = |key: &str| {
        let folder = folder(LINKS, HOSTS, FLOWS);
        fs::write(folder.path().join("rates.csv"), "at_s,rate_bps,dealy_ns\n1,1e6,3\n").unwrap();
        load(&folder, &[&format!("csv.access={{ rate = \"1Gbit/s\", delay = \"1ms\", {key} }}")])
    };
    let found = of_schedule("schedule = \"rates.csv\"").expect_err("a typo");
    let expected = "rates.csv:1:15: there is no column `dealy_ns`\n";
    assert!(found.starts_with(expected) && found.ends_with("did you mean `delay_ns`?"), "{found}");
    let table = "schedule = { file = \"rates.csv\", extra_columns = \"ignore\" }";
    let scenario = of_schedule(table).expect("loads");
    assert_eq!(scenario.events.len(), 4, "both directions of both access links");
}

#[test]
fn a_csv_file_that_is_not_there() {
    let folder = folder(LINKS, HOSTS, FLOWS);
    let expected = "s.toml:7:9: csv.flows: cannot read `none.csv`: there is no such file";
    fs::write(folder.path().join("s.toml"), WITH_CSV.replace("flows.csv", "none.csv"))
        .expect("written");
    let found = load(&folder, &[]).expect_err("no such file");
    assert!(found.starts_with(expected), "{found}");
    let found = load(&folder, &["csv.flows=other.csv"]).expect_err("no such file");
    assert!(found.starts_with("--set:1:11: csv.flows: cannot read `other.csv`"), "{found}");
}

#[test]
fn files_that_cannot_be_read() {
    let folder = folder(LINKS, HOSTS, FLOWS);
    let path = |name: &str| folder.path().join(name).display().to_string();
    let missing = path("none.toml");
    assert_eq!(unreadable(&missing), format!("cannot read `{missing}`: there is no such file"));
    let itself = path("");
    assert_eq!(unreadable(&itself), format!("cannot read `{itself}`: it is a folder"));
    fs::write(folder.path().join("bad.toml"), b"a = 1\nb = \"\xff\"\n").expect("written");
    let bad = path("bad.toml");
    assert_eq!(unreadable(&bad), format!("cannot read `{bad}`: it is not UTF-8 (line 2)"));
    let through = path("s.toml/x.toml");
    let found = unreadable(&through);
    assert!(found.starts_with(&format!("cannot read `{through}`: ")), "{found}");
}

#[test]
fn an_unknown_scenario_is_told_from_a_missing_file() {
    let expected = "there is no scenario `dumbell`\nhint: did you mean `dumbbell`?";
    assert_eq!(unreadable("dumbell"), expected);
    let found = unreadable("zzz");
    assert!(found.starts_with("there is no scenario `zzz`\nhint: one of: dumbbell, "), "{found}");
}

#[test]
fn rows_of_flows_with_lives() {
    use forebay_net::{After, AppSchedule, TimeDistribution, Writing};
    let flows = "start_s,src_host,dst_host,packets,stop_s,rate_bps,after,think_s\n\
                 1,0,1,9,2.5,1000000,,\n,0,1,3,,,1,0.25\n";
    let scenario = load(&folder(LINKS, HOSTS, flows), &[]).unwrap();
    let life = |i: usize| scenario.flows[i].life.as_deref().cloned().unwrap();
    let write = Some(Writing { rate: Some(Rate::mbps(1)), chunk_bytes: 1448, periods: None });
    let stop = Some(Time::from_millis(2_500));
    assert_eq!(life(0), AppSchedule { stop, write, ..AppSchedule::default() });
    let think = TimeDistribution::Constant(Span::from_millis(250));
    let after = Some(After { flow: forebay_base::FlowId(0), think });
    assert_eq!(life(1), AppSchedule { after, ..AppSchedule::default() });
}

//! Records of runs over wires that are late: read back, replayed, and refused where unsound.

use crate::scenario;
use forebay_base::{LinkId, NodeId, Span, Time};
use forebay_lab::record::{Ending, Record, RecordError, RecordFolder, SiteRecorder, verify};
use forebay_lab::{
    RunOptions, RunResult, run_one,
    scenario::{Registry, Scenario},
};
use forebay_net::Place;
use forebay_sim::{Exit, InputEvent, RealWires, Site, SiteOptions};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const PROTOCOL: &str = "newreno";
const SEED: u64 = 3;
const UNTIL: Time = Time::from_secs(3);
/// How long a turn is.
const TURN: Span = Span::from_micros(250);
/// How late each packet is.
const LATE: Span = Span::from_micros(30);

/// Run [`scenario`] with each node at a place of its own, turn by turn, and record it.
fn record(folder: &Path) {
    record_until(folder, UNTIL, None);
}
/// The same up to `until`. Where the last turn takes what came after the end as well, that is on
/// each link a packet like the one before, so long after it.
fn record_until(folder: &Path, until: Time, beyond: Option<Span>) {
    record_over(folder, until, beyond, None, &[]);
}
/// The same on real wires, if they are, which are lost (false) and back at these times.
fn record_over(
    folder: &Path,
    until: Time,
    beyond: Option<Span>,
    real: Option<RealWires>,
    changes: &[(Time, LinkId, bool)],
) {
    let scenario = roomy();
    let spec = scenario.build(PROTOCOL, SEED).expect("a sound scenario");
    let folder = RecordFolder::create(folder, &scenario, PROTOCOL, SEED).expect("a new folder");
    let folder = folder.with_real(real);
    let mut sites: Vec<(Site, SiteRecorder)> = Vec::new();
    for node in (0..spec.nodes.len() as u32).map(NodeId) {
        let place = Place { nodes: vec![node], ..Place::default() };
        let options = SiteOptions { real, ..SiteOptions::default() };
        let site = Site::new(&spec, SEED, &place, options).expect("sound");
        sites.push((site, folder.site(&place, 0).expect("a new file")));
    }
    let mut wire: Vec<(Time, LinkId, Vec<u8>)> = Vec::new();
    let (mut now, mut last) = (Time::ZERO, BTreeMap::new());
    while now < until {
        now += TURN;
        for (at, link, up) in changes.iter().filter(|(at, ..)| (*at..*at + TURN).contains(&now)) {
            let (site, recorder) = &mut sites[spec.links[link.index()].from.index()];
            let at = site.push_carrier(*at, *link, *up).expect("it begins there");
            recorder.carrier(at, *link, *up);
        }
        wire.retain(|(at, link, bytes)| {
            let due = *at <= now;
            if due {
                let (site, recorder) = &mut sites[spec.links[link.index()].to.index()];
                let at = site.push(*at, *link, bytes).expect("it ends there");
                recorder.input(at, *link, bytes);
                last.insert(*link, bytes.clone());
            }
            !due
        });
        for (site, recorder) in &mut sites {
            site.run_until(now);
            recorder.reached(now);
            site.exits(|Exit { link, at, bytes, .. }| wire.push((at + LATE, link, bytes.to_vec())));
        }
    }
    for (link, bytes) in last.into_iter().filter(|_| beyond.is_some()) {
        let (site, recorder) = &mut sites[spec.links[link.index()].to.index()];
        let at = until + beyond.unwrap_or_default();
        let at = site.push(at, link, &bytes).expect("it ends there");
        recorder.input(at, link, &bytes);
    }
    for (site, recorder) in sites {
        let ending = Ending::new(until.as_nanos(), site.hash(), &site.conservation());
        recorder.finish(&ending).expect("there is room");
    }
}

/// A queue that never overflows.
fn roomy() -> Scenario {
    scenario(&["link_defaults.queue=1MB"])
}

fn open(folder: &Path) -> Result<Record, RecordError> {
    Record::open(folder, &Arc::new(Registry::default()))
}

fn refusal(folder: &Path) -> String {
    match open(folder) {
        Ok(_) => panic!("it is taken for a record"),
        Err(error) => error.to_string(),
    }
}

fn replayed(record: &Record) -> RunResult {
    let recording = || record.recording();
    let options = RunOptions { recording: Some(&recording), ..RunOptions::default() };
    run_one(&record.scenario, &record.protocol, record.seed, &options).expect("it runs")
}

#[test]
fn a_record_is_replayed_place_by_place_and_as_a_run() {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path());
    let record = open(folder.path()).expect("a record");
    assert!(record.is_whole() && record.until() == UNTIL);
    let spec = record.scenario.build(&record.protocol, record.seed).expect("sound");
    let verdicts = verify(&record, &spec).expect("sound");
    assert!(verdicts.iter().all(|verdict| verdict.same == Some(true)), "{verdicts:?}");
    for place in 0..record.sites.len() {
        assert_eq!(record.first_difference(&spec, place).expect("sound"), None);
    }
    let (live, simulated) = (replayed(&record), {
        run_one(&roomy(), PROTOCOL, SEED, &RunOptions::default()).expect("it runs")
    });
    assert_eq!((live.completed, simulated.completed), (2, 2));
    assert_eq!(live.drops, simulated.drops);
    // 30 us more at each hop, to a handshake and a few round trips of 20 ms each.
    for (live, simulated) in live.per_flow.iter().zip(&simulated.per_flow) {
        let (live, simulated) = (live.fct_s.expect("ended"), simulated.fct_s.expect("ended"));
        assert!(live > simulated && live < 1.05 * simulated, "{live} {simulated}");
    }
    // Every data packet has its one-way delay, though no wire carries when it left.
    let counts = |result: &RunResult| result.one_way.values().map(|all| all.count()).sum::<u64>();
    assert!(counts(&simulated) > 200);
    assert_eq!(counts(&live), counts(&simulated));
}

/// The wire between the routers is lost for 200 ms.
#[test]
fn a_lost_carrier_is_recorded_and_replayed() {
    let real = Some(RealWires { secret: [5, 6] });
    let ms = Time::from_millis;
    let between = roomy().links.iter().position(|link| link.name == "l-r").expect("a link");
    let links = [0, 1].map(|way| LinkId(2 * between as u32 + way));
    let changes = [(ms(60), false), (ms(260), true)];
    let changes: Vec<_> =
        changes.iter().flat_map(|&(at, up)| links.map(|link| (at, link, up))).collect();
    let recorded = |changes: &[_]| {
        let folder = tempfile::tempdir().expect("a folder");
        record_over(folder.path(), UNTIL, None, real, changes);
        (open(folder.path()).expect("a record"), folder)
    };
    let ((record, folder), (undisturbed, _)) = (recorded(&changes), recorded(&[]));
    let inputs = record.sites.iter().flat_map(|site| site.inputs());
    let found = inputs.filter_map(|input| match input.event {
        InputEvent::Carrier(up) => Some((input.at, input.link, up)),
        InputEvent::Packet(_) => None,
    });
    let mut found: Vec<_> = found.collect();
    found.sort_by_key(|(at, link, _)| (*at, link.0));
    assert_eq!(found, changes);
    let spec = record.scenario.build(&record.protocol, record.seed).expect("sound");
    let verdicts = verify(&record, &spec).expect("sound");
    assert!(verdicts.iter().all(|verdict| verdict.same == Some(true)), "{verdicts:?}");
    let (lost, whole) = (replayed(&record), replayed(&undisturbed));
    assert_eq!((lost.completed, whole.completed), (2, 2));
    let down = |result: &RunResult| result.drops.get("link_down").copied().unwrap_or(0);
    assert!(down(&lost) > 0 && down(&whole) == 0, "{:?} {:?}", lost.drops, whole.drops);
    // A link that does not leave from there.
    let path = folder.path().join("l.pcapng");
    let good = fs::read(&path).expect("a file");
    let place = good.windows(5).rposition(|text| text == b"\"l-r\"").expect("noted");
    let mut bytes = good.clone();
    bytes[place..place + 5].copy_from_slice(b"\"r-l\"");
    fs::write(&path, bytes).expect("written");
    let text = refusal(folder.path());
    assert!(text.contains("`r-l` does not lead from here to elsewhere"), "{text}");
}

#[test]
fn what_came_after_the_end_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    record_until(folder.path(), Time::from_millis(150), Some(Span::from_millis(5)));
    let record = open(folder.path()).expect("a record");
    let late = record.sites.iter().flat_map(|site| site.inputs());
    assert!(late.filter(|input| input.at > record.until()).count() > 1, "it was exercised");
    let spec = record.scenario.build(&record.protocol, record.seed).expect("sound");
    let verdicts = verify(&record, &spec).expect("sound");
    assert!(verdicts.iter().all(|verdict| verdict.same == Some(true)), "{verdicts:?}");
}

#[test]
fn what_was_recorded_and_is_not_done_again_is_found() {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path());
    // A window field of the last packet but a few that came to the first router.
    let path = folder.path().join("l.pcapng");
    let mut bytes = fs::read(&path).expect("a file");
    let place = bytes.len() / 2;
    let place = place + bytes[place..].windows(2).position(|w| w == [0x45, 0]).expect("a packet");
    bytes[place + 8] ^= 1; // TTL, and with it the checksum
    bytes[place + 10] ^= 1;
    fs::write(&path, bytes).expect("written");
    let record = open(folder.path()).expect("a record");
    let spec = record.scenario.build(&record.protocol, record.seed).expect("sound");
    let verdicts = verify(&record, &spec).expect("sound");
    let other = verdicts.iter().filter(|verdict| verdict.same == Some(false)).count();
    assert_eq!(other, 1, "{verdicts:?}");
    let places = 0..record.sites.len();
    let found = places.filter_map(|from| record.first_difference(&spec, from).expect("sound"));
    let found: Vec<_> = found.collect();
    assert!(!found.is_empty() && found[0].instead.is_some(), "{found:?}");
}

/// A process that is killed runs no destructors: what it has not written is lost.
#[test]
fn a_run_that_is_killed_leaves_a_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let scenario = roomy();
    let spec = scenario.build(PROTOCOL, SEED).expect("a sound scenario");
    let made = RecordFolder::create(folder.path(), &scenario, PROTOCOL, SEED).expect("new");
    for node in (0..spec.nodes.len() as u32).map(NodeId) {
        let place = Place { nodes: vec![node], ..Place::default() };
        let mut recorder = made.site(&place, 0).expect("a new file");
        let incoming = spec.links.iter().position(|link| link.to == node).expect("a link");
        // The first node gets nothing.
        for second in 1..=2 * u64::from(node.0.min(1)) {
            recorder.input(Time::from_secs(second), LinkId(incoming as u32), &[0x45, 0, 0, 20]);
        }
        recorder.reached(Time::from_millis(2_500));
        recorder.input(Time::from_secs(3), LinkId(incoming as u32), &[0x45, 0, 0, 20]);
        std::mem::forget(recorder);
    }
    let record = open(folder.path()).expect("a record");
    assert!(!record.is_whole() && record.until() == Time::from_millis(2_500));
    let inputs = record.sites.iter().map(|site| site.inputs().count());
    assert_eq!(inputs.sum::<usize>(), 2 * (spec.nodes.len() - 1));
}

#[test]
fn a_record_without_ends_is_replayed_as_far_as_it_goes() {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path());
    for path in captures(folder.path()) {
        let bytes = fs::read(&path).expect("a file");
        // In the middle of what it noted last, twice a second; of one file a second before.
        let noted = |bytes: &[u8]| bytes.windows(11).rposition(|text| text == b"known_until");
        let mut last = noted(&bytes).expect("noted");
        if path.ends_with("l.pcapng") {
            last = noted(&bytes[..last]).expect("noted twice");
        }
        fs::write(&path, &bytes[..last]).expect("written");
    }
    let record = open(folder.path()).expect("a record");
    assert!(!record.is_whole() && record.until() == UNTIL - Span::from_secs(1));
    let spec = record.scenario.build(&record.protocol, record.seed).expect("sound");
    let verdicts = verify(&record, &spec).expect("sound");
    assert!(verdicts.iter().all(|verdict| verdict.same.is_none()), "{verdicts:?}");
    assert!(replayed(&record).ended_s < UNTIL.as_secs_f64());
    let differences = |record: &Record| {
        let places = 0..record.sites.len();
        places.filter_map(|from| record.first_difference(&spec, from).expect("sound")).count()
    };
    assert_eq!(differences(&record), 0);
    // A packet in the middle of what came to a router has another time to live.
    let path = folder.path().join("l.pcapng");
    let mut bytes = fs::read(&path).expect("a file");
    let place = bytes.len() / 2;
    let place = place + bytes[place..].windows(2).position(|w| w == [0x45, 0]).expect("a packet");
    bytes[place + 8] ^= 1;
    bytes[place + 10] ^= 1;
    fs::write(&path, bytes).expect("written");
    assert_ne!(differences(&open(folder.path()).expect("a record")), 0);
}

/// The folder is removed while the run goes on.
#[cfg(unix)]
#[test]
fn files_that_are_removed_meanwhile_are_no_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = RecordFolder::create(folder.path(), &roomy(), PROTOCOL, SEED).expect("new");
    let place = Place { nodes: vec![NodeId(0)], ..Place::default() };
    let mut recorder = made.site(&place, 0).expect("a new file");
    recorder.flush().expect("there is room");
    fs::remove_file(&captures(folder.path())[0]).expect("removed");
    let text = recorder.flush().expect_err("nothing is there").to_string();
    assert!(text.contains("removed while it was written"), "{text}");
}

/// The captures of a record.
fn captures(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().expect("a folder").map(|entry| entry.expect("listed").path());
    entries.filter(|path| path.extension().is_some_and(|of| of == "pcapng")).collect()
}

/// A part of a whole record is missing, whichever file it is of.
#[test]
fn a_record_that_lacks_something_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path());
    for path in captures(folder.path()) {
        let good = fs::read(&path).expect("a file");
        let name = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        fs::remove_file(&path).expect("removed");
        let text = refusal(folder.path());
        let why = format!("it has no record of `{name}`: a file is missing");
        assert!(text.contains(&why), "{text}");
        for kept in [good.len() - 1, good.len() / 2] {
            fs::write(&path, &good[..kept]).expect("written");
            let text = refusal(folder.path());
            let why = "it has no end, and 5 of 6 files have one: it was cut short";
            assert!(text.contains(&format!("{name}.pcapng`: {why}")), "{text}");
        }
        fs::write(&path, [&good[..], &[0]].concat()).expect("written");
        let text = refusal(folder.path());
        assert!(text.contains("something follows the end"), "{text}");
        fs::write(&path, good).expect("written");
    }
    open(folder.path()).expect("a record again");
    fs::write(folder.path().join("kernel.json"), "[]").expect("written");
    let text = refusal(folder.path());
    assert!(text.contains("kernel.json`: the record has none of its own"), "{text}");
}

#[test]
fn unsound_records_are_refused_with_file_and_place() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(refusal(folder.path()).contains("holds no record"), "{}", refusal(folder.path()));
    record(folder.path());
    assert!(matches!(
        RecordFolder::create(folder.path(), &roomy(), PROTOCOL, SEED),
        Err(RecordError::Occupied { .. })
    ));
    let path = folder.path().join("l.pcapng");
    let good = fs::read(&path).expect("a file");
    let with = |from: &str, to: &str| {
        let place = good.windows(from.len()).position(|part| part == from.as_bytes());
        let place = place.expect("it is there");
        let mut bytes = good.clone();
        bytes[place..place + from.len()].copy_from_slice(to.as_bytes());
        fs::write(&path, bytes).expect("written");
        refusal(folder.path())
    };
    let text = with("\"hash_epoch\":1", "\"hash_epoch\":9");
    assert!(text.contains("hashes of epoch 9, and this version has epoch 1"), "{text}");
    let text = with("\"forebay_record\":3", "\"forebay_record\":7");
    assert!(text.contains("a record of form 7, made by Forebay"), "{text}");
    let text = with("\"nodes\":[\"l\"]", "\"nodes\":[\"x\"]");
    assert!(text.contains("l.pcapng`, byte 0: no node of the scenario is `x`"), "{text}");
    let text = with("\"seed\":3", "\"seed\":4");
    assert!(text.contains("another run than the first file"), "{text}");
    let text = with("\"nodes\":[\"l\"]", "\"nodes\":[\"r\"]");
    assert!(
        text.contains("does not end here")
            || text.contains("no link")
            || text.contains("another file"),
        "{text}"
    );
    // Any byte wrong: a record or a message, no panic.
    for place in (0..good.len()).step_by(997).chain(0..400) {
        let mut bytes = good.clone();
        bytes[place] ^= 0x5a;
        fs::write(&path, bytes).expect("written");
        if let Err(error) = open(folder.path()) {
            assert!(error.to_string().contains("l.pcapng"), "{error}");
        }
    }
}

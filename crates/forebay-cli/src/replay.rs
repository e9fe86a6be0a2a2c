//! `forebay replay`: what was recorded of a live run, again, in simulated time.

use crate::args::{ReplayArgs, RunArgs, Seeds};
use crate::failure::Failure;
use crate::interrupt;
use crate::run::{self, Job, Recorded, Watched};
use crate::terminal::Paint;
use forebay_base::LinkId;
use forebay_lab::record::{Difference, Record, SiteVerdict, verify};
use forebay_lab::scenario::{LinkNames, Registry};
use forebay_net::NetSpec;
use std::fmt::Write as _;
use std::io::Write;
use std::sync::Arc;

/// Bytes of a packet that a message shows.
const SHOWN_BYTES: usize = 64;

/// Replay, compare with what was recorded, show.
pub fn replay(
    args: ReplayArgs,
    registry: &Arc<Registry>,
    out: &mut impl Write,
    paint: Paint,
) -> Result<(), Failure> {
    let record = Record::open(&args.folder, registry).map_err(Failure::input)?;
    let name = args.folder.display().to_string();
    let run = RunArgs {
        protocol: vec![record.protocol.clone()],
        seeds: Seeds(vec![record.seed]),
        jobs: Some(1),
        results: args.results,
        packets: args.packets,
        ..RunArgs::quiet(name)
    };
    let (scenario, watched) = (&record.scenario, Watched::of(&run, &record.scenario)?);
    let cancel = interrupt::flag();
    let store = run::store(&run.results)?;
    let (protocol, seed, inputs) = (&record.protocol, record.seed, &|| record.recording());
    let recorded = Some(Recorded { protocol, seed, inputs });
    let job = Job { args: &run, scenario, watched: &watched, recorded };
    let done = job.simulate(1, store.as_ref(), &cancel);
    run::conclude(&run, scenario, done, store, out, paint)?;
    let spec = scenario.build(&record.protocol, record.seed).map_err(Failure::input)?;
    let verdicts = verify(&record, &spec).map_err(|error| Failure::run(format!("{error:?}")))?;
    if !run.results.json {
        writeln!(out, "{}", told(&record, &verdicts))?;
        out.flush()?;
    }
    match differences(&record, &spec, &verdicts)? {
        text if !text.is_empty() => Err(Failure::Unmet(text)),
        _ if record.is_whole() => Ok(()),
        _ => Err(Failure::Unfit(format!(
            "the record has no end, for the run was killed or its disk was full: what was recorded \
             until {:.3} s was done again. All packets that came were sent again, and there is no \
             more to compare",
            record.until().as_secs_f64()
        ))),
    }
}

/// How many places did the same as recorded. All of a record have an end, or none has.
fn told(record: &Record, verdicts: &[SiteVerdict]) -> String {
    let (until, all) = (record.until().as_secs_f64(), verdicts.len());
    if !record.is_whole() {
        return format!("replayed to {until:.3} s: none of {all} places can be compared");
    }
    let same = verdicts.iter().filter(|verdict| verdict.same == Some(true)).count();
    format!("replayed to {until:.3} s: {same} of {all} places as recorded")
}

/// What was not the same, with the first packet that shows it.
fn differences(
    record: &Record,
    spec: &NetSpec,
    verdicts: &[SiteVerdict],
) -> Result<String, Failure> {
    let names = LinkNames::new(&record.scenario);
    let mut text = String::new();
    let others = verdicts.iter().enumerate().filter(|(_, verdict)| verdict.same == Some(false));
    for (number, verdict) in others {
        let file = record.sites[number].path.display();
        let _ = writeln!(text, "{file}: hash {:016x}, recorded another", verdict.hash);
    }
    // Of a record without ends nothing else is known.
    if text.is_empty() && record.is_whole() {
        return Ok(text);
    }
    // The place that sends what was not recorded is the one that is to be looked at.
    for from in 0..record.sites.len() {
        let first = record.first_difference(spec, from);
        if let Some(difference) = first.map_err(|error| Failure::run(format!("{error:?}")))? {
            let _ = write!(text, "{}", shown(&difference, &names));
        }
    }
    Ok(text.trim_end().to_string())
}

fn shown(difference: &Difference, names: &LinkNames) -> String {
    let Difference { link: LinkId(link), at, bytes, instead } = difference;
    let name = names.of(*link as usize);
    let mut text = format!("{name}: at {at} came a packet that the replay does not send:\n");
    text.push_str(&hexdump(bytes));
    match instead {
        Some((at, bytes)) => {
            let _ = write!(text, "  its next packet there is at {at}:\n{}", hexdump(bytes));
        }
        None => text.push_str("  it sends none there after those that came\n"),
    }
    text
}

/// The first bytes of a packet, 16 to a line.
fn hexdump(bytes: &[u8]) -> String {
    let mut text = String::new();
    for (line, bytes) in bytes[..bytes.len().min(SHOWN_BYTES)].chunks(16).enumerate() {
        let bytes: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let _ = writeln!(text, "  {:04x}  {}", 16 * line, bytes.join(" "));
    }
    text
}

//! `forebay live --paced`: real time without wires. All nodes are in one place, and the trace hash
//! is that of `forebay run`.

use crate::args::LiveRun;
use crate::failure::Failure;
use crate::interrupt;
use crate::run::{self, Job, Watched};
use crate::terminal::{Paint, Progress};
use forebay_base::{NodeId, Span, Time};
use forebay_lab::scenario::Scenario;
use forebay_live::Clock;
use forebay_net::Place;
use forebay_sim::{Site, SiteOptions};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Between being ready and the start.
const COUNTDOWN: Span = Span::from_millis(20);
/// Longer sleeps look at the progress and at interrupts in between.
const LONGEST_SLEEP: Span = Span::from_millis(100);

/// Simulate each protocol, then let the same happen in real time.
pub fn paced(
    args: &LiveRun,
    scenario: &Scenario,
    out: &mut impl Write,
    paint: Paint,
) -> Result<(), Failure> {
    let cancel = interrupt::flag();
    let watched = Watched::of(&args.run, scenario)?;
    let store = run::store(&args.run.results)?;
    let job = Job { args: &args.run, scenario, watched: &watched, recorded: None };
    let done = job.simulate(1, store.as_ref(), &cancel);
    let mut others = Vec::new();
    for simulated in &done.runs {
        let end = Time::from_nanos((simulated.ended_s * 1e9).round() as u64);
        let (protocol, seed) = (&simulated.protocol, simulated.seed);
        let spec = scenario.build(protocol, seed).map_err(Failure::input)?;
        let nodes = (0..spec.nodes.len() as u32).map(NodeId).collect();
        let place = Place { nodes, ..Place::default() };
        let site = Site::new(&spec, seed, &place, SiteOptions::default());
        let site = site.map_err(|error| Failure::run(format!("{error:?}")))?;
        let Some(hash) = pass(site, end, protocol, &cancel) else { break };
        if hash != simulated.trace_hash {
            let simulated = &simulated.trace_hash;
            others
                .push(format!("{protocol}: trace hash {hash} in real time, {simulated} simulated"));
        }
    }
    run::conclude(&args.run, scenario, done, store, out, paint)?;
    match others.as_slice() {
        [] if cancel.load(Ordering::Relaxed) => {
            Err(Failure::Interrupted("real time did not reach the end".to_string()))
        }
        [] => Ok(()),
        others => Err(Failure::Unmet(others.join("\n"))),
    }
}

/// Let everything at one place happen at its time. The trace hash; None if it was interrupted.
fn pass(mut site: Site, end: Time, protocol: &str, cancel: &AtomicBool) -> Option<String> {
    let (bar, clock) = (Progress::start(), Clock::starting_in(COUNTDOWN));
    loop {
        let now = clock.now().min(end);
        site.run_until(now);
        if now == end {
            bar.finish();
            return Some(format!("{:016x}", site.arrivals().finish()));
        }
        if cancel.load(Ordering::Relaxed) {
            return None;
        }
        let (at, until) = (now.as_secs_f64(), end.as_secs_f64());
        bar.set(at / until, || format!("{protocol}: {at:.0} of {until:.0} s of real time"));
        let next = site.next().unwrap_or(end).min(end).min(clock.now() + LONGEST_SLEEP);
        #[expect(clippy::disallowed_methods, reason = "this is real time")]
        std::thread::sleep(Duration::from_nanos(clock.until(next).as_nanos()));
    }
}

//! Whether this machine is fast enough for a scenario, before anything is run.

use super::kernel;
use crate::args::LiveRun;
use crate::failure::Failure;
use forebay_base::Time;
use forebay_lab::scenario::Scenario;
use forebay_live::{Capacity, Demand, LivePlan, Overload, measured_capacity};
use forebay_net::Network;
use std::thread;

/// Refuses what is too fast under one of the protocols, unless it is to run anyway. What every
/// machine can do is not measured. To be called inside [`isolate`](forebay_live::isolate()).
pub fn check(args: &LiveRun, scenario: &Scenario) -> Result<(), Failure> {
    if args.anyway {
        return Ok(());
    }
    let seed = args.run.seeds.0[0];
    for protocol in &scenario.protocols {
        let spec = scenario.build(protocol, seed).map_err(Failure::input)?;
        let plan = LivePlan {
            spec: &spec,
            seed,
            end: scenario.until.unwrap_or(Time::MAX),
            ends_with_flows: !spec.flows.is_empty(),
            kernel_hosts: kernel::hosts(&args.kernel, scenario, &spec)?,
            ring_frames: 0,
            seals: false,
        };
        let network = Network::build(&spec, seed, false);
        let network = network.map_err(|error| Failure::run(format!("{error:?}")))?;
        let demand = Demand::of(&plan, &network);
        let cores = thread::available_parallelism().map_or(1, usize::from);
        if demand.overload(Capacity::surely(cores)).is_none() {
            continue;
        }
        let capacity = measured_capacity();
        let capacity = capacity.map_err(|error| Failure::Impossible(error.to_string()))?;
        if let Some(overload) = demand.overload(capacity) {
            return Err(Failure::Impossible(told(&overload, capacity, scenario, protocol)));
        }
    }
    Ok(())
}

/// Which place, and by how much.
fn told(found: &Overload, capacity: Capacity, scenario: &Scenario, protocol: &str) -> String {
    let Overload { node, needed_pps, possible_pps, from } = *found;
    let (place, can) = match node {
        Some(node) => {
            let name = &scenario.nodes[node.index()].name;
            (format!("`{name}` has"), "a thread passes on".to_string())
        }
        None => {
            ("all nodes together have".to_string(), format!("{} cores pass on", capacity.cores))
        }
    };
    let from = match from.as_secs_f64() {
        0.0 => String::new(),
        seconds => format!("from {seconds:.3} s on "),
    };
    format!(
        "{protocol}: this scenario is too fast for this machine: {from}{place} to pass on \
         {needed_pps:.0} packets a second, and {can} {possible_pps:.0} at most\n\
         hint: lower its rates, or run it all the same with --anyway"
    )
}

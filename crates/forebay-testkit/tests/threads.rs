//! A run in several threads is the run in one: the same packets at the same times, the same outcomes of flows and links.

use forebay_base::{DropReason, FlowId, LinkId, Time};
use forebay_net::NetSpec;
use forebay_sim::{Conservation, FlowOutcome, Options, Simulation, Status};
use forebay_testkit::random;
use forebay_testkit::random_pool::{self, Weather};

/// All that can be read off a run, and is not how it was run.
#[derive(Debug, PartialEq)]
struct Reading {
    trace_hash: u64,
    status: Status,
    now: Time,
    events: u64,
    packet_hops: u64,
    conservation: (u64, u64, u64, u64, u64),
    drops: Vec<u64>,
    flows: Vec<FlowOutcome>,
    links: Vec<String>,
}

fn read(sim: &Simulation, status: Status, spec: &NetSpec) -> Reading {
    let Conservation { sent, split, delivered, dropped, held, .. } = sim.conservation();
    assert!(sim.conservation().holds(), "{:?}", sim.conservation());
    let link = |id| {
        let link = sim.link(LinkId(id));
        format!("{:?} {:?} {} {:?}", link.stats(), link.busy(), link.queue_bytes(), link.rate())
    };
    Reading {
        trace_hash: sim.trace_hash(),
        status,
        now: sim.now(),
        events: sim.events(),
        packet_hops: sim.packet_hops(),
        conservation: (sent, split, delivered, dropped, held),
        drops: DropReason::ALL.iter().map(|&reason| sim.drops().count(reason)).collect(),
        flows: (0..spec.flows.len()).map(|i| sim.flow(FlowId(i as u32))).collect(),
        links: (0..spec.links.len()).map(|i| link(i as u32)).collect(),
    }
}

/// Run to each of `stops` and read; the number of threads that were used.
fn readings(spec: &NetSpec, seed: u64, options: Options, stops: &[Time]) -> (usize, Vec<Reading>) {
    let mut sim = Simulation::new(spec, seed, options).expect("a sound network");
    let readings = stops.iter().map(|&stop| {
        let status = sim.run_until(stop);
        read(&sim, status, spec)
    });
    let readings = readings.collect();
    (sim.threads(), readings)
}

fn of_threads(threads: usize) -> Options {
    Options { threads, ..Options::default() }
}

/// The first reading that differs, in a line or two.
fn assert_same(together: &[Reading], alone: &[Reading], context: &str) {
    for (together, alone) in together.iter().zip(alone) {
        let links = together.links.iter().zip(&alone.links).enumerate();
        let link = links.into_iter().find(|(_, (a, b))| a != b);
        let flows = together.flows.iter().zip(&alone.flows).enumerate();
        let flow = flows.into_iter().find(|(_, (a, b))| a != b);
        let brief = |r: &Reading| {
            let ends = (r.status, r.now, r.events, r.packet_hops);
            (r.trace_hash, ends, r.conservation, r.drops.clone())
        };
        assert_eq!(brief(together), brief(alone), "{context}: {flow:?} {link:?}");
        assert!(together == alone, "{context}: {flow:?} {link:?}");
    }
}

#[test]
fn random_networks_do_not_show_their_threads() {
    let stops = [Time::from_millis(700), Time::from_nanos(2_345_678_901), Time::from_secs(20_000)];
    let mut used = [0; 5];
    for seed in 0..400 {
        let spec = random::scenario(seed);
        let options = |threads| Options {
            bytes: seed % 7 == 1,
            binary_heap: seed % 7 == 2,
            all_queued: seed % 7 == 3,
            ..of_threads(threads)
        };
        let (one, alone) = readings(&spec, seed, options(1), &stops);
        assert_eq!((one, alone[2].status), (1, Status::FlowsEnded), "seed {seed}");
        for threads in [2, 3, 4] {
            let (threads, together) = readings(&spec, seed, options(threads), &stops);
            used[threads] += 1;
            assert_same(&together, &alone, &format!("seed {seed} in {threads} threads"));
        }
    }
    assert!(used[2] > 400 && used[3] > 200 && used[4] > 100, "{used:?}");
}

#[test]
fn networks_with_caches_and_detours_do_not_either() {
    let stops = [Time::from_millis(900), Time::from_secs(2_000)];
    for seed in 0..200 {
        let weather = if seed % 3 == 0 { Weather::Fair } else { Weather::Foul };
        let spec = random_pool::scenario(seed, weather);
        let options = |threads| Options { bytes: seed % 7 == 1, ..of_threads(threads) };
        let (_, alone) = readings(&spec, seed, options(1), &stops);
        for threads in [2, 3, 4] {
            let (_, together) = readings(&spec, seed, options(threads), &stops);
            assert_same(&together, &alone, &format!("{weather:?} {seed} in {threads} threads"));
        }
    }
}

//! The dumbbell of the INRPP paper, section IV-A.

use forebay_base::{DropReason, FlowId, Span, Time};
use forebay_sim::{Options, Simulation, Status};
use forebay_testkit::pool::{self, FIGURES};

#[test]
fn scratch() {
    let near = [Span::from_millis(5); 3];
    let d = pool::dumbbell(FIGURES, 10_000_000, near);
    let mut sim = Simulation::new(&d.world.spec, 1, Options::default()).unwrap();
    let mut status = Status::Running;
    for t in 1..600 {
        status = sim.run_until(Time::from_millis(100 * t));
        let views = d.links.map(|l| sim.interface(l).unwrap());
        if t % 5 == 0 {
            print!("{:5.1}", t as f64 / 10.0);
            for (v, l) in views.iter().zip(d.links) {
                print!(
                    "  {:>3} c{:8} q{:6} d{:8}",
                    v.state().name(),
                    v.cache_bytes(),
                    sim.link(l).queue_bytes(),
                    v.detoured_bytes()
                );
            }
            for f in 0..3 {
                let o = sim.flow(FlowId(f));
                print!(
                    " | {:8} r{} t{}",
                    o.received_bytes, o.sender.retransmits, o.sender.timeouts
                );
            }
            println!();
        }
        if status != Status::Running {
            break;
        }
    }
    println!("{status:?} {:?}", sim.conservation());
    for r in DropReason::ALL {
        let c = sim.drops().count(*r);
        if c > 0 {
            println!("{} {c}", r.name());
        }
    }
    for f in 0..3 {
        let o = sim.flow(FlowId(f));
        println!(
            "{:?} {:?}",
            o.completed_at.zip(o.established_at).map(|(a, b)| a.since(b)),
            o.sender
        );
    }
    for l in d.links {
        println!("{:?}", sim.interface(l).unwrap().first_entered());
    }
}

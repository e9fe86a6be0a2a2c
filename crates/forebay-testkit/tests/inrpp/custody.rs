//! What routers keep and for whom: a flow over its share among short ones, and datagrams that a link
//! takes in fragments alone.

use super::lab::{Lab, NEAR, run};
use forebay_base::{LinkId, Rate, Time};
use forebay_router::inrpp::{CacheLimits, Inrpp};
use forebay_sim::{Options, Simulation};
use forebay_testkit::pool::pooled_link;

/// The most that the cache before a link held in a run to the end.
fn highest_bytes(lab: &Lab, link: LinkId) -> u64 {
    let mut sim = Simulation::new(&lab.world.spec, 1, Options::default()).expect("sound");
    sim.run_until(Time::from_secs(100)).unwrap();
    let (router, port) = sim.router::<Inrpp>(link).expect("an INRPP router");
    router.view(port).highest_bytes()
}

/// Short flows take nine tenths of the bottleneck, and end: what their ACKs bring is not for the
/// long one, which has its share at the bottleneck already.
#[test]
fn a_long_flow_does_not_take_the_credits_of_short_ones() {
    let (low_bytes, high_bytes, total_bytes) = (500_000, 1_000_000, 4_000_000);
    let mut lab = Lab::with(3, CacheLimits { low_bytes, high_bytes, total_bytes });
    lab.join((0, 1), 100);
    let bottleneck = lab.join((1, 2), 10);
    lab.flow((0, 2), 0, Some(20_000_000), 0);
    for i in 0..400 {
        lab.flow((0, 2), 1_000 + 36 * i, Some(40_000), 0);
    }
    let result = run(&lab.world.spec, None);
    assert_eq!((result.cache_drops, result.queue_drops, result.resent), (0, 0, 0.0));
    assert!(result.ratio <= 1.1, "{}", result.ratio);
    let highest = highest_bytes(&lab, bottleneck);
    assert!(highest <= 3 * high_bytes / 2, "{highest}");
}

/// No piece of a datagram is lost alone, whatever the queue of the link.
#[test]
fn what_must_be_fragmented_is_kept_whole() {
    let mut lab = Lab::new(3, 1_000_000);
    for kind in &mut lab.world.spec.transports {
        std::sync::Arc::make_mut(&mut kind.config).dont_fragment = false;
    }
    lab.join((0, 1), 20);
    let mut narrow = pooled_link(Rate::mbps(10), NEAR);
    narrow.wire.mtu_bytes = 576;
    lab.world.join(lab.routers[1], lab.routers[2], narrow);
    for i in 0..3 {
        lab.flow((0, 2), 300 * i, Some(3_000_000), 0);
    }
    let result = run(&lab.world.spec, Some(7.5));
    assert_eq!((result.cache_drops, result.queue_drops, result.resent), (0, 0, 0.0));
    // Three fragments with 22 bytes of headers each, of 1446 bytes of payload.
    let best_s = 9e6 * 8e-7 * (1494.0 + 2.0 * 20.0 + 3.0 * 2.0) / 1446.0;
    assert!(result.last_s <= 1.02 * best_s, "{} of {best_s}", result.last_s);
}

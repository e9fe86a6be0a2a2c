use super::*;
use crate::testbed::{Port, at, init, packet};
use alloc::vec;
use alloc::vec::Vec;
use forebay_base::{Ecn, Stream};

fn close(found: f64, expected: f64, within: f64) {
    assert!((found - expected).abs() <= within, "{found} instead of {expected}");
}

/// Closed form: over a constant queue Q from an empty average, avg_n = Q (1 - (1 - w)^n).
#[test]
fn the_average_of_a_constant_queue_is_the_closed_form() {
    let mut law = AverageQueue::new(&Params::default());
    let mut seen = Vec::new();
    for n in 1..=500 {
        law.sample(50.0);
        if [53, 100, 500].contains(&n) {
            seen.push(law.avg);
        }
    }
    for (found, expected) in seen.iter().zip([5.034, 9.072, 31.6244]) {
        close(*found, expected, 0.001);
    }
}

/// Floyd and Jacobson, section 4: an idle time of m packets counts as m samples of 0.
/// 10 x 0.998^100 = 8.1857. 1500 bytes take 1.2 ms at 10 Mbit/s.
#[test]
fn an_idle_time_lowers_the_average_as_so_many_samples() {
    let mut port = Port::new(Red::new(&Params::default(), init(Limit::Packets(100))));
    port.offer(at(0.0), packet(1, 0, 1500, Ecn::NotEct));
    port.take(at(0.0));
    port.queue.law.avg = 10.0;
    // In transmission until 1.2 ms, then idle for 100 packet times.
    port.offer(at(121.2), packet(1, 1, 1500, Ecn::NotEct));
    close(port.queue.law.avg, 8.1857, 0.0001);
    // An arrival at an empty queue that was not idle is one sample of 0.
    port.take(at(121.2));
    port.offer(at(121.3), packet(1, 2, 1500, Ecn::NotEct));
    close(port.queue.law.avg, 8.1857 * 0.998, 0.0001);
}

/// Floyd and Jacobson equation 1, and the gentle slope: by hand, min 5, max 15, max_p 0.02.
#[test]
fn the_probability_is_that_of_its_thresholds() {
    let at = |avg: f64, gentle: bool| {
        let law = AverageQueue::new(&Params { gentle, ..Params::default() });
        AverageQueue { avg, ..law }.base_probability()
    };
    for (avg, p) in [(4.9, 0.0), (5.0, 0.0), (10.0, 0.01), (14.0, 0.018)] {
        close(at(avg, true).unwrap(), p, 1e-12);
        close(at(avg, false).unwrap(), p, 1e-12);
    }
    close(at(22.5, true).unwrap(), 0.51, 1e-12);
    close(at(15.0, true).unwrap(), 0.02, 1e-12);
    assert_eq!((at(30.0, true), at(15.0, false)), (None, None));
}

/// The gaps between marks at p_b = 0.02, over 100 000 marks.
fn gaps(wait: bool) -> Vec<u32> {
    // A little above 0.02, for 50 p_b must not be below 1.
    let mut law = AverageQueue::new(&Params { wait, max_p: 0.02 + 1e-12, ..Params::default() });
    law.avg = 15.0; // p_b = max_p
    let mut rng = Rng::new(5, Stream::Test, 0);
    let (mut counts, mut gap) = (vec![0u32; 130], 0);
    for _ in 0..100_000 {
        loop {
            gap += 1;
            if law.judge(1.0, || rng.unit()) == Verdict::Tell {
                break;
            }
        }
        counts[core::mem::take(&mut gap)] += 1;
    }
    counts
}

/// Floyd and Jacobson section 7, method 2: the gap is uniform on 1 .. 1/p_b, here 1 .. 50. With
/// `wait` nothing for 50 packets and then uniform on 51 .. 100. Chi-square with 49 degrees of
/// freedom: 99.9 % lie below 85.4.
#[test]
fn gaps_between_marks_are_uniform() {
    for (wait, from) in [(false, 1), (true, 51)] {
        let counts = gaps(wait);
        let inside = &counts[from..from + 50];
        assert_eq!(inside.iter().sum::<u32>(), 100_000, "{counts:?}");
        let square = |&n: &u32| (f64::from(n) - 2000.0).powi(2) / 2000.0;
        let chi: f64 = inside.iter().map(square).sum();
        assert!(chi < 85.4, "chi-square {chi}");
    }
}

/// In byte mode, packets of half the usual length are marked half as often.
#[test]
fn in_byte_mode_marks_are_by_bytes() {
    let marks = |share: f64| {
        let mut law = AverageQueue::new(&Params::default());
        law.avg = 10.0;
        let mut rng = Rng::new(6, Stream::Test, 0);
        let tells = |_: &u32| law.judge(share, || rng.unit()) == Verdict::Tell;
        (0..200_000).filter(tells).count() as f64
    };
    // Gaps are 1 .. 100 packets, or about 1 .. 200 halves: mean 50.5 and 100.25.
    close(marks(1.0), 200_000.0 / 50.5, 150.0);
    close(marks(0.5), 200_000.0 / 100.25, 100.0);
    let params = Params { byte_mode: true, packet_bytes: 500, ..Params::default() };
    let mut port = Port::new(Red::new(&params, init(Limit::Packets(100))));
    (0..4).for_each(|n| _ = port.offer(at(0.0), packet(1, n, 1000, Ecn::NotEct)));
    assert_eq!(port.queue.queue(), 8.0);
}

/// Adaptive RED, figure 1: by hand, min 5 and max 15: the middle is 9 .. 11.
#[test]
fn max_p_follows_the_average_within_its_bounds() {
    let mut law = AverageQueue::new(&Params { max_p: 0.1, ..Params::default() });
    let mut after = |avg: f64, times: usize| {
        law.avg = avg;
        (0..times).for_each(|_| law.adapt());
        law.max_p
    };
    close(after(10.0, 9), 0.1, 1e-12);
    close(after(11.1, 1), 0.11, 1e-12);
    close(after(8.9, 1), 0.099, 1e-12);
    close(after(8.9, 100), 0.01, 1e-12);
    close(after(11.1, 1), 0.0125, 1e-12); // a quarter
    close(after(11.1, 1000), 0.5, 1e-12);
}

/// Adaptive RED section 5.1 to 5.3: at 10 Mbit/s C = 833.3 packets/s, and 5 ms hold 4.2 packets:
/// min is 5. At 100 Mbit/s: C = 8333.3, min = 20.83, max = 62.5.
#[test]
fn thresholds_and_weight_are_set_from_the_rate() {
    let params = Params { min_packets: 0.0, max_packets: 0.0, weight: 0.0, ..Params::default() };
    assert_eq!(params.check(), Ok(()));
    let mut red = Red::new(&params, init(Limit::Packets(100)));
    assert_eq!((red.law.min, red.law.max), (5.0, 15.0));
    close(red.law.weight, 1.19928e-3, 1e-7);
    red.set_rate(Time::ZERO, Rate::mbps(100));
    close(red.law.min, 20.8333, 1e-4);
    close(red.law.max, 62.5, 1e-3);
    close(red.law.weight, 1.19993e-4, 1e-8);
}

/// 300 packets that arrive at once, none leaves: drops, marks.
fn burst(params: &Params, ecn: Ecn) -> (u64, u64) {
    assert_eq!(params.check(), Ok(()));
    let mut port = Port::new(Red::new(params, init(Limit::Packets(300))));
    (0..300).for_each(|n| _ = port.offer(at(0.0), packet(1, n, 1000, ecn)));
    assert_eq!(port.full(), 0);
    (port.early(), port.drops.ce_marks())
}

/// The tests 2 to 10 of ns-3's red-queue-disc suite (there with `wait`, and max_p = 1 / LInterm).
#[test]
fn the_vectors_of_ns_3_hold() {
    let red = |min_packets, max_packets, weight| {
        let wait = true;
        Params { min_packets, max_packets, weight, wait, ..Params::default() }
    };
    let drops = |params: &Params| burst(params, Ecn::NotEct).0;
    assert_eq!(drops(&red(70.0, 150.0, 0.002)), 0, "test 2");
    let third = drops(&red(70.0, 150.0, 0.02));
    assert!(third > 0, "test 3");
    assert!(drops(&red(70.0, 100.0, 0.02)) > third, "test 4: a lower max");
    let (p, base) = (0.2, red(70.0, 150.0, 0.02));
    assert!(drops(&Params { max_p: p, ..base.clone() }) > third, "test 5: a higher max_p");
    assert!(drops(&Params { gentle: false, ..base.clone() }) > third, "test 6");
    assert!(drops(&Params { wait: false, ..base }) > third, "test 7");
    let ecn = Params { max_p: 0.5, ..red(30.0, 90.0, 0.002) };
    let (dropped, marked) = burst(&ecn, Ecn::NotEct);
    assert!(dropped > 0 && marked == 0, "test 8");
    let (dropped, marked) = burst(&Params { ecn: false, ..ecn.clone() }, Ecn::Ect0);
    assert!(dropped > 0 && marked == 0, "test 9");
    let (dropped, marked) = burst(&ecn, Ecn::Ect0);
    assert!(dropped == 0 && marked > 0, "test 10");
}

/// RFC 3168 section 7: above the upper threshold packets are dropped, also ECN-capable ones.
#[test]
fn above_the_upper_threshold_nothing_is_marked() {
    let mut port = Port::new(Red::new(&Params::default(), init(Limit::Packets(1000))));
    port.offer(at(0.0), packet(1, 0, 1500, Ecn::Ect0));
    port.queue.law.avg = 31.0;
    port.offer(at(0.0), packet(1, 1, 1500, Ecn::Ect0));
    assert_eq!((port.early(), port.drops.ce_marks()), (1, 0));
}

#[test]
fn thresholds_out_of_order_and_probabilities_outside_0_to_1_are_refused() {
    let wrong = |edit: fn(&mut Params)| {
        let mut params = Params::default();
        edit(&mut params);
        params.check().expect_err("must be refused").param
    };
    assert_eq!(wrong(|p| p.min_packets = 20.0), "max_packets");
    assert_eq!(wrong(|p| p.max_packets = 5.0), "max_packets");
    assert_eq!(wrong(|p| p.max_packets = 0.0), "max_packets");
    assert_eq!(wrong(|p| p.min_packets = -1.0), "min_packets");
    assert_eq!(wrong(|p| p.max_p = 1.1), "max_p");
    assert_eq!(wrong(|p| p.max_p = 0.0), "max_p");
    assert_eq!(wrong(|p| p.max_p = f64::NAN), "max_p");
    assert_eq!(wrong(|p| p.weight = 2.0), "weight");
    assert_eq!(wrong(|p| p.packet_bytes = 0), "packet_bytes");
    assert_eq!(wrong(|p| p.target_ms = 0.0), "target_ms");
}

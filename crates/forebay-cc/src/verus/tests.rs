//! The rules by hand, on a path whose profile is a straight line: 20 ms, and 2 ms for each packet.

use super::*;
use crate::testbed::{MSS, ack, init, ms as span};

const NOW: Time = Time::from_secs(10);
const EPOCH: Span = Span::from_millis(5);

fn line(w: f64) -> f64 {
    20.0 + 2.0 * w
}

/// A sender that has left slow start with a window of `window` on that profile, D_min 22 ms.
fn steering(params: Params, window: f64) -> Verus {
    let mut verus = Verus::new(&params, init(10));
    let state = &mut verus.state;
    state.slow_start = None;
    (1..=100).for_each(|w| state.profile.add(Time::ZERO, w, line(w as f64)));
    (state.d_min_ms, state.d_rtt_ms) = (22.0, 50.0);
    state.fit(NOW);
    state.window = window;
    state.d_est_ms = line(window);
    state.d_max_ms = Some(40.0);
    state.next_epoch = NOW + EPOCH;
    (state.last_ack, state.next_fit) = (NOW, Time::MAX);
    verus
}
fn paper() -> Params {
    Params { preset: Preset::Paper, ..Params::default() }
}
/// One epoch with these delays, and this many packets in flight.
fn epoch(verus: &mut Verus, delays_ms: &[f64], in_flight: u64) -> Time {
    let now = verus.next_timeout().expect("it steers");
    verus.state.delays_ms.extend_from_slice(delays_ms);
    if !delays_ms.is_empty() {
        verus.state.last_ack = now;
    }
    verus.state.in_flight_bytes = in_flight * MSS;
    verus.on_timer(now);
    now
}
fn delivered(w: u64, rtt_ms: u64) -> Delivered {
    Delivered { tag: Tag(w), number: 1, bytes: MSS as u32, sent_at: NOW, rtt: Some(span(rtt_ms)) }
}
fn lost(w: u64) -> Loss {
    Loss { tag: Tag(w), number: 1, bytes: MSS as u32, sent_at: NOW, in_flight_bytes: 3 * MSS }
}

#[test]
fn the_set_point_moves_by_equation_4() {
    let seen = |delay_ms| {
        let mut verus = steering(paper(), 10.0);
        epoch(&mut verus, &[30.0, delay_ms, 31.0], 10);
        (verus.state.d_est_ms - 40.0, verus.state.d_max_ms.unwrap())
    };
    // D_max = 0.2 x 40 + 0.8 max(D); R D_min = 44.
    assert_eq!(seen(40.0), (2.0, 40.0));
    assert_eq!(seen(39.0), (2.0, 39.2));
    assert_eq!(seen(42.0), (-1.0, 41.6));
    assert_eq!(seen(60.0), (-2.0, 56.0));
}

#[test]
fn the_window_is_that_of_the_set_point_and_s_the_deficit() {
    // D_est = 42 is a window of 11; n = 10: S = 11 - F 8 / 9.
    for (in_flight, packets) in [(0, 11), (9, 3), (10, 2), (12, 0), (40, 0)] {
        let mut verus = steering(paper(), 10.0);
        epoch(&mut verus, &[40.0], in_flight);
        assert_eq!(verus.state.window, 11.0);
        let limits = verus.limits();
        assert_eq!((limits.credits, limits.pacing_rate), (Some(packets), None), "{in_flight}");
    }
    // A round trip within one epoch: what is missing.
    let mut verus = steering(paper(), 10.0);
    verus.state.d_rtt_ms = 4.0;
    epoch(&mut verus, &[40.0], 4);
    assert_eq!(verus.limits().credits, Some(7));
}

#[test]
fn what_is_paced_is_spread_over_the_epoch_and_bounded() {
    let params = Params { preset: Preset::Paper, pacing: Some(true), ..Params::default() };
    let mut verus = steering(params, 80.0);
    verus.state.d_max_ms = Some(30.0);
    epoch(&mut verus, &[30.0], 0);
    // 81 are missing; 2 x 81 / 10 = 16.2.
    let limits = verus.limits();
    assert_eq!(limits.credits, Some(16));
    let bits = 16.0 * (MSS as f64 + 52.0) * 8.0;
    assert_eq!(limits.pacing_rate.unwrap().bps(), (bits / 0.005) as u64);
}

#[test]
fn fractions_are_kept_where_they_count() {
    let params = Params { preset: Preset::Paper, fractional: Some(true), ..Params::default() };
    let mut verus = steering(params, 2.25);
    verus.state.d_rtt_ms = 5.0; // n = 1
    epoch(&mut verus, &[40.0], 3);
    assert_eq!((verus.state.window, verus.limits().credits), (3.25, Some(0)));
    verus.state.d_est_ms -= 2.0;
    epoch(&mut verus, &[40.0], 3);
    // 0.25 and 0.25 of the epoch before; the next one makes it 0.75, then 1.
    let credits = [0, 0, 0].map(|_| {
        verus.state.d_est_ms -= 2.0;
        epoch(&mut verus, &[40.0], 3);
        verus.limits().credits.unwrap()
    });
    assert_eq!(credits, [0, 1, 0]);
}

#[test]
fn nothing_leaves_where_the_set_point_is_down_and_two_packets_are_in_flight() {
    let mut verus = steering(paper(), 1.0);
    epoch(&mut verus, &[90.0], 2);
    assert_eq!((verus.state.d_est_ms, verus.limits().credits), (22.0, Some(0)));
    epoch(&mut verus, &[90.0], 1);
    assert_eq!((verus.state.d_est_ms, verus.limits().credits), (22.0, Some(0)));
    epoch(&mut verus, &[90.0], 0);
    assert_eq!(verus.limits().credits, Some(1));
    // The authors' code moves the floor instead.
    let mut authors = steering(Params { preset: Preset::Authors, r: Some(2.0), ..paper() }, 1.0);
    epoch(&mut authors, &[90.0], 1);
    assert_eq!(authors.state.d_min_ms, 22.0, "the test is that of D_max an epoch ago");
    authors.state.d_est_ms = 22.0;
    epoch(&mut authors, &[90.0], 1);
    assert_eq!(authors.state.d_min_ms, 32.0);
}

#[test]
fn an_epoch_without_an_ack_takes_the_silence_for_a_delay() {
    let mut verus = steering(paper(), 10.0);
    verus.state.last_ack = NOW - span(100);
    epoch(&mut verus, &[], 10);
    // 105 ms: 0.2 x 40 + 0.8 x 105.
    assert!((verus.state.d_max_ms.unwrap() - 92.0).abs() < 1e-9);
    let mut verus = steering(paper(), 10.0);
    epoch(&mut verus, &[], 10);
    assert_eq!(verus.state.d_max_ms, Some(40.0), "5 ms say nothing");
}

#[test]
fn a_loss_takes_its_own_window_by_m_once() {
    let mut verus = steering(paper(), 30.0);
    verus.on_loss(NOW, &lost(20));
    assert_eq!((verus.state.window, verus.phase()), (14.0, "recovery"));
    assert_eq!(verus.state.d_est_ms, line(14.0));
    verus.on_loss(NOW, &lost(20));
    assert_eq!(verus.state.window, 14.0, "once");
    // The profile learns nothing, and the window grows by 1 / W with each ACK.
    let before = verus.state.profile.known();
    verus.on_delivered(NOW, &delivered(1000, 90));
    assert_eq!((verus.state.profile.known(), verus.state.profile.top()), (before, 100));
    assert!((verus.state.window - (14.0 + 1.0 / 14.0)).abs() < 1e-12);
    // A packet that left under no more than the window ends it.
    verus.on_delivered(NOW, &delivered(14, 48));
    assert_eq!((verus.phase(), verus.state.delays_ms.len()), ("steer", 1));
}

#[test]
fn slow_start_ends_late_or_early() {
    let recommended = Verus::new(&Params::default(), init(10));
    assert_eq!(recommended.limits().cwnd_bytes, 10 * MSS);
    let mut late = Verus::new(&paper(), init(10));
    assert_eq!(late.limits().cwnd_bytes, MSS, "one packet, whatever the transport begins with");
    late.state.window = 10.0;
    let send = |verus: &mut Verus| verus.on_sent(NOW, &crate::testbed::sent(false));
    assert_eq!(send(&mut late), Tag(10));
    assert_eq!((late.next_timeout(), late.limits().credits), (None, None));
    late.on_ack(NOW, &ack(MSS));
    assert_eq!(late.limits().cwnd_bytes, 11 * MSS);
    // Windows up to 40 with delays of 20 to 300 ms; 15 x 20 = 300 is not too late, 301 is.
    for w in 1..=40 {
        late.on_delivered(NOW, &delivered(w, 20 + 7 * w));
    }
    assert_eq!(late.state.d_min_ms, 27.0);
    late.on_delivered(NOW, &delivered(40, 405));
    assert!(late.state.slow_start.is_some());
    late.on_delivered(NOW, &delivered(40, 406));
    assert_eq!((late.state.window, late.phase()), (28.0, "recovery"));
    assert!((late.state.d_est_ms - (20.0 + 7.0 * 28.0)).abs() < 1e-6, "f(28)");
    assert!(late.next_timeout().is_some());
}

/// Eight delays in a row above R D_min: a queue, not one packet that was held up.
#[test]
fn slow_start_ends_early_at_the_delay_that_is_sought() {
    let mut verus = Verus::new(&Params::default(), init(10));
    verus.state.window = 40.0;
    let back = |verus: &mut Verus, rtt_ms| verus.on_delivered(NOW, &delivered(40, rtt_ms));
    back(&mut verus, 20);
    (0..7).for_each(|_| back(&mut verus, 41));
    back(&mut verus, 40);
    (0..7).for_each(|_| back(&mut verus, 41));
    assert_eq!(verus.phase(), "slow start");
    back(&mut verus, 41);
    assert_eq!((verus.state.window, verus.phase()), (28.0, "recovery"));
}

/// Epochs of 5 ms say little of a round trip of 2: W is in flight, and the set point goes in steps
/// of a quarter of the 2 ms that are sought.
#[test]
fn acks_clock_what_leaves_where_a_round_trip_is_two_epochs_or_less() {
    for (d_rtt_ms, clocked) in [(10.0, true), (11.0, false)] {
        let mut verus = steering(Params::default(), 10.0);
        verus.state.d_rtt_ms = d_rtt_ms;
        epoch(&mut verus, &[30.0], 10);
        let limits = verus.limits();
        assert_eq!(limits.credits.is_none(), clocked, "{d_rtt_ms}");
        if clocked {
            assert_eq!(limits.cwnd_bytes, (verus.state.window * MSS as f64) as u64);
        }
    }
    for (d_min_ms, step_ms) in [(22.0, 2.0), (2.0, 0.5)] {
        let mut verus = steering(Params::default(), 10.0);
        (verus.state.d_min_ms, verus.state.d_max_ms) = (d_min_ms, Some(1.5 * d_min_ms));
        verus.state.d_est_ms = 30.0;
        epoch(&mut verus, &[d_min_ms], 10);
        assert_eq!(verus.state.d_est_ms, 30.0 + step_ms);
    }
}

#[test]
fn a_timeout_before_anything_is_known_starts_over() {
    let timeout = Timeout { flight_size_bytes: MSS, first: true };
    let mut verus = Verus::new(&paper(), init(10));
    verus.on_rto(NOW, &timeout);
    assert_eq!((verus.limits().cwnd_bytes, verus.phase()), (MSS, "slow start"));
    let mut verus = steering(paper(), 30.0);
    verus.on_rto(NOW, &timeout);
    assert_eq!((verus.state.d_est_ms, verus.phase()), (22.0, "recovery"));
}

#[test]
fn after_a_timeout_nothing_leaves_until_an_ack_brings_news() {
    let mut verus = steering(paper(), 10.0);
    epoch(&mut verus, &[40.0], 0);
    assert_eq!(verus.limits().credits, Some(11));
    verus.on_rto(NOW, &Timeout { flight_size_bytes: MSS, first: true });
    let credits = |verus: &mut Verus, epochs: u32| -> u64 {
        (0..epochs)
            .map(|_| {
                epoch(verus, &[], 0);
                verus.limits().credits.expect("it steers")
            })
            .sum()
    };
    assert_eq!(credits(&mut verus, 100), 0);
    verus.on_ack(NOW + span(600), &ack(0)); // acknowledges nothing
    assert_eq!(credits(&mut verus, 100), 0);
    verus.on_ack(NOW + span(1200), &ack(MSS));
    assert!(credits(&mut verus, 1) > 0);
}

#[test]
fn missed_epochs_are_made_up_for_four_at_most_and_then_in_step() {
    let mut verus = steering(paper(), 10.0);
    let phase = verus.next_timeout().unwrap().as_nanos() % EPOCH.as_nanos();
    verus.state.in_flight_bytes = 10 * MSS;
    verus.on_timer(NOW + span(102));
    let next = verus.next_timeout().unwrap();
    assert!(next > NOW + span(102) && next <= NOW + span(107));
    assert_eq!(next.as_nanos() % EPOCH.as_nanos(), phase);
}

/// An application that writes nothing must not keep a network awake, nor let the set point rise.
#[test]
fn it_rests_while_there_is_nothing_to_send() {
    let mut verus = steering(paper(), 10.0);
    epoch(&mut verus, &[], 0);
    assert!(verus.limits().credits > Some(0));
    assert_eq!(verus.next_timeout(), None);
    let later = NOW + span(60_000);
    verus.on_sent(later, &crate::testbed::sent(true));
    let next = verus.next_timeout().unwrap();
    assert!(next > later && next <= later + EPOCH);
    let before_ms = verus.state.d_est_ms;
    verus.state.delays_ms.push(40.0);
    verus.on_timer(next);
    assert!(verus.state.d_est_ms <= before_ms, "less than half the window was in flight");
}

/// The delay of a packet that left under another window than W, or when the application had little
/// to send, says nothing of W.
#[test]
fn the_profile_learns_from_packets_of_its_own_window_alone() {
    let mut verus = steering(paper(), 30.0);
    let sent = crate::testbed::sent(false);
    assert_eq!(verus.on_sent(NOW, &sent), Tag(30));
    verus.state.idle = true;
    let tag = verus.on_sent(NOW, &sent);
    assert_eq!((tag, w_p(tag)), (Tag(30 | EXCLUDE_FROM_PROFILE), 30.0));
    verus.on_delivered(NOW, &Delivered { tag, ..delivered(30, 500) });
    verus.state.fit(NOW);
    assert_eq!(verus.state.profile.delay_ms(30.0), line(30.0));
    verus.on_delivered(NOW, &delivered(30, 500));
    verus.state.fit(NOW);
    assert!(verus.state.profile.delay_ms(30.0) > line(30.0));
}

#[test]
fn the_series_are_what_the_report_draws() {
    let verus = steering(paper(), 30.0);
    let mut seen = Vec::new();
    verus.observe(&mut |one| seen.push((one.name, one.unit, one.value)));
    assert!(seen.contains(&("set_point", "s", 0.08)), "{seen:?}");
    assert!(seen.contains(&("d_min", "s", 0.022)) && seen.contains(&("d_max", "s", 0.04)));
    assert!(seen.contains(&("profile_top", "packets", 100.0)));
    // k / 16 of 100 packets.
    for (name, w) in [("profile_01", 6.25), ("profile_08", 50.0), ("profile_16", 100.0)] {
        let &(_, _, delay_s) = seen.iter().find(|one| one.0 == name).expect("it is shown");
        assert!((delay_s - line(w) / 1e3).abs() < 1e-9, "{name}: {delay_s}");
    }
}

/// An epoch in which a packet that left `delay_ms` ago comes back, two in flight in a drain or
/// where the set point is at D_min.
fn returned(verus: &mut Verus, delay_ms: f64) {
    let bottom = verus.phase() == "drain" || verus.state.d_est_ms <= verus.state.d_min_ms;
    let now = epoch(verus, &[delay_ms], if bottom { 2 } else { 20 });
    let state = &mut verus.state;
    let known = Known { d_min_ms: state.d_min_ms, ceiling_ms: state.ceiling_ms() };
    let sent_at = now - Span::from_secs_f64(delay_ms / 1e3);
    state.refresh.on_delay(now, sent_at, &known, delay_ms);
}

/// All delays of 20 s are `delay_ms`, on a path that had 22, after those of `before_ms`: D_min
/// then, and how long it stayed.
fn refreshed(before_ms: &[f64], delay_ms: f64) -> (f64, f64) {
    let mut verus = steering(Params { refresh: Some(true), ..paper() }, 40.0);
    verus.state.refresh.begin(NOW);
    before_ms.iter().for_each(|&before_ms| returned(&mut verus, before_ms));
    let began = verus.state.next_epoch;
    let mut drained = false;
    for _ in 0..4000 {
        returned(&mut verus, delay_ms);
        drained |= verus.phase() == "drain";
        if verus.state.d_min_ms > 22.0 {
            break;
        }
    }
    assert!(drained);
    (verus.state.d_min_ms, verus.state.next_epoch.since(began).as_secs_f64())
}

#[test]
fn the_smallest_delay_is_measured_anew_where_the_path_has_become_longer() {
    let (d_min_ms, s) = refreshed(&[], 60.0);
    assert_eq!(d_min_ms, 60.0);
    assert!((8.0..13.0).contains(&s), "{s}");
}

/// A path becomes longer from one packet to the next; a queue grows as time passes.
#[test]
fn a_jump_of_the_delay_is_looked_into_at_once() {
    let (d_min_ms, s) = refreshed(&[25.0; 10], 60.0);
    assert_eq!(d_min_ms, 60.0);
    assert!(s < 1.0, "{s}");
    let growing: [f64; 8] = core::array::from_fn(|i| 25.0 + 5.0 * i as f64);
    let (d_min_ms, s) = refreshed(&growing, 60.0);
    assert_eq!(d_min_ms, 60.0);
    assert!(s > 7.0, "{s}");
}

/// R D_min is 44 ms: what is left of 40 in a drain is the queue of others that seek it, too.
#[test]
fn a_queue_within_reach_is_not_taken_for_the_path() {
    assert_eq!(refreshed(&[], 40.0).0, 22.0);
}

/// What left before the path went down, and what waited for it, comes back late.
#[test]
fn a_silence_is_not_taken_for_the_path() {
    let mut verus = steering(Params { refresh: Some(true), ..paper() }, 40.0);
    verus.state.refresh.begin(NOW);
    returned(&mut verus, 25.0);
    while verus.phase() != "drain" {
        returned(&mut verus, 60.0);
    }
    (0..2000).for_each(|_| _ = epoch(&mut verus, &[], 2));
    assert_eq!((verus.phase(), verus.state.d_min_ms), ("drain", 22.0));
    returned(&mut verus, 10_000.0);
    (0..20).for_each(|_| returned(&mut verus, 60.0));
    assert_eq!((verus.phase(), verus.state.d_min_ms), ("steer", 60.0));
}

/// 100 windows are known, and 200 are on the curve.
#[test]
fn a_set_point_at_the_top_of_the_profile_does_not_wait_for_the_next_second() {
    for (follow_rate, reach) in [(true, 300), (false, 200)] {
        let mut verus = steering(Params { follow_rate: Some(follow_rate), ..paper() }, 100.0);
        verus.state.profile.add(NOW, 150, 21.0);
        (verus.state.d_est_ms, verus.state.d_max_ms) = (1000.0, Some(40.0));
        (0..12).for_each(|_| _ = epoch(&mut verus, &[30.0], 200));
        assert_eq!(verus.state.profile.reach(), reach);
    }
}

/// D_min 22 ms, `R D_min` 44 ms, W 120.
const AT: AtLoss = AtLoss { d_min_ms: 22.0, ceiling_ms: 44.0, window: 120.0 };

/// 100 packets leave, and all come back after `delay_ms` but for some that are lost.
fn round(bound: &mut Bound, at_ms: u64, lost: u32, delay_ms: f64) {
    let (sent_at, back_at) = (NOW + span(at_ms), NOW + span(at_ms + 50));
    (0..100).for_each(|_| bound.on_sent());
    (lost..100).for_each(|_| bound.on_delivered(back_at, sent_at, delay_ms));
    (0..lost).for_each(|_| bound.on_loss(back_at, sent_at, &AT));
}

#[test]
fn more_losses_than_chance_takes_bound_the_window_once_for_each_round() {
    let mut bound = Bound::new(init(10));
    // 2 of 100 are the limit; chance takes 6 with 1.5 %, 7 with .41 %.
    round(&mut bound, 0, 6, 22.0);
    assert_eq!(bound.window(), None);
    round(&mut bound, 100, 20, 22.0);
    // The seventh loss leaves 93, of which CUBIC keeps 0.7.
    let most = bound.window().expect("20 % is lost");
    assert!((most - 0.7 * 93.0).abs() < 0.1, "{most}");
    // What left before that says nothing new.
    (0..50).for_each(|_| bound.on_loss(NOW + span(160), NOW + span(149), &AT));
    assert_eq!(bound.window(), Some(most));
    round(&mut bound, 300, 20, 22.0);
    let less = bound.window().expect("it stays");
    assert!((less - 0.7 * most).abs() < 0.1, "{less}");
    // It grows with what arrives while W is at it, and is gone 2 s after W has left it.
    (0..400).for_each(|i| bound.on_ack(NOW + span(400 + 10 * i), &ack(MSS), less));
    assert!(bound.window() > Some(less));
    let later = NOW + span(5000);
    assert_eq!(bound.on_epoch(later, 1000.0), bound.window());
    assert_eq!(bound.on_epoch(later, 10.0), None);
    bound.on_epoch(later + span(2001), 10.0);
    assert_eq!(bound.window(), None);
    // Delays above R D_min are the business of rule 2.
    let mut queued = Bound::new(init(10));
    round(&mut queued, 0, 20, 90.0);
    assert_eq!(queued.window(), None);
    // Four of a few packets are too few.
    let mut thin = Bound::new(init(10));
    (0..10).for_each(|_| thin.on_sent());
    (0..4).for_each(|_| thin.on_loss(NOW, NOW, &AT));
    assert_eq!(thin.window(), None);
}

/// A full buffer of 20 ms below the 22 ms that are sought.
#[test]
fn the_third_loss_from_a_full_buffer_bounds_the_window_and_one_from_a_short_queue_frees_it() {
    let mut bound = Bound::new(init(10));
    round(&mut bound, 0, 1, 42.0);
    round(&mut bound, 100, 1, 40.0);
    assert_eq!(bound.window(), None);
    round(&mut bound, 200, 1, 41.0);
    let most = bound.window().expect("each of three losses found the buffer full");
    assert!((most - 0.7 * 120.0).abs() < 0.1, "{most}");
    round(&mut bound, 300, 1, 42.0);
    assert!(bound.window() < Some(most), "each is congestion");
    // 10 ms of 20: chance.
    round(&mut bound, 400, 1, 32.0);
    assert_eq!(bound.window(), None);
    for (at_ms, delay_ms) in [(500, 41.0), (600, 41.0), (700, 30.0), (800, 41.0), (900, 41.0)] {
        round(&mut bound, at_ms, 1, delay_ms);
    }
    assert_eq!(bound.window(), None, "not three in a row");
}

/// `1 - sum of C(n, i) p^i (1 - p)^(n - i)`, i below k, calculated exactly.
#[test]
fn the_bound_of_the_binomial_tail_is_close_from_above() {
    for (n, k, tail) in [
        (20, 5, 3.859090e-05),
        (100, 6, 1.548364e-02),
        (100, 7, 4.062054e-03),
        (250, 12, 4.967511e-03),
        (1000, 40, 4.339876e-05),
    ] {
        let chance = bound::chance(n, k);
        assert!(tail <= chance && chance < 1.2 * tail, "{n} {k}: {chance}, exactly {tail}");
    }
    assert_eq!(bound::chance(100, 2), 1.0);
}

#[test]
fn parameters_outside_their_range_are_named() {
    let cases = [
        (Params { r: Some(0.5), ..paper() }, "r"),
        (Params { epoch_ms: Some(0.0), ..paper() }, "epoch_ms"),
        (Params { update_ms: Some(4.0), ..paper() }, "update_ms"),
        (Params { epoch_ms: Some(20.0), update_ms: Some(10.0), ..paper() }, "update_ms"),
        (Params { m: Some(1.0), ..paper() }, "m"),
        (Params { m: Some(0.0), ..paper() }, "m"),
        (Params { alpha: Some(1.0), ..paper() }, "alpha"),
        (Params { profile_cap: Some(0), ..paper() }, "profile_cap"),
        (Params { quantile: Some(0.0), ..paper() }, "quantile"),
        (Params { delta_down_ms: Some(3.0), delta_up_ms: Some(2.0), ..paper() }, "delta_up_ms"),
        (Params { queue_ms: Some(f64::NAN), ..paper() }, "queue_ms"),
    ];
    for (params, name) in cases {
        assert_eq!(params.check().unwrap_err().param, name);
    }
    for preset in [Preset::Paper, Preset::Authors, Preset::Recommended] {
        assert_eq!(Params { preset, ..Params::default() }.check(), Ok(()));
    }
}

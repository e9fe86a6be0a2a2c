//! The machine compared with independent numbers.

use super::belief::{Belief, Grid, Work};
use super::forecast::Tables;
use super::*;
use crate::feedback::{AckDemand, DatagramView, Feedback};
use crate::testbed::{MSS, ack, init, ms, next_packet, sent};
use alloc::vec;
use alloc::vec::Vec;
use forebay_base::{Ecn, ParamError, kind};

const NOW: Time = Time::from_secs(10);

fn stock() -> Grid {
    Grid::new(1000.0, 200.0, 1.0)
}
/// Certainly in this bin.
fn certain(tables: &Tables, bin: usize) -> Box<[f32]> {
    let mut shares = tables.room();
    shares[bin] = 1.0;
    shares
}
/// The forecast of a belief.
fn told(tables: &Tables, belief: &Belief) -> [u32; TICKS] {
    let mut shares = tables.room();
    shares.iter_mut().zip(belief.shares()).for_each(|(share, p)| *share = *p as f32);
    tables.forecast(&shares)
}

/// Mean and variance of the rate a tick after it was certainly that of `bin`, in packets/s.
fn after_a_tick(grid: &Grid, bin: usize) -> (f64, f64) {
    let mut work = Work::of(grid);
    let rates: Vec<f64> = grid.means().iter().map(|mean| mean * 50.0).collect();
    let mut expect = |f: &dyn Fn(f64) -> f64| {
        let mut out = vec![0.0; grid.len()];
        grid.expect(&rates.iter().map(|&rate| f(rate)).collect::<Vec<_>>(), &mut work, &mut out);
        out[bin]
    };
    let mean = expect(&|rate| rate);
    (mean, expect(&|rate| (rate - mean) * (rate - mean)))
}

/// The kernel's variance is `sigma^2 t = 800`, and that of the width of a bin, `3.90625^2 / 12`.
#[test]
fn a_rate_moves_by_sigma_in_a_root_second() {
    let (mean, variance) = after_a_tick(&stock(), 128);
    assert!((mean - 128.5 * 3.90625).abs() < 1e-3, "{mean}");
    assert!((variance / 801.272 - 1.0).abs() < 1e-4, "{variance}");
    // Beyond the cut at 5 sigma lie 5.7e-7.
    let grid = stock();
    let (mut work, mut out) = (Work::of(&grid), vec![0.0; grid.len()]);
    grid.expect(&vec![1.0; grid.len()], &mut work, &mut out);
    assert!(out[1..].iter().all(|sum| (sum - 1.0).abs() < 6e-7));
    // Phi(3.90625 / 28.2843) = 0.554922, exp(-0.02) = 0.980199.
    assert!((out[0] - 0.552747).abs() < 1e-6, "{}", out[0]);
}

/// Belief and expectation are the same matrix from both sides.
#[test]
fn a_belief_and_an_expectation_take_the_same_steps() {
    let grid = stock();
    let mut work = Work::of(&grid);
    let f: Vec<f64> = (0..grid.len()).map(|i| (i % 17) as f64).collect();
    let mut expected = vec![0.0; grid.len()];
    grid.expect(&f, &mut work, &mut expected);
    let mut belief = Belief::new(&grid);
    let share = belief.shares()[0];
    belief.tick(&grid, None);
    let mut ones = vec![0.0; grid.len()];
    grid.expect(&vec![1.0; grid.len()], &mut work, &mut ones);
    let forwards: f64 = belief.shares().iter().zip(&f).map(|(p, f)| p * f).sum();
    let sum = |of: &[f64]| of.iter().map(|x| x * share).sum::<f64>();
    assert!((forwards - sum(&expected) / sum(&ones)).abs() < 1e-12);
}

#[test]
fn packets_are_evidence_as_poisson_says() {
    // Rates stand still: 1.9921875 and 4.0234375 packets per tick.
    let grid = Grid::new(1000.0, 0.0, 0.0);
    let ratio = |packets| {
        let mut belief = Belief::new(&grid);
        belief.tick(&grid, packets);
        belief.shares()[51] / belief.shares()[25]
    };
    // (4.0234375 / 1.9921875)^k exp(-2.03125)
    for (packets, by_hand) in [(Some(0), 0.131171), (Some(3), 1.080539), (None, 1.0)] {
        assert!((ratio(packets) / by_hand - 1.0).abs() < 1e-5, "{packets:?}: {}", ratio(packets));
    }
    let mut belief = Belief::new(&grid);
    belief.tick(&grid, Some(1));
    assert_eq!(belief.shares()[0], 0.0, "no packet comes in an outage");
}

/// Forecasts for rates that stay are quantiles of Poisson(h mean), computed elsewhere.
#[test]
fn forecasts_of_a_known_rate_are_quantiles_of_poisson() {
    let tables = Tables::new(&Params { sigma: 0.0, ..Params::default() });
    for (bin, mean, packets) in [
        (25, 1.9921875, [0, 1, 2, 4, 5, 7, 8, 10]),
        (64, 5.0390625, [2, 5, 9, 13, 17, 21, 26, 30]),
        (128, 10.0390625, [5, 13, 21, 30, 39, 48, 57, 66]),
        (230, 18.0078125, [11, 26, 42, 58, 75, 91, 108, 125]),
    ] {
        assert_eq!(tables.grid.means()[bin], mean);
        assert_eq!(tables.forecast(&certain(&tables, bin)), packets, "{mean} packets per tick");
    }
}

/// A second program that follows the authors' code gave 35, 77 and 80 packets in 100 ms, and 134 in
/// 160 ms from the highest rate; its grid ends one bin lower.
#[test]
fn forecasts_after_a_steady_stream_are_those_of_the_authors_model() {
    let tables = Tables::new(&Params::default());
    for (packets, within) in [(10, 35), (20, 77), (29, 80)] {
        let mut belief = Belief::new(&tables.grid);
        (0..500).for_each(|_| belief.tick(&tables.grid, Some(packets)));
        let found = told(&tables, &belief)[4];
        assert!(found.abs_diff(within) <= 1, "{packets}: {found}");
    }
    let most = tables.forecast(&certain(&tables, 256))[TICKS - 1];
    assert!(most.abs_diff(134) <= 2, "{most}");
}

fn options_of(push: impl FnOnce(&mut OptionList)) -> OptionList {
    let mut options = OptionList::EMPTY;
    push(&mut options);
    options
}
fn waits(wait: Wait) -> OptionList {
    options_of(|options| wait.push(options).unwrap())
}
fn datagram(options: &OptionList, wire_len: u16) -> DatagramView<'_> {
    DatagramView {
        payload_bytes: u32::from(wire_len) - 60,
        wire_len,
        pieces: 1,
        dont_fragment: true,
        ip_id: 0,
        ecn: Ecn::NotEct,
        options: Some(options),
        in_order: true,
    }
}
/// What the next ACK reports.
fn next_told(receiver: &mut SproutReceiver, now: Time) -> Option<Forecast> {
    let mut options = OptionList::EMPTY;
    receiver.fill(now, &mut options);
    Forecast::find(&options)
}
fn ewma() -> Params {
    Params { model: Model::Ewma, ..Params::default() }
}

/// `e_n = k (1 - (7/8)^n)`, `F(h) = h e_n` in whole packets.
#[test]
fn the_mean_of_sprout_ewma_is_that_of_its_closed_form() {
    let mut receiver = SproutReceiver::new(&ewma());
    let mut now = NOW;
    for n in 1..=60 {
        (0..10).for_each(|_| {
            receiver.on_datagram(now, &datagram(&waits(Wait::default()), 1500));
        });
        now += TICK;
        let told = next_told(&mut receiver, now).unwrap();
        let mean = 10.0 * (1.0 - libm::pow(7.0 / 8.0, f64::from(n)));
        let by_hand = [1, 3, 8].map(|h: u32| (f64::from(h) * mean) as u32);
        assert_eq!([1, 3, 8].map(|h| told.within(h)), by_hand, "after {n} ticks");
    }
}

#[test]
fn bytes_count_as_packets_of_1500_and_a_little_as_one() {
    // The mean after one tick is an eighth: F(8) = k.
    for (wire_len, packets, counted) in
        [(1500, 1, 1), (100, 1, 1), (1500, 7, 7), (576, 5, 2), (749, 3, 1), (9000, 4, 24)]
    {
        let mut receiver = SproutReceiver::new(&ewma());
        (0..packets).for_each(|_| {
            receiver.on_datagram(NOW, &datagram(&waits(Wait::default()), wire_len));
        });
        let told = next_told(&mut receiver, NOW + TICK).unwrap();
        assert_eq!(told.within(8), counted, "{packets} of {wire_len} bytes");
    }
}

#[test]
fn silence_is_no_evidence_while_the_sender_waits() {
    // Full for 10 ticks, then a packet that says how long nothing may come, then silence.
    let forecast_after = |wait_ms, ticks: u64| {
        let mut receiver = SproutReceiver::new(&Params::default());
        let mut now = NOW;
        for _ in 0..10 {
            (0..10).for_each(|_| {
                receiver.on_datagram(now, &datagram(&waits(Wait::default()), 1500));
            });
            now += TICK;
        }
        let last = waits(Wait(ms(wait_ms)));
        receiver.on_datagram(now, &datagram(&last, 1500));
        next_told(&mut receiver, now + TICK * ticks).unwrap().within(5)
    };
    // Five ticks of silence make an outage, if nothing explains them.
    assert_eq!(forecast_after(0, 5), 0);
    assert!(forecast_after(60_000, 5) > 5);
    assert_eq!(forecast_after(65_535, 5), forecast_after(60_000, 5), "the data have ended");
    // An explanation of 50 ms covers the tick with the packet and the two that begin in the 50 ms.
    assert_eq!(forecast_after(50, 3), forecast_after(60_000, 3));
    assert!(forecast_after(50, 4) < forecast_after(60_000, 4));
}

#[test]
fn the_end_of_the_data_is_over_with_the_next_packet() {
    let forecast = |last: Wait| {
        let mut receiver = SproutReceiver::new(&Params::default());
        for (at, wait) in [(0, Wait::LONGEST), (20, last)] {
            receiver.on_datagram(NOW + ms(at), &datagram(&waits(wait), 1500));
        }
        next_told(&mut receiver, NOW + ms(400)).unwrap().within(8)
    };
    assert_eq!(forecast(Wait::default()), 0, "an outage");
    assert!(forecast(Wait::LONGEST) > 0);
}

#[test]
fn forecasts_leave_tick_by_tick_also_where_nothing_comes() {
    let none = waits(Wait::default());
    let mut receiver = SproutReceiver::new(&Params::default());
    assert!(receiver.clocks_acks());
    assert_eq!(receiver.next_timeout(), None, "nothing has come");
    receiver.on_datagram(NOW, &DatagramView { payload_bytes: 0, ..datagram(&none, 60) });
    assert_eq!(receiver.next_timeout(), None, "an ACK says nothing of the path");
    assert_eq!(receiver.on_datagram(NOW, &datagram(&none, 1500)), AckDemand::Policy);
    let mut leaves = 0;
    while let Some(at) = receiver.next_timeout() {
        leaves += 1;
        assert_eq!(at, NOW + TICK * leaves);
        assert_eq!(receiver.on_timer(at - ms(1)), AckDemand::Policy);
        assert_eq!(receiver.on_timer(at), AckDemand::Now);
        assert_eq!(u64::from(next_told(&mut receiver, at).unwrap().number), leaves);
        assert_eq!(next_told(&mut receiver, at), None, "it was told");
    }
    assert_eq!(leaves, 50, "for a second");
    // After a minute it goes on, with the number that the ticks have.
    let later = NOW + Span::from_secs(60);
    receiver.on_datagram(later, &datagram(&none, 1500));
    assert_eq!(receiver.next_timeout(), Some(later + TICK));
    assert_eq!(next_told(&mut receiver, later).unwrap().number, (3000 % 256) as u8);
}

#[test]
fn without_sendonly_forecasts_ride_on_acks() {
    let none = waits(Wait::default());
    let mut receiver = SproutReceiver::new(&Params { sendonly: false, ..Params::default() });
    assert!(!receiver.clocks_acks());
    let comes = |receiver: &mut SproutReceiver, at| {
        receiver.on_datagram(NOW + ms(at), &datagram(&none, 1500))
    };
    assert_eq!(comes(&mut receiver, 0), AckDemand::Now);
    assert!(next_told(&mut receiver, NOW).is_some());
    assert_eq!([5, 19].map(|at| comes(&mut receiver, at)), [AckDemand::Policy; 2]);
    assert_eq!(comes(&mut receiver, 20), AckDemand::Now);
    assert!(next_told(&mut receiver, NOW + ms(20)).is_some());
    assert_eq!(receiver.next_timeout(), Some(NOW + ms(70)));
    assert_eq!(receiver.on_timer(NOW + ms(70)), AckDemand::Now);
}

/// 5 % of rates from 0 to 1000 that are all as likely: 50 packets/s.
#[test]
fn a_syn_ack_tells_what_is_thought_of_an_unknown_path() {
    let mut receiver = SproutReceiver::new(&Params::default());
    let mut options = OptionList::EMPTY;
    options.push(kind::MSS, &[5, 180]).unwrap();
    receiver.fill(NOW, &mut options);
    let told = Forecast::find(&options).unwrap();
    assert_eq!(told.number, 0);
    let (least, most) = (8.0 * 0.02 * 50.0, 8.0 * 0.02 * 75.0);
    assert!((least..=most).contains(&f64::from(told.within(8))), "{told:?}");
    assert_eq!(next_told(&mut receiver, NOW), None, "an ACK of the handshake");
}

/// Segments of 1444 bytes are packets of 1500.
fn sender(params: &Params) -> Sprout {
    Sprout::new(params, Init { mss_bytes: 1444, ..init(10) })
}
const RISING: Forecast = Forecast { number: 1, packets: [2, 4, 6, 8, 10, 12, 14, 16] };

fn hear(sender: &mut Sprout, now: Time, forecast: Forecast, in_flight_bytes: u64) {
    let options = options_of(|options| forecast.push(options).unwrap());
    let news = Ack { in_flight_bytes, options: Some(&options), ..ack(MSS) };
    sender.on_ack(now, &news);
}
fn credits(sender: &Sprout) -> u64 {
    sender.limits().credits.unwrap()
}

#[test]
fn the_window_is_the_forecast_of_five_ticks_less_what_is_on_its_way() {
    let mut sender = sender(&Params::default());
    assert_eq!((sender.limits().cwnd_bytes, sender.phase()), (10 * MSS, "blind"));
    hear(&mut sender, NOW, RISING, 10 * 1444);
    assert_eq!(credits(&sender), 4 + 6 + 8 + 10 + 12 - 10);
    // 3 more packets; the tick that is over takes 2, the next one 4.
    (0..3).for_each(|_| {
        sender.on_sent(NOW, &Sent { bytes: 1444, ..sent(false) });
    });
    assert_eq!(credits(&sender), 27);
    assert_eq!(sender.next_timeout(), Some(NOW + TICK));
    sender.on_timer(NOW + TICK);
    assert_eq!(credits(&sender), 6 + 8 + 10 + 12 + 14 - (13 - 2));
    sender.on_timer(NOW + TICK * 2);
    assert_eq!(credits(&sender), 8 + 10 + 12 + 14 + 16 - (11 - 4));
    // From here on the forecast ends, and the queue is empty after tick 3.
    let mut left = Vec::new();
    for tick in 3..8 {
        sender.on_timer(NOW + TICK * tick);
        left.push((credits(&sender), sender.phase()));
    }
    let by_hand = [10 + 12 + 14 + 16 - 1, 12 + 14 + 16, 14 + 16, 16].map(|left| (left, "send"));
    assert_eq!(left[..4], by_hand);
    assert_eq!(left[4], (1, "heartbeat"));
    assert_eq!(sender.next_timeout(), None, "the forecast is used up");
}

/// What the authors' sender takes off: 2, then 2 + 4.
#[test]
fn the_authors_sender_takes_the_first_packets_off_again_and_again() {
    let mut sender = sender(&Params { drain: Drain::Cumulative, ..Params::default() });
    hear(&mut sender, NOW, RISING, 20 * 1444);
    sender.on_timer(NOW + TICK);
    assert_eq!(credits(&sender), 50 - 18);
    sender.on_timer(NOW + TICK * 2);
    assert_eq!(credits(&sender), 60 - 12);
    sender.on_timer(NOW + TICK * 3);
    assert_eq!(credits(&sender), 52, "12 are gone");
}

/// 10 packets each tick: `6 x 10 - 10`, with the authors' 1440 bytes each 72 000 bytes.
#[test]
fn a_full_forecast_opens_the_window_of_the_fact_sheet() {
    let full = Forecast { number: 1, packets: [10; TICKS] };
    let mut sender = sender(&ewma());
    hear(&mut sender, NOW, full, 0);
    assert_eq!((credits(&sender), sender.state.room_bytes), (50, 50 * 1444));
    // 75 000 bytes on the wire are 126.69 packets of 592 bytes: the last one has 0.68 x 536 + 56
    // (P is cut to whole bytes).
    let mut sender = Sprout::new(&ewma(), Init { mss_bytes: 536, ..init(10) });
    hear(&mut sender, NOW, full, 0);
    assert_eq!(credits(&sender), 127);
    let next = |mss: u32| NextPacket { payload_bytes: mss, ..next_packet() };
    assert_eq!(sender.edit_header(NOW, &next(536)).max_wire_len, None, "not the last");
    (0..126).for_each(|_| {
        sender.on_sent(NOW, &Sent { bytes: 536, ..sent(false) });
    });
    assert_eq!(sender.edit_header(NOW, &next(536)).max_wire_len, Some(420));
}

/// Retransmissions may be as short as the packets of rule 5: 44 bytes, 100 on the wire.
#[test]
fn short_packets_take_what_they_take_on_the_wire() {
    let mut sender = sender(&Params::default());
    hear(&mut sender, NOW, Forecast { number: 1, packets: [1; TICKS] }, 0);
    let mut leave = 0;
    while credits(&sender) > 0 {
        sender.on_sent(NOW, &Sent { bytes: 44, retransmission: true, ..sent(false) });
        leave += 1;
    }
    // 5 packets of 1500 bytes; a charge is cut to 96 of 96.27 bytes.
    assert_eq!(leave, 5 * 15);
}

#[test]
fn old_forecasts_are_not_heard() {
    let mut sender = sender(&Params::default());
    let of = |number| Forecast { number, packets: [number; TICKS] };
    for (number, heard) in [(250, 250), (249, 250), (250, 250), (3, 3), (255, 3)] {
        hear(&mut sender, NOW, of(number), 0);
        assert_eq!(credits(&sender), 5 * heard, "{number}");
    }
    hear(&mut sender, NOW + STALE, of(255), 0);
    assert_eq!(credits(&sender), 5 * 3);
    hear(&mut sender, NOW + STALE + ms(1), of(255), 0);
    assert_eq!(credits(&sender), 5 * 255, "numbers have gone round");
}

#[test]
fn where_nothing_may_leave_a_small_packet_does_every_50_ms() {
    let mut sender = sender(&Params::default());
    let next = NextPacket { payload_bytes: 1444, ..next_packet() };
    hear(&mut sender, NOW, Forecast { number: 1, packets: [1; TICKS] }, 4 * 1444);
    let wait = |sender: &mut Sprout, next: &NextPacket| {
        let edits = sender.edit_header(NOW, next);
        (Wait::find(&edits.options.unwrap()).unwrap(), edits.max_wire_len)
    };
    assert_eq!(wait(&mut sender, &next), (Wait(ms(50)), None), "the last for now");
    sender.on_sent(NOW, &Sent { bytes: 1444, ..sent(false) });
    assert_eq!((credits(&sender), sender.phase()), (0, "wait"));
    // Forecasts of nothing do not put it off.
    let none = |number| Forecast { number, packets: [0; TICKS] };
    hear(&mut sender, NOW + ms(20), none(2), 0);
    hear(&mut sender, NOW + ms(45), none(3), 0);
    assert_eq!(sender.next_timeout(), Some(NOW + ms(50)));
    sender.on_timer(NOW + ms(50));
    assert_eq!((credits(&sender), sender.phase()), (1, "heartbeat"));
    assert_eq!(wait(&mut sender, &next), (Wait(ms(50)), Some(100)));
    sender.on_sent(NOW + ms(50), &Sent { bytes: 40, ..sent(false) });
    assert_eq!(credits(&sender), 0);
    sender.on_timer(NOW + ms(99));
    assert_eq!(credits(&sender), 0);
    sender.on_timer(NOW + ms(100));
    assert_eq!(credits(&sender), 1);
}

#[test]
fn the_last_packet_of_a_flight_says_so_and_the_last_of_the_data_too() {
    let mut sender = sender(&Params::default());
    let says = |sender: &mut Sprout, payload_bytes, retransmission| {
        let next = NextPacket { payload_bytes, retransmission, ..next_packet() };
        sender.edit_header(NOW, &next).options.as_ref().and_then(Wait::find)
    };
    assert_eq!(says(&mut sender, 1444, false), Some(Wait(ms(50))), "without a forecast");
    hear(&mut sender, NOW, RISING, 0);
    assert_eq!(says(&mut sender, 1444, false), Some(Wait::default()));
    assert_eq!(says(&mut sender, 700, false), Some(Wait::LONGEST), "nothing follows");
    assert_eq!(says(&mut sender, 700, true), Some(Wait::default()));
    assert_eq!(says(&mut sender, 0, false), None, "a FIN");
}

#[test]
fn parameters_out_of_range_are_named() {
    let error = |params: Params| params.check().unwrap_err();
    let base = Params::default;
    for (params, name, allowed) in [
        (Params { max_packets_per_s: Some(99.0), ..base() }, "max_packets_per_s", "100 to 4000"),
        (
            Params { max_packets_per_s: Some(4e3 + 1.0), ..base() },
            "max_packets_per_s",
            "100 to 4000",
        ),
        (Params { sigma: -1.0, ..base() }, "sigma", "0 to 2000"),
        (Params { sigma: f64::NAN, ..base() }, "sigma", "0 to 2000"),
        (Params { outage_escape_per_s: 51.0, ..base() }, "outage_escape_per_s", "0 to 50"),
        (Params { quantile: 0.0, ..base() }, "quantile", "above 0, at most 0.5"),
        (Params { quantile: 0.51, ..base() }, "quantile", "above 0, at most 0.5"),
        (Params { early_transit_ticks: 0, ..base() }, "early_transit_ticks", "1 to 7"),
        (Params { early_transit_ticks: 8, ..base() }, "early_transit_ticks", "1 to 7"),
    ] {
        assert_eq!(error(params), ParamError::new(name, allowed));
    }
}

/// Every corner of the ranges, with streams that no rate of the belief explains: probabilities stay
/// probabilities, forecasts rise tick by tick.
#[test]
fn beliefs_stay_beliefs_at_the_ends_of_all_ranges() {
    let mut rng = forebay_base::Rng::new(1, forebay_base::Stream::Test, 0);
    for most in [100.0, 1000.0, 1234.5, 2000.0] {
        for (sigma, escape) in
            [(0.0, 0.0), (0.0, 50.0), (2000.0, 0.0), (2000.0, 50.0), (200.0, 1.0)]
        {
            let params = Params {
                max_packets_per_s: Some(most),
                sigma,
                outage_escape_per_s: escape,
                ..Params::default()
            };
            let tables = Tables::new(&params);
            let mut belief = Belief::new(&tables.grid);
            for _ in 0..300 {
                let packets = [0, 0, 1, 5, 29, 2000, u32::MAX][rng.below(7) as usize];
                let packets = (!rng.chance(0.2)).then_some(packets);
                belief.tick(&tables.grid, packets);
                let sum: f64 = belief.shares().iter().sum();
                assert!((sum - 1.0).abs() < 1e-9, "{params:?}: {sum}");
                assert!(belief.shares().iter().all(|&p| p >= 0.0));
                let found = told(&tables, &belief);
                assert!(found.is_sorted(), "{params:?}: {found:?}");
            }
        }
    }
}

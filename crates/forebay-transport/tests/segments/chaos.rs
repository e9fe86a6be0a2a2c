//! Whatever a wire does, a flow finishes, once and whole; each invariant of [`crate::common::Pair`]
//! holds on each packet.

#![allow(clippy::print_stdout)] // names the case of a failing test

use crate::common::{Event, Fate, MSS, Pair, Window, Wiring, ms, plain, us};
use forebay_base::{Rng, Span, Stream, Time};
use forebay_cc::{AckPolicy, Init, LossPolicy, TABLE};
use forebay_transport::{PRESETS, Pacing, Recovery, TcpConfig};

/// How bad a wire is: probabilities of loss, delay, duplication and marks.
#[derive(Clone, Copy, Debug)]
struct Weather {
    lose: f64,
    hold: f64,
    repeat: f64,
    mark: f64,
    hold_most: Span,
}

fn weather(rng: &mut Rng) -> Weather {
    Weather {
        lose: rng.unit() * 0.2,
        hold: if rng.chance(0.5) { rng.unit() * 0.3 } else { 0.0 },
        repeat: if rng.chance(0.3) { rng.unit() * 0.1 } else { 0.0 },
        mark: if rng.chance(0.3) { rng.unit() * 0.2 } else { 0.0 },
        hold_most: us(1 + rng.below(300_000)),
    }
}

fn storm(mut rng: Rng, w: Weather) -> impl FnMut(&Event) -> Fate {
    move |_| Fate {
        drop: rng.chance(w.lose),
        late: if rng.chance(w.hold) {
            Span::from_nanos(1 + rng.below(w.hold_most.as_nanos()))
        } else {
            Span::ZERO
        },
        again: rng.chance(w.repeat).then(|| us(rng.below(400_000))),
        mark: rng.chance(w.mark),
        strip: None,
    }
}

const POLICIES: [LossPolicy; 4] = [
    LossPolicy::DupThresh,
    LossPolicy::RackTlp,
    LossPolicy::GapTimer { num: 3, den: 1 },
    LossPolicy::TimeoutOnly,
];
const RECOVERIES: [Recovery; 3] = [Recovery::Prr, Recovery::Pipe, Recovery::NewReno];

fn run(seed: u64, config: TcpConfig) -> Pair {
    let mut rng = Rng::new(seed, Stream::Test, 1);
    let weather = weather(&mut rng);
    let bytes = rng.below(150) * MSS + rng.below(MSS);
    let back = if rng.chance(0.3) { rng.below(60_000) } else { 0 };
    let delay = us(100 + rng.below(80_000));
    let mut wiring = Wiring::new(config, Some(bytes), delay).script(storm(rng.clone(), weather));
    wiring.send_bytes[1] = Some(back);
    let rate = rng.chance(0.2).then(|| forebay_base::Rate::mbps(1 + rng.below(20)));
    let mut pair = wiring.build(|_, _| Window { rate, ..Window::reno(4) }.any());
    pair.early_calls = seed.is_multiple_of(4);
    // Every loss may take a timeout of up to 60 s where only the timer finds it.
    pair.finish(Time::from_secs(36_000));
    pair.drain();
    pair
}

#[test]
fn three_hundred_storms_over_all_ways_to_find_and_repair_losses() {
    for seed in 0..300 {
        let mut rng = Rng::new(seed, Stream::Test, 2);
        let sack = rng.chance(0.7);
        let ack_policy = match rng.below(3) {
            0 => AckPolicy::EveryPacket,
            1 => AckPolicy::Delayed { packets: 2, timeout: ms(40), quick: 0 },
            _ => AckPolicy::Delayed { packets: 4, timeout: ms(100), quick: 16 },
        };
        let windowed = Pacing::Windowed { slow_start_percent: 200, avoidance_percent: 120 };
        let config = TcpConfig {
            loss_policy: POLICIES[(seed % 4) as usize],
            recovery: RECOVERIES[(seed / 4 % 3) as usize],
            sack,
            timestamps: rng.chance(0.5),
            window_scaling: rng.chance(0.7),
            ack_policy,
            limited_transmit: rng.chance(0.5),
            ecn: rng.chance(0.4),
            pacing: if rng.chance(0.3) { windowed } else { Pacing::Off },
            min_rto: if rng.chance(0.5) { ms(200) } else { Span::from_secs(1) },
            receive_buffer_bytes: if rng.chance(0.3) { 20_000 } else { 4 << 20 },
            ..plain()
        };
        println!("seed {seed}: {config:?}");
        run(seed, config);
    }
}

#[test]
fn every_preset_in_forty_storms() {
    for preset in PRESETS {
        for seed in 1000..1040 {
            println!("preset {} seed {seed}", preset.name);
            run(seed, preset.config);
        }
    }
}

#[test]
fn sides_that_disagree_about_options_still_talk() {
    for seed in 2000..2032u64 {
        let side = |bit: u64| TcpConfig {
            sack: seed >> bit & 1 == 0,
            timestamps: seed >> (bit + 1) & 1 == 0,
            window_scaling: seed >> (bit + 2) & 1 == 0,
            ecn: true,
            ..plain()
        };
        let mut rng = Rng::new(seed, Stream::Test, 3);
        let weather = weather(&mut rng);
        let mut wiring = Wiring::new(plain(), Some(90 * MSS), ms(20)).script(storm(rng, weather));
        wiring.configs = [side(0), side(2)];
        println!("seed {seed}");
        let mut pair = wiring.build(|_, _| Window::reno(10).any());
        pair.finish(Time::from_secs(3600));
        pair.drain();
    }
}

#[test]
fn each_single_loss_of_a_short_flow_is_repaired() {
    // Drop the k-th packet of each side, for every k: SYN, SYN-ACK, each segment, each ACK, FIN.
    for policy in POLICIES {
        for side in 0..2 {
            for index in 1..=30 {
                let config = TcpConfig { loss_policy: policy, ..plain() };
                let wiring = Wiring::new(config, Some(20 * MSS), ms(50))
                    .script(move |e| Fate::drop_if(e.side == side && e.index == index));
                println!("{policy:?} side {side} packet {index}");
                let mut pair = wiring.build(|_, _| Window::reno(4).any());
                pair.finish(Time::from_secs(20));
                assert!(pair.ends[0].counters().retransmits <= 10);
                pair.drain();
            }
        }
    }
}

#[test]
fn each_pair_of_losses_of_a_short_flow_is_repaired() {
    for first in 2..=14 {
        for second in first + 1..=16 {
            for policy in [LossPolicy::DupThresh, LossPolicy::RackTlp] {
                let config = TcpConfig { loss_policy: policy, recovery: Recovery::Prr, ..plain() };
                let wiring = Wiring::new(config, Some(12 * MSS), ms(50)).script(move |e| {
                    Fate::drop_if(e.side == 0 && (e.index == first || e.index == second))
                });
                println!("{policy:?} packets {first} {second}");
                let mut pair = wiring.build(|_, _| Window::reno(10).any());
                pair.finish(Time::from_secs(30));
                pair.drain();
            }
        }
    }
}

#[test]
fn an_outage_of_a_minute_is_survived() {
    for policy in POLICIES {
        let config = TcpConfig { loss_policy: policy, ..plain() };
        let wiring = Wiring::new(config, Some(300 * MSS), ms(50)).script(|e| {
            let down = Time::from_millis(400)..Time::from_secs(60);
            Fate::drop_if(down.contains(&e.seg.at))
        });
        let mut pair = wiring.build(|_, _| Window::reno(10).any());
        pair.finish(Time::from_secs(200));
        pair.drain();
    }
}

#[test]
fn reordering_alone_loses_nothing_with_rack() {
    // Each packet comes up to an eighth of an RTT late: inside min_RTT / 4, so that RACK must not
    // retransmit once it has seen reordering.
    let mut rng = Rng::new(7, Stream::Test, 4);
    let config = TcpConfig { loss_policy: LossPolicy::RackTlp, recovery: Recovery::Prr, ..plain() };
    let wiring = Wiring::new(config, Some(2000 * MSS), ms(50)).script(move |e| Fate {
        late: if e.side == 0 { us(rng.below(12_000)) } else { Span::ZERO },
        ..Fate::PASS
    });
    let mut pair = wiring.build(|_, _| Window::fixed(50).any());
    pair.finish(Time::from_secs(60));
    // Before the first reordered delivery is recognised, three SACKs may have started one recovery,
    // of one window.
    let counters = pair.ends[0].counters();
    assert!(counters.recoveries <= 1, "{counters:?}");
    assert!(counters.retransmits <= 50, "{counters:?}");
}

#[test]
fn a_full_duplex_storm() {
    for seed in 3000..3020 {
        let mut rng = Rng::new(seed, Stream::Test, 5);
        let weather = weather(&mut rng);
        let mut wiring =
            Wiring::new(PRESETS[0].config, Some(200_000), ms(30)).script(storm(rng, weather));
        wiring.send_bytes = [Some(200_000), Some(200_000)];
        println!("seed {seed}");
        let mut pair = wiring.build(|_, _| Window::reno(10).any());
        pair.finish(Time::from_secs(3600));
        pair.drain();
    }
}

#[test]
fn the_same_script_gives_the_same_trace() {
    let trace = || -> Vec<(usize, Time, i64, u64)> {
        run(42, PRESETS[0].config)
            .log
            .iter()
            .map(|e| (e.side, e.seg.at, e.seg.off, e.seg.len))
            .collect()
    };
    assert_eq!(trace(), trace());
}

#[test]
fn every_controller_of_the_table_in_storms() {
    for entry in TABLE {
        for seed in 4000..4030 {
            let mut rng = Rng::new(seed, Stream::Test, 6);
            let weather = weather(&mut rng);
            let config = PRESETS[(seed % PRESETS.len() as u64) as usize].config;
            let init = Init {
                mss_bytes: config.mss_bytes as u32,
                initial_window_bytes: 10 * config.mss_bytes as u64,
                initial_ssthresh_bytes: u64::MAX,
                paced: false,
                rng: Rng::new(seed, Stream::Controller, 0),
            };
            println!("{} seed {seed}", entry.name);
            let wiring =
                Wiring::new(config, Some(rng.below(300_000)), ms(25)).script(storm(rng, weather));
            let mut pair = wiring.build(|_, _| (entry.spec)().build(init.clone()));
            pair.finish(Time::from_secs(3600));
            pair.drain();
        }
    }
}

#[test]
fn on_a_wire_that_keeps_the_order_nothing_is_sent_again_in_vain() {
    // Only data is lost, every packet is acknowledged, nothing overtakes: what is not SACKed an RTT
    // after it was sent is lost. So no retransmission and no probe may reach a receiver that had
    // the data.
    for seed in 5000..5080 {
        let mut rng = Rng::new(seed, Stream::Test, 7);
        let lose = rng.unit() * 0.15;
        let config = TcpConfig {
            loss_policy: POLICIES[(seed % 2) as usize],
            recovery: Recovery::Prr,
            limited_transmit: rng.chance(0.5),
            timestamps: rng.chance(0.5),
            ..plain()
        };
        let wiring = Wiring::new(config, Some(400 * MSS), ms(40))
            .script(move |e| Fate::drop_if(e.side == 0 && e.seg.len > 0 && rng.chance(lose)));
        println!("seed {seed}");
        let mut pair = wiring.build(|_, _| Window::reno(10).any());
        pair.finish(Time::from_secs(3600));
        assert_eq!(pair.ends[1].counters().duplicates_received, 0);
        let lost = pair.data().iter().filter(|e| !e.arrived).count() as u64;
        assert_eq!(pair.ends[0].counters().retransmits, lost, "one for each loss");
    }
}

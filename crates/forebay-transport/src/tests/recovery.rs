use crate::testing::{Fate, Flight, Pair, Plan, config};
use crate::{Recovery, TcpConfig};
use alloc::vec::Vec;
use forebay_base::Time;
use forebay_cc::{AckPolicy, LossPolicy};

const MSS: u64 = 1000;

/// Ten segments at once, every packet acknowledged, no tail loss probes: the setting of the hand-computed scenarios.
fn classic(window: u32) -> TcpConfig {
    TcpConfig {
        mss_bytes: MSS as u16,
        initial_window_segments: window,
        initial_ssthresh_bytes: Some(0),
        ack_policy: AckPolicy::EveryPacket,
        loss_policy: LossPolicy::DupThresh,
        timestamps: false,
        ..config()
    }
}

/// Drops the first transmission of each of `segments`.
fn drop_once(segments: &'static [u64]) -> impl FnMut(&Flight) -> Fate {
    let mut left: Vec<u64> = segments.to_vec();
    move |f| {
        let at = left.iter().position(|&s| f.forth && f.len > 0 && f.segment(MSS) == s);
        match at {
            Some(at) => {
                left.remove(at);
                Fate::Drop
            }
            None => Fate::Deliver,
        }
    }
}

/// Segments that left at each ACK that came to the client while it had data in the first flight outstanding: the ACKs are
/// one microsecond apart, so that what leaves at the same time answers the same ACK.
fn sent_on_acks(pair: &Pair, from: Time) -> Vec<Vec<u64>> {
    let mut out: Vec<(Time, Vec<u64>)> = Vec::new();
    for f in pair.data().filter(|f| f.at > from) {
        match out.last_mut() {
            Some((at, segments)) if *at == f.at => segments.push(f.segment(MSS)),
            _ => out.push((f.at, Vec::from([f.segment(MSS)]))),
        }
    }
    out.into_iter().map(|(_, s)| s).collect()
}

/// Stagger the packets of the first flight so that each ACK has a time of its own.
fn staggered(mut script: impl FnMut(&Flight) -> Fate) -> impl FnMut(&Flight) -> Fate {
    let mut count = 0;
    move |f| match script(f) {
        Fate::Deliver if f.forth && f.len > 0 => {
            count += 1;
            Fate::Delay(forebay_base::Span::from_micros(f.segment(MSS)))
        }
        fate => fate,
    }
}

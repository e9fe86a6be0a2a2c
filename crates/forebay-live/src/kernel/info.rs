//! `TCP_INFO` of a socket, as `struct tcp_info` of `linux/tcp.h` lays it out.

use crate::os;
use forebay_base::{Rate, Span, Time};
use forebay_sim::ForeignSample;
use std::os::fd::AsFd;

/// Offsets of fields.
mod offset {
    pub const SND_MSS: usize = 16;
    pub const UNACKED: usize = 24;
    pub const SACKED: usize = 28;
    pub const LOST: usize = 32;
    pub const RETRANS: usize = 36;
    pub const RTT: usize = 68;
    pub const SND_SSTHRESH: usize = 76;
    pub const SND_CWND: usize = 80;
    pub const TOTAL_RETRANS: usize = 100;
    pub const PACING_RATE: usize = 104;
    pub const BYTES_ACKED: usize = 120;
    pub const DATA_SEGS_OUT: usize = 156;
    pub const BYTES_SENT: usize = 200;
    pub const BYTES_RETRANS: usize = 208;
    /// Since Linux 6.7.
    pub const TOTAL_RTO: usize = 240;
}

/// A slow start threshold that is not set (`TCP_INFINITE_SSTHRESH`).
const NO_SSTHRESH: u64 = 0x7fff_ffff;

/// What the kernel tells of a socket now. None if it has no such socket any more.
pub(super) fn sample(socket: &impl AsFd, at: Time) -> Option<ForeignSample> {
    os::tcp_info(socket).ok().map(|info| parsed(&info, at))
}

fn parsed(info: &[u8; os::TCP_INFO_BYTES], at: Time) -> ForeignSample {
    let bytes = |offset: usize, len: usize| {
        let mut all = [0; 8];
        all[..len].copy_from_slice(&info[offset..offset + len]);
        u64::from_le_bytes(all)
    };
    let (word, long) = (|offset| bytes(offset, 4), |offset| bytes(offset, 8));
    let mss_bytes = word(offset::SND_MSS);
    let (rtt_us, ssthresh, pacing) =
        (word(offset::RTT), word(offset::SND_SSTHRESH), long(offset::PACING_RATE));
    // As the kernel counts what is in flight (`tcp_packets_in_flight`).
    let left = word(offset::SACKED) + word(offset::LOST);
    let in_flight = (word(offset::UNACKED) + word(offset::RETRANS)).saturating_sub(left);
    let (sent, again) = (long(offset::BYTES_SENT), long(offset::BYTES_RETRANS));
    let stream_bytes = sent.saturating_sub(again);
    let mut sample = ForeignSample { at, stream_bytes, ..ForeignSample::default() };
    let ForeignSample { counters, view, .. } = &mut sample;
    counters.data_packets = word(offset::DATA_SEGS_OUT);
    counters.retransmits = word(offset::TOTAL_RETRANS);
    // It tells only how many are lost now: those that were are sent again.
    counters.lost_packets = word(offset::TOTAL_RETRANS);
    counters.timeouts = bytes(offset::TOTAL_RTO, 2);
    view.cwnd_bytes = word(offset::SND_CWND) * mss_bytes;
    view.ssthresh_bytes = (ssthresh < NO_SSTHRESH).then_some(ssthresh * mss_bytes);
    view.srtt = (rtt_us > 0).then(|| Span::from_micros(rtt_us));
    view.in_flight_bytes = in_flight * mss_bytes;
    view.pacing_rate = (1..u64::MAX / 8).contains(&pacing).then(|| Rate::clamped(pacing * 8));
    view.delivered_bytes = long(offset::BYTES_ACKED);
    view.lost_bytes = again;
    sample
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    /// Over the loopback interface: known counts are found where they are looked for.
    #[test]
    fn the_kernel_tells_what_was_sent() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let to = listener.local_addr().expect("an address");
        let mut client = TcpStream::connect(to).expect("a listener");
        let (mut server, _) = listener.accept().expect("a client");
        client.write_all(&[1; 5000]).expect("room");
        server.read_exact(&mut [0; 5000]).expect("bytes");
        server.write_all(&[1]).expect("room");
        // Its answer acknowledges all.
        client.read_exact(&mut [0]).expect("a byte");
        let seen = sample(&client, Time::from_millis(7)).expect("a connected socket");
        let (counters, view) = (seen.counters, seen.view);
        assert_eq!(
            (seen.at, seen.stream_bytes, view.in_flight_bytes),
            (Time::from_millis(7), 5000, 0)
        );
        assert_eq!((counters.retransmits, counters.timeouts, view.lost_bytes), (0, 0, 0));
        // The kernel counts the SYN as well.
        assert!((5000..=5001).contains(&view.delivered_bytes), "{seen:?}");
        let rtt_ms = view.srtt.expect("data were acknowledged").as_secs_f64() * 1e3;
        assert!(
            (0.0..1e3).contains(&rtt_ms) && (1..=5).contains(&counters.data_packets),
            "{seen:?}"
        );
        assert!((5000..10_000_000).contains(&view.cwnd_bytes), "{seen:?}");
        assert_eq!(view.ssthresh_bytes, None, "no loss");
    }
}

//! A connection of MPTCP as Wireshark's dissectors see it.

use crate::common::{MSS, connection, ms, plain};
use forebay_base::{Arena, Rng, Stream, Time};
use forebay_cc::{AnyFeedback, Init, Spec};
use forebay_prerequisites::program;
use forebay_transport::TcpConfig;
use forebay_wire::pcapng::{Capture, Direction, PcapngWriter};
use forebay_wire::{AddressPlan, emit};
use std::collections::{BTreeSet, VecDeque};
use std::io::Write;
use std::process::{Command, Stdio};

/// What tshark prints about `capture`.
fn tshark(capture: &[u8], args: &[&str]) -> String {
    let mut child = Command::new("tshark")
        .args(["-r", "-", "-n", "-o", "tcp.check_checksum:TRUE"])
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(capture).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The packets of a transfer of `bytes` over two paths, as they are sent; a way takes 5 ms.
fn capture(bytes: u64) -> Vec<u8> {
    let config = TcpConfig { timestamps: true, ..plain() };
    let mut ends = [0, 1].map(|side| {
        let spec = Spec::by_name("mptcp").unwrap();
        let controllers = (0..2).map(|path| {
            spec.build(Init {
                mss_bytes: MSS as u32,
                initial_window_bytes: 10 * MSS,
                initial_ssthresh_bytes: 20 * MSS,
                paced: false,
                rng: Rng::new(1, Stream::Controller, path),
            })
        });
        let send = Some(if side == 0 { bytes } else { 0 });
        let isn = |path: usize| 1_000_000 * (1 + side as u32) + path as u32;
        connection(side, config, send, controllers.collect(), isn, || AnyFeedback::None)
    });
    let mut writer = PcapngWriter::new(vec![], "forebay test").unwrap();
    let interface = writer.interface("a-b").unwrap();
    let (mut arena, mut now) = (Arena::default(), Time::ZERO);
    ends[0].open(now);
    for _ in 0..400 {
        let mut wire = VecDeque::new();
        for side in 0..2 {
            ends[side].on_timeout(now);
            for path in 0..2 {
                while let Some(packet) = ends[side].poll_transmit(now, path, &mut arena) {
                    let mut data = Vec::new();
                    emit(&packet, &arena, &AddressPlan::default(), &mut data).unwrap();
                    let direction = [Direction::Outbound, Direction::Inbound][side];
                    let seen = Capture { interface, at: now, direction, comment: None };
                    writer.packet(&seen, &data).unwrap();
                    wire.push_back((1 - side, path, packet));
                }
            }
        }
        now += ms(5);
        for (to, path, packet) in wire {
            ends[to].on_packet(now, path, &packet, &arena);
            arena.free(packet);
        }
    }
    assert!(ends.iter().all(|end| end.is_ended()));
    writer.into_sink()
}

/// The distinct values of a field in what `filter` lets through.
fn values(capture: &[u8], filter: &str, field: &str) -> BTreeSet<String> {
    let printed = tshark(capture, &["-Y", filter, "-T", "fields", "-e", field]);
    printed.lines().filter(|line| !line.is_empty()).map(str::to_string).collect()
}

#[test]
fn tshark_follows_a_stream_over_two_subflows() {
    if program(&["tshark"]).is_none() {
        return;
    }
    let bytes = 200 * MSS;
    let capture = capture(bytes);
    let wrong = "_ws.malformed || tcp.checksum.status == 0 || _ws.expert.severity == 8388608 || \
                 mptcp.connection.echoed_key_mismatch || mptcp.dss.missing_mapping || \
                 mptcp.connection.unsupported_algorithm";
    assert_eq!(tshark(&capture, &["-Y", wrong]), "");
    // By the token, which it computes from the key, both subflows are of one connection.
    assert_eq!(values(&capture, "tcp", "mptcp.stream").len(), 1);
    assert_eq!(values(&capture, "tcp", "tcp.stream").len(), 2);
    let token = values(&capture, "tcp.options.mptcp.subtype == 1", "tcp.options.mptcp.recvtok");
    let expected = values(&capture, "tcp", "mptcp.expected_token");
    assert_eq!(token.len(), 1);
    assert!(expected.is_superset(&token), "{token:?} of {expected:?}");
    // Numbers relative to the one that follows from the key: the data are 1 to `bytes`, and each
    // is there.
    let relative = ["-o", "mptcp.relative_sequence_numbers:TRUE"];
    let fields = ["-Y", "tcp.len > 0", "-T", "fields", "-e", "mptcp.dss.dsn", "-e", "tcp.len"];
    let printed = tshark(&capture, &[&relative[..], &fields].concat());
    let mut seen = BTreeSet::new();
    for line in printed.lines() {
        let (dsn, len) = line.split_once('\t').unwrap();
        let len: u64 = len.parse().unwrap();
        // The first segment has the keys in place of a number.
        let dsn = dsn.parse().unwrap_or(1);
        seen.extend(dsn..dsn + len);
    }
    assert!(seen.into_iter().eq(1..=bytes));
    let fin = values(&capture, "tcp.options.mptcp.datafin.flag == 1", "mptcp.stream");
    assert_eq!(fin.len(), 1, "the stream ends");
}

//! A small conversation as Wireshark's dissectors see it.

use crate::make::*;
use forebay_base::{
    Arena, IpVersion, OptionList, Packet, TcpFields, TcpFlags, Time, cut_ipv4, cut_ipv6, kind,
};
use forebay_prerequisites::program;
use forebay_wire::Pattern;
use forebay_wire::pcapng::{Capture, Direction, PcapngWriter};
use std::io::Write;
use std::process::{Command, Stdio};

/// True if tshark is there.
#[track_caller]
fn have_tshark() -> bool {
    program(&["tshark"]).is_some()
}

/// What tshark prints about `capture`, all checksums verified.
fn tshark(capture: &[u8], args: &[&str]) -> String {
    let mut child = Command::new("tshark")
        .args(["-r", "-", "-n", "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"])
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

const MSS: u16 = 1000;
const ISN: u32 = u32::MAX - 1500;
const PEER_ISN: u32 = 70_000;

/// Sender and receiver of a short transfer, with the fields that matter here.
struct Conversation {
    arena: Arena,
    version: IpVersion,
}

impl Conversation {
    fn segment(&self, forward: bool, offset: u32, flags: TcpFlags, payload: u16) -> Packet {
        let (a, b) = (end(1, 5001), end(2, 80));
        let (src, dst) = if forward { (a, b) } else { (b, a) };
        let (isn, peer) = if forward { (ISN, PEER_ISN) } else { (PEER_ISN, ISN) };
        let syn = flags.has(TcpFlags::SYN);
        let acked = if forward { 1 } else { 1 + offset };
        let fields = TcpFields {
            seq: if syn { isn } else { isn.wrapping_add(if forward { 1 + offset } else { 1 }) },
            ack: if flags.has(TcpFlags::ACK) { peer.wrapping_add(acked) } else { 0 },
            flags,
            window: 0xffff,
            timestamps: Some((1, u32::from(flags.has(TcpFlags::ACK)))),
        };
        Packet::tcp(self.version, src, dst, fields, payload)
    }
    fn with_options(&mut self, mut packet: Packet, list: &[(u8, &[u8])]) -> Packet {
        let mut options = OptionList::EMPTY;
        list.iter().for_each(|(kind, data)| options.push(*kind, data).unwrap());
        packet.set_tcp_options(options, &mut self.arena).unwrap();
        packet
    }

    /// Handshake, three data segments of which the first is seen last, SACK, FIN both ways.
    fn packets(&mut self) -> Vec<(bool, Packet)> {
        let (syn, ack, fin) = (TcpFlags::SYN, TcpFlags::ACK, TcpFlags::FIN.with(TcpFlags::ACK));
        let hello: [(u8, &[u8]); 3] = [
            (kind::MSS, &MSS.to_be_bytes()),
            (kind::WINDOW_SCALE, &[7]),
            (kind::SACK_PERMITTED, &[]),
        ];
        let first = self.segment(true, 0, syn, 0);
        let first = self.with_options(first, &hello);
        let second = self.segment(false, 0, syn.with(ack), 0);
        let second = self.with_options(second, &hello);
        let edge = |offset: u32| ISN.wrapping_add(1 + offset).to_be_bytes();
        let mss = u32::from(MSS);
        let block = [edge(mss), edge(3 * mss)].concat();
        let duplicate = self.segment(false, 0, ack, 0);
        let duplicate = self.with_options(duplicate, &[(kind::SACK, &block)]);
        vec![
            (true, first),
            (false, second),
            (true, self.segment(true, 0, ack, 0)),
            (true, self.segment(true, mss, ack, MSS)),
            (true, self.segment(true, 2 * mss, ack, MSS)),
            (false, duplicate),
            (true, self.segment(true, 0, ack, MSS)),
            (false, self.segment(false, 3 * mss, ack, 0)),
            (true, self.segment(true, 3 * mss, fin, 0)),
            (false, self.segment(false, 3 * mss + 1, fin, 0)),
        ]
    }
}

/// A capture of `packets`, sent or received at one end, 1 ms apart.
fn capture(packets: &[(bool, Packet)], arena: &Arena) -> Vec<u8> {
    let mut writer = PcapngWriter::new(vec![], "forebay test").unwrap();
    let interface = writer.interface("a-b").unwrap();
    for (ms, (forward, packet)) in (1..).zip(packets) {
        let direction = if *forward { Direction::Outbound } else { Direction::Inbound };
        let comment = (ms == 7).then_some("drop: full");
        let capture = Capture { interface, at: Time::from_millis(ms), direction, comment };
        writer.packet(&capture, &bytes_of(packet, arena)).unwrap();
    }
    writer.into_sink()
}

/// The last term is any remark of severity "error".
const SUSPICIOUS: &str = "_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0 \
     || _ws.expert.severity == 8388608";

fn conversation(version: IpVersion) -> Vec<u8> {
    let mut talk = Conversation { arena: Arena::default(), version };
    let mut packets = talk.packets();
    if version == IpVersion::V4 {
        // The retransmission travels in two fragments.
        let (_, mut whole) = packets.remove(6);
        whole.set_dont_fragment(false);
        whole.cold_mut(&mut talk.arena).ip_id = 1;
        let (first, second) = cut_ipv4(whole, 576, &mut talk.arena).unwrap();
        packets.splice(6..6, [(true, first), (true, second)]);
    }
    capture(&packets, &talk.arena)
}

#[test]
fn tshark_finds_nothing_wrong_and_follows_the_stream() {
    if !have_tshark() {
        return;
    }
    for (version, frames) in [(IpVersion::V4, 11), (IpVersion::V6, 10)] {
        let file = conversation(version);
        assert_eq!(tshark(&file, &["-Y", SUSPICIOUS]), "");
        let verified = tshark(&file, &["-Y", "tcp.checksum.status == 1"]).lines().count();
        assert_eq!(verified, 10, "each of the ten segments, reassembled where cut");
        assert_eq!(tshark(&file, &[]).lines().count(), frames);

        let mut data = vec![0; 3 * usize::from(MSS)];
        Pattern::new(end(1, 5001), end(2, 80)).fill(ISN.wrapping_add(1), &mut data);
        let followed = tshark(&file, &["-q", "-z", "follow,tcp,raw,0"]);
        let hex: String = followed
            .lines()
            .filter(|l| !l.is_empty() && l.bytes().all(|b| b.is_ascii_hexdigit()))
            .collect();
        let expected: String = data.iter().map(|b| format!("{b:02x}")).collect();
        assert_eq!(hex, expected);
    }
}

#[test]
fn tshark_reads_the_fields_as_meant() {
    if !have_tshark() {
        return;
    }
    let file = conversation(IpVersion::V4);
    let fields = |filter: &str, names: &[&str]| {
        let names = names.iter().flat_map(|name| ["-e", *name]);
        let args: Vec<&str> = ["-Y", filter, "-T", "fields"].into_iter().chain(names).collect();
        tshark(&file, &args)
    };
    let sack = ["tcp.options.sack_le", "tcp.options.sack_re"];
    assert_eq!(fields("tcp.options.sack_le", &sack), "1001\t3001\n");
    let syn = ["tcp.options.mss_val", "tcp.options.wscale.shift", "tcp.options.timestamp.tsval"];
    assert_eq!(fields("tcp.flags.syn == 1", &syn), "1000\t7\t1\n1000\t7\t1\n");
    let frame = ["frame.interface_name", "frame.time_epoch", "frame.packet_flags_direction"];
    assert_eq!(fields("frame.number == 2", &frame), "a-b\t0.002000000\t0x00000001\n");
    assert_eq!(fields("frame.comment", &["frame.number", "frame.comment"]), "7\tdrop: full\n");
    assert_eq!(fields("ip.flags.mf == 1", &["ip.id", "ip.len"]), "0x0001\t596\n");
}

/// UDP from port 7 to port 7 without a checksum, with a router alert (RFC 2113), by its bytes.
fn udp(body: usize, arena: &mut Arena) -> Packet {
    let mut bytes = vec![0x46, 0, 0, 0, 0x12, 0x34, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    bytes.extend([148, 4, 0, 0, 0, 7, 0, 7]);
    bytes.extend(((8 + body) as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.resize(32 + body, 0x5a);
    let len = bytes.len() as u16;
    bytes[2..4].copy_from_slice(&len.to_be_bytes());
    fix_checksums(&mut bytes);
    parsed(&bytes, arena)
}

/// Segments and foreign datagrams, cut, cut again, and out of order, with options of which some go
/// with all fragments: tshark puts each together, and finds nothing wrong with it.
#[test]
fn tshark_puts_pieces_together() {
    if !have_tshark() {
        return;
    }
    let mut talk = Conversation { arena: Arena::default(), version: IpVersion::V4 };
    let ack = TcpFlags::ACK;
    let mut wholes: Vec<Packet> =
        (0..3).map(|nth| talk.segment(true, nth * u32::from(MSS), ack, MSS)).collect();
    wholes.push(udp(900, &mut talk.arena));
    let mut pieces = vec![];
    for (nth, mut whole) in wholes.into_iter().enumerate() {
        if nth < 3 {
            whole.set_dont_fragment(false);
            whole.cold_mut(&mut talk.arena).ip_id = 1 + nth as u32;
            let options = OptionList::from_bytes(&[7, 7, 4, 0, 0, 0, 0, 131, 3, 4]).unwrap();
            whole.set_ip_options(options, &mut talk.arena).unwrap();
        }
        // A port says 400, the next one 24.
        let (lead, tail) = cut_ipv4(whole, 400, &mut talk.arena).unwrap();
        let (lead, middle) = cut_ipv4(lead, 24, &mut talk.arena).unwrap();
        let mut three = [lead, middle, tail];
        three.rotate_left(nth % 3);
        pieces.extend(three.into_iter().map(|piece| (true, piece)));
    }
    let file = capture(&pieces, &talk.arena);
    assert_eq!(tshark(&file, &["-Y", SUSPICIOUS]), "");
    assert_eq!(tshark(&file, &["-Y", "ip.fragment.overlap || ip.fragment.error"]), "");
    let args = ["-Y", "ip.fragments", "-T", "fields", "-e", "ip.fragment.count"];
    let lens = ["-e", "ip.reassembled.length", "-e", "tcp.checksum.status"];
    let found = tshark(&file, &[&args[..], &lens].concat());
    let segment = format!("3\t{}\t1\n", 32 + MSS);
    assert_eq!(found, segment.repeat(3) + "3\t908\t\n");
}

/// Segments of IPv6 that carry a Fragment header, whole, cut, and cut again, out of order.
#[test]
fn tshark_puts_pieces_of_ipv6_together() {
    if !have_tshark() {
        return;
    }
    let mut talk = Conversation { arena: Arena::default(), version: IpVersion::V6 };
    let mut packets = vec![];
    for nth in 0..4_u32 {
        let mut whole = talk.segment(true, nth * u32::from(MSS), TcpFlags::ACK, MSS);
        whole.add_fragment_header(0xbeef_0000 + nth, &mut talk.arena);
        if nth == 3 {
            packets.push((true, whole)); // atomic
            break;
        }
        let (lead, tail) = cut_ipv6(whole, 400, None, &mut talk.arena).unwrap();
        let (lead, middle) = cut_ipv6(lead, 24, None, &mut talk.arena).unwrap();
        let mut three = [lead, middle, tail];
        three.rotate_left(nth as usize);
        packets.extend(three.into_iter().map(|piece| (true, piece)));
    }
    let file = capture(&packets, &talk.arena);
    assert_eq!(tshark(&file, &["-Y", SUSPICIOUS]), "");
    assert_eq!(tshark(&file, &["-Y", "ipv6.fragment.overlap || ipv6.fragment.error"]), "");
    let args = ["-Y", "ipv6.fragments", "-T", "fields", "-e", "ipv6.fragment.count"];
    let lens = ["-e", "ipv6.reassembled.length", "-e", "tcp.checksum.status"];
    let found = tshark(&file, &[&args[..], &lens].concat());
    assert_eq!(found, format!("3\t{}\t1\n", 32 + MSS).repeat(3));
    let shown = |filter: &str| {
        let fields = ["-T", "fields", "-e", "ipv6.fraghdr.ident", "-e", "ipv6.plen"];
        tshark(&file, &[&["-Y", filter][..], &fields].concat())
    };
    let leads = (0..3).map(|nth| format!("0xbeef000{nth}\t32\n"));
    let leading = "ipv6.fraghdr.offset == 0 && ipv6.fraghdr.more == 1";
    assert_eq!(shown(leading), leads.collect::<String>());
    let atomic = "ipv6.fraghdr.offset == 0 && ipv6.fraghdr.more == 0";
    assert_eq!(shown(atomic), format!("0xbeef0003\t{}\n", 8 + 32 + MSS));
}

#[test]
fn tshark_would_notice() {
    if !have_tshark() {
        return;
    }
    let file = conversation(IpVersion::V4);
    let source = [10, 0, 0, 1, 10, 0, 0, 2, 0x13, 0x89];
    let header = file.windows(source.len()).position(|w| w == source).unwrap() - 12;
    for at in [header + 8, header + 20 + 14] {
        let mut spoiled = file.clone();
        spoiled[at] ^= 1;
        assert_eq!(tshark(&spoiled, &["-Y", SUSPICIOUS]).lines().count(), 1, "byte {at}");
    }
}

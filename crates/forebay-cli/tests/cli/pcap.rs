//! `--pcap` with links, and `--snaplen`.

use crate::{Desk, SMALL};
use forebay_prerequisites::program;
use std::path::Path;
use std::process::Command;

/// The blocks of a capture: their types and what they hold without type and lengths.
fn blocks(path: &Path) -> Vec<(u32, Vec<u8>)> {
    let bytes = std::fs::read(path).expect("a capture");
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    let (mut at, mut blocks) = (0, Vec::new());
    while at < bytes.len() {
        let total = word(at + 4) as usize;
        blocks.push((word(at), bytes[at + 8..at + total - 4].to_vec()));
        at += total;
    }
    blocks
}

fn word(body: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(body[at..at + 4].try_into().expect("4 bytes"))
}

/// Places of the fields as in draft-ietf-opsawg-pcapng, sections 4.2 and 4.3.
#[test]
fn a_capture_of_chosen_links_keeps_the_beginnings_of_packets() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    let out = ["run", "small.toml", "--out"];
    desk.forebay(&[&out[..], &["cut", "--pcap", "r0-r1,r1-r0", "--snaplen", "60"]].concat()).ok();
    desk.forebay(&[&out[..], &["whole", "--pcap"]].concat()).ok();
    let read = |name: &str| blocks(&desk.path(name).join("packets.pcapng"));
    let of = |blocks: &[(u32, Vec<u8>)], kind: u32| {
        blocks.iter().filter(|b| b.0 == kind).map(|b| b.1.clone()).collect::<Vec<_>>()
    };
    let (cut, whole) = (read("cut"), read("whole"));
    // Snap length after link type and reserved; three links in two directions in all.
    assert_eq!(of(&cut, 1).iter().map(|b| word(b, 4)).collect::<Vec<_>>(), [60, 60]);
    assert_eq!(of(&whole, 1).iter().map(|b| word(b, 4)).collect::<Vec<_>>(), [0; 6]);
    let lengths = |blocks| {
        let packets = of(blocks, 6).into_iter();
        packets.map(|b| (word(&b, 0), word(&b, 12), word(&b, 16))).collect::<Vec<_>>()
    };
    let (cut_lengths, whole_lengths) = (lengths(&cut), lengths(&whole));
    assert!(cut_lengths.iter().all(|&(_, kept, full)| kept == full.min(60)), "{cut_lengths:?}");
    assert!(whole_lengths.iter().all(|&(_, kept, full)| kept == full));
    // Links 0 and 1 are the first two interfaces of the whole capture too.
    let both = |lengths: &[(u32, u32, u32)]| {
        lengths.iter().filter(|l| l.0 < 2).map(|l| (l.0, l.2)).collect::<Vec<_>>()
    };
    assert_eq!(both(&cut_lengths), both(&whole_lengths));
    assert!(cut_lengths.iter().any(|l| l.2 == 1500), "full-sized packets are in it");
    let Some(tshark) = program(&["tshark"]) else { return };
    let mut tshark = Command::new(tshark);
    tshark.args(["-n", "-r"]).arg(desk.path("cut/packets.pcapng"));
    let fields =
        ["-T", "fields", "-e", "frame.cap_len", "-e", "frame.len", "-e", "frame.interface_name"];
    let output = tshark.args(fields).output().expect("it starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let names = ["r0->r1", "r1->r0"];
    let expected = cut_lengths.iter().map(|l| format!("{}\t{}\t{}", l.1, l.2, names[l.0 as usize]));
    assert_eq!(text.lines().collect::<Vec<_>>(), expected.collect::<Vec<_>>());
}

#[test]
fn links_and_lengths_that_are_not_there() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    let says = |args: &[&str], words: &[&str]| {
        let done = desk.forebay(&[&["run", "small.toml", "--out", "results"], args].concat());
        assert_eq!((done.code, done.stdout.as_str()), (2, ""), "{}", done.stderr);
        for word in words {
            assert!(done.stderr.contains(word), "no `{word}` in:\n{}", done.stderr);
        }
        assert_eq!(desk.names(), ["small.toml"]);
    };
    says(&["--pcap", "r0-r9"], &["--pcap", "there is no link `r0-r9`", "did you mean `r0-r1`?"]);
    says(
        &["--pcap", "r0-r1,x"],
        &["--pcap", "`x`", "one of: r0-r1, r1-r0, s-r0, r0-s, d-r1, r1-d"],
    );
    says(&["--pcap", "r0-r1,nonsense,foo"], &["`nonsense`", "`foo`"]);
    says(&["--pcap", ""], &["--pcap", "there is no link ``"]);
    says(&["--pcap", "r0-r1", "--snaplen", "0"], &["--snaplen", "1 to 65535"]);
    says(&["--snaplen", "100"], &["--pcap"]);
}

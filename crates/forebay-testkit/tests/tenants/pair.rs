//! A meter and an egress from outside, one machine with a message of its own: the meter finds out
//! how many packets wait at most in a round of ten arrivals; the egress writes that into the
//! lengths of the fragments that it cuts packets into, up to four.

use crate::stage::{Line, Scene, line, newreno, simulate};
use forebay_base::{Packet, Rate, Span, Time, cut_ipv4};
use forebay_cc::{AnyFeedback, Feedback, PieceView};
use forebay_net::{LinkSpec, SchemeSpec};
use forebay_queue::{Backlog, PortContext, PortScheme, TrailingPackets};
use forebay_testkit::tap::Notes;
use forebay_testkit::world::{World, link};
use forebay_transport::{PRESETS, TcpConfig};
use std::sync::Arc;

const UNIT: u16 = 8;
/// Payload of a fragment that says 0: the TCP header is in it.
const LEAST: u16 = 160;
/// Most that can be said: four fragments fit into a packet then.
const MOST: u64 = 20;

/// The message is `says`, in packets: the meter's to write, the egress's to read.
#[derive(Default)]
struct Load {
    arrivals: u32,
    most: u64,
    says: u64,
}

impl PortScheme for Load {
    fn on_arrival(&mut self, _: &mut Packet, queue: Backlog, _: &mut PortContext<'_>) {
        self.most = self.most.max(queue.packets.min(MOST));
        self.arrivals += 1;
        if self.arrivals.is_multiple_of(10) {
            self.says = core::mem::take(&mut self.most);
        }
    }
    fn leave(
        &mut self,
        mut packet: Packet,
        behind: &mut TrailingPackets<'_>,
        _: Backlog,
        cx: &mut PortContext<'_>,
    ) -> Packet {
        if packet.payload_len() < 1400 {
            return packet;
        }
        let piece_payload = LEAST + UNIT * self.says as u16;
        let mut first = None;
        for _ in 0..TrailingPackets::MOST {
            match cut_ipv4(packet, piece_payload, cx.arena) {
                Ok((piece, rest)) => {
                    match first {
                        None => first = Some(piece),
                        Some(_) => behind.push(piece),
                    }
                    packet = rest;
                }
                Err(uncut) => return uncut.packet,
            }
        }
        behind.push(packet);
        first.expect("it was cut")
    }
}

/// Reads what first fragments say.
struct Reader(Notes<u16>);

impl Feedback for Reader {
    fn on_piece(&mut self, _: Time, piece: &PieceView) {
        if piece.is_leading() {
            self.0.push((piece.payload_bytes - LEAST) / UNIT);
        }
    }
}

fn scene() -> Scene<Notes<u16>> {
    let (mut world, notes) = (World::new(), Notes::default());
    let access = link(Rate::mbps(50), Span::from_millis(1), u64::MAX);
    let scheme = SchemeSpec::Custom(Arc::new(|_| Box::new(Load::default())));
    let there = LinkSpec { scheme, ..link(Rate::mbps(8), Span::from_millis(4), 30_000) };
    let Line { a, b, .. } = line(&mut world, &access, there, access.clone());
    let config = TcpConfig { dont_fragment: false, ..PRESETS[0].config };
    let reader = notes.clone();
    let feedback = move || AnyFeedback::Custom(Box::new(Reader(reader.clone())));
    let transport = world.transport_with("newreno", config, newreno, feedback);
    world.flow((a, b), Time::ZERO, Some(300_000), transport);
    Scene::new(world, notes)
}

/// Each cut packet is four fragments, of which a host hears the first; numbers rise as the queue
/// fills to 20 packets of 1500.
#[test]
fn what_the_meter_finds_out_the_egress_says_in_four_pieces() {
    simulate(scene, |sim, read| {
        let said = read.read();
        assert_eq!(sim.conservation().split, 3 * said.len() as u64);
        assert!(said.len() as u64 >= 300_000 / 1448);
        let most = *said.iter().max().expect("packets were cut");
        assert!(said[0] == 0 && most > 10 && u64::from(most) <= MOST, "{said:?}");
    });
}

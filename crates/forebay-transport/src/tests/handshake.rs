use crate::testing::{Delivery, Plan, config};
use alloc::vec::Vec;
use forebay_base::{TcpFlags, Time};

#[test]
fn three_segments_open_and_fin_rides_on_the_last_data() {
    let mut pair = Plan::new(config(), 1448).start(|_| Delivery::Deliver);
    pair.run_ms(10_000);
    pair.assert_finished(1448);
    let flags: Vec<(bool, TcpFlags, u64)> =
        pair.log.iter().map(|f| (f.forth, f.flags, f.len)).collect();
    let (syn, ack, fin) = (TcpFlags::SYN, TcpFlags::ACK, TcpFlags::FIN);
    assert_eq!(
        flags,
        [
            (true, syn, 0),
            (false, syn.with(ack), 0),
            (true, ack, 0),
            (true, ack.with(fin), 1448),
            (false, ack.with(fin), 0),
            (true, ack, 0),
        ]
    );
    let server = pair.ends[1].progress();
    assert_eq!(server.opened_at, Some(Time::from_millis(50)));
    assert_eq!(server.established_at, Some(Time::from_millis(150)));
    assert_eq!(server.last_byte_at, Some(Time::from_millis(150)));
    assert_eq!(pair.ends[0].progress().established_at, Some(Time::from_millis(100)));
}

//! INRPP on the wire: back-pressure on ACKs, its echo on data, the tag of a packet on a detour.
//!
//! ```text
//! back-pressure  TCP option, every ACK   253 10  ExID(2)  ask and allowance(1) routers(1) nonce(4)
//! echo           TCP option, every data  253  8  ExID(2)  nonce(4)
//! void           in place of the echo    253  8  ExID(2)  0
//! detour tag     IPv4 option             158  8  budget(1) 0  next hop(4)
//! notice         TCP option, data        253 10  ExID(2)  as back-pressure
//! returned       TCP option, ACK         253 10  ExID(2)  as back-pressure
//! path digest    TCP option, SYNs        253  8  ExID(2)  digest(4)
//! ```
//!
//! The paper (Rene et al., IEEE/ACM ToN 2021, section III) names the fields and leaves the format
//! open. A receiver puts the back-pressure option on each ACK, empty; routers overwrite it. A
//! sender echoes the nonce of the last ACK on all data; nonce 0 means none. The two low bits of the
//! first byte ask, the six above are the allowance in packets: up to 15 the number itself, from
//! there on four values an octave, to 57 344. The high bit of the byte with the count of routers
//! says that one of them knows a detour, the next one that data pass on to a router without INRPP;
//! the count is in the six below. 253 is the kind for experiments (RFC
//! 6994), 158 that of IPv4 (RFC 4727) with the copied flag.
//!
//! A sender whose ACKs may come back by another way puts an empty notice on its data instead of the
//! echo. The routers that the data passes overwrite it, and the receiver returns the last one on
//! its ACKs, where no router reads or changes it, instead of an empty back-pressure option.
//!
//! A SYN and the SYN-ACK carry a digest of their path instead of the echo. Each router folds in, on
//! both, by which of its ports the packet came and by which it left: whatever the order, what is
//! folded in twice cancels out. A SYN begins with 0, the SYN-ACK with what its SYN brought. So the
//! client finds 0 if the routers saw both on the same links, however many they are; else with
//! probability 2^-32. Then its ACKs will come back by another way than its data, and it puts
//! notices on them.
//!
//! Where links have keys, back-pressure and notices are longer: see [`guard`].

pub mod guard;

use forebay_base::{OptionError, OptionList, PortId, kind, mix64};
use guard::{GUARDED_BYTES, GUARDED_SYN_BYTES};

/// ExID of the back-pressure option.
pub const BACK_PRESSURE_EX_ID: u16 = 0xF0B1;
/// ExID of the echo option.
pub const ECHO_EX_ID: u16 = 0xF0B2;
/// ExID of the notice on data.
pub const NOTICE_EX_ID: u16 = 0xF0B3;
/// ExID of the notice that a receiver returns.
pub const RETURNED_EX_ID: u16 = 0xF0B4;
/// ExID of the digest of a path.
pub const PATH_DIGEST_EX_ID: u16 = 0xF0B5;
/// Kind of the IPv4 option with the detour tag.
pub const DETOUR_KIND: u8 = 158;
/// Length of the detour tag on the wire, in bytes.
pub const DETOUR_TAG_BYTES: u16 = 8;
/// Length of the echo option on the wire, in bytes.
pub const ECHO_BYTES: u16 = 8;
/// Length of the digest of a path on the wire, in bytes: that of the echo, in whose place it is.
pub const PATH_DIGEST_BYTES: u16 = 8;
/// Length of the back-pressure option on the wire, in bytes; that of a notice, and of one that is
/// returned.
pub const BACK_PRESSURE_BYTES: u16 = 10;

/// The most routers that the option counts, in the low bits of its byte.
const MAX_ROUTERS: u8 = 63;
/// In the same byte: see [`BackPressure::detours`].
const DETOURS_BIT: u8 = 128;
/// In the same byte: see [`BackPressure::foreign`].
const FOREIGN_BIT: u8 = 64;
/// The largest allowance that the option holds: this many packets or more.
pub const MAX_ALLOWANCE: u16 = 57_344;
/// What a flow sends first unless routers have room for more: all that the window of a SYN-ACK,
/// which is not scaled, allows (RFC 7323 section 2.2).
pub const FIRST_FLIGHT_BYTES: u64 = 65_535;
/// From this code on an allowance has an exponent.
const FIRST_OCTAVE: u8 = 16;

/// Six bits for an allowance: what does not fit is rounded down.
fn code_of(allowance: u16) -> u8 {
    let allowance = allowance.min(MAX_ALLOWANCE);
    if allowance < u16::from(FIRST_OCTAVE) {
        return allowance as u8;
    }
    let octave = allowance.ilog2() - FIRST_OCTAVE.ilog2();
    // The highest bit is known, the two after it are written.
    FIRST_OCTAVE + (octave as u8) * 4 + (allowance >> (octave + 2) & 3) as u8
}

fn allowance_of(code: u8) -> u16 {
    match code.checked_sub(FIRST_OCTAVE) {
        None => code.into(),
        Some(above) => u16::from(4 + above % 4) << (2 + above / 4),
    }
}

/// What a congested interface asks of those upstream.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum BackPressureSignal {
    /// Nothing: send as the own interface allows (open loop).
    #[default]
    Nothing,
    /// One packet for each ACK (closed loop).
    SlowDown,
    /// The interface with this nonce is no longer congested.
    Cancel,
    /// No packet for this ACK: more of the flow waits than its share. What waits brings other ACKs.
    Pause,
}

/// An interface under congestion, under the alias that it drew for this episode; never 0.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Nonce(core::num::NonZeroU32);

impl Nonce {
    /// None for 0.
    pub const fn new(value: u32) -> Option<Nonce> {
        match core::num::NonZeroU32::new(value) {
            Some(value) => Some(Nonce(value)),
            None => None,
        }
    }
    /// As on the wire.
    pub const fn get(self) -> u32 {
        self.0.get()
    }
}

fn wire(nonce: Option<Nonce>) -> [u8; 4] {
    nonce.map_or(0, Nonce::get).to_be_bytes()
}

/// The back-pressure option of an ACK.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct BackPressure {
    /// What is asked.
    pub ask: BackPressureSignal,
    /// Packets for which a congested interface has room, of this flow: 1 to [`MAX_ALLOWANCE`]; 0 if
    /// none states one. A stricter signal has no allowance: with a slow-down or a pause the option
    /// is malformed unless this is 0.
    pub allowance: u16,
    /// INRPP routers that the ACK has passed, up to 63 on the wire: 0 means that no router on the
    /// path would hold the sender's packets.
    pub routers: u8,
    /// One of them knows a way round the link that the data takes: some packets may come late on
    /// it.
    pub detours: bool,
    /// One of them passes the data on to a router that does not speak INRPP: what that drops was
    /// held by nobody, whoever has asked.
    pub foreign: bool,
    /// The congested interface.
    pub nonce: Option<Nonce>,
}

impl BackPressure {
    /// Append the option. Errors if it does not fit.
    pub fn push(self, options: &mut OptionList) -> Result<(), OptionError> {
        options.push_experiment(BACK_PRESSURE_EX_ID, &self.data())
    }
    /// Append the option with room for a code. Errors if it does not fit.
    pub fn push_guarded(self, options: &mut OptionList) -> Result<(), OptionError> {
        options.push_experiment(BACK_PRESSURE_EX_ID, &self.guarded_data())
    }
    /// Append the option with room for a code, and this digest. Errors if it does not fit.
    pub fn push_guarded_on_syn(
        self,
        PathDigest(digest): PathDigest,
        options: &mut OptionList,
    ) -> Result<(), OptionError> {
        let mut data = [0; (GUARDED_SYN_BYTES - 4) as usize];
        data[..13].copy_from_slice(&self.guarded_data());
        data[13..].copy_from_slice(&digest.to_be_bytes());
        options.push_experiment(BACK_PRESSURE_EX_ID, &data)
    }
    /// The option, if it is there and well formed.
    #[inline]
    pub fn find(options: &OptionList) -> Option<BackPressure> {
        BackPressure::read(options.find_experiment(BACK_PRESSURE_EX_ID)?)
    }
    /// With a code or without.
    #[inline]
    fn read(data: &[u8]) -> Option<BackPressure> {
        let &[first, routers, a, b, c, d] = data else { return BackPressure::read_guarded(data) };
        BackPressure::of_bytes([first, routers, a, b, c, d])
    }
    fn read_guarded(data: &[u8]) -> Option<BackPressure> {
        if guard::is_guarded(data) { BackPressure::of_bytes(*data.first_chunk()?) } else { None }
    }
    #[inline]
    fn of_bytes([first, routers, a, b, c, d]: [u8; 6]) -> Option<BackPressure> {
        let ask = match first & 3 {
            0 => BackPressureSignal::Nothing,
            1 => BackPressureSignal::SlowDown,
            2 => BackPressureSignal::Cancel,
            _ => BackPressureSignal::Pause,
        };
        let (allowance, nonce) =
            (allowance_of(first >> 2), Nonce::new(u32::from_be_bytes([a, b, c, d])));
        let (detours, foreign) = (routers & DETOURS_BIT != 0, routers & FOREIGN_BIT != 0);
        let routers = routers & MAX_ROUTERS;
        let sound = allowance == 0
            || matches!(ask, BackPressureSignal::Nothing | BackPressureSignal::Cancel);
        sound.then_some(BackPressure { ask, allowance, routers, detours, foreign, nonce })
    }
    /// Overwrite the option that is there. False, and nothing changes, if there is none.
    #[inline]
    pub fn overwrite(self, options: &mut OptionList) -> bool {
        options.overwrite_experiment(BACK_PRESSURE_EX_ID, &self.data())
    }
    /// The signal of two interfaces to a sender: the stricter of both, with the smaller
    /// allowance; of equals this one. A pause is stricter than a slow-down, this than an allowance,
    /// and any of them than a cancellation. What is said of the path is that of this one.
    #[must_use]
    pub fn stricter(self, other: BackPressure) -> BackPressure {
        let rank = |one: BackPressure| match (one.ask, one.allowance) {
            (BackPressureSignal::Pause, _) => 4,
            (BackPressureSignal::SlowDown, _) => 3,
            (BackPressureSignal::Nothing, 1..) => 2,
            (BackPressureSignal::Cancel, _) => 1,
            (BackPressureSignal::Nothing, 0) => 0,
        };
        let strict = if rank(other) > rank(self) { other } else { self };
        let allowance = match (strict.ask, self.allowance, other.allowance) {
            (BackPressureSignal::SlowDown | BackPressureSignal::Pause, ..) => 0,
            (_, 0, one) | (_, one, 0) => one,
            (_, one, other) => one.min(other),
        };
        let BackPressure { routers, detours, foreign, .. } = self;
        BackPressure { allowance, routers, detours, foreign, ..strict }
    }
    fn guarded_data(self) -> [u8; (GUARDED_BYTES - 4) as usize] {
        let mut data = [0; (GUARDED_BYTES - 4) as usize];
        data[..6].copy_from_slice(&self.data());
        data
    }
    fn data(self) -> [u8; 6] {
        let ask = match self.ask {
            BackPressureSignal::Nothing => 0,
            BackPressureSignal::SlowDown => 1,
            BackPressureSignal::Cancel => 2,
            BackPressureSignal::Pause => 3,
        };
        let [a, b, c, d] = wire(self.nonce);
        let detours = if self.detours { DETOURS_BIT } else { 0 };
        let foreign = if self.foreign { FOREIGN_BIT } else { 0 };
        let routers = self.routers.min(MAX_ROUTERS) | detours | foreign;
        [code_of(self.allowance) << 2 | ask, routers, a, b, c, d]
    }
}

/// The echo option of a data packet: its sender speaks INRPP, and the last ACK carried this nonce.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Echo(pub Option<Nonce>);

impl Echo {
    /// Append the option. Errors if it does not fit.
    pub fn push(self, options: &mut OptionList) -> Result<(), OptionError> {
        options.push_experiment(ECHO_EX_ID, &wire(self.0))
    }
    /// Append it as an option of another number: not every packet needs an ACK. Routers see no
    /// difference. Errors if it does not fit.
    pub fn push_delayed(self, options: &mut OptionList) -> Result<(), OptionError> {
        options.push_experiment(guard::VOID_EX_ID, &wire(self.0))
    }
    /// True if an echo of that number is there.
    #[inline]
    pub fn is_delayed(options: &OptionList) -> bool {
        options.find_experiment(guard::VOID_EX_ID).is_some_and(|data| data.len() == 4)
    }
    /// The option, if it is there and well formed.
    #[inline]
    pub fn find(options: &OptionList) -> Option<Echo> {
        Echo::read(options.find_experiment(ECHO_EX_ID)?)
    }
    #[inline]
    fn read(data: &[u8]) -> Option<Echo> {
        let bytes = data.try_into().ok()?;
        Some(Echo(Nonce::new(u32::from_be_bytes(bytes))))
    }
}

/// The notice of a data packet: its sender speaks INRPP, and receives routers' signals this way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Notice(pub BackPressure);

impl Notice {
    /// Append the option. Errors if it does not fit.
    pub fn push(self, options: &mut OptionList) -> Result<(), OptionError> {
        options.push_experiment(NOTICE_EX_ID, &self.0.data())
    }
    /// Append the option with room for a code. Errors if it does not fit.
    pub fn push_guarded(self, options: &mut OptionList) -> Result<(), OptionError> {
        options.push_experiment(NOTICE_EX_ID, &self.0.guarded_data())
    }
    /// The option, if it is there and well formed.
    #[inline]
    pub fn find(options: &OptionList) -> Option<Notice> {
        BackPressure::read(options.find_experiment(NOTICE_EX_ID)?).map(Notice)
    }
    /// Overwrite the option that is there. False, and nothing changes, if there is none.
    pub fn overwrite(self, options: &mut OptionList) -> bool {
        options.overwrite_experiment(NOTICE_EX_ID, &self.0.data())
    }
}

/// The notice that came last, on the ACK that returns it to the sender.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Returned(pub BackPressure);

impl Returned {
    /// Append the option. Errors if it does not fit.
    pub fn push(self, options: &mut OptionList) -> Result<(), OptionError> {
        options.push_experiment(RETURNED_EX_ID, &self.0.data())
    }
    /// The option, if it is there and well formed.
    #[inline]
    pub fn find(options: &OptionList) -> Option<Returned> {
        BackPressure::read(options.find_experiment(RETURNED_EX_ID)?).map(Returned)
    }
}

/// The digest of the path of a SYN, or of a SYN-ACK and its SYN: the sender of the packet speaks
/// INRPP.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct PathDigest(pub u32);

impl PathDigest {
    /// Append the option. Errors if it does not fit.
    pub fn push(self, options: &mut OptionList) -> Result<(), OptionError> {
        options.push_experiment(PATH_DIGEST_EX_ID, &self.0.to_be_bytes())
    }
    /// The digest, if it is there and well formed: an option of its own, or part of one with a
    /// code.
    pub fn find(options: &OptionList) -> Option<PathDigest> {
        let bytes = match options.find_experiment(PATH_DIGEST_EX_ID) {
            Some(data) => data.try_into().ok()?,
            None => guard::digest_of(options.find_experiment(BACK_PRESSURE_EX_ID)?)?,
        };
        Some(PathDigest(u32::from_be_bytes(bytes)))
    }
    /// Overwrite the digest that is there. False, and nothing changes, if there is none.
    pub fn overwrite(self, options: &mut OptionList) -> bool {
        let bytes = self.0.to_be_bytes();
        options.overwrite_experiment(PATH_DIGEST_EX_ID, &bytes) || guard::set_digest(options, bytes)
    }
    /// The packet passes `router` from one of these ports to the other. Passing it back by the same
    /// ports undoes that.
    #[must_use]
    pub fn passing(self, router: RouterId, ports: [PortId; 2]) -> PathDigest {
        let of = |port: PortId| mix64(u64::from(router.0) << 16 | u64::from(port.0)) >> 32;
        PathDigest(ports.into_iter().fold(self.0, |digest, port| digest ^ of(port) as u32))
    }
}

/// What a router looks for in every packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Found {
    /// See [`BackPressure::find`].
    pub back_pressure: Option<BackPressure>,
    /// See [`Echo::find`] and [`Echo::push_delayed`]. Empty for an option that is void.
    pub echo: Option<Echo>,
    /// See [`Notice::find`].
    pub notice: Option<Notice>,
}

/// All that a router looks for, in one walk.
#[inline(always)] // what is not looked at is not made
pub fn find_all(options: &OptionList) -> Found {
    // Most lists begin with the one, and end with it or with SACK blocks.
    let bytes = options.as_bytes();
    if let Some((&[a, b, c, d, ref data @ ..], rest)) = bytes.split_first_chunk::<10>()
        && [a, b, c, d] == head(BACK_PRESSURE_BYTES, BACK_PRESSURE_EX_ID)
        && (rest.is_empty() || rest[0] == kind::SACK && rest.get(1) == Some(&(rest.len() as u8)))
    {
        return Found { back_pressure: BackPressure::read(data), ..Found::default() };
    }
    if let Some((&[a, b, c, d, ref data @ ..], [])) = bytes.split_first_chunk::<8>()
        && [a, b, c, d] == head(ECHO_BYTES, ECHO_EX_ID)
    {
        return Found { echo: Echo::read(data), ..Found::default() };
    }
    find_guarded(options)
}
/// The same of other lists: most begin with an option with a code, where links have keys.
#[inline(never)]
fn find_guarded(options: &OptionList) -> Found {
    if let Some((&[a, b, c, d, ref data @ ..], rest)) = options.as_bytes().split_first_chunk::<17>()
        && [a, b, c, d] == head(GUARDED_BYTES, BACK_PRESSURE_EX_ID)
        && (rest.is_empty() || rest[0] == kind::SACK && rest.get(1) == Some(&(rest.len() as u8)))
    {
        return Found { back_pressure: BackPressure::read_guarded(data), ..Found::default() };
    }
    walk_all(options)
}
/// What an option begins with.
const fn head(len: u16, ex_id: u16) -> [u8; 4] {
    let [high, low] = ex_id.to_be_bytes();
    [kind::EXPERIMENT, len as u8, high, low]
}
fn walk_all(options: &OptionList) -> Found {
    let (mut back_pressure, mut echo, mut notice) = (None, None, None);
    for option in options.iter().filter(|option| option.kind == kind::EXPERIMENT) {
        let Some((ex_id, data)) = option.data.split_first_chunk::<2>() else { continue };
        match u16::from_be_bytes(*ex_id) {
            BACK_PRESSURE_EX_ID => _ = back_pressure.get_or_insert(data),
            ECHO_EX_ID => _ = echo.get_or_insert(data),
            NOTICE_EX_ID => _ = notice.get_or_insert(data),
            // Who sent it speaks INRPP. What had a code is longer.
            guard::VOID_EX_ID if data.len() != 4 => _ = echo.get_or_insert(&[0; 4]),
            guard::VOID_EX_ID => _ = echo.get_or_insert(data),
            _ => {}
        }
    }
    Found {
        back_pressure: back_pressure.and_then(BackPressure::read),
        echo: echo.and_then(Echo::read),
        notice: notice.and_then(BackPressure::read).map(Notice),
    }
}

/// A router under the number that its neighbours know it by, as in a link-state protocol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RouterId(pub u32);

/// The tag of a packet on a detour: an IPv4 option, put on where the detour begins and taken off at
/// `next_hop`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct DetourTag {
    /// The router for which the packet would have left on the direct link.
    pub next_hop: RouterId,
    /// Hops that it may still make before that router.
    pub budget: u8,
}

impl DetourTag {
    /// Append the tag to the IPv4 options. Errors if it does not fit.
    pub fn push(self, ip_options: &mut OptionList) -> Result<(), OptionError> {
        let [a, b, c, d] = self.next_hop.0.to_be_bytes();
        ip_options.push(DETOUR_KIND, &[self.budget, 0, a, b, c, d])
    }
    /// The tag, if it is there and well formed.
    #[inline]
    pub fn find(ip_options: &OptionList) -> Option<DetourTag> {
        let &[budget, _, a, b, c, d] = ip_options.find(DETOUR_KIND)? else { return None };
        Some(DetourTag { next_hop: RouterId(u32::from_be_bytes([a, b, c, d])), budget })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: BackPressure = BackPressure {
        ask: BackPressureSignal::Nothing,
        allowance: 0,
        routers: 0,
        detours: false,
        foreign: false,
        nonce: None,
    };

    #[test]
    fn the_bytes_are_those_of_the_diagram() {
        let mut options = OptionList::EMPTY;
        let nonce = Nonce::new(0x0102_0304);
        let option = BackPressure { ask: BackPressureSignal::SlowDown, routers: 3, nonce, ..NONE };
        option.push(&mut options).unwrap();
        assert_eq!(options.as_bytes(), [253, 10, 0xF0, 0xB1, 1, 3, 1, 2, 3, 4]);
        let roomy = BackPressure { ask: BackPressureSignal::Cancel, allowance: 5, ..option };
        assert!(roomy.overwrite(&mut options));
        assert_eq!(options.as_bytes()[4], 5 << 2 | 2);
        assert_eq!(BackPressure::find(&options), Some(roomy));
        assert!(BackPressure { allowance: 200, ..roomy }.overwrite(&mut options));
        assert_eq!(options.as_bytes()[4], 30 << 2 | 2, "1.5 times 2 ^ 7");
        assert_eq!(BackPressure::find(&options), Some(BackPressure { allowance: 192, ..roomy }));
        assert!(BackPressure { detours: true, ..option }.overwrite(&mut options));
        assert_eq!(options.as_bytes()[4..6], [1, 3 | 128]);
        assert_eq!(BackPressure::find(&options), Some(BackPressure { detours: true, ..option }));
        assert!(BackPressure { foreign: true, routers: 200, ..option }.overwrite(&mut options));
        assert_eq!(options.as_bytes()[4..6], [1, 63 | 64], "the count stays within its bits");
        assert!(BackPressure::find(&options).is_some_and(|found| found.foreign && !found.detours));
        assert_eq!(options.len(), BACK_PRESSURE_BYTES as usize);
        let mut options = OptionList::EMPTY;
        Echo(nonce).push(&mut options).unwrap();
        assert_eq!(options.as_bytes(), [253, 8, 0xF0, 0xB2, 1, 2, 3, 4]);
        assert_eq!(Echo::find(&options), Some(Echo(nonce)));
        let mut options = OptionList::EMPTY;
        let tag = DetourTag { next_hop: RouterId(0x0A0B_0C0D), budget: 1 };
        tag.push(&mut options).unwrap();
        assert_eq!(options.as_bytes(), [158, 8, 1, 0, 10, 11, 12, 13]);
        assert_eq!(DetourTag::find(&options), Some(tag));
    }

    /// Rounded down by less than a fifth; every code has a number of its own, in order.
    #[test]
    fn allowances_have_six_bits() {
        assert!((0..64).all(|code| code_of(allowance_of(code)) == code));
        assert!((1..64).all(|code| allowance_of(code - 1) < allowance_of(code)));
        assert_eq!(allowance_of(63), MAX_ALLOWANCE);
        for packets in 0..=MAX_ALLOWANCE {
            let read = allowance_of(code_of(packets));
            assert!(read <= packets && packets - read <= packets / 5, "{packets}: {read}");
        }
        assert_eq!(allowance_of(code_of(u16::MAX)), MAX_ALLOWANCE);
    }

    #[test]
    fn routers_overwrite_and_never_insert() {
        let full = BackPressure {
            ask: BackPressureSignal::Cancel,
            allowance: 0,
            routers: 63,
            detours: true,
            foreign: true,
            nonce: Nonce::new(7),
        };
        let mut options = OptionList::EMPTY;
        assert!(!full.overwrite(&mut options) && options.is_empty());
        Echo(None).push(&mut options).unwrap();
        BackPressure::default().push(&mut options).unwrap();
        let before = options.len();
        assert!(full.overwrite(&mut options));
        assert_eq!((options.len(), BackPressure::find(&options)), (before, Some(full)));
        assert_eq!(Echo::find(&options), Some(Echo(None)), "the neighbour stays");
    }

    #[test]
    fn who_asks_for_less_and_allows_more_is_no_back_pressure() {
        for (first, sound) in [(1, true), (3, true), (4, true), (6, true), (5, false), (7, false)] {
            let mut options = OptionList::EMPTY;
            options.push_experiment(BACK_PRESSURE_EX_ID, &[first, 0, 0, 0, 0, 0]).unwrap();
            assert_eq!(BackPressure::find(&options).is_some(), sound, "{first}");
        }
        let mut short = OptionList::EMPTY;
        short.push_experiment(ECHO_EX_ID, &[1]).unwrap();
        assert_eq!(Echo::find(&short), None);
    }

    /// Of two options the first counts, well formed or not; others stand anywhere between.
    #[test]
    fn one_walk_finds_what_two_would() {
        let parts: [(u16, &[u8]); 8] = [
            (BACK_PRESSURE_EX_ID, &[1, 2, 0, 0, 0, 7]),
            (BACK_PRESSURE_EX_ID, &[7, 0, 0, 0, 0, 0]),
            (ECHO_EX_ID, &[0, 0, 0, 5]),
            (ECHO_EX_ID, &[0]),
            (ECHO_EX_ID, &[0, 0, 0, 0]),
            (NOTICE_EX_ID, &[1, 2, 0, 0, 0, 7]),
            (NOTICE_EX_ID, &[0; 5]),
            (RETURNED_EX_ID, &[1, 2, 0, 0, 0, 9]),
        ];
        let first = |list: &[(u16, &[u8])], ex_id| {
            list.iter().find(|(id, _)| *id == ex_id).map(|&(_, data)| data.to_vec())
        };
        // With SACK blocks before them, after them, or without; one, two or three.
        for pick in 0..9 * parts.len().pow(3) {
            let (sacks, number, pick) = (pick % 3, 1 + pick / 3 % 3, pick / 9);
            let list = [parts[pick % 8], parts[pick / 8 % 8], parts[pick / 64]];
            let list = &list[..number];
            let mut options = OptionList::EMPTY;
            if sacks == 1 {
                options.push(kind::SACK, &[0; 4]).unwrap();
            }
            list.iter().for_each(|(id, data)| options.push_experiment(*id, data).unwrap());
            if sacks == 2 {
                options.push(kind::SACK, &[0; 8]).unwrap();
            }
            let nonce = Nonce::new(7);
            let slow =
                BackPressure { ask: BackPressureSignal::SlowDown, routers: 2, nonce, ..NONE };
            let is_slow = |ex_id| first(list, ex_id).is_some_and(|data| data == [1, 2, 0, 0, 0, 7]);
            let back_pressure = is_slow(BACK_PRESSURE_EX_ID).then_some(slow);
            let notice = is_slow(NOTICE_EX_ID).then_some(Notice(slow));
            let echo = match first(list, ECHO_EX_ID).as_deref() {
                Some([0, 0, 0, last]) => Some(Echo(Nonce::new(u32::from(*last)))),
                _ => None,
            };
            let all = Found { back_pressure, echo, notice };
            assert_eq!(find_all(&options), all, "{list:?}");
            let (back_pressure, echo) = (BackPressure::find(&options), Echo::find(&options));
            let alone = Found { back_pressure, echo, notice: Notice::find(&options) };
            assert_eq!(alone, all, "{list:?}");
        }
    }

    #[test]
    fn a_notice_and_its_return_are_options_of_their_own() {
        let nonce = Nonce::new(0x0102_0304);
        let option = BackPressure { allowance: 5, routers: 3, nonce, ..NONE };
        let mut data = OptionList::EMPTY;
        Notice::default().push(&mut data).unwrap();
        assert!(Notice(option).overwrite(&mut data));
        assert_eq!(data.as_bytes(), [253, 10, 0xF0, 0xB3, 5 << 2, 3, 1, 2, 3, 4]);
        assert_eq!((Notice::find(&data), Returned::find(&data)), (Some(Notice(option)), None));
        let mut ack = OptionList::EMPTY;
        Returned(option).push(&mut ack).unwrap();
        assert_eq!(ack.as_bytes(), [253, 10, 0xF0, 0xB4, 5 << 2, 3, 1, 2, 3, 4]);
        assert_eq!(Returned::find(&ack), Some(Returned(option)));
        assert_eq!(find_all(&ack), Found::default(), "routers do not read it");
        assert!(!Notice(option).overwrite(&mut ack), "nor change it");
    }

    /// What each of two interfaces asks, what the sender hears, and whose name it has.
    #[test]
    fn of_two_requests_the_stricter_one_is_heard() {
        let of = |name: u32, (ask, allowance): (BackPressureSignal, u16)| BackPressure {
            ask,
            allowance,
            routers: name as u8,
            detours: false,
            foreign: false,
            nonce: Nonce::new(name)
                .filter(|_| (ask, allowance) != (BackPressureSignal::Nothing, 0)),
        };
        let (nothing, slow, pause) = (
            (BackPressureSignal::Nothing, 0),
            (BackPressureSignal::SlowDown, 0),
            (BackPressureSignal::Pause, 0),
        );
        let allowed = |packets| (BackPressureSignal::Nothing, packets);
        let over = |packets| (BackPressureSignal::Cancel, packets);
        for (one, other, heard, name) in [
            (nothing, nothing, nothing, None),
            (nothing, over(3), over(3), Some(2)),
            (over(3), over(2), over(2), Some(1)),
            (over(3), allowed(4), allowed(3), Some(2)),
            (allowed(2), allowed(4), allowed(2), Some(1)),
            (allowed(4), allowed(2), allowed(2), Some(1)),
            (allowed(2), slow, slow, Some(2)),
            (over(2), slow, slow, Some(2)),
            (slow, slow, slow, Some(1)),
            (slow, pause, pause, Some(2)),
            (pause, nothing, pause, Some(1)),
        ] {
            let both = of(1, one).stricter(of(2, other));
            assert_eq!((both.ask, both.allowance), heard, "{one:?} and {other:?}");
            assert_eq!((both.nonce.map(Nonce::get), both.routers), (name, 1), "{one:?}, {other:?}");
            let back = of(2, other).stricter(of(1, one));
            assert_eq!((back.ask, back.allowance), heard, "the other way round");
            let mut options = OptionList::EMPTY;
            both.push(&mut options).unwrap();
            assert_eq!(BackPressure::find(&options), Some(both), "it is well formed");
        }
    }

    /// Three routers in a row and back, then with one other port or router on the way back.
    #[test]
    fn a_path_and_the_same_back_cancel_out() {
        let pass = |digest: PathDigest, hops: &[(u32, u16, u16)]| {
            hops.iter().fold(digest, |digest, &(router, from, to)| {
                digest.passing(RouterId(router), [PortId(from), PortId(to)])
            })
        };
        let there = pass(PathDigest::default(), &[(0, 0, 1), (1, 0, 2), (5, 3, 0)]);
        assert_ne!(there, PathDigest::default());
        let back = |hops: &[(u32, u16, u16)]| pass(there, hops);
        assert_eq!(back(&[(5, 0, 3), (1, 2, 0), (0, 1, 0)]), PathDigest::default());
        assert_eq!(back(&[(1, 2, 0), (0, 1, 0), (5, 0, 3)]), PathDigest::default());
        for other in [
            &[(5, 0, 2), (1, 2, 0), (0, 1, 0)][..], // another link between the same routers
            &[(5, 0, 3), (1, 2, 0)],                // around one of them
            &[(5, 0, 3), (1, 2, 0), (0, 1, 0), (7, 0, 1)],
            &[(5, 0, 3), (2, 2, 0), (0, 1, 0)],
        ] {
            assert_ne!(back(other), PathDigest::default(), "{other:?}");
        }
        let mut options = OptionList::EMPTY;
        PathDigest::default().push(&mut options).unwrap();
        assert!(there.overwrite(&mut options));
        assert_eq!(PathDigest::find(&options), Some(there));
        assert_eq!(options.as_bytes()[..4], [253, 8, 0xF0, 0xB5]);
        assert_eq!(options.len(), usize::from(PATH_DIGEST_BYTES));
        assert_eq!(find_all(&options), Found::default(), "no data");
    }
}

//! Whether the machines did again what was recorded.

use super::{Record, SiteRecord};
use forebay_base::{LinkId, Time};
use forebay_net::{NetSpec, SpecError};
use forebay_sim::{Conservation, Input, InputEvent, Site, SiteOptions};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

/// Inputs that are pushed before they are run.
const AHEAD: usize = 64;

/// What became of one place in a replay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SiteVerdict {
    /// Until when it ran.
    pub until: Time,
    /// What it did then.
    pub hash: u64,
    /// True if that is what was recorded; None if the record has no end.
    pub same: Option<bool>,
    /// What became of every packet.
    pub conservation: Conservation,
}

/// The first packet that a wire brought and that the replay did not send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The link.
    pub link: LinkId,
    /// When the packet came.
    pub at: Time,
    /// The packet, from its IP header on.
    pub bytes: Vec<u8>,
    /// The next packet that the replay did send there, and its nominal time.
    pub instead: Option<(Time, Vec<u8>)>,
}

/// Run every place of a record again, alone, with its inputs: by place, in the order of the record.
pub fn verify(record: &Record, spec: &NetSpec) -> Result<Vec<SiteVerdict>, SpecError> {
    let verdicts = verify_until(record, spec, &AtomicBool::new(false))?;
    Ok(verdicts.expect("nothing stops it"))
}

/// The same; None if `stop` was set before the last place.
pub fn verify_until(
    record: &Record,
    spec: &NetSpec,
    stop: &AtomicBool,
) -> Result<Option<Vec<SiteVerdict>>, SpecError> {
    let again = |site: &SiteRecord| {
        let run = replay(record, spec, site, |_, _, _| ())?;
        let hash = run.hash();
        let recorded = site.ending.as_ref();
        Ok(SiteVerdict {
            until: site.until(),
            hash,
            same: recorded.map(|ending| ending.hash == format!("{hash:016x}")),
            conservation: run.conservation(),
        })
    };
    let sites = record.sites.iter().take_while(|_| !stop.load(Ordering::Relaxed));
    let verdicts: Vec<SiteVerdict> = sites.map(again).collect::<Result<_, _>>()?;
    Ok((verdicts.len() == record.sites.len()).then_some(verdicts))
}

impl Record {
    /// The first packet that a wire brought from the place with this number to another, up to
    /// [`Record::until`], and that the replay of that place did not send. None if it sent all of
    /// them: the difference is then in what no wire brought.
    pub fn first_difference(
        &self,
        spec: &NetSpec,
        from: usize,
    ) -> Result<Option<Difference>, SpecError> {
        let mut sent: Vec<VecDeque<(Time, Vec<u8>)>> = vec![VecDeque::new(); spec.links.len()];
        replay(self, spec, &self.sites[from], |link, at, bytes| {
            sent[link.index()].push_back((at, bytes.to_vec()));
        })?;
        let here = &self.sites[from].place.nodes;
        let begins_here = |link: LinkId| here.contains(&spec.links[link.index()].from);
        let inputs = self.sites.iter().flat_map(SiteRecord::inputs);
        let packet = |Input { at, link, event }| match event {
            InputEvent::Packet(bytes) if begins_here(link) => Some((at, link, bytes)),
            InputEvent::Packet(_) | InputEvent::Carrier(_) => None,
        };
        // Without ends one place is known for longer than another.
        let known = inputs.filter(|input| self.is_whole() || input.at <= self.until());
        let mut came: Vec<_> = known.filter_map(packet).collect();
        came.sort_by_key(|(at, ..)| *at);
        for (at, link, bytes) in came {
            let sent = &mut sent[link.index()];
            match sent.iter().position(|(_, other)| *other == bytes) {
                // A wire may lose packets, and keeps the others in order.
                Some(place) => drop(sent.drain(..=place)),
                None => {
                    let instead = sent.pop_front();
                    return Ok(Some(Difference { link, at, bytes, instead }));
                }
            }
        }
        Ok(None)
    }
}

/// One place with its inputs, to its end.
fn replay(
    record: &Record,
    spec: &NetSpec,
    recorded: &SiteRecord,
    mut left: impl FnMut(LinkId, Time, &[u8]),
) -> Result<Site, SpecError> {
    let options = SiteOptions { real: record.real, ..SiteOptions::default() };
    let mut site = Site::new(spec, record.seed, &recorded.place, options)?;
    let mut inputs = recorded.inputs().peekable();
    while inputs.peek().is_some() {
        let mut last = Time::ZERO;
        for input in inputs.by_ref().take(AHEAD) {
            let pushed = site.push_input(&input);
            assert_eq!(pushed, Ok(input.at), "inputs are in order, and of this place");
            last = input.at;
        }
        // Those of the same time are still to come. Some came in the last turn, after the end.
        let known = Time::from_nanos(last.as_nanos() - 1);
        site.run_until(known.min(recorded.until()));
        site.exits(|exit| left(exit.link, exit.at, exit.bytes));
    }
    site.run_until(recorded.until());
    site.exits(|exit| left(exit.link, exit.at, exit.bytes));
    Ok(site)
}

//! What happens to the network, from the keys of the file and back.

use crate::format::fault::{Fault, Problem};
use crate::format::faults::{Faults, both};
use crate::format::fields::Spanned;
use crate::format::units::Probability;
use crate::keys::file::{Direction, EventEntry, File, LinkState, RouteEntry};
use crate::keys::links::check_delay;
use crate::resolve::topology::Topology;
use crate::{Link, Node};
use forebay_base::{LinkId, NodeId, Time};
use forebay_net::{EventSpec, NetEvent};

/// The events in order of time; those of one time in the order of the file.
pub(crate) fn expand(file: &File, topology: &Topology, faults: &mut Faults) -> Vec<EventSpec> {
    let mut events = Vec::new();
    for entry in file.events.iter().flat_map(|at| &at.value) {
        let at = Time::ZERO + entry.value.at.value;
        let add = |event| EventSpec { at, event };
        let expanded = faults.keep(expand_one(entry, topology));
        events.extend(expanded.into_iter().flatten().map(add));
    }
    events.sort_by_key(|e: &EventSpec| e.at);
    events
}

fn expand_one(entry: &Spanned<EventEntry>, topology: &Topology) -> Result<Vec<NetEvent>, Fault> {
    let event = &entry.value;
    let changes = event.rate.is_some()
        || event.delay.is_some()
        || event.loss.is_some()
        || event.state.is_some();
    match (&event.link, &event.restart, &event.route) {
        (Some(link), None, None) if changes => {
            let delay = event.delay.iter().try_for_each(check_delay);
            let (link, ()) = both(topology.link(link), delay)?;
            check_rate(event, &topology.links[link])?;
            check_loss(event, &topology.links[link])?;
            Ok(link_events(event, link))
        }
        (Some(_), None, None) => {
            let meaning = "what changes: rate, delay, loss or state".to_string();
            Err(entry.fault(Problem::MissingKey { key: "state".into(), meaning }))
        }
        (None, Some(router), None) if !changes => {
            let node = topology.router(&router.value, |problem| router.fault(problem))?;
            if topology.is_host(node) {
                let text = format!("`{}` is a host: only routers restart", router.value);
                return Err(router.fault(Problem::Conflict(text)));
            }
            Ok(vec![NetEvent::Restart(node)])
        }
        (None, None, Some(route)) if !changes => Ok(vec![route_event(&route.value, topology)?]),
        (None, None, None) if changes => {
            let meaning = "the link that changes".to_string();
            Err(entry.fault(Problem::MissingKey { key: "link".into(), meaning }))
        }
        _ => {
            let text = "an event is one of `link` (with rate, delay, loss or state), `restart` and \
                        `route`";
            Err(entry.fault(Problem::Conflict(text.into())))
        }
    }
}

/// The directions of a link that an event is about: 0 forward, 1 reverse.
fn sides(event: &EventEntry) -> &'static [usize] {
    match event.direction.as_ref().map_or(Direction::Both, |at| at.value) {
        Direction::Forward => &[0],
        Direction::Reverse => &[1],
        Direction::Both => &[0, 1],
    }
}

/// Errors if it sets the rate of a link that takes none.
fn check_rate(event: &EventEntry, link: &Link) -> Result<(), Fault> {
    let Some(rate) = &event.rate else { return Ok(()) };
    let directions = [&link.forward, &link.reverse];
    if sides(event).iter().all(|&side| directions[side].takes_rate()) {
        Ok(())
    } else {
        let text = format!("the link `{}` follows a trace, which says its rate", link.name);
        let hint = "name the other direction with `direction`, or give the link a `rate`";
        Err(rate.fault(Problem::Conflict(text)).hint(hint))
    }
}

/// Errors if it sets the loss probability of a link that takes none.
fn check_loss(event: &EventEntry, link: &Link) -> Result<(), Fault> {
    let Some(loss) = &event.loss else { return Ok(()) };
    let directions = [&link.forward, &link.reverse];
    if sides(event).iter().all(|&side| directions[side].takes_loss()) {
        Ok(())
    } else {
        let text = format!("the link `{}` has a table of losses, not a probability", link.name);
        Err(loss.fault(Problem::Conflict(text)))
    }
}

fn link_events(event: &EventEntry, link: usize) -> Vec<NetEvent> {
    let mut events = Vec::new();
    for side in sides(event) {
        let id = LinkId((2 * link + side) as u32);
        events.extend(event.rate.iter().map(|rate| NetEvent::Rate(id, rate.value)));
        events.extend(event.delay.iter().map(|delay| NetEvent::Delay(id, delay.value)));
        events.extend(event.loss.iter().map(|loss| NetEvent::Loss(id, loss.value.0)));
        events.extend(event.state.iter().map(|state| match state.value {
            LinkState::Down => NetEvent::Down(id),
            LinkState::Up => NetEvent::Up(id),
        }));
    }
    events
}

fn route_event(route: &RouteEntry, topology: &Topology) -> Result<NetEvent, Fault> {
    let named = |at: &Spanned<String>| topology.named(&at.value, |problem| at.fault(problem));
    let (node, dst) = both(named(&route.node), named(&route.dst))?;
    if topology.is_host(node) || !topology.is_host(dst) {
        let text = "a route goes from a router (`node`) to a host (`dst`)".to_string();
        return Err(route.node.fault(Problem::Conflict(text)));
    }
    let Some(via) = &route.via else { return Ok(NetEvent::Route { node, dst, via: None }) };
    let link = topology.link(via)?;
    let sides = [LinkId(2 * link as u32), LinkId(2 * link as u32 + 1)];
    let port = sides.into_iter().find_map(|id| topology.port(node, id));
    let via = port.ok_or_else(|| {
        let text = format!("the link `{}` is not at `{}`", via.value, route.node.value);
        via.fault(Problem::Conflict(text))
    })?;
    Ok(NetEvent::Route { node, dst, via: Some(via) })
}

/// The keys that say an event.
pub(crate) fn describe(event: &EventSpec, nodes: &[Node], links: &[Link]) -> EventEntry {
    let mut entry =
        EventEntry { at: Spanned::new(event.at.since(Time::ZERO)), ..Default::default() };
    let mut on = |id: LinkId| {
        entry.link = Spanned::some(links[id.index() / 2].name.clone());
        let forward = id.index().is_multiple_of(2);
        entry.direction =
            Spanned::some(if forward { Direction::Forward } else { Direction::Reverse });
    };
    match event.event {
        NetEvent::Rate(id, _)
        | NetEvent::Delay(id, _)
        | NetEvent::Loss(id, _)
        | NetEvent::Down(id)
        | NetEvent::Up(id) => on(id),
        NetEvent::Restart(_)
        | NetEvent::Route { .. }
        | NetEvent::Forge(_)
        | NetEvent::Replay(_) => {}
    }
    let name = |node: NodeId| nodes[node.index()].name.clone();
    match event.event {
        NetEvent::Rate(_, rate) => entry.rate = Spanned::some(rate),
        NetEvent::Delay(_, delay) => entry.delay = Spanned::some(delay),
        NetEvent::Loss(_, loss) => entry.loss = Spanned::some(Probability(loss)),
        NetEvent::Down(_) => entry.state = Spanned::some(LinkState::Down),
        NetEvent::Up(_) => entry.state = Spanned::some(LinkState::Up),
        NetEvent::Restart(node) => entry.restart = Spanned::some(name(node)),
        NetEvent::Forge(_) | NetEvent::Replay(_) => {
            unreachable!("attacks have a list of their own")
        }
        NetEvent::Route { node, dst, via } => {
            let at_node = |link: &&Link| link.a == node || link.b == node;
            let via = via.and_then(|port| links.iter().filter(at_node).nth(port.index()));
            entry.route = Spanned::some(RouteEntry {
                node: Spanned::new(name(node)),
                dst: Spanned::new(name(dst)),
                via: via.map(|link| Spanned::new(link.name.clone())),
            });
        }
    }
    entry
}

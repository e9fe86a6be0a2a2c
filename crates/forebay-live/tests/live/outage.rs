//! A wire is lost while INRPP sends over it, and comes back: its routers turn to their detour.

use super::Outcome;
use super::runs::{Inputs, is_done_again, plan, run_with};
use super::signals::pause;
use forebay_base::{DropReason, LinkId, Rate, Span, Time};
use forebay_live::wire::Count;
use forebay_live::{Clock, Lab, NodeReport, interface};
use forebay_sim::InputEvent;
use forebay_testkit::pool::{TEXT, config, pooled_link, router, settings, transport};
use forebay_testkit::world::World;
use std::sync::atomic::AtomicBool;

/// For so long after that. The kernel tells the far end once a second at most (`link_watch.c`).
const DOWN_AT_MS: u64 = 700;
const DOWN_FOR_MS: u64 = 2_500;

/// 8 MB over `s - a - b - d`, where 10 Mbit/s lead from `a` to `b`, and as much over `x`.
pub fn inrpp_turns_to_its_detour() -> Outcome {
    let mut world = World::new();
    let [a, b, x] = ["a", "b", "x"].map(|name| router(&mut world, name, &settings(TEXT)));
    let [s, d] = ["s", "d"].map(|name| world.host(name));
    let near = Span::from_millis(5);
    let narrow =
        |world: &mut World, from, to| world.join(from, to, pooled_link(Rate::mbps(10), near));
    let direct = narrow(&mut world, a, b);
    narrow(&mut world, a, x);
    narrow(&mut world, x, b);
    for (host, router) in [(s, a), (d, b)] {
        world.join(host, router, pooled_link(Rate::mbps(40), near));
    }
    let inrpp = transport(&mut world, "inrpp", config());
    world.flow((s, d), Time::from_millis(50), Some(8_000_000), inrpp);
    let spec = world.spec;
    let plan = plan(&spec, Time::from_secs(20));
    let switched = |lab: &Lab, up| lab.switch(a.index(), &interface(direct), up);
    let mut failed = None;
    let reports = run_with(&plan, &AtomicBool::new(false), |lab: &Lab, _: Clock| {
        pause(DOWN_AT_MS);
        failed = switched(lab, false).err();
        pause(DOWN_FOR_MS);
        failed = switched(lab, true).err().or(failed.take());
    })?;
    if let Some(error) = failed {
        return Err(error.into());
    }
    is_done_again(&plan, &reports)?;
    // Both ends hear of it.
    for (node, link) in [(a, direct), (b, direct.opposite())] {
        notices(&reports[node.index()], link)?;
    }
    let at_a = &reports[a.index()];
    let lost = at_a.site.drops().count(DropReason::LinkDown);
    let port = at_a.ports.iter().find(|port| port.outgoing == direct).ok_or("its port")?;
    let unsent = port.counters[Count::InterfaceDown];
    let open: isize = reports.iter().map(|report| report.site.ends().1).sum();
    let ended = reports.iter().map(|report| report.site.last_ended()).max().unwrap_or_default();
    println!("ended at {ended}; {lost} packets lost with the link, {unsent} not sent");
    // What was on the wire of 5 ms is lost by name, and next to nothing is sent in vain: a second
    // of 10 Mbit/s is 800 packets.
    if open != 0 || !(1..50).contains(&lost) || unsent > 50 {
        return Err(format!("{open} ends are open, {lost} and {unsent} packets lost").into());
    }
    Ok(())
}

/// The machines were told once that the wire is lost, and once that it is back.
fn notices(report: &NodeReport<Inputs>, link: LinkId) -> Outcome {
    let changes = report.record.0.iter().filter_map(|input| match input.event {
        InputEvent::Carrier(up) => Some((input.link, up, input.at)),
        InputEvent::Packet(_) => None,
    });
    let changes: Vec<_> = changes.collect();
    match changes[..] {
        [(first, false, lost_at), (second, true, back_at)]
            if (first, second) == (link, link)
                && back_at.since(lost_at) > Span::from_millis(DOWN_FOR_MS / 2) =>
        {
            Ok(())
        }
        _ => Err(format!("node {}: {changes:?}", report.id.0).into()),
    }
}

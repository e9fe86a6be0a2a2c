//! INRPP networks in a few lines: routers that pool, and the dumbbell of the INRPP paper.

use crate::world::{World, link};
use forebay_base::{LinkId, NodeId, Rate, Span, Time};
use forebay_cc::Spec;
use forebay_cc::inrpp::Params;
use forebay_net::{ForwardingSpec, LinkSpec, NodeKind};
use forebay_router::inrpp::{CacheLimits, CacheSize, Inrpp, InterfaceView, Settings};
use forebay_signal::inrpp::guard::LinkSecret;
use forebay_sim::Simulation;
use forebay_transport::{PRESETS, TcpConfig};
use std::sync::Arc;

/// What a detour tag needs besides the usual 1500 bytes.
pub const ROUTER_MTU_BYTES: u16 = 1508;

/// The caches of the INRPP paper's Figs 10-12: 5, 10 and 12.5 MB.
pub const FIGURES: CacheLimits =
    CacheLimits { low_bytes: 5_000_000, high_bytes: 10_000_000, total_bytes: 12_500_000 };
/// Those of its text, a tenth of that.
pub const TEXT: CacheLimits =
    CacheLimits { low_bytes: 500_000, high_bytes: 1_000_000, total_bytes: 1_250_000 };

/// Routers with these caches.
pub fn settings(cache: CacheLimits) -> Settings {
    Settings { cache: CacheSize::Bytes(cache), ..Settings::default() }
}

/// The transport of INRPP flows: payloads of 1446 bytes, no timestamps, room for everything in
/// flight.
pub fn config() -> TcpConfig {
    TcpConfig {
        mss_bytes: 1446,
        timestamps: false,
        receive_buffer_bytes: 1 << 30,
        send_buffer_bytes: 1 << 30,
        ..PRESETS[0].config
    }
}

/// Give each link between the routers of a network that is complete a key, and the options of its
/// INRPP flows room for codes.
pub fn guard(world: &mut World) {
    let secret = LinkSecret::new(b"known to neighbours").expect("long enough");
    for (i, node) in world.spec.nodes.iter_mut().enumerate() {
        let NodeKind::Router(ForwardingSpec::Inrpp(settings)) = &mut node.kind else { continue };
        let ports = world.spec.links.iter().filter(|link| link.from.index() == i).count();
        Arc::make_mut(settings).secrets = Some(vec![Some(secret.clone()); ports].into());
    }
    with_params(world, Params { guarded: true, ..Params::default() });
}

/// Add the algorithm of that name with its receiver half.
pub fn transport(world: &mut World, name: &str, config: TcpConfig) -> usize {
    let spec = Spec::by_name(name).expect("an algorithm of the table");
    transport_of(world, name, spec, config)
}

/// Let all flows so far be INRPP flows whose senders are notified on data.
pub fn notify_on_data(world: &mut World) {
    with_params(world, Params { notify_on_data: true, ..Params::default() });
}

fn with_params(world: &mut World, params: Params) {
    let transport = transport_of(world, "inrpp", Spec::Inrpp(params), config());
    world.spec.flows.iter_mut().for_each(|flow| flow.transport = transport);
}

fn transport_of(world: &mut World, name: &str, spec: Spec, config: TcpConfig) -> usize {
    let receiver = spec.clone();
    world.transport_with(
        name,
        config,
        move |init| spec.build(init),
        move || receiver.build_feedback(),
    )
}

/// Add an INRPP router.
pub fn router(world: &mut World, name: &str, settings: &Settings) -> NodeId {
    world.router_with(name, ForwardingSpec::Inrpp(Arc::new(settings.clone())))
}

/// A link between INRPP routers, or to a host of theirs: a queue of 50 ms, 2 bytes of PPP, room for
/// a tag.
pub fn pooled_link(rate: Rate, delay: Span) -> LinkSpec {
    let queue_bytes = rate.bytes_in(Span::from_millis(50));
    let mtu_bytes = ROUTER_MTU_BYTES;
    link(rate, delay, queue_bytes)
        .with_wire(|wire| (wire.mtu_bytes, wire.overhead_bytes) = (mtu_bytes, 2))
}

/// The paper's Fig 8: `s1 s2 s3 - 4 - 0 - 2 - 3 - r1 r2 r3`, the detour 0 - 1 - 2, and flows of
/// `bytes` that start at 1, 2 and 3 s.
pub struct Dumbbell {
    /// The network.
    pub world: World,
    /// From 4 to 0, from 0 to 2, from 0 to 1, from 1 to 2.
    pub links: [LinkId; 4],
}

/// See [`Dumbbell`]. `access` is the delay of the links of each pair of hosts.
pub fn dumbbell(cache: CacheLimits, bytes: u64, access: [Span; 3]) -> Dumbbell {
    let mut world = World::new();
    let settings = settings(cache);
    let names = ["0", "1", "2", "3", "4"];
    let r = names.map(|name| router(&mut world, name, &settings));
    let (narrow, wide, near) = (Rate::mbps(10), Rate::mbps(10_000), Span::from_millis(5));
    let links = [(4, 0, wide), (0, 2, narrow), (0, 1, narrow), (1, 2, narrow)]
        .map(|(a, b, rate)| world.join(r[a], r[b], pooled_link(rate, near)));
    world.join(r[2], r[3], pooled_link(wide, near));
    let inrpp = transport(&mut world, "inrpp", config());
    for (i, delay) in access.into_iter().enumerate() {
        let (s, d) = (world.host(&format!("s{i}")), world.host(&format!("r{i}")));
        world.join(s, r[4], pooled_link(Rate::mbps(40), delay));
        world.join(r[3], d, pooled_link(Rate::mbps(40), delay));
        world.flow((s, d), Time::from_secs(i as u64 + 1), Some(bytes), inrpp);
    }
    Dumbbell { world, links }
}

/// The interfaces of a run.
pub trait Interfaces {
    /// The interface of an INRPP router that feeds a link; None if another kind of node does.
    fn interface(&self, link: LinkId) -> Option<InterfaceView<'_>>;
}

impl Interfaces for Simulation {
    fn interface(&self, link: LinkId) -> Option<InterfaceView<'_>> {
        self.router::<Inrpp>(link).map(|(router, port)| router.view(port))
    }
}

//! Whole runs: TCP over a dumbbell of namespaces, done again from what was recorded.

use super::Outcome;
use super::signals::READY;
use forebay_base::{FlowId, LinkId, NodeId, Rate, Span, Time};
use forebay_cc::Spec;
use forebay_live::wire::Count;
use forebay_live::{
    Clock, KernelHost, Lab, LivePlan, NodeReport, Record, address_of, os_secret, place_of, run_live,
};
use forebay_net::{AppSchedule, NetSpec, Network, Place, Prefix};
use forebay_sim::{Input, InputEvent, Options, RealWires, Simulation, Site, SiteOptions};
use forebay_testkit::world;
use forebay_transport::PRESETS;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;

/// Inputs in memory, and what the site had besides.
#[derive(Default)]
pub struct Inputs(pub Vec<Input>, pub Option<RealWires>);

impl Record for Inputs {
    fn input(&mut self, at: Time, link: LinkId, packet: &[u8]) {
        self.0.push(Input { at, link, event: InputEvent::Packet(packet.to_vec()) });
    }
    fn carrier(&mut self, at: Time, link: LinkId, up: bool) {
        self.0.push(Input { at, link, event: InputEvent::Carrier(up) });
    }
}

/// Two flows over 20 Mbit/s.
fn dumbbell(flow_bytes: u64) -> NetSpec {
    let (mut world, hosts, _) =
        world::dumbbell(2, Rate::clamped(20_000_000), Span::from_millis(20), 50_000);
    let newreno = world.transport("newreno", PRESETS[0].config, |init| {
        Spec::by_name("newreno").expect("it is in the table").build(init)
    });
    for ends in hosts {
        world.flow(ends, Time::from_millis(50), Some(flow_bytes), newreno);
    }
    world.spec
}

pub fn plan(spec: &NetSpec, end: Time) -> LivePlan<'_> {
    let (kernel_hosts, ring_frames) = (BTreeMap::new(), 1024);
    LivePlan { spec, seed: 7, end, ends_with_flows: true, kernel_hosts, ring_frames, seals: true }
}

fn run(plan: &LivePlan<'_>, stop: &AtomicBool) -> Result<Vec<NodeReport<Inputs>>, String> {
    run_with(plan, stop, |_, _| ())
}

pub fn run_with(
    plan: &LivePlan<'_>,
    stop: &AtomicBool,
    start: impl FnOnce(&Lab, Clock),
) -> Result<Vec<NodeReport<Inputs>>, String> {
    let real = Some(RealWires { secret: os_secret().map_err(|error| error.to_string())? });
    let equip = |_: NodeId, _: &Place| {
        (SiteOptions { real, ..SiteOptions::default() }, Inputs(Vec::new(), real))
    };
    let reports = run_live(plan, stop, equip, start).map_err(|error| error.to_string())?.nodes;
    match reports.iter().find_map(|report| report.failed) {
        Some(too_slow) => Err(too_slow.to_string()),
        None => Ok(reports),
    }
}

/// The same machines with the same inputs, in a simulation's time.
fn again(plan: &LivePlan<'_>, report: &NodeReport<Inputs>) -> u64 {
    let place = place_of(plan, report.id);
    let options = SiteOptions { real: report.record.1, ..SiteOptions::default() };
    let mut site = Site::new(plan.spec, plan.seed, &place, options).expect("a sound network");
    for input in &report.record.0 {
        assert_eq!(site.push_input(input), Ok(input.at), "a record is in order");
    }
    site.run_until(report.ended_at);
    site.hash()
}

/// All of a run is known from what it was given: the same hashes.
pub fn is_done_again(plan: &LivePlan<'_>, reports: &[NodeReport<Inputs>]) -> Outcome {
    for report in reports {
        if again(plan, report) != report.site.hash() {
            return Err(format!("node {}: another hash", report.id.0).into());
        }
        if !report.site.conservation().holds() {
            return Err(format!("node {}: {:?}", report.id.0, report.site.conservation()).into());
        }
    }
    Ok(())
}

/// The same, and no packet is missing.
pub fn is_sound(plan: &LivePlan<'_>, reports: &[NodeReport<Inputs>]) -> Outcome {
    is_done_again(plan, reports)?;
    let ports = || reports.iter().flat_map(|report| &report.ports);
    let [sent, received] = [Count::Sent, Count::Received]
        .map(|count| ports().map(|port| port.counters[count]).sum::<u64>());
    let dropped: u64 = ports().map(|port| port.counters.dropped()).sum();
    // What was under way at the end has not arrived.
    let lost = plan.kernel_hosts.is_empty() && (sent < received || sent > received + 100);
    if dropped > 0 || lost {
        return Err(format!("{sent} sent, {received} received, {dropped} dropped").into());
    }
    Ok(())
}

pub fn a_dumbbell_is_done_again() -> Outcome {
    let spec = dumbbell(500_000);
    let plan = plan(&spec, Time::from_secs(20));
    let reports = run(&plan, &AtomicBool::new(false))?;
    is_sound(&plan, &reports)?;
    let ended = reports.iter().map(|report| report.site.last_ended()).max();
    let ended = ended.unwrap_or_default();
    let mut sim = Simulation::new(&spec, plan.seed, Options::default()).expect("a sound network");
    sim.run_until(Time::MAX).expect("it conserves packets");
    let simulated = sim.now();
    let open: isize = reports.iter().map(|report| report.site.ends().1).sum();
    let late = reports.iter().flat_map(|report| &report.ports).fold(
        forebay_base::Histogram::default(),
        |mut all, port| {
            all.add(&port.late);
            all
        },
    );
    let late = late.quantile(0.99).unwrap_or_default();
    println!("{simulated} simulated, {ended} live, p99 of the lateness {late:?}");
    if open != 0 {
        return Err(format!("{open} ends of flows are open").into());
    }
    // Each round trip is later by eight packets that leave: with what a loaded machine does to
    // them, twice the time is no proof of an error.
    let (least, most) = (simulated.as_secs_f64() * 0.8, simulated.as_secs_f64() * 2.0);
    if !(least..=most).contains(&ended.as_secs_f64()) {
        return Err(format!("the last flow ended at {ended}, simulated at {simulated}").into());
    }
    Ok(())
}

pub fn a_run_that_is_stopped_reports() -> Outcome {
    let spec = dumbbell(500_000);
    let plan = plan(&spec, Time::from_secs(1000));
    let stop = AtomicBool::new(false);
    let reports = thread::scope(|scope| {
        scope.spawn(|| {
            #[expect(clippy::disallowed_methods, reason = "a user who waits")]
            thread::sleep(std::time::Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
        });
        run(&plan, &stop)
    })?;
    is_sound(&plan, &reports)?;
    let ends: Vec<Time> = reports.iter().map(|report| report.ended_at).collect();
    if ends.iter().any(|&end| end != ends[0] || end > Time::from_secs(10)) {
        return Err(format!("ends at {ends:?}").into());
    }
    Ok(())
}

/// In a process that is stopped for 400 ms while this runs.
pub fn is_halted() -> Outcome {
    let spec = dumbbell(2_000_000);
    let plan = plan(&spec, Time::from_secs(20));
    let reports = run_with(&plan, &AtomicBool::new(false), |_, _| {
        println!("{READY}");
        let _ = io::stdout().flush();
    })?;
    is_sound(&plan, &reports)?;
    let ports = reports.iter().flat_map(|report| &report.ports);
    let latest = ports.filter_map(|port| port.late.quantile(1.0)).max().unwrap_or_default();
    if latest < Span::from_millis(300) {
        return Err(format!("packets left at most {latest:?} late: it was not stopped").into());
    }
    Ok(())
}

/// The kernel's TCP from one host to another, over a router of Forebay and links of 20 Mbit/s.
pub fn kernels_talk_over_a_router() -> Outcome {
    kernels_talk(None)
}

/// The same to an address outside the plan: its packets are carried byte for byte.
pub fn kernels_talk_over_a_prefix() -> Outcome {
    kernels_talk(Some("192.0.2.0/24".parse()?))
}

fn kernels_talk(prefix: Option<Prefix>) -> Outcome {
    const BYTES: usize = 2_000_000;
    let mut world = world::World::new();
    let (a, router, b) = (world.host("a"), world.router("router"), world.host("b"));
    let link = world::link(Rate::clamped(20_000_000), Span::from_millis(5), 100_000);
    world.join(a, router, link.clone());
    world.join(router, b, link);
    world.spec.prefixes.extend(prefix.map(|prefix| (b, prefix)));
    let spec = world.spec;
    let kernel_hosts = BTreeMap::from([a, b].map(|host| (host, KernelHost::Programs)));
    let end = Time::from_secs(30);
    let plan = LivePlan {
        spec: &spec,
        seed: 1,
        end,
        ends_with_flows: false,
        kernel_hosts,
        ring_frames: 1024,
        seals: true,
    };
    let to = prefix.map_or(address_of(&spec, 1, b)?, |prefix| prefix.host_address());
    let stop = Arc::new(AtomicBool::new(false));
    let (ended, end) = mpsc::channel();
    let reports = run_with(&plan, &stop, |lab, clock| {
        let listener = lab.inside(b.index(), || TcpListener::bind((to, 80)));
        let (listener, stop) = (listener.expect("a namespace").expect("a port"), stop.clone());
        let serve = move || -> io::Result<()> {
            let (mut stream, mut bytes) = (listener.accept()?.0, Vec::new());
            stream.read_to_end(&mut bytes)?;
            let right = bytes.len() == BYTES && (0..).zip(&bytes).all(|(i, b)| *b == byte(i));
            stop.store(true, Ordering::Relaxed);
            ended.send((right, clock.now())).map_err(io::Error::other)
        };
        let send = move || -> io::Result<()> {
            let mut stream = TcpStream::connect((to, 80))?;
            stream.write_all(&(0..BYTES).map(byte).collect::<Vec<_>>())
        };
        lab.inside(b.index(), || thread::spawn(serve)).expect("a namespace");
        lab.inside(a.index(), || thread::spawn(send)).expect("a namespace");
    })?;
    is_sound(&plan, &reports)?;
    let (right, took) = end.try_recv().map_err(|_| "the transfer did not end")?;
    // 54 bytes of headers for 1448 of payload; slow start takes a few round trips.
    let least = BYTES as f64 * 8.0 / 20e6;
    println!("{BYTES} bytes took {took}, at least {least:.3} s");
    if !right || took.as_secs_f64() < least || took.as_secs_f64() > 3.0 * least {
        return Err(format!("the same bytes: {right}, after {took}").into());
    }
    Ok(())
}

/// `curl` of this machine fetches a file from a host of Forebay's and uploads one to it. Both
/// answers are known in advance, and begin as soon as the client is connected.
pub fn curl_fetches_and_uploads() -> Outcome {
    const BYTES: usize = 10_000_000;
    if forebay_prerequisites::program(&["curl"]).is_none() {
        return Ok(());
    }
    let mut world = world::World::new();
    let (kernel, router, host) = (world.host("kernel"), world.router("router"), world.host("host"));
    let link = world::link(Rate::clamped(200_000_000), Span::from_millis(2), 500_000);
    world.join(kernel, router, link.clone());
    world.join(router, host, link);
    let newreno = world.transport("newreno", PRESETS[0].config, |init| {
        Spec::by_name("newreno").expect("it is in the table").build(init)
    });
    let file: Vec<u8> = (0..BYTES).map(byte).collect();
    let head =
        |len: usize| format!("HTTP/1.1 200 OK\r\nContent-Length: {len}\r\n\r\n").into_bytes();
    let answers = Arc::new(vec![[head(BYTES), file.clone()].concat(), head(0)]);
    for answer in &*answers {
        world.flow((kernel, host), Time::ZERO, Some(1), newreno);
        let life = AppSchedule { answer_bytes: answer.len() as u64, ..AppSchedule::default() };
        world.spec.flows.last_mut().expect("just added").life = Some(Box::new(life));
    }
    let spec = world.spec;
    let plan = LivePlan {
        spec: &spec,
        seed: 1,
        end: Time::from_secs(30),
        ends_with_flows: true,
        kernel_hosts: BTreeMap::from([(kernel, KernelHost::Programs)]),
        ring_frames: 4096,
        seals: true,
    };
    let network = Network::build(&spec, 1, false).map_err(|error| format!("{error:?}"))?;
    let ports = [0, 1].map(|flow| {
        let path = &network.workload.paths(FlowId(flow))[0];
        [path.src.0.port, path.dst.0.port]
    });
    let (to, scratch) = (address_of(&spec, 1, host)?, tempfile::tempdir()?);
    let [fetched, uploaded] = ["fetched", "uploaded"].map(|name| scratch.path().join(name));
    fs::write(&uploaded, &file)?;
    let curl = |of: usize, what: &str, path: &Path| {
        let [from, port] = ports[of];
        let mut command = Command::new("curl");
        // No question whether the upload is wanted: the answer to it would be the last one.
        command.args(["--silent", "--show-error", "--max-time", "25", "--header", "Expect:"]);
        command.args(["--local-port", &from.to_string(), &format!("http://{to}:{port}/")]);
        command.arg(what).arg(path).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    };
    let mut commands = [curl(0, "--output", &fetched), curl(1, "--upload-file", &uploaded)];
    let mut children = Vec::new();
    let equip = |_: NodeId, _: &Place| {
        let payload = Some(Arc::clone(&answers));
        (SiteOptions { payload, ..SiteOptions::default() }, Inputs::default())
    };
    let reports = run_live(&plan, &AtomicBool::new(false), equip, |lab, _| {
        let start = || commands.each_mut().map(Command::spawn);
        children.extend(lab.inside(kernel.index(), start).expect("a namespace"));
    })?;
    for child in children {
        let done = child?.wait_with_output()?;
        if !done.status.success() {
            return Err(format!("curl: {}", String::from_utf8_lossy(&done.stderr)).into());
        }
    }
    is_sound(&plan, &reports.nodes)?;
    let server = reports.nodes.iter().find(|report| report.id == host).ok_or("the host")?;
    let received = server.site.received(FlowId(1)).ok_or("the upload")?;
    let body = received.windows(4).position(|part| part == b"\r\n\r\n").ok_or("a request")? + 4;
    println!("{BYTES} bytes there and back by {}", server.site.last_ended());
    let same = [fs::read(&fetched)? == file, received[body..] == file];
    if same == [true; 2] { Ok(()) } else { Err(format!("the same bytes: {same:?}").into()) }
}

/// The bytes of a transfer.
pub fn byte(place: usize) -> u8 {
    (place * 31 / 7) as u8
}

//! A host of Forebay's to whose ports programs of the kernel connect, several times in one run.

use super::Outcome;
use super::runs::{Inputs, byte, is_sound};
use forebay_base::{FlowId, NodeId, Rate, Span, Time};
use forebay_cc::Spec;
use forebay_live::{KernelHost, LivePlan, address_of, os_secret, run_live};
use forebay_net::{AppSchedule, NetSpec, Place};
use forebay_sim::{RealWires, SiteOptions};
use forebay_testkit::world;
use forebay_transport::PRESETS;
use std::collections::BTreeMap;
use std::fs;
use std::net::IpAddr;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const BYTES: usize = 1_000_000;
/// Each time a new connection.
const DOWNLOADS: usize = 4;
const SOURCE: u16 = 80;
const SINK: u16 = 81;

/// The kernel's host and Forebay's, and what each flow of the latter answers.
fn network() -> (NetSpec, [NodeId; 2], Vec<Vec<u8>>) {
    let mut world = world::World::new();
    let (kernel, router, host) = (world.host("kernel"), world.router("router"), world.host("host"));
    let link = world::link(Rate::clamped(100_000_000), Span::from_millis(2), 500_000);
    world.join(kernel, router, link.clone());
    world.join(router, host, link);
    let newreno = world.transport("newreno", PRESETS[0].config, |init| {
        Spec::by_name("newreno").expect("it is in the table").build(init)
    });
    let head =
        |len: usize| format!("HTTP/1.1 200 OK\r\nContent-Length: {len}\r\n\r\n").into_bytes();
    let file: Vec<u8> = (0..BYTES).map(byte).collect();
    let source = [head(BYTES), file].concat();
    let mut answers = vec![source; DOWNLOADS];
    answers.push(head(0));
    for (number, answer) in answers.iter().enumerate() {
        world.flow((kernel, host), Time::ZERO, Some(1), newreno);
        let life = AppSchedule {
            listen: Some(if number < DOWNLOADS { SOURCE } else { SINK }),
            answer_bytes: answer.len() as u64,
            ..AppSchedule::default()
        };
        world.spec.flows.last_mut().expect("just added").life = Some(Box::new(life));
    }
    (world.spec, [kernel, host], answers)
}

/// One download after the other, something that nobody listens to, and an upload.
fn script(to: IpAddr, scratch: &Path) -> String {
    let curl = "curl --silent --show-error --max-time 20 --header Expect:";
    let at = scratch.display();
    let fetch = |n: usize| format!("{curl} -o {at}/{n} http://{to}:{SOURCE}/");
    let mut lines: Vec<String> = (0..DOWNLOADS).map(fetch).collect();
    // Refused at once: exit code 7.
    lines.push(format!("{{ {curl} http://{to}:7/ 2>{at}/refused; test $? = 7; }}"));
    lines.push(format!("{curl} --upload-file {at}/0 http://{to}:{SINK}/"));
    lines.join(" && ")
}

pub fn curl_comes_back_to_a_listener() -> Outcome {
    if forebay_prerequisites::program(&["curl"]).is_none() {
        return Ok(());
    }
    let (spec, [kernel, host], answers) = network();
    let plan = LivePlan {
        spec: &spec,
        seed: 1,
        end: Time::from_secs(30),
        ends_with_flows: true,
        kernel_hosts: BTreeMap::from([(kernel, KernelHost::Programs)]),
        ring_frames: 4096,
        seals: true,
    };
    let (to, scratch) = (address_of(&spec, 1, host)?, tempfile::tempdir()?);
    let mut command = Command::new("sh");
    command.arg("-c").arg(script(to, scratch.path()));
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let (answers, real) = (Arc::new(answers), Some(RealWires { secret: os_secret()? }));
    let equip = |_: NodeId, _: &Place| {
        let payload = Some(Arc::clone(&answers));
        (SiteOptions { payload, real, ..SiteOptions::default() }, Inputs(Vec::new(), real))
    };
    let mut child = None;
    let reports = run_live(&plan, &AtomicBool::new(false), equip, |lab, _| {
        child = Some(lab.inside(kernel.index(), || command.spawn()).expect("a namespace"));
    })?;
    let done = child.ok_or("no child")??.wait_with_output()?;
    if !done.status.success() {
        return Err(format!("curl: {}", String::from_utf8_lossy(&done.stderr)).into());
    }
    is_sound(&plan, &reports.nodes)?;
    let file: Vec<u8> = (0..BYTES).map(byte).collect();
    for number in 0..DOWNLOADS {
        if fs::read(scratch.path().join(number.to_string()))? != file {
            return Err(format!("download {number} has other bytes").into());
        }
    }
    let server = reports.nodes.iter().find(|report| report.id == host).ok_or("the host")?;
    let received = server.site.received(FlowId(DOWNLOADS as u32)).ok_or("the upload")?;
    let body = received.windows(4).position(|part| part == b"\r\n\r\n").ok_or("a request")? + 4;
    let resets = server.site.answers().resets;
    println!(
        "{DOWNLOADS} downloads, an upload and {resets} resets by {}",
        server.site.last_ended()
    );
    match (received[body..] == file, resets) {
        (true, 1..) => Ok(()),
        found => Err(format!("the same upload, resets: {found:?}").into()),
    }
}

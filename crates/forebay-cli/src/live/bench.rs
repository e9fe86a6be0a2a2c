//! `forebay bench live`: what a thread passes on here, by the kernel alone and with the machines of
//! a router between.

use super::isolated;
use crate::args::BenchArgs;
use crate::failure::Failure;
use crate::terminal::{Paint, Table, wrap};
use forebay_base::Span;
use forebay_lab::scenario::registry::Routers;
use forebay_lab::scenario::{LoadOptions, Registry, Scenario};
use forebay_live::{
    Arrivals, Crossing, LiveError, Saturation, SaturationError, check, kernel_saturation,
    router_saturation,
};
use forebay_net::NetSpec;
use serde::Serialize;
use std::io::{self, IsTerminal, Write};

/// How long each row is measured.
const SPAN: Span = Span::from_secs(2);
/// Of packets, with their IP headers.
const PACKET_BYTES: usize = 1500;
/// Full segments are longer, ACKs are not.
const LEAST_BYTES: usize = 1000;
/// A protocol whose routers are plain ones.
const PLAIN: &str = "newreno";
/// Time between two packets of that length at 100 Mbit/s.
const GAP: Span = Span::from_micros(120);

/// What was measured.
#[derive(Serialize)]
struct Measured {
    rows: Vec<Row>,
    /// CPU time per packet at 100 Mbit/s: the router's by that of a bare loop.
    paced_ratio: f64,
}

#[derive(Serialize)]
struct Row {
    name: String,
    packets: u64,
    cpu_s: f64,
    packets_per_cpu_s: f64,
    us_per_packet: f64,
}

/// Measure and show.
pub fn bench(args: &BenchArgs, out: &mut impl Write, paint: Paint) -> Result<(), Failure> {
    let json = args.json;
    isolated(out, || {
        if !check().is_able() {
            let what = "a right is missing; `forebay live --check` says which";
            return Err(Failure::Impossible(what.to_string()));
        }
        let measured = measure()?;
        let mut out = io::stdout().lock();
        if json {
            serde_json::to_writer(&mut out, &measured).map_err(io::Error::from)?;
            writeln!(out)?;
        } else {
            out.write_all(text(&measured, paint).as_bytes())?;
        }
        Ok(out.flush()?)
    })
}

fn measure() -> Result<Measured, Failure> {
    let (plain, slow) = (spec("100Gbit/s", PLAIN)?, spec("100Mbit/s", PLAIN)?);
    let foreign = crossing(Crossing::foreign(&plain, 1, PACKET_BYTES))?;
    let paced = crossing(Crossing::foreign(&slow, 1, PACKET_BYTES))?;
    let (flood, steady, packet) = (Arrivals::Flood, Arrivals::Every(GAP), foreign.packet());
    let mut rows = vec![
        row("kernel alone", || kernel_saturation(packet, flood, SPAN))?,
        row("router", || router_saturation(&foreign, flood, SPAN))?,
    ];
    // Those of a scheme pass on what its hosts send.
    for line in Registry::default().lines::<Routers>().iter().skip(1) {
        let spec = spec("100Gbit/s", &line.name)?;
        let own = crossing(Crossing::of_host(&spec, 1, LEAST_BYTES))?;
        rows.push(row(&format!("{} router", line.title), || router_saturation(&own, flood, SPAN))?);
    }
    let bare = row("bare loop, 100 Mbit/s", || kernel_saturation(packet, steady, SPAN))?;
    let router = row("router, 100 Mbit/s", || router_saturation(&paced, steady, SPAN))?;
    let paced_ratio = router.us_per_packet / bare.us_per_packet;
    rows.extend([bare, router]);
    Ok(Measured { rows, paced_ratio })
}

/// Two hosts beside a router, all links at `rate`.
fn spec(rate: &str, protocol: &str) -> Result<NetSpec, Failure> {
    let host = |name| {
        format!(
            "[[hosts]]\nname = '{name}'\nattach = 'r'\nrate = '{rate}'\ndelay = '1us'\n\
             queue = '10000packets'\n"
        )
    };
    let flow = "[[flows]]\nsrc = 'a'\ndst = 'b'\nendless = true\n";
    let text = format!("until_s = 1\nrouters = ['r']\n{}{}{flow}", host("a"), host("b"));
    let scenario = Scenario::parse(&text, "bench live", &LoadOptions::default());
    let scenario = scenario.map_err(Failure::input)?;
    scenario.build(protocol, 1).map_err(Failure::input)
}

fn crossing<'a>(found: Result<Option<Crossing<'a>>, LiveError>) -> Result<Crossing<'a>, Failure> {
    let found = found.map_err(|error| Failure::run(error.to_string()))?;
    Ok(found.expect("two IPv4 hosts beside a router, one sends"))
}

fn row(
    name: &str,
    measure: impl FnOnce() -> Result<Saturation, SaturationError>,
) -> Result<Row, Failure> {
    if io::stderr().is_terminal() {
        // Without a reader of progress the measurement goes on.
        let _ = writeln!(io::stderr(), "measuring: {name} …");
    }
    let found = measure().map_err(|error| Failure::Impossible(error.to_string()))?;
    let packets_per_cpu_s = found.packets_per_cpu_s();
    Ok(Row {
        name: name.to_string(),
        packets: found.packets,
        cpu_s: found.cpu.as_secs_f64(),
        packets_per_cpu_s,
        us_per_packet: 1e6 / packets_per_cpu_s,
    })
}

fn text(measured: &Measured, paint: Paint) -> String {
    let headings = ["packets per CPU s", "CPU per packet", "packets", "CPU"];
    let mut table = Table::new(headings.map(String::from).to_vec());
    for Row { name, packets, cpu_s, packets_per_cpu_s, us_per_packet } in &measured.rows {
        let cells = vec![
            format!("{packets_per_cpu_s:.0}"),
            format!("{us_per_packet:.2} us"),
            packets.to_string(),
            format!("{cpu_s:.2} s"),
        ];
        table.push(name.clone(), cells);
    }
    let ratio = measured.paced_ratio;
    let note = format!(
        "One thread, packets of {PACKET_BYTES} bytes over veth. A router of Forebay that sleeps \
         between packets needs {ratio:.2} times the CPU time of a loop that only receives, sleeps \
         and sends."
    );
    table.render(paint) + &wrap(&note, 0)
}

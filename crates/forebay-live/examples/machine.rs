//! What this machine allows, and how many packets a thread passes on: `cargo run --release
//! --example machine`.

use forebay_base::{Rate, Span};
use forebay_live::{
    Check, Saturation, SaturationError, check, isolate, kernel_saturation, router_saturation,
};
use forebay_net::NetSpec;
use forebay_testkit::world::{World, link};

fn main() {
    let code = isolate(|| {
        let found = check();
        print(&found);
        if !found.is_able() {
            return 4;
        }
        let span = Span::from_secs(3);
        for len in [1500, 100] {
            report(&format!("kernel, {len} bytes"), kernel_saturation(len, span));
            report(&format!("router, {len} bytes"), router_saturation(&router(), 1, len, span));
        }
        0
    });
    match code {
        Ok(code) => std::process::exit(i32::from(code)),
        Err(error) => print(&Check::refused(&error)),
    }
}

/// Two hosts beside a router. Links are so fast that nothing waits.
fn router() -> NetSpec {
    let mut world = World::new();
    let (a, router, b) = (world.host("a"), world.router("router"), world.host("b"));
    let link = link(Rate::clamped(100_000_000_000), Span::from_micros(1), 10_000_000);
    world.join(a, router, link.clone());
    world.join(router, b, link);
    world.spec
}

fn report(what: &str, found: Result<Saturation, SaturationError>) {
    match found {
        Ok(found) => {
            let rate = found.packets_per_cpu_s();
            let us = 1e6 / rate;
            show(&format!("{what}: {rate:.0} packets per CPU second, {us:.2} us each"));
        }
        Err(error) => show(&format!("{what}: {error}")),
    }
}

fn print(check: &Check) {
    show(check.to_string().trim_end());
}

#[expect(clippy::print_stdout, reason = "this is what the example is for")]
fn show(text: &str) {
    println!("{text}");
}

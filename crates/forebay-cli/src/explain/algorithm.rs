//! A congestion control algorithm: its source, and its parameters as a scenario sets them.

use super::params::{paragraphs, parameters, resolve};
use crate::terminal::{Paint, wrap};
use forebay_cc::AckPolicy;
use forebay_lab::scenario::registry::Routers;
use forebay_lab::scenario::{Algorithm, Registry};
use std::fmt::Write;

/// The explanation of the algorithm `name`, which is in the catalogue.
pub fn text(registry: &Registry, name: &str, paint: Paint) -> String {
    let entry = registry.algorithm(name).expect("the catalogue has all algorithms");
    let reference = match entry.reference() {
        "" => String::new(),
        reference => format!(" ({reference})"),
    };
    let mut text = String::new();
    // Writing to a string cannot fail.
    let title = paint.bold(entry.title());
    let _ = writeln!(text, "{title} - congestion control{reference}\n");
    text.push_str(&wrap(entry.summary(), 0));
    let about = paragraphs(entry.about().into_iter());
    if !about.is_empty() {
        let _ = writeln!(text, "\n{}", paint.bold("What is implemented"));
    }
    for paragraph in about {
        text.push_str(&wrap(&paragraph, 2));
    }
    if let Some(needs) = needs(registry, &entry) {
        let _ = writeln!(text, "\n{}", paint.bold("Network requirements"));
        text.push_str(&wrap(&needs, 2));
    }
    let schema = forebay_lab::scenario::schema(registry);
    let params = resolve(&schema, &schema["properties"]["protocol"]["properties"][name]);
    let Some(properties) = params["properties"].as_object().filter(|p| !p.is_empty()) else {
        text.push_str("\nIt has no parameters.\n");
        return text;
    };
    let _ = writeln!(text, "\n{} ([protocol.{name}] in a scenario)", paint.bold("Parameters"));
    text.push_str(&parameters(&schema, params, paint).unwrap_or_default());
    let _ = write!(text, "\nTry: forebay run dumbbell --protocol {name}");
    // TOML has no word for a parameter that is not given.
    let given = |(key, param): (_, &serde_json::Value)| Some((key, param.get("default")?.clone()));
    let mut values = properties.iter().filter_map(given).filter(|(_, value)| !value.is_null());
    if let Some((key, value)) = values.next() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
        let _ = write!(text, " --set protocol.{name}.{key}={value}");
    }
    text.push('\n');
    text
}

/// What a run under the protocol `name` has in its network, and in its transport.
fn needs(registry: &Registry, entry: &Algorithm) -> Option<String> {
    let bundle = entry.bundle();
    let mut needs = Vec::new();
    if let Some(port) = bundle.port {
        let text = "at the ports of routers, unless the scenario says `port`";
        needs.push(format!("The scheme `{port}` {text}."));
    }
    let mut room_bytes = bundle.mtu_room_bytes;
    if let Some(kind) = &bundle.router {
        needs.push(format!("Routers of the kind `{kind}`, unless the scenario says `router`."));
        let own_bytes = registry.line::<Routers>(kind).map_or(0, |line| line.traits.mtu_room_bytes);
        room_bytes = room_bytes.max(own_bytes);
    }
    if room_bytes > 0 {
        needs.push(format!(
            "Links between routers carry packets that are {room_bytes} bytes longer."
        ));
    }
    if entry.demands_acks() || entry.ack_policy() == Some(AckPolicy::EveryPacket) {
        needs.push("An ACK for each packet, whatever [tcp] says.".to_string());
    }
    if bundle.buffers_hold_a_flow {
        let why = "Its senders do not wait for windows: the buffers at both ends hold the largest \
                   flow, at most 2^30 bytes, and windows are scaled, unless [tcp_of] says \
                   otherwise.";
        needs.push(why.to_string());
    }
    (!needs.is_empty()).then(|| needs.join(" "))
}

//! A preset of the transport: every value, with what it means.

use crate::terminal::{Paint, wrap};
use forebay_base::Span;
use forebay_cc::{AckPolicy, LossPolicy, Spec};
use forebay_lab::scenario::Registry;
use forebay_transport::{PRESETS, Pacing, Recovery, RtoRule, TcpConfig};
use std::fmt::Write;

/// The explanation of the preset `name`, which is in the table.
pub fn text(name: &str, paint: Paint) -> String {
    let preset = PRESETS.iter().find(|preset| preset.name == name);
    let preset = preset.expect("the catalogue is made from the table");
    let mut text = format!("{} - TCP preset\n\n", paint.bold(name));
    text.push_str(&wrap(preset.summary, 0));
    let schema = forebay_lab::scenario::schema(&Registry::default());
    let tcp = &schema["properties"]["tcp"]["properties"];
    for (key, value) in rows(&preset.config) {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "\n  {} = {value}", paint.bold(key));
        text.push_str(&wrap(tcp[key]["description"].as_str().unwrap_or_default(), 6));
    }
    for spec in preset.controllers {
        let _ = writeln!(text, "\n{}", paint.bold(format!("[protocol.{}]", spec.name())));
        for (key, value) in parameters(spec) {
            let _ = writeln!(text, "  {} = {value}", paint.bold(&key));
        }
        text.push_str(&wrap(&format!("`forebay explain {}` says what they mean.", spec.name()), 6));
    }
    let _ = writeln!(text, "\nTry: forebay run dumbbell --set tcp.preset={name}");
    text
}

/// The parameters of a controller that are not its defaults, as a scenario would write them.
fn parameters(spec: &Spec) -> Vec<(String, String)> {
    let all = |spec: &Spec| match serde_json::to_value(spec) {
        Ok(serde_json::Value::Object(mut tagged)) => tagged.remove(spec.name()),
        _ => None,
    };
    let default = Spec::by_name(spec.name()).as_ref().and_then(all).unwrap_or_default();
    let mine = all(spec).unwrap_or_default();
    let pairs = mine.as_object().into_iter().flatten();
    let unlike = pairs.filter(|(key, value)| default.get(key) != Some(value));
    unlike.map(|(key, value)| (key.clone(), value.to_string())).collect()
}

/// The values of `config` that `other` does not have.
pub fn unlike(config: &TcpConfig, other: &TcpConfig) -> Vec<(&'static str, String)> {
    let pairs = rows(config).into_iter().zip(rows(other));
    pairs.filter(|(mine, other)| mine != other).map(|(mine, _)| mine).collect()
}

/// The preset with the fewest values unlike those of `config`, and those values.
pub fn nearest(config: &TcpConfig) -> (&'static str, Vec<(&'static str, String)>) {
    let all = PRESETS.iter().map(|preset| (preset.name, unlike(config, &preset.config)));
    all.min_by_key(|(_, unlike)| unlike.len()).expect("there is at least one preset")
}

/// Every key of `[tcp]` with its value, as a scenario would write it.
fn rows(config: &TcpConfig) -> Vec<(&'static str, String)> {
    // Without `..`: a new field must get a row here.
    let TcpConfig {
        mss_bytes,
        initial_window_segments,
        initial_ssthresh_bytes,
        initial_rto,
        rto_rule,
        min_rto,
        max_rto,
        max_retries,
        ack_policy,
        quick_while_growing,
        loss_policy,
        recovery,
        sack,
        timestamps,
        window_scaling,
        scaled_syn_ack,
        receive_buffer_bytes,
        send_buffer_bytes,
        limited_transmit,
        opportunistic_retransmission,
        ecn,
        pacing,
        dont_fragment,
        opportunistic_retransmission,
        fast_path: _, // not a key of scenarios
    } = *config;
    let threshold = initial_ssthresh_bytes.map_or_else(|| quoted("none"), |b| b.to_string());
    vec![
        ("mss_bytes", mss_bytes.to_string()),
        ("initial_window_segments", initial_window_segments.to_string()),
        ("initial_ssthresh_bytes", threshold),
        ("initial_rto", time(initial_rto)),
        ("rto_rule", quoted(rto_name(rto_rule))),
        ("min_rto", time(min_rto)),
        ("max_rto", time(max_rto)),
        ("max_retries", max_retries.to_string()),
        ("ack_policy", acks(ack_policy)),
        ("quick_while_growing", quick_while_growing.to_string()),
        ("loss_policy", losses(loss_policy)),
        ("recovery", quoted(recovery_name(recovery))),
        ("sack", sack.to_string()),
        ("timestamps", timestamps.to_string()),
        ("window_scaling", window_scaling.to_string()),
        ("scaled_syn_ack", scaled_syn_ack.to_string()),
        ("receive_buffer_bytes", receive_buffer_bytes.to_string()),
        ("send_buffer_bytes", send_buffer_bytes.to_string()),
        ("limited_transmit", limited_transmit.to_string()),
        ("opportunistic_retransmission", opportunistic_retransmission.to_string()),
        ("ecn", ecn.to_string()),
        ("pacing", paces(pacing)),
        ("dont_fragment", dont_fragment.to_string()),
        ("opportunistic_retransmission", opportunistic_retransmission.to_string()),
    ]
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

fn time(span: Span) -> String {
    match span.as_nanos() {
        ns if ns.is_multiple_of(1_000_000) => format!("\"{}ms\"", ns / 1_000_000),
        ns => format!("\"{ns}ns\""),
    }
}

fn acks(policy: AckPolicy) -> String {
    match policy {
        AckPolicy::EveryPacket => quoted("every-packet"),
        AckPolicy::Delayed { packets, timeout, quick } => {
            format!("{{ packets = {packets}, timeout = {}, quick = {quick} }}", time(timeout))
        }
    }
}

fn losses(policy: LossPolicy) -> String {
    match policy {
        LossPolicy::DupThresh => quoted("dup-thresh"),
        LossPolicy::RackTlp => quoted("rack-tlp"),
        LossPolicy::TimeoutOnly => quoted("timeout-only"),
        LossPolicy::HoldTolerant => quoted("patient"),
        LossPolicy::FixedGapTimer(wait) => time(wait),
        LossPolicy::GapTimer { num, den } => format!("{{ num = {num}, den = {den} }}"),
    }
}

fn rto_name(rule: RtoRule) -> &'static str {
    match rule {
        RtoRule::Rfc6298 => "rfc6298",
        RtoRule::Linux => "linux",
    }
}

fn recovery_name(recovery: Recovery) -> &'static str {
    match recovery {
        Recovery::Prr => "prr",
        Recovery::Pipe => "pipe",
        Recovery::NewReno => "newreno",
    }
}

fn paces(pacing: Pacing) -> String {
    match pacing {
        Pacing::Off => quoted("off"),
        Pacing::Windowed { slow_start_percent: start, avoidance_percent: avoidance } => {
            format!("{{ slow_start_percent = {start}, avoidance_percent = {avoidance} }}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_reads_back_as_itself_and_every_key_is_of_the_format() {
        use forebay_lab::scenario::{LoadOptions, Scenario};
        let dumbbell = forebay_lab::scenario::Builtin::find("dumbbell").expect("is built in").text;
        for preset in PRESETS {
            // All keys are given, so the preset under them does not show.
            let set = rows(&preset.config).iter().map(|(k, v)| format!("tcp.{k}={v}")).collect();
            let options = LoadOptions { set, ..LoadOptions::default() };
            let scenario = Scenario::parse(dumbbell, "dumbbell.toml", &options);
            assert_eq!(scenario.expect("rows are TOML of the format").tcp, preset.config);
            assert_eq!(nearest(&preset.config), (preset.name, vec![]));
        }
    }
}

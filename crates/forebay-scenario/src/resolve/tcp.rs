//! A table of transport keys (`[tcp]`, `[tcp_of.NAME]`) and the configuration that it stands for.

use crate::format::fault::{Fault, Problem};
use crate::format::faults::{all, both};
use crate::format::fields::{At, Field};
use crate::format::item::whole;
use crate::format::units::Bytes;
use crate::keys::file::{
    AckRule, DelayedAck, EveryPacket, LossPolicyName, LossRule, NoPacing, NoThreshold, PacingRule,
    PacketTimer, RecoveryName, RtoRuleName, Tcp, Threshold, WindowedPacing,
};
use forebay_cc::{AckPolicy, LossPolicy};
use forebay_transport::{PRESETS, Pacing, Preset, Recovery, RtoRule, TcpConfig};

/// Most bytes that may be sent and not acknowledged: sequence numbers must stay unambiguous.
pub(crate) const MAX_SEND_BUFFER_BYTES: u64 = 1 << 30;
/// Smallest payload of a full-sized packet that is accepted.
const MIN_MSS_BYTES: u16 = 64;

/// The configuration that `[tcp]` stands for.
pub(crate) fn resolve(tcp: &Tcp) -> Result<TcpConfig, Fault> {
    let preset = preset(tcp);
    let known = preset.as_ref().ok().copied().flatten();
    let base = known.map_or(PRESETS[0].config, |preset| preset.config);
    let top = At { value: (), loc: whole(0), key: "tcp".into() };
    // Without its preset, what a table does not give says nothing.
    let overwritten = overwritten(tcp, base, &top);
    both(preset, overwritten).map(|(_, config)| config)
}

/// `base` with what the table at `owner` gives.
pub(crate) fn overwritten(tcp: &Tcp, base: TcpConfig, owner: &At<()>) -> Result<TcpConfig, Fault> {
    let mut config = base;
    apply(tcp, &mut config);
    check(tcp, &config, owner)?;
    Ok(config)
}

/// The preset that a table names.
pub(crate) fn preset(tcp: &Tcp) -> Result<Option<&'static Preset>, Fault> {
    let Some(name) = &tcp.preset else { return Ok(None) };
    let found = PRESETS.iter().find(|p| p.name == name.value);
    found.map(Some).ok_or_else(|| {
        let problem = Problem::UnknownName { kind: "preset", name: name.value.clone() };
        name.fault(problem).suggest(&name.value, PRESETS.iter().map(|p| p.name))
    })
}

/// Overwrite what the table gives.
fn apply(tcp: &Tcp, config: &mut TcpConfig) {
    macro_rules! copy {
        ($($key:ident $(: $convert:expr)?),* $(,)?) => { $(
            if let Some(at) = &tcp.$key {
                let value = at.value.clone();
                $( let value = ($convert)(value); )?
                config.$key = value;
            }
        )* };
    }
    copy!(
        mss_bytes, initial_window_segments, initial_rto, min_rto, max_rto, max_retries, sack,
        timestamps, window_scaling, limited_transmit, ecn, dont_fragment, quick_while_growing,
        initial_ssthresh_bytes: threshold, ack_policy: ack_policy, loss_policy: loss_policy,
        recovery: recovery, pacing: pacing, rto_rule: rto_rule,
        receive_buffer_bytes: |b: Bytes| b.0, send_buffer_bytes: |b: Bytes| b.0,
    );
}

fn threshold(threshold: Threshold) -> Option<u64> {
    match threshold {
        Threshold::Unset(NoThreshold::None) => None,
        Threshold::At(Bytes(bytes)) => Some(bytes),
    }
}

pub(crate) fn ack_policy(rule: AckRule) -> AckPolicy {
    match rule {
        AckRule::Every(EveryPacket::EveryPacket) => AckPolicy::EveryPacket,
        AckRule::Delayed(delayed) => AckPolicy::Delayed {
            packets: delayed.packets.value,
            timeout: delayed.timeout.value,
            quick: delayed.quick.map_or(0, |q| q.value),
        },
    }
}

fn loss_policy(rule: LossRule) -> LossPolicy {
    match rule {
        LossRule::Named(LossPolicyName::DupThresh) => LossPolicy::DupThresh,
        LossRule::Named(LossPolicyName::RackTlp) => LossPolicy::RackTlp,
        LossRule::Named(LossPolicyName::TimeoutOnly) => LossPolicy::TimeoutOnly,
        LossRule::Named(LossPolicyName::Patient) => LossPolicy::Patient,
        LossRule::Timer(timer) => {
            LossPolicy::PerPacketTimer { num: timer.num.value, den: timer.den.value }
        }
    }
}

fn rto_rule(name: RtoRuleName) -> RtoRule {
    match name {
        RtoRuleName::Rfc6298 => RtoRule::Rfc6298,
        RtoRuleName::Linux => RtoRule::Linux,
    }
}

fn recovery(name: RecoveryName) -> Recovery {
    match name {
        RecoveryName::Prr => Recovery::Prr,
        RecoveryName::Pipe => Recovery::Pipe,
        RecoveryName::NewReno => Recovery::NewReno,
    }
}

fn pacing(rule: PacingRule) -> Pacing {
    match rule {
        PacingRule::Off(NoPacing::Off) => Pacing::Off,
        PacingRule::Windowed(windowed) => Pacing::Windowed {
            slow_start_percent: windowed.slow_start_percent.value,
            avoidance_percent: windowed.avoidance_percent.value,
        },
    }
}

/// Refuse values that no connection can work with. Presets pass, so a fault has the place of an
/// override, or of the
/// table where that made a value wrong that it does not give.
fn check(tcp: &Tcp, config: &TcpConfig, owner: &At<()>) -> Result<(), Fault> {
    let mss = u64::from(config.mss_bytes);
    let buffer = format!("at least one segment ({mss}) and at most 2^30 bytes");
    let receive = format!("at least one segment ({mss} bytes)");
    let send = config.send_buffer_bytes;
    let ordered = config.min_rto <= config.max_rto;
    let mut checks = vec![
        at_least(&tcp.mss_bytes, config.mss_bytes >= MIN_MSS_BYTES, "64 to 65535 bytes"),
        at_least(&tcp.initial_window_segments, config.initial_window_segments >= 1, "at least 1"),
        at_least(&tcp.send_buffer_bytes, (mss..=MAX_SEND_BUFFER_BYTES).contains(&send), &buffer),
        at_least(&tcp.receive_buffer_bytes, config.receive_buffer_bytes >= mss, &receive),
        at_least(&tcp.initial_rto, !config.initial_rto.is_zero(), "more than 0s"),
        at_least(&tcp.min_rto, !config.min_rto.is_zero(), "more than 0s"),
        match tcp.max_rto {
            Some(_) => at_least(&tcp.max_rto, ordered, "at least min_rto"),
            None => at_least(&tcp.min_rto, ordered, "at most max_rto"),
        },
    ];
    if let Some(AckRule::Delayed(delayed)) = tcp.ack_policy.as_ref().map(|at| &at.value) {
        let packets = &delayed.packets;
        checks.push(at_least(&Some(packets.clone()), packets.value >= 1, "1 to 255"));
    }
    if let Some(LossRule::Timer(timer)) = tcp.loss_policy.as_ref().map(|at| &at.value) {
        for number in [&timer.num, &timer.den] {
            checks.push(at_least(&Some(number.clone()), number.value >= 1, "at least 1"));
        }
    }
    if let Some(PacingRule::Windowed(windowed)) = tcp.pacing.as_ref().map(|at| &at.value) {
        for percent in [&windowed.slow_start_percent, &windowed.avoidance_percent] {
            checks.push(at_least(&Some(percent.clone()), percent.value >= 1, "at least 1"));
        }
    }
    let placed = |fault: Fault| match fault.loc {
        Some(_) => fault,
        None => Fault { loc: Some(owner.loc), key: owner.key.clone(), ..fault },
    };
    all(checks.into_iter().map(|check| check.map_err(placed))).map(|_| ())
}

/// A fault at `at` unless `holds`.
fn at_least<T: Field>(at: &Option<At<T>>, holds: bool, expected: &str) -> Result<(), Fault> {
    if holds {
        return Ok(());
    }
    let found = |value: toml::Value| match value {
        toml::Value::String(text) => text,
        other => other.to_string(),
    };
    Err(match at {
        Some(at) => {
            let found = found(at.value.write());
            at.fault(Problem::OutOfRange { found, expected: expected.into() })
        }
        None => {
            let text = format!(
                "a value that is not given here does not fit the others: expected {expected}"
            );
            Fault::nowhere(Problem::Conflict(text))
        }
    })
}

/// The table that stands for a configuration, every key given.
pub(crate) fn describe(config: &TcpConfig) -> Tcp {
    fn some<T>(value: T) -> Option<At<T>> {
        Some(At::new(value))
    }
    // Without `..`: a new field of the configuration must get a key here.
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
        receive_buffer_bytes,
        send_buffer_bytes,
        limited_transmit,
        ecn,
        pacing,
        dont_fragment,
        fast_path: _, // not a key: nothing that a run shows depends on it
    } = *config;
    Tcp {
        preset: None,
        mss_bytes: some(mss_bytes),
        initial_window_segments: some(initial_window_segments),
        initial_ssthresh_bytes: some(match initial_ssthresh_bytes {
            None => Threshold::Unset(NoThreshold::None),
            Some(bytes) => Threshold::At(Bytes(bytes)),
        }),
        initial_rto: some(initial_rto),
        rto_rule: some(match rto_rule {
            RtoRule::Rfc6298 => RtoRuleName::Rfc6298,
            RtoRule::Linux => RtoRuleName::Linux,
        }),
        min_rto: some(min_rto),
        max_rto: some(max_rto),
        max_retries: some(max_retries),
        ack_policy: some(ack_rule(ack_policy)),
        quick_while_growing: some(quick_while_growing),
        loss_policy: some(loss_rule(loss_policy)),
        recovery: some(match recovery {
            Recovery::Prr => RecoveryName::Prr,
            Recovery::Pipe => RecoveryName::Pipe,
            Recovery::NewReno => RecoveryName::NewReno,
        }),
        sack: some(sack),
        timestamps: some(timestamps),
        window_scaling: some(window_scaling),
        receive_buffer_bytes: some(Bytes(receive_buffer_bytes)),
        send_buffer_bytes: some(Bytes(send_buffer_bytes)),
        limited_transmit: some(limited_transmit),
        ecn: some(ecn),
        pacing: some(pacing_rule(pacing)),
        dont_fragment: some(dont_fragment),
    }
}

/// The table of what `config` has otherwise than `base`.
pub(crate) fn describe_difference(config: &TcpConfig, base: &TcpConfig) -> Tcp {
    let mut table = describe(config);
    macro_rules! drop_same {
        ($($key:ident),* $(,)?) => { $(
            if config.$key == base.$key {
                table.$key = None;
            }
        )* };
    }
    drop_same!(
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
        receive_buffer_bytes,
        send_buffer_bytes,
        limited_transmit,
        ecn,
        pacing,
        dont_fragment,
    );
    table
}

pub(crate) fn ack_rule(policy: AckPolicy) -> AckRule {
    match policy {
        AckPolicy::EveryPacket => AckRule::Every(EveryPacket::EveryPacket),
        AckPolicy::Delayed { packets, timeout, quick } => AckRule::Delayed(DelayedAck {
            packets: At::new(packets),
            timeout: At::new(timeout),
            quick: Some(At::new(quick)),
        }),
    }
}

fn pacing_rule(pacing: Pacing) -> PacingRule {
    match pacing {
        Pacing::Off => PacingRule::Off(NoPacing::Off),
        Pacing::Windowed { slow_start_percent, avoidance_percent } => {
            PacingRule::Windowed(WindowedPacing {
                slow_start_percent: At::new(slow_start_percent),
                avoidance_percent: At::new(avoidance_percent),
            })
        }
    }
}

fn loss_rule(policy: LossPolicy) -> LossRule {
    match policy {
        LossPolicy::DupThresh => LossRule::Named(LossPolicyName::DupThresh),
        LossPolicy::RackTlp => LossRule::Named(LossPolicyName::RackTlp),
        LossPolicy::TimeoutOnly => LossRule::Named(LossPolicyName::TimeoutOnly),
        LossPolicy::Patient => LossRule::Named(LossPolicyName::Patient),
        LossPolicy::PerPacketTimer { num, den } => {
            LossRule::Timer(PacketTimer { num: At::new(num), den: At::new(den) })
        }
    }
}

//! `[tcp_of.NAME]`: what is different in the transport of one protocol.
//!
//! The paper of a protocol often runs its rivals with other segments, timestamps or buffers than
//! its own, so one `[tcp]` does not do for all. The configuration of a protocol is made in three
//! steps: `[tcp]`; what the protocol needs ([`crate::NetworkRequirements`], room for options); what
//! `[tcp_of.NAME]` says.

use crate::Scenario;
use crate::format::fault::{Fault, Problem};
use crate::format::faults::Faults;
use crate::format::fields::Spanned;
use crate::format::names::Name;
use crate::keys::tcp::{Tcp, TcpOf};
use crate::model::protocols::Names;
use crate::resolve::buffers::{self, Needed};
use crate::resolve::tcp;
use crate::resolve::topology::Topology;
use forebay_base::{Rng, Stream};
use forebay_cc::{AckPolicy, AnyController, Controller, Init, LossPolicy, Traits};
use forebay_transport::{Pacing, SIGNAL_BYTES, TcpConfig, data_option_bytes};

/// How connections of MPTCP are paced: as Linux paces. When data that one path was late with has
/// come, what the others have room for would leave at once and be lost.
const LINUX_PACING: Pacing = Pacing::Windowed { slow_start_percent: 200, avoidance_percent: 120 };

impl Scenario {
    /// Configuration of the connections of a protocol.
    pub fn tcp_for(&self, protocol: &str) -> TcpConfig {
        let given = self.tcp_of.iter().find(|(name, _)| *name == protocol);
        given.map_or_else(|| self.fitted(protocol, self.tcp), |(_, config)| *config)
    }

    /// `config` with what `protocol` needs of it.
    fn fitted(&self, protocol: &str, config: TcpConfig) -> TcpConfig {
        let mut config = config;
        // Full-sized packets are as long as those of a protocol without options of its own.
        let plain = data_option_bytes(config.timestamps, 0);
        let more = data_option_bytes(config.timestamps, self.stamped_bytes(protocol)) - plain;
        config.mss_bytes = config.mss_bytes.saturating_sub(more).max(1);
        if let Some(own) = self.controller(protocol).ack_policy() {
            config.ack_policy = own;
        }
        if self.is_multipath(protocol) && config.pacing == Pacing::Off {
            config.pacing = LINUX_PACING;
        }
        if self.bundle(protocol).buffers_hold_a_flow {
            let most = TcpConfig::MAX_SEND_BUFFER_BYTES;
            let sizes = self.flows.iter().map(|flow| flow.bytes.unwrap_or(most).min(most));
            let largest = sizes.max().unwrap_or(0);
            config.send_buffer_bytes = config.send_buffer_bytes.max(largest);
            config.receive_buffer_bytes = config.receive_buffer_bytes.max(largest);
            // Without it the receiver could not offer its buffer.
            config.window_scaling = true;
        }
        config
    }

    /// Bytes of options that the sender of a protocol puts on all data.
    fn stamped_bytes(&self, protocol: &str) -> u16 {
        let traits = self.traits(protocol);
        traits.option_bytes + if traits.multipath { SIGNAL_BYTES } else { 0 }
    }

    /// The connections of a protocol are those of MPTCP.
    pub(crate) fn is_multipath(&self, protocol: &str) -> bool {
        self.traits(protocol).multipath
    }

    /// What its controllers say of themselves.
    pub(crate) fn traits(&self, protocol: &str) -> Traits {
        self.controller(protocol).traits()
    }

    /// A controller of that protocol at its start.
    fn controller(&self, protocol: &str) -> AnyController {
        let spec = self.spec(protocol).expect("the name is in the table");
        let init = Init {
            mss_bytes: self.tcp.mss_bytes.into(),
            initial_window_bytes: self.tcp.mss_bytes.into(),
            initial_ssthresh_bytes: u64::MAX,
            paced: false,
            rng: Rng::new(0, Stream::Controller, 0),
        };
        spec.build(init)
    }

    /// Bytes of the options of a full-sized data packet, with their padding.
    pub(crate) fn data_option_bytes(&self, protocol: &str) -> u16 {
        data_option_bytes(self.tcp_for(protocol).timestamps, self.stamped_bytes(protocol))
    }
}

/// Keys of a table.
const ACK_POLICY: &str = "ack_policy";
const LOSS_POLICY: &str = "loss_policy";

/// The configurations that tables are given for, by name.
pub(crate) fn resolve(
    scenario: &Scenario,
    topology: &Topology,
    names: &Names,
    given: Option<&Spanned<TcpOf>>,
    faults: &mut Faults,
) -> Vec<(Name, TcpConfig)> {
    let mut needed = Needed::new(topology, scenario.routes, &scenario.flows, &scenario.events);
    let tables = given.iter().flat_map(|at| &at.value.0);
    let resolved = tables.map(|(name, table)| -> Result<(Name, TcpConfig), Fault> {
        let protocol = names.lookup(name)?;
        let mut start = scenario.tcp;
        if let Some(preset) = tcp::preset(table)? {
            start = preset.config;
            buffers::follow(&mut needed, table, &mut start);
        }
        let base = scenario.fitted(&protocol, start);
        let config = tcp::overwritten(table, base, &name.place())?;
        if let Some(own) = scenario.controller(&protocol).ack_policy() {
            check_acks(table, &config, own, &scenario.title(&protocol))?;
        }
        if let Some(own) = scenario.controller(&protocol).loss_policy() {
            check_losses(table, &config, own, &scenario.title(&protocol))?;
        }
        Ok((protocol, config))
    });
    let mut resolved: Vec<_> = resolved.filter_map(|result| faults.keep(result)).collect();
    resolved.sort_by(|(a, _), (b, _)| a.cmp(b));
    resolved
}

/// Errors if a table gives another ACK policy to a protocol that has its `own`.
fn check_acks(table: &Tcp, config: &TcpConfig, own: AckPolicy, title: &str) -> Result<(), Fault> {
    let Some(at) = table.given(ACK_POLICY).filter(|_| config.ack_policy != own) else {
        return Ok(());
    };
    let needs = match own {
        AckPolicy::EveryPacket => "an ACK for each packet",
        AckPolicy::Delayed { .. } => "these ACKs",
    };
    let found = tcp::shown(&tcp::described(config), ACK_POLICY);
    let own = toml::Value::try_from(own).expect("parameters are plain values");
    let expected = format!("{own}, or nothing: {title} needs {needs}");
    Err(at.fault(Problem::OutOfRange { found, expected }))
}

/// Errors if a table gives another rule of losses to a protocol that has its `own`.
fn check_losses(
    table: &Tcp,
    config: &TcpConfig,
    own: LossPolicy,
    title: &str,
) -> Result<(), Fault> {
    let Some(at) = table.given(LOSS_POLICY).filter(|_| config.loss_policy != own) else {
        return Ok(());
    };
    let found = tcp::shown(&tcp::described(config), LOSS_POLICY);
    let expected = format!("nothing: {title} finds losses by a rule of its own");
    let hint = "remove the key; `[tcp]` sets it for the protocols without a rule of their own";
    Err(at.fault(Problem::OutOfRange { found, expected }).hint(hint))
}

/// The tables that stand for the configurations: only what differs from what the protocol would
/// have without.
pub(crate) fn describe(scenario: &Scenario) -> TcpOf {
    let tables = scenario.tcp_of.iter().map(|(name, config)| {
        let base = scenario.fitted(name, scenario.tcp);
        (Spanned::new(name.to_string()), tcp::describe_difference(config, &base))
    });
    TcpOf(tables.collect())
}

//! The scenarios that are built into the binary.

/// A scenario of the binary.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name; a name with a slash belongs to the group before it.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

macro_rules! builtins {
    ($($name:literal),* $(,)?) => {
        /// The scenarios of the binary, the main one first.
        pub static BUILTINS: &[Builtin] = &[$(Builtin {
            name: $name,
            text: include_str!(concat!("../../scenarios/", $name, ".toml")),
        },)*];
    };
}

builtins![
    "dumbbell",
    "duel",
    "parking-lot",
    "lossy",
    "reorder",
    "link-flap",
    "inrpp/dumbbell",
    "inrpp/dumbbell-rtt",
    "inrpp/detour-100",
    "inrpp/series",
    "inrpp/late-long",
    "inrpp/shared-detour",
    "inrpp/many-short",
    "inrpp/link-fails",
    "inrpp/short",
    "inrpp/fig1",
    "inrpp/multihomed",
    "inrpp/hierarchy",
    "inrpp/friendly",
    "inrpp/load",
    "inrpp/tiscali",
    "inrpp/attacks",
    "kickass/joins",
    "kickass/static",
    "kickass/light",
    "kickass/rtt",
    "kickass/five-bottlenecks",
    "kickass/data-center",
    "kickass/mixed",
    "kickass/partial",
    "kickass/legacy-bottleneck",
    "kickass/legacy-light",
    "kickass/testbed-light",
    "kickass/testbed-heavy",
    "kickass/edge",
    "kickass/overhead",
    "kickass/cut",
    "kickass/limits",
    "kickass/with-tcp",
    "kickass/web",
    "kickass/ipv6",
    "kickass/two-routers",
    "kickass/mtu-1492",
    "kickass/mtu-576",
    "kickass/spoofed-low",
    "kickass/spoofed-high",
    "kickass/liar",
    "kickass/orphans",
    "kickass/id-wrap",
    "verus/bursts",
    "verus/competing-user",
    "verus/phones",
    "verus/mobility",
    "verus/fairness",
    "verus/rapid-100",
    "verus/rapid-20",
    "verus/late-joiners",
    "verus/rtts",
    "verus/beside-cubic",
    "verus/coexist",
    "verus/frozen-profile",
    "verus/short-flows",
    "verus/parameters",
    "verus/one-flow",
    "verus/steps",
    "verus/dsl",
    "verus/satellite",
    "verus/wifi",
    "linux/one-flow",
    "linux/tail-loss",
    "linux/reordering",
    "controllers/bottleneck",
    "controllers/alone",
    "controllers/marks",
    "live/codel",
    "live/friendly",
    "queues/codel",
    "queues/fq-codel",
    "queues/red",
    "queues/pie",
    "mptcp/multihomed",
    "mptcp/shared-bottleneck",
    "cell/city-driving",
    "cell/highway-driving",
    "cell/shared",
    "checks/full-link",
    "checks/random-loss",
    "checks/floor",
    "bbr/startup-plateau",
    "bbr/startup-loss-app-limited",
    "bbr/drain-inflight",
    "bbr/drain-time",
    "bbr/up-plateau",
    "bbr/up-loss-app-limited",
    "bbr/up-app-limited",
    "bbr/startup-app-limited",
    "bbr/down-inflight",
    "bbr/down-max-time",
    "bbr/probe-rtt",
    "bbr/idle-skips-probe-rtt",
    "bbr/aggregation-startup",
    "bbr/aggregation-cruise",
    "bbr/sub-packet-bdp",
    "bbr/rate-up-10x",
    "bbr/rate-down-10x",
    "bbr/policer",
    "bbr/spurious-recovery",
    "bbr/spurious-rto",
    "bbr/probe-rtt-in-startup",
    "bbr/up-loss-longterm",
    "bbr/refill-app-limited",
    "s1",
    "s2",
    "s3",
    "matrix",
];

/// Those that read files which are not part of Forebay.
const TEMPLATES: [&str; 2] = ["inrpp/tiscali", "s3"];

impl Builtin {
    /// True if it can be run only with files that are not part of Forebay.
    pub fn is_template(&self) -> bool {
        TEMPLATES.contains(&self.name)
    }
    /// The scenario of that name.
    pub fn find(name: &str) -> Option<&'static Builtin> {
        BUILTINS.iter().find(|b| b.name == name)
    }
    /// Its description. Nothing is parsed for it, so a template that needs files of the user's has
    /// one as well.
    pub fn description(&self) -> &'static str {
        let quoted = self.text.lines().find_map(|line| line.strip_prefix("description = \""));
        quoted.and_then(|rest| rest.strip_suffix('"')).unwrap_or_default()
    }
    /// True if `name` begins as those of a group of scenarios do.
    pub(crate) fn has_group_of(name: &str) -> bool {
        let group = |name: &str| name.split_once('/').map(|(group, _)| group.to_string());
        group(name).is_some() && BUILTINS.iter().any(|b| group(b.name) == group(name))
    }
}

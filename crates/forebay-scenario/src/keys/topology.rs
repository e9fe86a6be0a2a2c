//! `[topology]`: routers, links and hosts from a map file or a generator.

use crate::format::fault::Fault;
use crate::format::fields::{
    Field, Fields, Section, Spanned, choices, property, read_section, section_schema, sections,
};
use crate::format::item::{Item, Value};
use crate::format::units::Number;
use crate::keys::links::LinkParams;
use crate::keys::routes::Weight;
use forebay_base::Rate;

choices! {
    /// A generator of maps.
    pub(crate) enum MapKind {
        /// Routers in a row.
        Chain = "chain",
        /// Routers in a ring.
        Ring = "ring",
        /// A random mesh.
        Mesh = "mesh",
        /// Transit and stub domains.
        TransitStub = "transit-stub",
        /// A fat tree of switches.
        FatTree = "fat-tree",
        /// A Gabriel graph.
        Gabriel = "gabriel",
    }
    /// What is left out of a map file.
    pub(crate) enum Reduce {
        /// Nothing.
        None = "none",
        /// All but the backbone.
        Backbone = "backbone",
        /// Links that fit no role.
        Roles = "roles",
    }
    /// What becomes of a map of several components.
    pub(crate) enum Components {
        /// It is a mistake.
        Refuse = "refuse",
        /// All but the largest are left out.
        Largest = "largest",
    }
    /// What becomes of several links between two routers.
    pub(crate) enum Parallel {
        /// They stay.
        Keep = "keep",
        /// They become one link.
        Merge = "merge",
    }
    /// What becomes of the demands of a map file.
    pub(crate) enum DemandUse {
        /// Nothing.
        Ignore = "ignore",
        /// Each is a flow.
        Flows = "flows",
    }
}

sections! {
    /// Routers and their links from a map file or a generator, and hosts at them.
    pub struct TopologyTable {
        required {}
        optional {
            /// Map file, relative to the scenario file: Rocketfuel (.cch), GraphML as in the
            /// Topology Zoo, SNDlib (native or XML), or topohub's JSON. Links with a length, given
            /// or from the coordinates of both ends, have the delay length / 2e8 m/s. Example:
            /// "Abilene.graphml".
            file: String,
            /// Generator, in place of `file`. "chain", "ring" and "mesh" make routers r0, r1, ...;
            /// "transit-stub" t0.0 (transit) and s0.0.0.0 (stub); "fat-tree" c0 (core), a0.0
            /// (aggregation) and e0.0 (edge); "gabriel" routers at random places. Example: "ring".
            kind: MapKind,
            /// Number of routers of a chain, ring, mesh or Gabriel graph. Range: 1 or more in a
            /// chain, 3 or more in a ring or mesh, 2 to 5000 in a Gabriel graph. Example: 6.
            nodes: u32,
            /// Mean number of links of a router in a mesh, and within a domain of "transit-stub".
            /// Range: 2 or more, less than the number of routers. Default: 3.
            degree: u32,
            /// Number of transit domains. Range: 1 or more. Default: 1.
            domains: u32,
            /// Number of routers of a transit domain. Range: 1 or more. Default: 4.
            transit: u32,
            /// Number of stub domains of each transit router. Default: 3.
            stubs: u32,
            /// Number of routers of a stub domain. Range: 1 or more. Default: 8.
            stub: u32,
            /// Number of ports of the switches of a fat tree: half of those of edge switches are
            /// for hosts. Range: even, 2 or more. Example: 4.
            ports: u32,
            /// Length of a side of the square of a Gabriel graph, in km. Range: more than 0, at
            /// most 1000000. Default: 1000.
            side_km: Number,
            /// Seed of the random choices of a generator; the seed of a run does not change the
            /// map. Default: 1.
            seed: u32,
            /// What is left out of a Rocketfuel map: "backbone" keeps the routers r0 and the links
            /// between them. "roles" makes routers with at most two neighbours "edge", those next
            /// to them "gateway" and the others "backbone", as ndnSIM does, and leaves out links
            /// that fit no role. Default: "none".
            reduce: Reduce,
            /// A map of several components: "refuse" it, or keep the "largest". Default: "refuse".
            components: Components,
            /// Several links between two routers: "keep" them, or "merge" them into one with the
            /// sum of their rates. Default: "keep".
            parallel: Parallel,
            /// One unit of capacity and demand in SNDlib and topohub files. Default: what the file
            /// states, otherwise "1Mbit/s".
            unit: Rate,
            /// Factor for the rates of the map file. Range: more than 0. Default: 1. Example: 0.01.
            rate_scale: Number,
            /// Prefix of the names of routers. Default: "". Example: "r".
            router_prefix: String,
            /// Links with parameters of their own. Of several that fit, the last one wins.
            classes: Vec<Spanned<LinkClass>>,
            /// Number of hosts at each router of `hosts_at`, numbered router by router. Default: 0.
            /// Example: 25.
            hosts: u32,
            /// Routers with hosts: roles, or names. Default: the roles "edge" and "stub"; all
            /// routers, if none has such a role. Example: ["edge"].
            hosts_at: Vec<Spanned<String>>,
            /// Prefix of the names of hosts, before their numbers. Default: "h".
            host_prefix: String,
            /// The access links of the hosts.
            access: LinkParams,
            /// The traffic matrix of the file: "ignore" it, or "flows": for each demand an
            /// unbounded flow that writes at this rate, between the first hosts of both routers.
            /// Default: "ignore".
            demands: DemandUse,
            /// Factor for the demands. Range: more than 0. Default: 1. Example: 0.1.
            demand_scale: Number,
        }
        flatten params: LinkParams,
    }
    /// Links of a map that have parameters of their own.
    pub struct LinkClass {
        required {
            /// Roles or names of the routers at the two ends, in any order. Example: ["edge",
            /// "gateway"].
            between: Vec<Spanned<String>>,
        }
        optional {
            /// Cost of these links in routes. Range: 1 to 65535. Default: that of the map file,
            /// otherwise 1. Example: 10.
            weight: Weight,
        }
        flatten params: LinkParams,
    }
}

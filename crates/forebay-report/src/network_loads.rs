//! What runs did to the network of a drawing.

use super::network::Network;
use super::results::{Results, Run};

impl Network {
    /// The same network with what the runs of the protocol `name` say, means over seeds; of caches
    /// the highest.
    pub(super) fn measured(&self, results: &Results, name: &str) -> Network {
        let mut network = self.clone();
        network.measured = true;
        network.flow_ways = self.flow_ways.used_under(&[name]);
        let means = results.aggregate.iter().find(|of| of.name == name);
        let runs: Vec<&Run> = results.runs.iter().filter(|run| run.name == name).collect();
        let ways = network.links.iter_mut().flat_map(|link| &mut link.ways);
        for way in ways {
            let share = means.and_then(|of| of.means.utilisation.get(&way.name));
            way.utilisation = share.map(|share| share.mean);
            let at_port = runs.iter().flat_map(|run| &run.interfaces);
            let (mut offered, mut detoured) = (0, 0);
            for port in at_port.filter(|port| port.port == way.name) {
                let highest = way.cache_bytes.map_or(0, |[bytes, _]| bytes);
                let peak = highest.max(port.highest_cache_bytes);
                way.cache_bytes = Some([peak, port.cache_limits_bytes[2]]);
                offered += port.offered_bytes;
                detoured += port.detoured_bytes;
            }
            way.detoured = if offered > 0 { detoured as f64 / offered as f64 } else { 0.0 };
        }
        network
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"
        routers = ["r0", "r1"]
        links = [{ a = "r0", b = "r1", rate = "10Mbit/s" }]
    "#;

    /// Loads are means over seeds; of caches the highest counts, and detours by bytes.
    #[test]
    fn what_runs_say_is_at_the_right_direction() {
        let interface = |port: &str, peak: u64, detoured: u64| {
            serde_json::json!({
                "port": port, "highest_cache_bytes": peak, "cache_limits_bytes": [1, 2, 9_000],
                "offered_bytes": 1_000, "detoured_bytes": detoured,
            })
        };
        let run = |seed: u64, interfaces: serde_json::Value| {
            serde_json::json!({
                "protocol": "inrpp", "seed": seed, "ended_s": 1.0, "per_flow": [],
                "interfaces": interfaces,
            })
        };
        let share = serde_json::json!({ "mean": 0.75, "ci95": null, "n": 2 });
        let results = serde_json::json!({
            "forebay": "1", "scenario": "small",
            "runs": [
                run(1, serde_json::json!([interface("r1-r0", 500, 100)])),
                run(2, serde_json::json!([interface("r1-r0", 700, 300)])),
            ],
            "aggregate": [{
                "protocol": "inrpp", "seeds": [1, 2], "flows": 1, "completed": 1,
                "drops": {}, "metrics": {}, "utilisation": { "r1-r0": share },
            }],
        });
        let mut results: Results = serde_json::from_value(results).expect("results");
        results.runs.iter_mut().for_each(|run| run.name.clone_from(&run.protocol));
        results.aggregate.iter_mut().for_each(|of| of.name.clone_from(&of.protocol));
        let network = Network::of_scenario(SMALL).expect("it has links");
        let measured = network.measured(&results, "inrpp");
        let [there, back] = &measured.links[0].ways;
        assert_eq!((there.utilisation, there.cache_bytes, there.detoured), (None, None, 0.0));
        assert_eq!(back.utilisation, Some(0.75));
        assert_eq!((back.cache_bytes, back.detoured), (Some([700, 9_000]), 0.2));
    }
}

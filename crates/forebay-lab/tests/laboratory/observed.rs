//! A controller from outside that publishes series of its own: by registration alone they are in
//! `series.parquet`, with their units, and each in a plot of the report.

use forebay_base::{Span, Time};
use forebay_cc::{Ack, Congestion, Controller, Limits, SeriesSample, Timeout};
use forebay_lab::scenario::{LoadOptions, Registration, Registry, Scenario};
use forebay_lab::{Batch, Outputs, RunOptions, Store, Summary, run_one};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;

#[derive(Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct NoParams {}

/// A window of 20 segments. It publishes twice its window, a mode, and what it has no value for
/// yet.
struct Fixed {
    window_bytes: u64,
    acks: u64,
    rtt: Option<Span>,
}

impl Controller for Fixed {
    fn limits(&self) -> Limits {
        Limits::window(self.window_bytes)
    }
    fn on_ack(&mut self, _now: Time, ack: &Ack<'_>) {
        self.acks += 1;
        self.rtt = ack.rtt_sample.or(self.rtt);
    }
    fn on_congestion(&mut self, _now: Time, _event: &Congestion) {}
    fn on_rto(&mut self, _now: Time, _timeout: &Timeout) {}
    fn observe(&self, visit: &mut dyn FnMut(SeriesSample)) {
        let twice = 2.0 * self.window_bytes as f64;
        visit(SeriesSample { name: "twice_window", unit: "B", value: twice });
        let mode = f64::from(u8::from(self.acks > 100));
        visit(SeriesSample { name: "mode", unit: "0 young, 1 old", value: mode });
        let rtt_s = self.rtt.map_or(f64::NAN, Span::as_secs_f64);
        visit(SeriesSample { name: "last_rtt", unit: "s", value: rtt_s });
    }
}

const SCENARIO: &str = r#"
    protocols = ["fixed", "cubic"]
    routers = ["l", "r"]
    sample_s = 0.01
    until_s = 1
    link_defaults = { rate = "100Mbit/s", delay = "5ms", queue = "1MB" }
    links = [{ a = "l", b = "r" }]
    hosts = [{ name = "s", attach = "l" }, { name = "d", attach = "r" }]
    flows = [{ src = "s", dst = "d", endless = true }]
"#;

#[test]
fn what_a_controller_publishes_is_in_the_series_and_in_the_report() {
    let registration = Registration::new("fixed", |NoParams {}: &NoParams, init| Fixed {
        window_bytes: 20 * u64::from(init.mss_bytes),
        acks: 0,
        rtt: None,
    });
    let mut registry = Registry::default();
    registry.register(registration).unwrap();
    let options = LoadOptions { registry: registry.into(), ..LoadOptions::default() };
    let scenario = Scenario::parse(SCENARIO, "x.toml", &options).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out");
    let store = Store::create(&target).unwrap();
    let outputs = Outputs::to(&store);
    let options = RunOptions { record: Some(&outputs), ..RunOptions::default() };
    let run = |protocol: &str| run_one(&scenario, protocol, 1, &options).unwrap();
    let runs = vec![run("fixed"), run("cubic")];
    store
        .finish(&scenario, &Summary::new("x", &scenario, Batch { runs, ..Batch::default() }))
        .unwrap();

    let reader = SerializedFileReader::new(File::open(target.join("series.parquet")).unwrap());
    let mut samples: BTreeMap<(String, String), Vec<(i64, f64)>> = BTreeMap::new();
    for row in reader.unwrap().get_row_iter(None).unwrap() {
        let row = row.unwrap();
        let text = |place| row.get_string(place).unwrap().clone();
        if text(0) == "cubic" {
            assert!(!text(4).starts_with("cc."), "CUBIC publishes nothing");
        } else if text(3) == "flow/1" {
            let sample = (row.get_long(2).unwrap(), row.get_double(5).unwrap());
            samples.entry((text(4), text(6))).or_default().push(sample);
        }
    }
    let of = |name: &str, unit: &str| &samples[&(name.to_string(), unit.to_string())];
    // Nothing is lost, so that the window in force is that of the controller.
    let twice: Vec<(i64, f64)> =
        of("cwnd_bytes", "B").iter().map(|&(t_ns, value)| (t_ns, 2.0 * value)).collect();
    assert_eq!(of("cc.twice_window", "B"), &twice);
    assert!(twice.len() > 90 && twice[0].1 > 0.0, "{twice:?}");
    let modes: Vec<f64> = of("cc.mode", "0 young, 1 old").iter().map(|&(_, mode)| mode).collect();
    assert!(modes.is_sorted() && modes[0] == 0.0 && modes.last() == Some(&1.0), "{modes:?}");
    // Before the first ACK of data there is none; then 15 ms each way, and its own transmission.
    let rtts = of("cc.last_rtt", "s");
    assert!(rtts.len() < twice.len() && rtts.iter().all(|&(_, s)| (0.03..0.04).contains(&s)));
    assert_eq!(of("srtt_ms", "ms")[0].1.floor(), 30.0);

    let page = std::fs::read_to_string(target.join("report.html")).unwrap();
    let data = page
        .split("<script id=data type=application/json>")
        .nth(1)
        .expect("the numbers of the page");
    let data: serde_json::Value =
        serde_json::from_str(data.split("</script>").next().unwrap()).unwrap();
    let plots = |run: usize| -> Vec<(&str, &str, usize)> {
        let panels = data["runs"][run]["panels"].as_array().unwrap().iter();
        let of = panels.filter(|panel| panel["group"] == "published");
        let parts = of.map(|panel| {
            let text = |key: &str| panel[key].as_str().unwrap();
            (text("title"), text("unit"), panel["lines"].as_array().unwrap().len())
        });
        parts.collect()
    };
    let expected = [("last_rtt", "s", 1), ("mode", "0 young, 1 old", 1), ("twice_window", "B", 1)];
    assert_eq!(plots(0), expected);
    assert_eq!(plots(1), []);
}

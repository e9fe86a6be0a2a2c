//! BBR from end to end.

mod lab;

#[test]
#[ignore = "prints"]
fn show() {
    let text = std::fs::read_to_string(std::env::var("SHOW").expect("a file")).expect("read");
    let protocol = std::env::var("OF").unwrap_or("bbr".into());
    let trace = lab::Trace::of(&text, &protocol);
    let from: f64 = std::env::var("FROM").unwrap_or("0".into()).parse().expect("number");
    let to: f64 = std::env::var("TO").unwrap_or("1e9".into()).parse().expect("number");
    for s in trace.samples.iter().filter(|s| s.at_s >= from && s.at_s <= to) {
        println!("{s:?}");
    }
}

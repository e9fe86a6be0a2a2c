//! Mistakes next to others, each of which is reported; and none that only follows from
//! another.

use super::files::{folder, load};
use super::*;

/// The keys of all mistakes, in the order in which they are reported.
fn keys(text: &str) -> Vec<String> {
    let error = parse_with(text, &[]).expect_err("it has mistakes");
    assert_eq!(error.more, 0);
    let key = |m: &Mistake| m.place.as_ref().map_or_else(String::new, |place| place.key.clone());
    error.mistakes.iter().map(key).collect()
}

fn changed(changes: &[(&str, &str)]) -> Vec<String> {
    let text = changes.iter().fold(SMALL.to_string(), |text, (old, new)| {
        assert!(text.contains(old), "{old}");
        text.replacen(old, new, 1)
    });
    keys(&text)
}

#[test]
fn a_wrong_value_does_not_hide_the_others_of_its_table() {
    let queue = "queue = \"50ms\"";
    assert_eq!(
        changed(&[(queue, "queue = \"1BDP\"\nloss = 1.5\nmtu_bytes = 20")]),
        ["links[0].queue", "links[0].loss", "links[0].mtu_bytes"]
    );
    assert_eq!(
        changed(&[(queue, "queue = \"1BDP\""), ("5ms", "2000s"), ("10Mbit/s", "10Mbit")]),
        ["links[0].rate", "links[0].delay", "links[0].queue"]
    );
    assert_eq!(
        changed(&[(queue, "queue = \"0packets\"\nloss = 1.5")]),
        ["links[0].queue", "links[0].loss"]
    );
    assert_eq!(
        changed(&[("b = \"right\"", "b = \"rigth\""), ("10Mbit/s", "10MBps"), (queue, "loss = 2")]),
        ["links[0]", "links[0].b", "links[0].rate", "links[0].loss"]
    );
    assert_eq!(
        changed(&[("attach = \"right\"", "attach = \"rigth\""), ("\"1ms\"", "\"1\"")]),
        ["hosts[0].delay", "hosts[1].attach"]
    );
    assert_eq!(
        changed(&[("dst = \"d\"", "dst = \"e\""), ("bytes = 10000", "bytes = \"10 XB\"")]),
        ["flows[0].dst", "flows[0].bytes"]
    );
    assert_eq!(
        changed(&[("at = \"1s\"", "at = \"1\""), ("link = \"left-right\"", "link = \"no\"")]),
        ["events[0].at", "events[0].link"]
    );
    assert_eq!(
        changed(&[("mss_bytes = 1448", "mss_bytes = 0\npreset = \"nothing\"")]),
        ["tcp.mss_bytes", "tcp.preset"]
    );
}

#[test]
fn what_follows_from_a_wrong_value_is_not_told() {
    // Neither a link without rate, nor names without a declaration.
    assert_eq!(changed(&[("10Mbit/s", "10MBps")]), ["links[0].rate"]);
    assert_eq!(changed(&[("b = \"right\"", "b = 5")]), ["links[0].b"]);
    assert_eq!(changed(&[("name = \"d\"", "name = 5")]), ["hosts[1].name"]);
    assert_eq!(changed(&[("count = 2", "count = \"two\"")]), ["hosts[0].count"]);
    let mtu = "queue = \"50ms\"\nmtu_bytes = 99999";
    assert_eq!(changed(&[("queue = \"50ms\"", mtu)]), ["links[0].mtu_bytes"]);
}

#[test]
fn parameters_and_names_do_not_hide_what_does_not_depend_on_them() {
    let beta = "[protocol.cubic]\nbeta = 2.0\n\n[[links]]";
    let mtu = "queue = \"50ms\"\nmtu_bytes = 500";
    let ends = ("mss_bytes = 1448", "mss_bytes = 1448\ndont_fragment = true");
    assert_eq!(
        changed(&[ends, ("[[links]]", beta), ("queue = \"50ms\"", mtu)]),
        ["protocol.cubic.beta", "links[0].mtu_bytes"]
    );
    assert_eq!(
        changed(&[("name = \"d\"", "name = \"s0\""), ("src = \"s0\"", "src = \"s7\"")]),
        ["hosts[1].name", "flows[0].src", "flows[0].dst"]
    );
}

/// Rows of links and hosts that are wrong declare their names all the same.
#[test]
fn rows_of_csv_files_do_not_hide_those_of_others() {
    let folder = folder(
        "a,b,rate_bps,delay_ns\n0,1,10XB,1000\n1,2,1000000,-5\n",
        "host,router\n1,99\n2,2\n",
        "start_s,src_host,dst_host,packets\n0,1,2,10\n0,2,77,10\n",
    );
    let error = load(&folder, &[]).unwrap_err();
    for word in ["`10XB`", "`-5`", "no node `99`", "no node `h77`"] {
        assert!(error.contains(word), "no {word} in:\n{error}");
    }
    assert_eq!(error.matches("there is no").count(), 2, "{error}");
}

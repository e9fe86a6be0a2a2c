//! `[[expect]]`: what it may say, and each mistake word by word.

use super::*;

/// The small scenario under two protocols, with a flow of a class, and these lines of an
/// expectation; the first of them is line 46.
fn with(lines: &str) -> String {
    let protocols = "until_s = 5\nprotocols = [\"newreno\", \"cubic\"]";
    let small = SMALL.replacen("until_s = 5", protocols, 1);
    let web = "[[flows]]\nsrc = \"s1\"\ndst = \"d\"\nbytes = 1\nclass = \"web\"";
    format!("{small}\n{web}\n[[expect]]\n{lines}\n")
}

fn one(lines: &str) -> Expectation {
    let scenario = parse(&with(lines));
    let [expectation] = &scenario.expect[..] else { panic!("one expectation") };
    expectation.clone()
}

/// What is wrong: the key with the problem, and the hint.
fn wrong(lines: &str) -> (String, String) {
    let error = parse_with(&with(lines), &[]).expect_err("a wrong expectation is refused");
    assert_eq!((error.mistakes.len(), error.more), (1, 0), "{error}");
    let mistake = error.first();
    let place = mistake.place.as_ref().expect("a place");
    assert!(place.line >= 45, "{error}");
    let problem = format!("{}: {}", place.key, mistake.problem);
    (problem, mistake.hint.clone().unwrap_or_default())
}

#[test]
fn values_come_with_the_unit_of_the_metric_or_without() {
    let bound = |lines: &str| one(lines).bound;
    let op_value = |metric: &str, op: &str, value: &str| {
        bound(&format!("metric = \"{metric}\"\nop = \"{op}\"\nvalue = {value}"))
    };
    assert_eq!(op_value("queue_delay_p95_ms", "<", "\"50ms\""), Bound::Below(50.0));
    assert_eq!(op_value("queue_delay_p95_ms", "<=", "12.5"), Bound::AtMost(12.5));
    assert_eq!(op_value("rtt_mean_ms", ">", "\"61.2ms\""), Bound::Above(61.2));
    assert_eq!(op_value("afct_s", ">=", "\"1.5min\""), Bound::AtLeast(90.0));
    assert_eq!(op_value("goodput_bps", ">=", "\"9.5Mbit/s\""), Bound::AtLeast(9.5e6));
    assert_eq!(op_value("goodput_bps", ">=", "\"10bit/s\""), Bound::AtLeast(10.0));
    assert_eq!(op_value("delivered_bytes", "==", "\"10kB\""), Bound::Equal(10_000.0));
    assert_eq!(op_value("retransmits", "==", "0"), Bound::Equal(0.0));
    assert_eq!(op_value("jain_goodput", "within", "[0.9, 1]"), Bound::Within(0.9, 1.0));
    assert_eq!(op_value("afct_s", "within", "[\"10ms\", 2]"), Bound::Within(0.01, 2.0));
    // Shares as reports show them; the float is that of the decimal.
    let share = |value: &str| {
        let rest = format!("op = \"within\"\nvalue = {value}\nlink = \"left-right\"");
        bound(&format!("metric = \"utilisation\"\n{rest}"))
    };
    assert_eq!(share("[\"90%\", \"99.7 %\"]"), Bound::Within(0.9, 0.997));
    assert_eq!(share("[\"0%\", \"100%\"]"), Bound::Within(0.0, 1.0));
}

#[test]
fn what_is_counted_can_be_compared() {
    for metric in ["completed", "drops", "retransmits", "ce_marks"] {
        let found = one(&format!("metric = \"{metric}\"\nop = \"==\"\nvalue = 3"));
        assert_eq!((found.metric, found.metric().name, found.link), (metric, metric, None));
    }
    // Queues mark on each link, those at hosts as well.
    let marks = one("metric = \"ce_marks_by_link\"\nop = \"<\"\nvalue = 9\nlink = \"s1-left\"");
    assert_eq!(marks.link.as_deref(), Some("s1-left"));
    let of = |rest: &str| wrong(&format!("op = \"<\"\nvalue = 9\n{rest}"));
    assert_eq!(
        of("metric = \"ce_marks_by_link\"\nlink = \"s1-lefd\""),
        (
            "expect[0].link: there is no directed link `s1-lefd`".to_string(),
            "did you mean `s1-left`?".to_string()
        )
    );
    let (missing, hint) = of("metric = \"ce_marks_by_link\"");
    let expected = "expect[0]: the key `link` is missing: the directed link whose \
                    `ce_marks_by_link` is meant";
    assert_eq!(missing, expected);
    assert!(hint.starts_with("one of: ") && hint.contains("s1-left"), "{hint}");
    assert_eq!(
        of("metric = \"drops\"\nlink = \"left-right\"").0,
        "expect[0].link: `drops` is of no link"
    );
    assert_eq!(
        of("metric = \"completed\"\nclass = \"web\"").0,
        "expect[0].class: classes have no `completed`: it is of the whole run"
    );
    assert_eq!(of("metric = \"complete\"").1, "did you mean `completed`?");
    assert_eq!(of("metric = \"drop\"").1, "did you mean `drops`?");
}

#[test]
fn an_expectation_says_what_it_is_about() {
    let plain = one("metric = \"afct_s\"\nop = \"<\"\nvalue = 1");
    let about = (plain.protocol.as_deref(), plain.class.as_deref(), plain.link.as_deref());
    assert_eq!((about, plain.over, plain.name), ((None, None, None), Over::Mean, None));
    let full = one(
        "name = \"short flows\"\nmetric = \"afct_s\"\nop = \"<\"\nvalue = 1\nprotocol = \"cubic\"\n\
         class = \"web\"\nover = { share = 0.9 }",
    );
    let about = (full.protocol.as_deref(), full.class.as_deref(), full.link.as_deref());
    assert_eq!(about, (Some("cubic"), Some("web"), None));
    assert_eq!((full.over, full.name.as_deref()), (Over::Share(0.9), Some("short flows")));
    let link = "metric = \"utilisation\"\nop = \">\"\nvalue = 0.5\nlink = \"right-left\"";
    assert_eq!(one(link).link.as_deref(), Some("right-left"));
    for (text, over) in [("min", Over::Min), ("max", Over::Max), ("mean", Over::Mean)] {
        assert_eq!(one(&format!("{link}\nover = \"{text}\"")).over, over);
    }
}

#[test]
fn a_file_that_is_written_has_the_expectations() {
    let lines = "metric = \"afct_s\"\nop = \"within\"\nvalue = [\"1ms\", 2]\nclass = \"cubic\"\n\
                 protocol = \"cubic\"\n[[expect]]\nmetric = \"utilisation\"\nop = \">\"\nvalue = \
                 0.1\n\
                 link = \"left-right\"\nover = { share = 0.5 }\nname = \"busy\"";
    let mut scenario = parse(&with(lines));
    assert_eq!(scenario.expect.len(), 2);
    assert_eq!(parse(&scenario.to_toml()), scenario);
    // Where other protocols are compared, it has those that can still be checked.
    scenario.protocols = vec!["newreno".into()];
    let again = parse(&scenario.to_toml());
    assert_eq!(again.expect, scenario.expect[1..]);
}

#[test]
fn set_changes_an_expectation_by_number_and_by_name() {
    let text = with("name = \"busy\"\nmetric = \"afct_s\"\nop = \"<\"\nvalue = 1");
    for assignment in ["expect.0.value=2s", "expect.busy.value=2"] {
        let scenario = parse_with(&text, &[assignment]).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(scenario.expect[0].bound, Bound::Below(2.0), "{assignment}");
    }
}

#[test]
fn the_links_of_utilisation_are_those_of_results() {
    let scenario = parse(&with("metric = \"afct_s\"\nop = \"<\"\nvalue = 1"));
    assert_eq!(scenario.measured_links(), ["left-right", "right-left"]);
}

#[test]
fn a_mistake_names_file_line_and_key() {
    let text = with("metric = \"afct\"\nop = \"<\"\nvalue = 1");
    let error = parse_with(&text, &[]).unwrap_err().to_string();
    assert_eq!(
        error,
        "small.toml:46:10: expect[0].metric: there is no metric `afct`\n  \
         46 | metric = \"afct\"\n     |          ^^^^^^\nhint: did you mean `afct_s`?"
    );
}

#[test]
fn what_is_not_there_is_told_with_the_closest_name() {
    let says = |problem: &str, hint: &str| (problem.to_string(), hint.to_string());
    assert_eq!(
        wrong("metric = \"window_s\"\nop = \"<\"\nvalue = 1"),
        says("expect[0].metric: `window_s` is not one number that can be compared", "")
    );
    assert_eq!(
        wrong("metric = \"afct_s\"\nop = \"<\"\nvalue = 1\nprotocol = \"cubik\""),
        says("expect[0].protocol: there is no protocol `cubik`", "did you mean `cubic`?")
    );
    assert_eq!(
        wrong("metric = \"afct_s\"\nop = \"<\"\nvalue = 1\nprotocol = \"reno\"").0,
        "expect[0].protocol: there is no protocol `reno`"
    );
    assert_eq!(
        wrong("metric = \"afct_s\"\nop = \"<\"\nvalue = 1\nprotocol = \"rcp\""),
        says(
            "expect[0].protocol: the scenario does not compare `rcp`",
            "protocols that it compares: newreno, cubic"
        )
    );
    assert_eq!(
        wrong("metric = \"afct_s\"\nop = \"<\"\nvalue = 1\nclass = \"wep\""),
        says("expect[0].class: there is no class of flows `wep`", "did you mean `web`?")
    );
    assert_eq!(
        wrong("metric = \"afct_s\"\nop = \"<\"\nvalue = 1\nclass = \"cubic\""),
        says(
            "expect[0].class: no flow has the class `cubic` in runs under `newreno`",
            "protocol = \"cubic\" limits it to the runs that have such"
        )
    );
    assert_eq!(
        wrong("metric = \"utilisation\"\nop = \"<\"\nvalue = 1\nlink = \"left-rigth\""),
        says(
            "expect[0].link: there is no directed link between routers `left-rigth`",
            "did you mean `left-right`?"
        )
    );
    assert_eq!(
        wrong("metric = \"utilisation\"\nop = \"<\"\nvalue = 1"),
        says(
            "expect[0]: the key `link` is missing: the directed link whose `utilisation` is meant",
            "one of: left-right, right-left"
        )
    );
    let (missing, hint) = wrong("metric = \"trace_utilisation\"\nop = \">\"\nvalue = \"80%\"");
    assert!(missing.ends_with("the directed link whose `trace_utilisation` is meant"), "{missing}");
    assert_eq!(hint, "no link follows a trace");
    let of = "metric = \"trace_utilisation\"\nop = \">\"\nvalue = 0.8\nlink = \"left-right\"";
    assert_eq!(wrong(of).0, "expect[0].link: there is no directed link with a trace `left-right`");
    assert_eq!(
        wrong("metric = \"afct_s\"\nop = \"<\"\nvalue = 1\nlink = \"left-right\""),
        says("expect[0].link: `afct_s` is of no link", "")
    );
    assert_eq!(
        wrong("metric = \"queue_delay_mean_ms\"\nop = \"<\"\nvalue = 1\nclass = \"web\""),
        says("expect[0].class: classes have no `queue_delay_mean_ms`: it is of the whole run", "")
    );
}

#[test]
fn values_that_cannot_be_meant_are_refused() {
    let of = |metric: &str, op: &str, value: &str| {
        wrong(&format!("metric = \"{metric}\"\nop = \"{op}\"\nvalue = {value}"))
    };
    let says = |problem: &str, hint: &str| (problem.to_string(), hint.to_string());
    assert_eq!(
        of("afct_s", "=<", "1").0,
        "expect[0].op: expected one of \"<\", \"<=\", \">\", \">=\", \"==\", \"within\", found a \
         string (\"=<\")"
    );
    assert_eq!(
        of("afct_s", "<", "\"5MB\""),
        says(
            "expect[0].value: expected a time such as \"5ms\", found `5MB` with the unit `MB`",
            "units: ns, us, ms, s, µs, min"
        )
    );
    assert_eq!(
        of("retransmits", "<", "\"5packets\"").0,
        "expect[0].value: expected a number, found a string (\"5packets\")"
    );
    assert_eq!(
        of("jain_goodput", "<", "nan").0,
        "expect[0].value: expected a number, found not a number (NaN)"
    );
    assert_eq!(
        of("afct_s", "<", "true").0,
        "expect[0].value: expected a number, or a string with unit such as \"50ms\", or with op = \
         \"within\" [low, high], found a boolean (true)"
    );
    assert_eq!(
        of("afct_s", ">", "-1").0,
        "expect[0].value: `-1` is out of range: expected 0 or more"
    );
    assert_eq!(
        wrong("metric = \"utilisation\"\nop = \"<\"\nvalue = 97\nlink = \"left-right\"").0,
        "expect[0].value: `97` is out of range: expected 0.0 to 1.0"
    );
    let share = |value: &str| {
        let rest = format!("op = \"<\"\nvalue = {value}\nlink = \"left-right\"");
        wrong(&format!("metric = \"utilisation\"\n{rest}"))
    };
    assert_eq!(share("\"120%\"").0, "expect[0].value: `120%` is out of range: expected 0.0 to 1.0");
    let expected = "expect[0].value: expected a share such as 0.9 or \"90%\", found";
    assert_eq!(share("\"90\""), says(&format!("{expected} `90` without a unit"), "units: %"));
    assert_eq!(share("\"9ms\"").0, format!("{expected} `9ms` with the unit `ms`"));
    assert_eq!(
        of("afct_s", "<", "[1, 2]").0,
        "expect[0].value: expected one value with op = \"<\", found an array"
    );
    assert_eq!(
        of("afct_s", "within", "1").0,
        "expect[0].value: expected the lower and the upper end, [low, high], with op = \"within\", \
         found 1"
    );
    assert_eq!(
        of("afct_s", "within", "[1, 2, 3]").0,
        "expect[0].value: expected the lower and the upper end, [low, high], with op = \"within\", \
         found 3 values"
    );
    assert_eq!(
        of("afct_s", "within", "[2, 1]").0,
        "expect[0].value: `[2, 1]` is out of range: expected the lower end first"
    );
}

#[test]
fn seeds_names_and_keys_that_cannot_be_meant_are_refused() {
    let of = |line: &str| wrong(&format!("metric = \"afct_s\"\nop = \"<\"\nvalue = 1\n{line}"));
    let says = |problem: &str, hint: &str| (problem.to_string(), hint.to_string());
    assert_eq!(
        of("over = \"median\"").0,
        "expect[0].over: expected one of \"mean\", \"min\", \"max\", found a string (\"median\")"
    );
    assert_eq!(
        of("over = 0.9").0,
        "expect[0].over: expected \"mean\", \"min\", \"max\", or a table such as { share = 0.9 }, \
         found a float (0.9)"
    );
    assert_eq!(
        of("over = { share = 0 }").0,
        "expect[0].over.share: `0` is out of range: expected above 0.0, at most 1.0"
    );
    assert_eq!(
        of("over = { share = 1.5 }").0,
        "expect[0].over.share: `1.5` is out of range: expected above 0.0, at most 1.0"
    );
    assert_eq!(
        of("name = \"\"").0,
        "expect[0].name: `` is out of range: expected text in one line, without control characters"
    );
    assert_eq!(
        of("name = \"a\\u001b[2J\"").0,
        "expect[0].name: `a\\u{1b}[2J` is out of range: expected text in one line, without control \
         characters"
    );
    assert_eq!(
        of("metrics = 1"),
        says("expect[0]: unknown key `metrics`", "did you mean `metric`?")
    );
    assert_eq!(
        wrong("metric = \"afct_s\"\nop = \"<\"").0,
        "expect[0]: the key `value` is missing: what the metric is compared with"
    );
}

#[test]
fn what_follows_from_other_mistakes_is_not_told() {
    // One mistake each: the link, the protocol and the class would be there without it.
    let lines = "metric = \"utilisation\"\nop = \"<\"\nvalue = 1\nlink = \"left-right\"";
    let text = with(lines).replacen("rate = \"10Mbit/s\"", "rate = \"10\"", 1);
    assert_eq!(parse_with(&text, &[]).unwrap_err().mistakes.len(), 1);
    let lines = "metric = \"afct_s\"\nop = \"<\"\nvalue = 1\nprotocol = \"cubic\"";
    let text = with(lines).replacen("\"cubic\"]", "\"cubik\"]", 1);
    assert_eq!(parse_with(&text, &[]).unwrap_err().mistakes.len(), 1);
    let lines = "metric = \"afct_s\"\nop = \"<\"\nvalue = 1\nclass = \"web\"";
    let text = with(lines).replacen("src = \"s1\"", "src = \"s7\"", 1);
    assert_eq!(parse_with(&text, &[]).unwrap_err().mistakes.len(), 1);
}

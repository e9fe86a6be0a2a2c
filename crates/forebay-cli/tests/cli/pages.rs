//! Huge pages: the process begins again with them, and is still the same process to whatever
//! started it.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use crate::{Desk, SMALL};
use forebay_prerequisites::skip;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

#[allow(clippy::disallowed_methods)] // The process that is watched has a clock of its own.
fn wait(millis: u64) {
    sleep(Duration::from_millis(millis));
}

/// True if the environment of the process says so within ten seconds.
fn has_tunable(child: &Child) -> bool {
    (0..100).any(|_| {
        wait(100);
        let environ = fs::read(format!("/proc/{}/environ", child.id())).unwrap_or_default();
        String::from_utf8_lossy(&environ).contains("GLIBC_TUNABLES=glibc.malloc.hugetlb=1")
    })
}

#[test]
fn the_number_of_the_process_and_its_signals_stay() {
    let modes = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled");
    if !modes.is_ok_and(|modes| modes.contains("[madvise]")) {
        return skip("this system does not give huge pages on demand");
    }
    let desk = Desk::new();
    let endless = SMALL.replace("bytes = 100_000", "endless = true");
    desk.file("endless.toml", format!("until_s = 1_000_000\n{endless}"));
    let mut command = desk.command(&["run", "endless.toml"]);
    let mut child = command.stderr(Stdio::null()).spawn().expect("the binary starts");
    let seen = has_tunable(&child);
    wait(1_000); // the handler of signals is set
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(sent.expect("kill is there").success());
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert!(seen);
}

#[test]
fn results_and_codes_do_not_depend_on_it() {
    let desk = Desk::new();
    desk.file("small.toml", SMALL);
    let with = desk.forebay(&["run", "small.toml"]).ok();
    let without = desk.command(&["run", "small.toml"]).env("FOREBAY_HUGE_PAGES", "0").output();
    let without = crate::Done::of(without.expect("the binary starts")).ok();
    let hash = |text: &str| text.lines().find(|l| l.contains("trace")).map(String::from);
    assert_eq!(hash(&with.stdout), hash(&without.stdout));
    assert_eq!(desk.forebay(&["run", "nowhere.toml"]).code, 2);
}

//! Real interfaces: each case runs in a process of its own, since namespaces are entered before
//! the first thread. As root, each runs a second time as an ordinary user.
//!
//! What a machine forbids is skipped with a reason; if all is skipped for root, that is a failure.

#![expect(clippy::print_stdout, reason = "it is its own test runner")]

mod cases;
mod listener;
mod outage;
mod runs;
mod signals;

use forebay_live::{IsolateError, isolate};
use nix::unistd::getuid;
use std::env;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, Output};

/// What a case says of itself: an error is a failure.
type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A name and what it stands for.
type Case = (&'static str, fn() -> Outcome);

const CASES: &[Case] = &[
    ("packets_cross_a_cable", cases::packets_cross_a_cable),
    ("what_does_not_fit_is_counted", cases::what_does_not_fit_is_counted),
    ("a_host_of_the_kernel_answers", cases::a_host_of_the_kernel_answers),
    ("offloads_are_noticed", cases::offloads_are_noticed),
    ("an_interface_goes_down_and_comes_back", cases::an_interface_goes_down_and_comes_back),
    ("an_interface_is_removed_and_made_again", cases::an_interface_is_removed_and_made_again),
    ("a_full_ring_is_counted", cases::a_full_ring_is_counted),
    ("plans_are_checked", cases::plans_are_checked),
    ("sealed_threads_keep_their_sockets", cases::sealed_threads_keep_their_sockets),
    ("a_dumbbell_is_done_again", runs::a_dumbbell_is_done_again),
    ("a_run_that_is_stopped_reports", runs::a_run_that_is_stopped_reports),
    ("kernels_talk_over_a_router", runs::kernels_talk_over_a_router),
    ("kernels_talk_over_a_prefix", runs::kernels_talk_over_a_prefix),
    ("curl_fetches_and_uploads", runs::curl_fetches_and_uploads),
    ("curl_comes_back_to_a_listener", listener::curl_comes_back_to_a_listener),
    ("inrpp_turns_to_its_detour", outage::inrpp_turns_to_its_detour),
    ("a_signal_reaches_the_child", signals::a_signal_reaches_the_child),
    ("a_run_that_is_halted_goes_on", signals::a_run_that_is_halted_goes_on),
    ("a_killed_parent_leaves_nothing", signals::a_killed_parent_leaves_nothing),
];

/// Cases that are not isolated themselves, but start a process that is.
const OUTSIDE: [&str; 3] = [
    "a_signal_reaches_the_child",
    "a_run_that_is_halted_goes_on",
    "a_killed_parent_leaves_nothing",
];
/// Exit code of a case that this machine forbids.
const SKIPPED: u8 = 77;
/// A user without rights: `nobody` of Debian.
const ORDINARY: u32 = 65_534;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    if let [flag, name] = &arguments[..]
        && flag == "--case"
    {
        return run(name).into();
    }
    let chosen = |name: &str| {
        let mut filters = arguments.iter().filter(|argument| !argument.starts_with('-')).peekable();
        filters.peek().is_none() || filters.any(|filter| name.contains(filter.as_str()))
    };
    let users: &[Option<u32>] = if getuid().is_root() { &[None, Some(ORDINARY)] } else { &[None] };
    let (mut failed, mut skipped, mut ran) = (0, 0, 0);
    for (name, _) in CASES.iter().filter(|(name, _)| chosen(name)) {
        for user in users {
            let label = user.map_or(name.to_string(), |user| format!("{name} as user {user}"));
            match verdict(name, *user) {
                Verdict::Passed => ran += 1,
                Verdict::Failed(why) => {
                    failed += 1;
                    println!("FAILED: {label}: {why}");
                    continue;
                }
                Verdict::Skipped(reason) => {
                    skipped += 1;
                    forebay_prerequisites::skip(&format!("{label}: {reason}"));
                    continue;
                }
            }
            println!("ok: {label}");
        }
    }
    println!("live: {ran} passed, {failed} failed, {skipped} skipped");
    let nothing_ran = getuid().is_root() && ran == 0 && skipped > 0;
    if failed > 0 || nothing_ran { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

enum Verdict {
    Passed,
    Failed(String),
    Skipped(String),
}

fn verdict(name: &str, user: Option<u32>) -> Verdict {
    let program = env::current_exe().expect("a test is a program");
    let mut command = Command::new(program);
    command.args(["--case", name]).current_dir("/");
    if let Some(user) = user {
        command.uid(user).gid(user);
    }
    let Output { status, stdout, stderr } = match command.output() {
        Err(error) => return Verdict::Skipped(format!("the test cannot be run: {error}")),
        Ok(output) => output,
    };
    let said = String::from_utf8_lossy(&[stdout, stderr].concat()).trim().to_string();
    match status.code() {
        Some(0) => Verdict::Passed,
        Some(code) if code == i32::from(SKIPPED) => Verdict::Skipped(said),
        Some(code) => Verdict::Failed(format!("exit code {code}: {said}")),
        None => Verdict::Failed(format!("signal {:?}: {said}", status.signal())),
    }
}

/// Run one case in this process.
fn run(name: &str) -> u8 {
    let (_, case) = CASES.iter().find(|(other, _)| *other == name).expect("a case of this name");
    if OUTSIDE.contains(&name) {
        return code(case());
    }
    isolated(*case)
}

/// Run `case` in an isolated child.
fn isolated(case: impl FnOnce() -> Outcome) -> u8 {
    match isolate(|| code(case())) {
        Ok(code) => code,
        Err(error @ IsolateError::Namespaces { .. }) => {
            println!("{error}");
            SKIPPED
        }
        Err(error) => {
            println!("{error}");
            1
        }
    }
}

fn code(outcome: Outcome) -> u8 {
    match outcome {
        Ok(()) => 0,
        Err(error) => {
            println!("{error}");
            1
        }
    }
}

//! What signals do to an isolated process, and what is left of it: nothing.

use super::{Outcome, SKIPPED, isolated, runs};
use forebay_base::{Rng, Stream};
use forebay_live::{Cable, CableEnd, Lab, Occupant};
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use std::env;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// Set in processes that a case starts, to a text that is in no other process. They inherit it.
const MARK: &str = "FOREBAY_LIVE_MARK";
/// How often a parent is killed: 3 times, unless this variable says more.
const KILLS: &str = "FOREBAY_LIVE_KILLS";
const PATIENCE: Duration = Duration::from_secs(20);

fn variable(name: &str) -> Option<String> {
    #[expect(clippy::disallowed_methods, reason = "what a test is to do")]
    env::var(name).ok()
}

/// In the isolated child: build a laboratory, start a process, say so, and wait for a signal.
fn waits() -> Outcome {
    let end = |node| CableEnd { node, interface: "eth".to_string() };
    let cable = Cable { mtu_bytes: 1500, ends: [end(0), end(1)] };
    let lab = Lab::build(vec![Occupant::Forebay; 2], vec![cable])?;
    let mut grandchild = lab.inside(1, || Command::new("sleep").arg("1000").spawn())??;
    let term: SigSet = [Signal::SIGTERM].into_iter().collect();
    term.thread_block()?;
    println!("{READY}");
    std::io::stdout().flush()?;
    let signal = term.wait()?;
    grandchild.kill()?;
    grandchild.wait()?;
    Err(format!("ended by {signal}").into())
}

/// What a process says once it does what it is to be disturbed in.
pub const READY: &str = "ready";

/// This program again, for the same case, with a mark.
struct Marked {
    child: Child,
    said: BufReader<ChildStdout>,
    mark: String,
}

impl Marked {
    fn start(case: &str, number: u64) -> Result<Marked, Box<dyn std::error::Error>> {
        let mark = format!("{case}-{}-{number}", std::process::id());
        let mut command = Command::new(env::current_exe()?);
        command.args(["--case", case]).env(MARK, &mark).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let said = BufReader::new(child.stdout.take().expect("it is piped"));
        Ok(Marked { child, said, mark })
    }
    fn line(&mut self) -> Result<String, std::io::Error> {
        let mut line = String::new();
        self.said.read_line(&mut line)?;
        Ok(line.trim().to_string())
    }
    /// Waits until it is ready. Ends this process if that one could not isolate itself.
    fn ready(&mut self) -> Outcome {
        let line = self.line()?;
        if line == READY {
            return Ok(());
        }
        let status = self.ends()?;
        if status.code() != Some(i32::from(SKIPPED)) {
            return Err(format!("{status}: {line}").into());
        }
        println!("{line}");
        std::process::exit(i32::from(SKIPPED))
    }
    fn ends(&mut self) -> Result<ExitStatus, Box<dyn std::error::Error>> {
        let start = now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            pause(2);
        }
        self.child.kill()?;
        Err("the process does not end".into())
    }
    fn awaits(&self, what: &str, is_so: impl Fn(&[Pid]) -> bool) -> Outcome {
        let start = now();
        loop {
            let processes = self.processes();
            if is_so(&processes) {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                return Err(format!("expected {what}, found {processes:?}").into());
            }
            pause(1);
        }
    }
    /// All processes with the mark: the child, what it has started, and so on.
    fn processes(&self) -> Vec<Pid> {
        let mark = format!("{MARK}={}", self.mark);
        let marked = |process: &fs::DirEntry| {
            let variables = fs::read(process.path().join("environ")).unwrap_or_default();
            variables.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes())
        };
        let all = fs::read_dir("/proc").into_iter().flatten().flatten();
        let found = all.filter(marked).filter_map(|process| process.file_name().into_string().ok());
        found.filter_map(|name| name.parse().ok()).map(Pid::from_raw).collect()
    }
}

/// A case that fails leaves nothing behind either.
impl Drop for Marked {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}

pub fn pause(ms: u64) {
    #[expect(clippy::disallowed_methods, reason = "it waits for other processes or the kernel")]
    thread::sleep(Duration::from_millis(ms));
}

fn now() -> Instant {
    #[expect(clippy::disallowed_methods, reason = "a bound on waiting")]
    Instant::now()
}

pub fn a_signal_reaches_the_child() -> Outcome {
    if variable(MARK).is_some() {
        std::process::exit(i32::from(isolated(waits)));
    }
    let mut marked = Marked::start("a_signal_reaches_the_child", 0)?;
    marked.ready()?;
    kill(Pid::from_raw(marked.child.id() as i32), Signal::SIGTERM)?;
    let status = marked.ends()?;
    let line = marked.line()?;
    if status.code() != Some(1) || line != "ended by SIGTERM" {
        return Err(format!("{status}: `{line}`").into());
    }
    Ok(())
}

/// Namespaces without a name live as long as the processes in them: none may be left.
pub fn a_killed_parent_leaves_nothing() -> Outcome {
    if variable(MARK).is_some() {
        std::process::exit(i32::from(isolated(waits)));
    }
    // What loses its parent comes to this process, which waits for it: not every machine has a
    // first process that does.
    prctl::set_child_subreaper(true)?;
    let kills = variable(KILLS).map_or(Ok(3), |kills| kills.parse())?;
    let mut rng = Rng::new(u64::from(std::process::id()), Stream::Test, 0);
    for number in 0..kills {
        let mut marked = Marked::start("a_killed_parent_leaves_nothing", number)?;
        if number == 0 {
            marked.ready()?;
            // Itself, its isolated child, and what that has started, which shows its variables
            // only a little after it began.
            marked.awaits("three processes", |processes| processes.len() == 3)?;
        } else {
            pause(rng.below(60));
        }
        marked.child.kill()?;
        marked.ends()?;
        for _ in 0..2 {
            marked.awaits("no process", <[Pid]>::is_empty)?;
            pause(2);
        }
        while waitpid(None, Some(WaitPidFlag::WNOHANG)).is_ok_and(|s| s.pid().is_some()) {}
    }
    Ok(())
}

/// All machines stand still for 400 ms: they work off what has come, and the run can be done again.
pub fn a_run_that_is_halted_goes_on() -> Outcome {
    if variable(MARK).is_some() {
        std::process::exit(i32::from(isolated(runs::is_halted)));
    }
    let mut marked = Marked::start("a_run_that_is_halted_goes_on", 0)?;
    marked.ready()?;
    pause(200);
    for (signal, ms) in [(Signal::SIGSTOP, 400), (Signal::SIGCONT, 0)] {
        for process in marked.processes() {
            kill(process, signal)?;
        }
        pause(ms);
    }
    let status = marked.ends()?;
    if !status.success() {
        return Err(format!("{status}: {}", marked.line()?).into());
    }
    Ok(())
}

//! A progress bar with an estimate of the time left; where there is no terminal, a line now and
//! then.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Shorter commands need no bar.
const PATIENCE: Duration = Duration::from_secs(2);
/// Time between two lines where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(10);
/// Length of the bar in steps.
const STEPS: u64 = 10_000;

/// A bar on standard error, if that is a terminal, once a command has taken two seconds.
pub struct Progress {
    bar: ProgressBar,
    started: Instant,
    shown: AtomicBool,
    wanted: bool,
    /// Lines are wanted where there is no terminal.
    lines: bool,
    /// They say how much time is left.
    time_left: bool,
    /// Lines written.
    written: AtomicU64,
}

impl Progress {
    /// Nothing is shown yet.
    pub fn start() -> Progress {
        let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{bar:30} {percent:>3} %  {eta} left  {msg}");
        bar.set_style(style.expect("the template is fixed"));
        Progress {
            bar,
            started: now(),
            shown: AtomicBool::new(false),
            wanted: io::stderr().is_terminal(),
            lines: false,
            time_left: false,
            written: AtomicU64::new(0),
        }
    }
    /// Without a terminal, such as in a job of a cluster, write a line each ten seconds if
    /// `wanted`.
    pub fn lines(self, wanted: bool) -> Progress {
        Progress { lines: wanted && !self.wanted, ..self }
    }
    /// Say in lines, too, how much time is left.
    pub fn with_time_left(self) -> Progress {
        Progress { time_left: true, ..self }
    }
    /// `done` of the work, 0 to 1, with a few words on what is going on.
    pub fn set(&self, done: f64, words: impl Fn() -> String) {
        if self.lines {
            return self.line(done, words);
        }
        if !self.wanted || now() - self.started < PATIENCE {
            return;
        }
        if !self.shown.swap(true, Ordering::Relaxed) {
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        }
        self.bar.set_message(words());
        self.bar.set_position((done.clamp(0.0, 1.0) * STEPS as f64) as u64);
    }
    /// A line, if the last is ten seconds old.
    fn line(&self, done: f64, words: impl Fn() -> String) {
        let passed = now() - self.started;
        let due = passed.as_secs() / BETWEEN_LINES.as_secs();
        if self.written.fetch_max(due, Ordering::Relaxed) < due {
            let percent = (100.0 * done.clamp(0.0, 1.0)).floor(); // not all before all is done
            let seconds = passed.as_secs();
            let left = match passed.as_secs_f64() * (1.0 / done - 1.0) {
                left if self.time_left && left.is_finite() => format!(", about {left:.0} s left"),
                _ => String::new(),
            };
            // A line that cannot be written is missed by no one.
            let _ = writeln!(io::stderr(), "{percent:.0} % after {seconds} s{left}, {}", words());
        }
    }
    /// Wipe it.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// A person waits for this, so this is the clock on their wall.
#[allow(clippy::disallowed_methods)]
fn now() -> Instant {
    Instant::now()
}

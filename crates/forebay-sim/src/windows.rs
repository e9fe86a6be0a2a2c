//! One run in several threads: conservative early transit over the delays of the links between
//! partitions.
//!
//! A packet that leaves a partition arrives in another no earlier than the smallest delay of the
//! links between them later (Chandy and Misra 1979, doi:10.1109/TSE.1979.230182). So all partitions
//! may run in parallel through a window of that length, which begins with the first pending event
//! of all. Then the threads meet and exchange packets. Nothing passes between partitions within a
//! window, and the order of events at equal times depends on the entities only: so it does not
//! matter in which partition, or in which thread, an event is.
//!
//! There are more partitions than threads. Which thread runs which is decided for each window
//! ([`Assignment`]), because load moves in the network.

use crate::assignment::Assignment;
use crate::barrier::{Barrier, OtherPanicked, Patience};
use crate::pace::Pace;
use crate::partition::Partition;
use forebay_base::{Span, Time};
use forebay_net::Mail;
use std::any::Any;
use std::iter;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// CPU time that the calling thread has used so far.
pub type CpuClock = fn() -> Duration;

/// Wall-clock time since any fixed moment.
pub type WallClock = fn() -> Duration;

/// The cost of a run in several threads, in CPU time. Zero without a clock; work and critical path
/// also where only the whole is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Number of windows.
    pub windows: u64,
    /// Handling events, all threads together.
    pub work: Duration,
    /// The sum over all windows of the work of the busiest thread: the time of the run with a core
    /// for each thread, if synchronisation and exchange cost nothing.
    pub critical_path: Duration,
    /// Work, exchange, and waiting that used a core.
    pub total: Duration,
    /// The part of `total` in threads other than the caller's.
    pub elsewhere: Duration,
}

impl Effort {
    /// The share of CPU time that was not spent on events: exchange of packets, and waiting that
    /// used a core.
    pub fn sync_share(&self) -> f64 {
        let total = self.total.as_secs_f64();
        if total > 0.0 { 1.0 - self.work.as_secs_f64() / total } else { 0.0 }
    }
    fn add(&mut self, of_thread: &Effort) {
        self.work += of_thread.work;
        self.total += of_thread.total;
    }
}

/// Constants of all windows of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// The smallest delay of the links between partitions.
    pub lookahead: Span,
    /// See [`crate::Simulation`].
    pub grid: Span,
    /// When the last flow starts of those whose start is known: before that they cannot all have
    /// ended.
    pub last_start: Time,
    pub clock: Option<CpuClock>,
    pub wall_clock: Option<WallClock>,
    /// Each window is measured, not only the whole: two calls for each partition in it.
    pub clocks_windows: bool,
}

impl Rules {
    /// The first multiple of the grid at or after `at`.
    pub fn round_up(&self, at: Time) -> Time {
        let grid = self.grid.as_nanos();
        Time::from_nanos(at.as_nanos().div_ceil(grid).saturating_mul(grid))
    }
    /// The last instant of the window that begins at `start`. It must not be after the end of the
    /// run, whichever event of the window ends the last flow.
    fn end_of_window(&self, start: Time) -> Time {
        let end = start + self.lookahead - Span::from_nanos(1);
        if end < self.last_start { end } else { end.min(self.round_up(start).max(start)) }
    }
    pub fn wall(&self) -> Duration {
        self.wall_clock.map_or(Duration::ZERO, |clock| clock())
    }
    pub fn cpu(&self) -> Duration {
        self.clock.map_or(Duration::ZERO, |clock| clock())
    }
    fn cpu_of_window(&self) -> Duration {
        if self.clocks_windows { self.cpu() } else { Duration::ZERO }
    }
}

/// What one thread did for all partitions while another ran the whole: see `trial.rs`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Race {
    /// Time and events.
    pub pace: Pace,
    /// CPU time.
    pub cpu: Duration,
    pub windows: u64,
    /// The sum over all windows of the events that the busiest of several threads would have.
    pub critical_events: u64,
}

impl Race {
    pub fn add(&mut self, other: Race) {
        self.pace.add(other.pace);
        self.cpu += other.cpu;
        self.windows += other.windows;
        self.critical_events += other.critical_events;
    }
}

/// What several threads would do, while one does it.
struct Racing<'a> {
    stop: &'a AtomicBool,
    assignment: Assignment,
    /// Events in this window, by thread.
    loads: Vec<u64>,
    critical_events: u64,
}

impl Racing<'_> {
    fn begin_window(&mut self, expected: impl Iterator<Item = u64>) {
        self.assignment.settle(expected, 0);
        self.loads.fill(0);
    }
    fn end_window(&mut self) {
        self.critical_events += self.loads.iter().max().expect("there are threads");
    }
}

/// What a partition publishes at a meeting.
#[derive(Default)]
struct PartitionReport {
    /// Time of the first event that it has, or has sent to another.
    next_ns: AtomicU64,
    open_ends: AtomicIsize,
    last_ended_ns: AtomicU64,
    /// Expected events of its next window.
    expected: AtomicU64,
}

/// The combination of all posts.
struct WindowSummary {
    next: Time,
    open_ends: isize,
    last_ended: Time,
    slowest: Duration,
}

/// Posts and mail of one meeting. There are two: one is read while the other is written.
struct Exchange {
    /// By partition.
    posts: Vec<PartitionReport>,
    /// By thread: its work in the window, in ns.
    took_ns: Vec<AtomicU64>,
    /// Mail from partition a to b of n: index a n + b. Locks are never contended: the barrier
    /// separates writers and readers.
    boxes: Vec<Mutex<Mail>>,
}

impl Exchange {
    fn new(parts: usize, threads: usize) -> Exchange {
        Exchange {
            posts: (0..parts).map(|_| PartitionReport::default()).collect(),
            took_ns: (0..threads).map(|_| AtomicU64::new(0)).collect(),
            boxes: (0..parts * parts).map(|_| Mutex::default()).collect(),
        }
    }
    fn mail(&self, from: usize, to: usize) -> MutexGuard<'_, Mail> {
        let mail = &self.boxes[from * self.posts.len() + to];
        mail.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Publish the state of `part`. The first arrival of the packets that it has sent is at `sent`.
    fn tell(&self, part: &Partition, number: usize, sent: Time) {
        let post = &self.posts[number];
        post.next_ns.store(part.site.next_time().min(sent).as_nanos(), Ordering::Relaxed);
        post.open_ends.store(part.site.fabric.ends().1, Ordering::Relaxed);
        post.last_ended_ns.store(part.site.fabric.last_ended().as_nanos(), Ordering::Relaxed);
        post.expected.store(part.expected_events(), Ordering::Relaxed);
    }
    fn read(&self) -> WindowSummary {
        let of = |field: fn(&PartitionReport) -> &AtomicU64| {
            self.posts.iter().map(move |post| field(post).load(Ordering::Relaxed))
        };
        let took = self.took_ns.iter().map(|took| took.load(Ordering::Relaxed));
        WindowSummary {
            next: Time::from_nanos(of(|post| &post.next_ns).min().unwrap_or(u64::MAX)),
            open_ends: self.posts.iter().map(|post| post.open_ends.load(Ordering::Relaxed)).sum(),
            last_ended: Time::from_nanos(of(|post| &post.last_ended_ns).max().unwrap_or(0)),
            slowest: Duration::from_nanos(took.max().unwrap_or(0)),
        }
    }
}

/// Where the threads meet.
pub(crate) struct WindowSync {
    barrier: Barrier,
    exchanges: [Exchange; 2],
    /// By partition: those that may have mail for it.
    senders: Vec<Vec<usize>>,
    threads: usize,
}

impl WindowSync {
    /// Of `threads` threads; `senders` says for each partition which others have links to it.
    pub fn new(threads: usize, senders: Vec<Vec<usize>>) -> WindowSync {
        let exchange = || Exchange::new(senders.len(), threads);
        let (barrier, exchanges) = (Barrier::new(threads), [exchange(), exchange()]);
        WindowSync { barrier, exchanges, senders, threads }
    }
    /// Threads that meet.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Run all parts, in this thread and others, through all events up to and including `limit`, or
    /// to the end of the run. The result is that end, if all flows ended.
    pub fn run(
        &self,
        parts: &mut [Partition],
        rules: &Rules,
        limit: Time,
        effort: &mut Effort,
    ) -> Option<Time> {
        let parts: Vec<Mutex<&mut Partition>> = parts.iter_mut().map(Mutex::new).collect();
        let attended: Vec<_> = std::thread::scope(|scope| {
            let attend = |me| {
                let mut worker = Worker::new(self, &parts, rules, me);
                (worker.attend(limit), worker.effort)
            };
            let spawn = |me| scope.spawn(move || attend(me));
            let threads: Vec<_> = (1..self.threads).map(spawn).collect();
            let own = catch_unwind(AssertUnwindSafe(|| attend(0)));
            iter::once(own).chain(threads.into_iter().map(|thread| thread.join())).collect()
        });
        let mut attended = first_panic_or_all(attended).into_iter();
        let (end, own) = attended.next().expect("this thread attends");
        effort.windows += own.windows;
        effort.critical_path += own.critical_path;
        effort.add(&own);
        for (_, other) in attended {
            effort.add(&other);
            effort.elsewhere += other.total;
        }
        end
    }
}

impl WindowSync {
    /// Run all parts in this thread, the only one, like [`WindowSync::run`], but no further once
    /// `stop` is set. Counts what each of `threads` threads would have done.
    pub fn race(
        &self,
        parts: &mut [Partition],
        rules: &Rules,
        limit: Time,
        stop: &AtomicBool,
        threads: usize,
    ) -> Race {
        let parts: Vec<Mutex<&mut Partition>> = parts.iter_mut().map(Mutex::new).collect();
        let assignment = Assignment::new(parts.len(), threads);
        let racing = Racing { stop, assignment, loads: vec![0; threads], critical_events: 0 };
        let mut worker = Worker::new(self, &parts, rules, 0);
        worker.racing = Some(racing);
        worker.attend(limit);
        let critical_events = worker.racing.map_or(0, |racing| racing.critical_events);
        Race { windows: worker.effort.windows, critical_events, ..Race::default() }
    }
}

/// What all threads gave. Panics with the panic that was the first, if there was one.
fn first_panic_or_all<T>(attended: Vec<std::thread::Result<T>>) -> Vec<T> {
    let (mut all, mut first) = (Vec::new(), None::<Box<dyn Any + Send>>);
    for outcome in attended {
        match outcome {
            Ok(outcome) => all.push(outcome),
            Err(panic) if first.as_ref().is_none_or(|first| first.is::<OtherPanicked>()) => {
                first = Some(panic);
            }
            Err(_) => {}
        }
    }
    first.map_or(all, |panic| resume_unwind(panic))
}

/// One thread at the meeting.
struct Worker<'a, 'p> {
    meeting: &'a WindowSync,
    parts: &'a [Mutex<&'p mut Partition>],
    rules: &'a Rules,
    me: usize,
    patience: Patience,
    /// Packets that leave the current partition, by destination.
    outgoing: Vec<Mail>,
    effort: Effort,
    racing: Option<Racing<'a>>,
}

impl<'a, 'p> Worker<'a, 'p> {
    fn new(
        meeting: &'a WindowSync,
        parts: &'a [Mutex<&'p mut Partition>],
        rules: &'a Rules,
        me: usize,
    ) -> Self {
        let outgoing = parts.iter().map(|_| Mail::default()).collect();
        let patience = meeting.barrier.patience();
        let effort = Effort::default();
        Worker { meeting, parts, rules, me, patience, outgoing, effort, racing: None }
    }
    fn part(&self, number: usize) -> MutexGuard<'a, &'p mut Partition> {
        self.parts[number].lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// The parts that this thread handles outside of windows.
    fn own_parts(&self) -> impl Iterator<Item = usize> + use<> {
        (self.me..self.parts.len()).step_by(self.meeting.threads)
    }

    /// Take part until the run ends or reaches `limit`: the end if it is known.
    fn attend(&mut self, limit: Time) -> Option<Time> {
        let meeting = self.meeting;
        let _guard = meeting.barrier.panic_guard();
        let (began, [first, second]) = (self.rules.cpu(), &meeting.exchanges);
        let mut assignment = Assignment::new(self.parts.len(), meeting.threads);
        for number in self.own_parts() {
            first.tell(&self.part(number), number, Time::MAX);
        }
        first.took_ns[self.me].store(0, Ordering::Relaxed);
        let has_flows = self.part(0).site.fabric.ends().0 > 0;
        for (read, write) in [(first, second), (second, first)].into_iter().cycle() {
            meeting.barrier.wait(&self.patience);
            let summary = read.read();
            self.effort.critical_path += summary.slowest;
            let ended = has_flows && summary.open_ends == 0;
            let end = ended.then(|| self.rules.round_up(summary.last_ended));
            let stop = end.map_or(limit, |end| end.min(limit));
            if summary.next > stop || summary.next == Time::MAX || self.is_stopped() {
                for number in self.own_parts() {
                    self.open_mail(&mut self.part(number), number, read);
                }
                self.effort.total += self.rules.cpu().saturating_sub(began);
                return end;
            }
            self.effort.windows += 1;
            let window_end = self.rules.end_of_window(summary.next).min(stop);
            let expected = read.posts.iter().map(|post| post.expected.load(Ordering::Relaxed));
            if let Some(racing) = &mut self.racing {
                racing.begin_window(expected.clone());
            }
            let before = self.effort.work;
            for &number in assignment.settle(expected, self.me) {
                self.pass_window(number, window_end, read, write);
            }
            if let Some(racing) = &mut self.racing {
                racing.end_window();
            }
            let took = self.effort.work - before;
            write.took_ns[self.me].store(took.as_nanos() as u64, Ordering::Relaxed);
        }
        unreachable!("two exchanges, in turn for ever")
    }
    fn is_stopped(&self) -> bool {
        self.racing.as_ref().is_some_and(|racing| racing.stop.load(Ordering::Relaxed))
    }

    /// Run one part through a window.
    fn pass_window(&mut self, number: usize, end: Time, read: &Exchange, write: &Exchange) {
        let mut part = self.part(number);
        self.open_mail(&mut part, number, read);
        let started = self.rules.cpu_of_window();
        let events = part.run_window(end);
        if let Some(racing) = &mut self.racing {
            let thread = racing.assignment.thread_of(number);
            racing.loads[thread] += events;
        }
        self.effort.work += self.rules.cpu_of_window().saturating_sub(started);
        let sent = part.site.fabric.export(&mut self.outgoing);
        for (to, mail) in self.outgoing.iter_mut().enumerate().filter(|(_, m)| !m.is_empty()) {
            std::mem::swap(&mut *write.mail(number, to), mail);
        }
        write.tell(&part, number, sent);
    }
    fn open_mail(&self, part: &mut Partition, number: usize, exchange: &Exchange) {
        for &from in &self.meeting.senders[number] {
            part.site.fabric.import(&mut exchange.mail(from, number));
        }
    }
}

//! One run in several threads: conservative look-ahead over the delays of the links between partitions.
//!
//! What leaves a partition at a time arrives in another no earlier than the smallest delay of the links between them later
//! (Chandy and Misra 1979, doi:10.1109/TSE.1979.230182). So all partitions may run through a window of that length, each in its
//! own thread, that begins with the first pending event of all of them; then they meet, and exchange what is on those links.
//! Within a window nothing passes between them, and at equal times the order of events follows from the entities alone, so
//! that it does not matter in which partition, or in which thread, an event is.

use crate::barrier::Barrier;
use crate::part::Part;
use forebay_base::{Span, Time};
use forebay_net::Mail;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// CPU time that the calling thread has used so far.
pub type CpuClock = fn() -> Duration;

/// What a run in several threads has cost, in CPU time. Zero without a clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effort {
    /// Windows: how often all threads have met.
    pub windows: u64,
    /// Handling events, all threads together.
    pub work: Duration,
    /// The sum over all windows of the slowest partition's time, its exchange of packets with the others included: what the
    /// run would take with a core for each thread and no waiting for messages to pass between cores.
    pub critical_path: Duration,
    /// All that the threads did between the beginning and the end of windows: work, exchange, and waiting that used a core.
    pub total: Duration,
    /// The part of `total` that other threads used than the one that asked for the run.
    pub elsewhere: Duration,
}

impl Effort {
    /// The share of all CPU time that was not spent on events: exchange of packets, and waiting that used a core.
    pub fn sync_share(&self) -> f64 {
        let total = self.total.as_secs_f64();
        if total > 0.0 { 1.0 - self.work.as_secs_f64() / total } else { 0.0 }
    }
    /// Work by critical path: how many threads it could have kept busy.
    pub fn parallelism(&self) -> f64 {
        let path = self.critical_path.as_secs_f64();
        if path > 0.0 { self.work.as_secs_f64() / path } else { 1.0 }
    }
    fn add(&mut self, of_thread: &Effort) {
        self.work += of_thread.work;
        self.total += of_thread.total;
    }
}

/// The rules of all windows of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// The smallest delay of the links between partitions.
    pub lookahead: Span,
    /// See [`crate::Simulation`].
    pub grid: Span,
    /// When the last flow starts: before that they cannot all have ended.
    pub last_start: Time,
    pub clock: Option<CpuClock>,
}

impl Rules {
    /// The first multiple of the grid at or after `at`.
    pub fn round_up(&self, at: Time) -> Time {
        let grid = self.grid.as_nanos();
        Time::from_nanos(at.as_nanos().div_ceil(grid).saturating_mul(grid))
    }
    /// The last instant of the window that begins at `start`. It must not be behind the end of the run, whichever of its events is
    /// the last end of a flow.
    fn end_of_window(&self, start: Time) -> Time {
        let end = start + self.lookahead - Span::from_nanos(1);
        if end < self.last_start { end } else { end.min(self.round_up(start).max(start)) }
    }
    fn cpu(&self) -> Duration {
        self.clock.map_or(Duration::ZERO, |clock| clock())
    }
}

/// What a partition says of itself when all meet.
#[derive(Default)]
struct Post {
    /// The first event that it has, or has sent to another.
    next_ns: AtomicU64,
    open_ends: AtomicUsize,
    last_ended_ns: AtomicU64,
    /// What the window took it.
    took_ns: AtomicU64,
}

/// What all say together.
struct News {
    next: Time,
    open_ends: usize,
    last_ended: Time,
    slowest: Duration,
}

/// Posts and mail of one meeting. There are two: while one is read, the other is written.
struct Board {
    posts: Vec<Post>,
    /// From partition a to b of n: number a n + b. Nobody ever waits for a lock: the barrier keeps writers and readers apart.
    boxes: Vec<Mutex<Mail>>,
}

impl Board {
    fn new(parts: usize) -> Board {
        let posts = (0..parts).map(|_| Post::default()).collect();
        Board { posts, boxes: (0..parts * parts).map(|_| Mutex::default()).collect() }
    }
    fn mail(&self, from: usize, to: usize) -> MutexGuard<'_, Mail> {
        let mail = &self.boxes[from * self.posts.len() + to];
        mail.lock().unwrap_or_else(PoisonError::into_inner)
    }
    fn read(&self) -> News {
        let max = |of: fn(&Post) -> &AtomicU64| {
            self.posts.iter().map(|post| of(post).load(Ordering::Relaxed)).max().unwrap_or(0)
        };
        let next = self.posts.iter().map(|post| post.next_ns.load(Ordering::Relaxed)).min();
        News {
            next: next.map_or(Time::MAX, Time::from_nanos),
            open_ends: self.posts.iter().map(|post| post.open_ends.load(Ordering::Relaxed)).sum(),
            last_ended: Time::from_nanos(max(|post| &post.last_ended_ns)),
            slowest: Duration::from_nanos(max(|post| &post.took_ns)),
        }
    }
}

/// Where the threads meet.
pub(crate) struct Meeting {
    barrier: Barrier,
    boards: [Board; 2],
}

impl Meeting {
    pub fn new(parts: usize) -> Meeting {
        Meeting { barrier: Barrier::new(parts), boards: [Board::new(parts), Board::new(parts)] }
    }

    /// Run all parts, each in a thread of its own, the first in this one, through all events up to and including `limit`; or
    /// to the end of the run, if all flows end before that, which is then given.
    pub fn run(
        &self,
        parts: &mut [Part],
        rules: &Rules,
        limit: Time,
        effort: &mut Effort,
    ) -> Option<Time> {
        let ([first, others @ ..], mut own) = (parts, Effort::default()) else { return None };
        let (end, elsewhere) = std::thread::scope(|scope| {
            let spawn = |(i, part)| {
                let work = move || {
                    let mut effort = Effort::default();
                    self.attend(i, part, rules, limit, &mut effort);
                    effort
                };
                scope.spawn(work)
            };
            let threads: Vec<_> = (1..).zip(others).map(spawn).collect();
            let end = self.attend(0, first, rules, limit, &mut own);
            let efforts = threads.into_iter().map(|thread| match thread.join() {
                Ok(effort) => effort,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            (end, efforts.collect::<Vec<_>>())
        });
        effort.windows += own.windows;
        effort.critical_path += own.critical_path;
        effort.add(&own);
        for other in elsewhere {
            effort.add(&other);
            effort.elsewhere += other.total;
        }
        end
    }

    /// What the thread of part number `me` does.
    fn attend(
        &self,
        me: usize,
        part: &mut Part,
        rules: &Rules,
        limit: Time,
        effort: &mut Effort,
    ) -> Option<Time> {
        let _watch = self.barrier.watch();
        let has_flows = part.fabric.ends().0 > 0;
        let parts = self.boards[0].posts.len();
        let mut outgoing: Vec<Mail> = (0..parts).map(|_| Mail::default()).collect();
        let (began, mut took, mut sent) = (rules.cpu(), Duration::ZERO, Time::MAX);
        for board in self.boards.iter().cycle() {
            self.tell(board, me, part, sent, took);
            self.barrier.wait();
            let opened = rules.cpu();
            for from in (0..parts).filter(|&from| from != me) {
                part.fabric.import(&mut board.mail(from, me));
            }
            let news = board.read();
            effort.critical_path += news.slowest;
            let end = (has_flows && news.open_ends == 0).then(|| rules.round_up(news.last_ended));
            let stop = end.map_or(limit, |end| end.min(limit));
            if news.next > stop || news.next == Time::MAX {
                effort.total += rules.cpu().saturating_sub(began);
                return end;
            }
            effort.windows += 1;
            let started = rules.cpu();
            part.run(rules.end_of_window(news.next).min(stop), false);
            let worked = rules.cpu();
            effort.work += worked.saturating_sub(started);
            sent = part.fabric.export(&mut outgoing);
            let next = self.other(board);
            for (to, mail) in outgoing.iter_mut().enumerate().filter(|(_, mail)| !mail.is_empty()) {
                std::mem::swap(&mut *next.mail(me, to), mail);
            }
            took = rules.cpu().saturating_sub(opened);
        }
        unreachable!("two boards, in turn for ever")
    }

    fn other(&self, board: &Board) -> &Board {
        let [a, b] = &self.boards;
        if std::ptr::eq(a, board) { b } else { a }
    }

    fn tell(&self, board: &Board, me: usize, part: &Part, sent: Time, took: Duration) {
        let post = &board.posts[me];
        post.next_ns.store(part.next_time().min(sent).as_nanos(), Ordering::Relaxed);
        post.open_ends.store(part.fabric.ends().1, Ordering::Relaxed);
        post.last_ended_ns.store(part.fabric.last_ended().as_nanos(), Ordering::Relaxed);
        post.took_ns.store(took.as_nanos() as u64, Ordering::Relaxed);
    }
}

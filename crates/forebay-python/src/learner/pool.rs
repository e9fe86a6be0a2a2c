//! Threads that each own some copies of an environment. The caller's thread does a share itself.

use super::controller::Action;
use super::episode::{Environment, NUMBERS, Pace, Stepped};
use crate::errors::Failure;
use forebay_lab::scenario::ScenarioText;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// What a copy is to do.
#[derive(Clone, Copy, Debug)]
pub(super) enum Order {
    /// Nothing.
    Rest,
    /// Begin an episode with this seed.
    Reset(u64),
    /// Take an action, and let an interval pass.
    Step(Action),
}

/// What the copies of a thread gave, in their order.
type Answer = Result<Vec<Stepped>, Failure>;

/// All copies.
pub(super) struct Pool {
    /// Those of the caller's thread.
    own: Vec<Environment>,
    others: Vec<Worker>,
    /// For each copy, true if no episode goes on.
    over: Vec<bool>,
}

/// A thread, and how many copies it has. It ends when its channel does.
struct Worker {
    copies: usize,
    orders: Sender<Vec<Order>>,
    answers: Receiver<Answer>,
}

impl Pool {
    pub fn new(
        text: &ScenarioText,
        set: &[String],
        pace: Pace,
        copies: usize,
        threads: usize,
    ) -> Result<Pool, Failure> {
        let share = |thread: usize| copies / threads + usize::from(thread < copies % threads);
        let make = |thread: usize| -> Result<Vec<Environment>, Failure> {
            (0..share(thread)).map(|_| Environment::with_one(text, set, pace)).collect()
        };
        let others = (1..threads).map(|thread| Worker::begin(make(thread)?));
        let others: Result<Vec<Worker>, Failure> = others.collect();
        Ok(Pool { own: make(0)?, others: others?, over: vec![true; copies] })
    }

    /// Let all copies do what they are told, one order for each.
    pub fn all(&mut self, mut orders: Vec<Order>) -> Answer {
        // An order that cannot be followed is refused before any copy moves.
        let steps = |order: &Order| matches!(order, Order::Step(_));
        if self.over.iter().zip(&orders).any(|(over, order)| *over && steps(order)) {
            return Err(Failure::EpisodeOver);
        }
        let rests = |order: &Order| matches!(order, Order::Rest);
        let rest_of: Vec<bool> = orders.iter().map(rests).collect();
        let mut rest = orders.split_off(self.own.len());
        for worker in &self.others {
            let later = rest.split_off(worker.copies);
            let sent = worker.orders.send(std::mem::replace(&mut rest, later));
            sent.map_err(|_| ended())?;
        }
        let own = follow(&mut self.own, orders);
        // Every answer is taken, so that none is left for the next call.
        let others: Vec<Answer> = self.others.iter().map(Worker::answer).collect();
        let mut all = own?;
        for answer in others {
            all.extend(answer?);
        }
        for ((over, step), rests) in self.over.iter_mut().zip(&all).zip(rest_of) {
            *over = if rests { *over } else { step.terminated || step.truncated };
        }
        Ok(all)
    }
}

impl Worker {
    fn begin(mut copies: Vec<Environment>) -> Result<Worker, Failure> {
        let (orders, received) = channel::<Vec<Order>>();
        let (answer, answers) = channel();
        let worker = Worker { copies: copies.len(), orders, answers };
        let work = move || {
            while let Ok(orders) = received.recv() {
                if answer.send(follow(&mut copies, orders)).is_err() {
                    return;
                }
            }
        };
        let begun = thread::Builder::new().name("forebay-learners".to_string()).spawn(work);
        begun.map_err(|error| Failure::Argument(format!("threads: {error}")))?;
        Ok(worker)
    }

    fn answer(&self) -> Answer {
        self.answers.recv().unwrap_or_else(|_| Err(ended()))
    }
}

fn ended() -> Failure {
    Failure::Bug("a thread of learners panicked".to_string())
}

fn follow(copies: &mut [Environment], orders: Vec<Order>) -> Answer {
    let steps = copies.iter_mut().zip(orders).map(|(copy, order)| match order {
        Order::Rest => Ok(Stepped {
            observation: [0.0; NUMBERS],
            established: false,
            terminated: false,
            truncated: false,
            now_s: 0.0,
        }),
        Order::Reset(seed) => copy.reset(seed).map(the_one),
        Order::Step(action) => copy.step(&[Some(action)]).map(the_one),
    });
    steps.collect()
}

/// Of a copy, in which one flow learns.
fn the_one(steps: Vec<Stepped>) -> Stepped {
    steps[0]
}

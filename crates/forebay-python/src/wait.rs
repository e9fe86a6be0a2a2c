//! Work without the interpreter, and Ctrl-C while it goes on.

use crate::controller::Stop;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Between two looks for signals.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How long work that was stopped is waited for. It ends by itself after that, unseen.
const PATIENCE: Duration = Duration::from_millis(50);

/// Do `work`, which calls objects of Python again and again, in a thread that keeps its place in
/// the interpreter: it need not be given one anew for each call.
pub(crate) fn wait_for_calls<T: Send + 'static>(
    py: Python<'_>,
    stop: &Stop,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    wait(py, stop, move || Python::attach(|py| py.detach(work)))
}

/// Do `work` in a thread, with the interpreter free for others. Errors if a signal handler raises
/// (`KeyboardInterrupt`): then `stop` is set, and the work is left.
pub(crate) fn wait<T: Send + 'static>(
    py: Python<'_>,
    stop: &Stop,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = channel();
    let worker = thread::Builder::new().name("forebay".to_string()).spawn(move || {
        // Where no one waits for the result any more, it is dropped.
        drop(sender.send(work()));
    });
    worker.map_err(|error| PyRuntimeError::new_err(format!("no thread can begin: {error}")))?;
    loop {
        let (waited, back) = py.detach(move || (receiver.recv_timeout(LOOK_EVERY), receiver));
        receiver = back;
        match waited {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(PyRuntimeError::new_err("Forebay panicked: this is a bug of it"));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if let Err(interrupt) = py.check_signals() {
            stop.flag.store(true, Ordering::Relaxed);
            py.detach(move || drop(receiver.recv_timeout(PATIENCE)));
            return Err(interrupt);
        }
    }
}

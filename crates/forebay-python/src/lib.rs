//! The native half of the Python package `forebay` (folder `python/`): runs, their results as Arrow
//! tables, sweeps, controllers in Python, learning environments. What it exports is described in
//! `python/src/forebay/_native.pyi`.
//!
//! Runs go on in threads that hold no Python object but those of controllers; the thread of the
//! caller gives the interpreter away and looks for signals.
#![forbid(unsafe_code)]

mod controller;
mod errors;
mod learner;
mod result;
mod results;
mod run;
mod sweep;
mod table;
mod values;
mod wait;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::controller::{AckView, InitView, LossView};
    #[pymodule_export]
    use super::learner::{LearnerNetwork, Learners};
    #[pymodule_export]
    use super::result::Outcome;
    #[pymodule_export]
    use super::run::run;
    #[pymodule_export]
    use super::sweep::{Sweep, run_swept_point};
    #[pymodule_export]
    use super::table::Table;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name is Python's")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}

//! The reference of runs.

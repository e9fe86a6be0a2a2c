//! Machines against each other.

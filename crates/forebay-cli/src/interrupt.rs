//! Ctrl-C: the first asks runs to stop, the second ends the process.

use crate::failure::EXIT_INTERRUPTED;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that becomes true at the first interrupt (SIGINT, SIGTERM, SIGHUP).
pub fn flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let raised = flag.clone();
    let handler = ctrlc::set_handler(move || {
        if raised.swap(true, Ordering::Relaxed) {
            std::process::exit(EXIT_INTERRUPTED.into());
        }
    });
    handler.expect("the one handler of the process is set once");
    flag
}

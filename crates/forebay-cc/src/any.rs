//! Enum inside, trait object at the door.

use crate::controller::Controller;
use crate::feedback::Feedback;
use alloc::boxed::Box;

/// The controllers.
pub enum AnyController {
    /// Brought from outside.
    Custom(Box<dyn Controller>),
}

/// The receiver halves.
#[derive(Default)]
pub enum AnyFeedback {
    /// Tells nothing beyond what TCP tells.
    #[default]
    None,
    /// Brought from outside.
    Custom(Box<dyn Feedback>),
}

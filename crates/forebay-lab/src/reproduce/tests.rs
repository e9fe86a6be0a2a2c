//! Papers as files, and their rows as results.

use super::paper::Experiment;
use super::*;

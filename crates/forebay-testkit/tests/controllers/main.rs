//! Controllers and queues in whole runs, against closed forms, drafts and papers.

mod bbr;
mod conservation;
mod duels;
mod modern;
mod profile;
mod queues;
mod rcp;
mod sprout;
mod verus;

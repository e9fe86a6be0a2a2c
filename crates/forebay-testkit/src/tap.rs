//! A tap on the packets of a run, for either driver.

use forebay_base::{Arena, Packet, Time};
use forebay_sim::{Observer, PacketEvent};
use std::sync::{Arc, Mutex, MutexGuard};

/// What machines, taps and tests write down together.
pub struct Notes<T>(Arc<Mutex<Vec<T>>>);

impl<T> Default for Notes<T> {
    fn default() -> Self {
        Notes(Arc::default())
    }
}

impl<T> Clone for Notes<T> {
    fn clone(&self) -> Self {
        Notes(Arc::clone(&self.0))
    }
}

impl<T> Notes<T> {
    /// Write one more down.
    pub fn push(&self, note: T) {
        self.read().push(note);
    }
    /// What has been written so far.
    pub fn read(&self) -> MutexGuard<'_, Vec<T>> {
        self.0.lock().expect("a writer panicked")
    }
}

type Look = dyn FnMut(Time, PacketEvent, &Packet, &Arena) + Send;

/// A closure that receives every packet event. Clones are one and the same tap.
#[derive(Clone)]
pub struct Tap(Arc<Mutex<Look>>);

impl Tap {
    /// A tap that calls `look`.
    pub fn new(look: impl FnMut(Time, PacketEvent, &Packet, &Arena) + Send + 'static) -> Tap {
        Tap(Arc::new(Mutex::new(look)))
    }
}

impl Observer for Tap {
    fn on_packet(&mut self, now: Time, event: PacketEvent, packet: &Packet, arena: &Arena) {
        (self.0.lock().expect("a tap panicked"))(now, event, packet, arena);
    }
}

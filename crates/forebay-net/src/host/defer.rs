//! A question that is put off, because its answer is known.
//!
//! An interface has room at a known time. If one entry is ready then, and all that its connection
//! would do is note that its window is full, the interface does not wake up for it. Whatever
//! happens next at the host makes up for it: either the interface had room by then, and the
//! connection notes its full window, or the entry is ready again.
//!
//! Two fields of the host hold this:
//!
//! - `deferred` is set by `defer_until_window` and `transmit_single`. What happens next at the host
//!   clears it: `pass_time`, `pass_time_to_arrival`, `receive_single`.
//! - `room_at` is set by `pass_time_to_arrival`, if the interface has no room yet. `take_room_at`
//!   clears it in the same event.

use super::Host;
use super::round_robin::Entry;
use forebay_base::Time;

/// An entry whose turn is put off.
#[derive(Clone, Copy)]
pub(super) struct Deferred {
    /// When the interface has room.
    pub at: Time,
    pub entry: u32,
}

impl Host {
    /// The only interface has room at `at` and not before. True if it need not be asked then: see
    /// the module.
    #[inline]
    pub fn defer_until_window(&mut self, at: Time, now: Time) -> bool {
        let [interface] = &mut *self.interfaces else { return false };
        let [entry] = *interface.ready.make_contiguous() else { return false };
        let Entry { socket, path, .. } = interface.entries[entry as usize];
        let Some(connection) = &self.sockets[socket.index()].connection else { return false };
        if !connection.awaits_window(now, path as usize) {
            return false;
        }
        interface.entries[entry as usize].queued = false;
        interface.ready.clear();
        self.deferred = Some(Deferred { at, entry });
        true
    }
    /// It is `now`. An interface that has room by now has it before whatever is to happen.
    pub fn pass_time(&mut self, now: Time) {
        if let Some(deferred) = self.deferred.take() {
            self.end_deferral(deferred, deferred.at <= now);
            self.room_at = None; // what happens now ends with a question to all that are ready
        }
    }
    /// The same before an arrival. Arrivals go first at equal times: an interface that has room at
    /// `now` has none yet.
    #[inline]
    pub(super) fn pass_time_to_arrival(&mut self, now: Time) {
        if let Some(deferred) = self.deferred.take() {
            self.end_deferral(deferred, deferred.at < now);
        }
    }
    /// When the only interface has room for an entry that an arrival has made ready again; None if
    /// no arrival did. The fabric takes it behind `receive` and `receive_other`, whatever they
    /// return. If it does not ask the host for packets in the same event, it must wake the host at
    /// that time. `receive_single` sets none: `transmit_single` follows it and asks.
    #[inline]
    pub fn take_room_at(&mut self) -> Option<Time> {
        self.room_at.take()
    }
    /// The interface has had room for the deferred entry, or the entry is ready again.
    #[inline]
    fn end_deferral(&mut self, Deferred { at, entry }: Deferred, had_room: bool) {
        let interface = &mut self.interfaces[0];
        if !had_room {
            self.room_at = Some(at);
            return interface.mark_ready(entry as usize);
        }
        let Entry { socket, path, .. } = interface.entries[entry as usize];
        if let Some(connection) = &mut self.sockets[socket.index()].connection {
            connection.note_window_full(path as usize);
        }
    }
}

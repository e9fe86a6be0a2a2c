//! An application that writes over time.

use super::Connection;
use forebay_base::Time;

/// A connection is made with all that it sends ([`Setup::send_bytes`](crate::Setup)). An
/// application that writes over time calls [`Connection::hold`] first, then [`Connection::write`]
/// for what it has, at last [`Connection::close`]. After each of these calls there may be something
/// to send.
impl Connection {
    /// The application has `bytes` more to send, after what it has written. False, and nothing has
    /// changed, if it has closed.
    ///
    /// Whether the window was open and data was missing until now is kept for rate samples
    /// ([`RateSample::app_limited`](forebay_cc::RateSample)).
    pub fn write(&mut self, now: Time, bytes: u64) -> bool {
        let written = match &mut self.streams {
            Some(streams) => streams.write(bytes),
            None => self.paths.first.write(bytes),
        };
        self.after_write(now);
        written
    }
    /// The application is taken to have written only what has been sent at least once: it takes
    /// back the rest, and may write more. Bytes written. Where FIN was sent nothing changes.
    ///
    /// Over several paths, what is assigned to one has been sent.
    pub fn hold(&mut self, now: Time) -> u64 {
        let written = match &mut self.streams {
            Some(streams) => streams.hold(),
            None => self.paths.first.hold(),
        };
        self.after_write(now);
        written
    }
    /// The application writes no more: FIN follows what it has written. Of a stream without end
    /// that is what has been sent.
    pub fn close(&mut self, now: Time) {
        match &mut self.streams {
            Some(streams) => streams.close(),
            None => self.paths.first.close(),
        }
        self.after_write(now);
    }

    fn after_write(&mut self, now: Time) {
        self.schedule(now);
        self.refresh();
    }
}

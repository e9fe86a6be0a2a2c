//! An application that writes over time.

use super::Connection;
use forebay_base::Time;

/// A connection is made with all that it sends ([`Setup::send_bytes`](crate::Setup)). An
/// application that writes over time calls [`Connection::hold`] first, then [`Connection::write`]
/// for what it has, at last [`Connection::close`]. After each of these calls there may be something
/// to send. They are for connections of one path: others panic.
impl Connection {
    /// The application has `bytes` more to send, after what it has written. False, and nothing has
    /// changed, if it has closed.
    ///
    /// Whether the window was open and data was missing until now is kept for rate samples
    /// ([`RateSample::app_limited`](forebay_cc::RateSample)).
    pub fn write(&mut self, now: Time, bytes: u64) -> bool {
        self.change_stream(now, |path| path.write(bytes))
    }
    /// The application is taken to have written only what has been sent at least once: it takes
    /// back the rest, and may write more. Bytes written. Where FIN was sent nothing changes.
    pub fn hold(&mut self, now: Time) -> u64 {
        self.change_stream(now, |path| path.hold())
    }
    /// The application writes no more: FIN follows what it has written. Of a stream without end
    /// that is what has been sent.
    pub fn close(&mut self, now: Time) {
        self.change_stream(now, |path| path.close());
    }

    fn change_stream<R>(&mut self, now: Time, change: impl FnOnce(&mut super::Path) -> R) -> R {
        assert!(self.streams.is_none(), "at {now}: a stream over several paths is written at once");
        let result = change(&mut self.paths.first);
        self.refresh();
        result
    }
}

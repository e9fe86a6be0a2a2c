//! Parameters of the port.

use super::cut::Ipv6;
use super::fallback::Fallback;
use super::rtt::RttAverage;
use crate::rate_control::RateParams;
use forebay_base::{IPV4_HEADER_BYTES, Span};
use forebay_signal::kickass::Code;

/// Which of two codes is said of a rate between them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rounding {
    /// The lower one.
    #[default]
    Floor,
    /// One of them, drawn for each packet.
    Dither,
    /// One of them, by a hash of the packet that all routers share.
    Shared,
}

/// Parameters of a Kick-Ass port.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KickAssPortParams {
    /// Those of the loop that computes R.
    pub control: RateParams,
    /// How R becomes a code.
    pub rounding: Rounding,
    /// The shortest whole packet that is cut, in bytes, [`KickAssPortParams::LEAST_CUT_BYTES`] or
    /// more (paper: 1500). Of IPv6 none below 612 bytes is.
    pub least_bytes: u16,
    /// Which packets of IPv6 are cut.
    pub ipv6: Ipv6,
    /// Count on arrival what cutting adds. Without it a queue stands.
    pub count_cuts: bool,
    /// How d follows from indicators.
    pub rtt_average: RttAverage,
    /// Only packets whose IP ID is the tag are indicators.
    pub tagged: bool,
    /// When the port stops to signal.
    pub fallback: Fallback,
    /// Say the smallest code in fallback, instead of nothing.
    pub explicit_tcp: bool,
    /// Cut at most so many packets of a flow in each mean round-trip time; 0: all of them, as in
    /// the paper.
    pub cuts_per_rtt: u32,
}

impl KickAssPortParams {
    /// A packet that can say the smallest code: 20 of header, 24, and one behind it.
    pub const LEAST_CUT_BYTES: u16 = IPV4_HEADER_BYTES + Code::MIN.lead_bytes() + 1;

    /// The port of the paper, which says nothing of gains: here those of XCP, whose loop is stable
    /// with a standing queue, too (see [`RateParams::stable`]).
    pub const fn paper() -> KickAssPortParams {
        KickAssPortParams {
            control: RateParams { initial_rtt: Span::from_millis(100), ..RateParams::xcp() },
            rounding: Rounding::Floor,
            least_bytes: 1500,
            ipv6: Ipv6::Insert,
            count_cuts: true,
            rtt_average: RttAverage::Moving,
            tagged: false,
            fallback: Fallback::Paper,
            explicit_tcp: false,
            cuts_per_rtt: 0,
        }
    }
    /// What was measured to be better: dither that routers share, the middle of tagged round-trip
    /// times, the hardened fallback, which tells senders so. Senders must tag their indicators. Of
    /// IPv6 only what senders let it cut.
    pub const fn recommended() -> KickAssPortParams {
        KickAssPortParams {
            rounding: Rounding::Shared,
            ipv6: Ipv6::Header,
            rtt_average: RttAverage::Trimmed,
            tagged: true,
            fallback: Fallback::Hardened,
            explicit_tcp: true,
            ..KickAssPortParams::paper()
        }
    }
    /// What decides which packets are cut.
    #[inline]
    pub(super) fn may_cut(&self) -> (u16, Ipv6) {
        (self.least_bytes, self.ipv6)
    }
    /// Errors with name and range, in words, of a parameter that is outside it.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        self.control.check()?;
        if self.least_bytes < KickAssPortParams::LEAST_CUT_BYTES {
            return Err(("least_bytes", "45 or more"));
        }
        Ok(())
    }
}

impl Default for KickAssPortParams {
    fn default() -> KickAssPortParams {
        KickAssPortParams::paper()
    }
}

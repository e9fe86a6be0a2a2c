//! Sprout on the wire: two TCP options.
//!
//! ```text
//! end of flight  on data          253  6   "Sp"  wait(2)
//! forecast       on SYN-ACK, ACK  253  13  "Sp"  number(1) packets(8)
//! ```
//!
//! Winstein, Sivaraman, Balakrishnan, "Stochastic Forecasts Achieve High Throughput and Low Delay
//! over Cellular Networks" (NSDI 2013). The paper gives no format; the authors' code sends the
//! counts as numbers since the forecast was made, in packets of its own. Here they are the packets
//! of each tick, and 255 stands for that or more. Both options carry the ExID "Sp" (RFC 6994; 253
//! is the kind for experiments).
//!
//! The authors' sender also learns from the forecast how many bytes have arrived or are lost.
//! TCP's ACK carries this already.

use forebay_base::{OptionError, OptionList, Span};

/// ExID of both options.
pub const EX_ID: u16 = 0x5370;
/// Ticks that a forecast looks ahead.
pub const TICKS: usize = 8;
/// Length of a tick.
pub const TICK: Span = Span::from_millis(20);
/// Length of the option on data, in bytes.
pub const WAIT_BYTES: u16 = 6;
/// Length of the forecast on the wire, in bytes.
pub const FORECAST_BYTES: u16 = 4 + 1 + TICKS as u16;

/// On data: how long the receiver need not wonder if nothing follows ("time-to-next"). Zero where
/// the next packet follows at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wait(pub Span);

impl Wait {
    /// As long as can be said: 65.5 s.
    pub const LONGEST: Wait = Wait(Span::from_millis(u16::MAX as u64));

    /// Append the option, in whole milliseconds. Errors if it does not fit.
    pub fn push(self, options: &mut OptionList) -> Result<(), OptionError> {
        let ms = (self.0.as_nanos() / 1_000_000).min(u16::MAX.into()) as u16;
        options.push_experiment(EX_ID, &ms.to_be_bytes())
    }
    /// The option, if it is there and well formed.
    pub fn find(options: &OptionList) -> Option<Wait> {
        let &[high, low] = options.find_experiment(EX_ID)? else { return None };
        Some(Wait(Span::from_millis(u16::from_be_bytes([high, low]).into())))
    }
}

/// On ACKs: packets that the path will deliver in the coming ticks, with 95 % certainty.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Forecast {
    /// Counts the ticks of the receiver, modulo 256: distinguishes a new forecast from an old one.
    pub number: u8,
    /// Packets tick by tick.
    pub packets: [u8; TICKS],
}

impl Forecast {
    /// Packets in the first `ticks` ticks.
    pub fn within(&self, ticks: usize) -> u32 {
        self.packets.iter().take(ticks).map(|&packets| u32::from(packets)).sum()
    }
    /// It was made after `other`, if less than 128 ticks lie between them.
    pub fn is_newer_than(&self, other: &Forecast) -> bool {
        (self.number.wrapping_sub(other.number) as i8) > 0
    }
    /// Append the option. Errors if it does not fit.
    pub fn push(self, options: &mut OptionList) -> Result<(), OptionError> {
        let mut data = [self.number; 1 + TICKS];
        data[1..].copy_from_slice(&self.packets);
        options.push_experiment(EX_ID, &data)
    }
    /// The option, if it is there and well formed.
    pub fn find(options: &OptionList) -> Option<Forecast> {
        let (&number, packets) = options.find_experiment(EX_ID)?.split_first()?;
        Some(Forecast { number, packets: packets.try_into().ok()? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_the_options_are_those_of_the_diagram() {
        let mut options = OptionList::EMPTY;
        Wait(Span::from_micros(50_999)).push(&mut options).unwrap();
        assert_eq!(options.as_bytes(), [253, 6, b'S', b'p', 0, 50]);
        assert_eq!(options.len(), WAIT_BYTES as usize);
        assert_eq!(Wait::find(&options), Some(Wait(Span::from_millis(50))));
        assert_eq!(Forecast::find(&options), None);
        let mut options = OptionList::EMPTY;
        let forecast = Forecast { number: 9, packets: [1, 2, 3, 4, 5, 6, 7, 255] };
        forecast.push(&mut options).unwrap();
        assert_eq!(options.as_bytes(), [253, 13, b'S', b'p', 9, 1, 2, 3, 4, 5, 6, 7, 255]);
        assert_eq!(options.len(), FORECAST_BYTES as usize);
        assert_eq!((Wait::find(&options), Forecast::find(&options)), (None, Some(forecast)));
        // Timestamps take 12 of the 40 bytes, one SACK block 10.
        const { assert!(FORECAST_BYTES + 12 + 10 <= 40) };
    }

    #[test]
    fn other_lengths_are_nothing_and_long_waits_are_the_longest() {
        for data in [[].as_slice(), &[0], &[0; 3], &[0; 8], &[0; 10]] {
            let mut odd = OptionList::EMPTY;
            odd.push_experiment(EX_ID, data).unwrap();
            assert_eq!((Wait::find(&odd), Forecast::find(&odd)), (None, None), "{data:?}");
        }
        let mut options = OptionList::EMPTY;
        Wait(Span::from_secs(100)).push(&mut options).unwrap();
        assert_eq!(Wait::find(&options), Some(Wait::LONGEST));
    }

    #[test]
    fn numbers_go_round() {
        let forecast = |number| Forecast { number, packets: [9; TICKS] };
        assert!(forecast(1).is_newer_than(&forecast(255)));
        assert!(!forecast(255).is_newer_than(&forecast(1)));
        assert!(!forecast(7).is_newer_than(&forecast(7)));
        assert_eq!([0, 1, 5, 9].map(|ticks| forecast(0).within(ticks)), [0, 9, 45, 72]);
    }
}

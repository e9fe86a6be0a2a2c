//! Samples of one line, few enough to draw.
//!
//! A line with many samples is downsampled as M4 does it (Jugel, Jerzak, Hackenbroich and Markl,
//! "M4: a visualization-oriented time series data aggregation", PVLDB 7(10), 2014,
//! doi:10.14778/2732951.2732953): time is cut into equal buckets, and of each the first, lowest,
//! highest and last sample stay. What is drawn at one pixel per bucket is then what all samples
//! would draw, and no peak is lost.

/// Buckets are `2^FINEST`, so that coarser ones are unions of finer ones and downsampling twice is
/// downsampling once.
pub(super) const FINEST: u32 = 9;
/// The fewest buckets: `2^COARSEST`.
pub(super) const COARSEST: u32 = 4;
/// Samples that are kept while more may come.
const MAX_SAMPLES: usize = 8192;

/// One sample: time in nanoseconds, and value.
type Sample = (i64, f64);

/// The samples of one line, in order of time.
#[derive(Clone, Debug)]
pub(super) struct Trace {
    samples: Vec<Sample>,
    /// The time that the buckets divide, in nanoseconds.
    span_ns: i64,
    downsampled: bool,
}

impl Trace {
    /// A line without samples in a run of `span_ns` nanoseconds.
    pub fn new(span_ns: i64) -> Trace {
        assert!(span_ns > 0, "a run takes time");
        Trace { samples: Vec::new(), span_ns, downsampled: false }
    }
    /// Add a sample. One amid equal ones says nothing that a straight line does not.
    pub fn push(&mut self, t_ns: i64, value: f64) {
        match self.samples.as_mut_slice() {
            [.., (_, before), (last_ns, last)] if *before == value && *last == value => {
                *last_ns = t_ns;
            }
            _ => self.samples.push((t_ns, value)),
        }
        if self.samples.len() >= MAX_SAMPLES {
            self.downsample(FINEST);
        }
    }
    /// Leave at most four samples in each of `2^level` buckets, if there are more than that in all.
    pub fn downsample(&mut self, level: u32) {
        if self.samples.len() <= 4 << level {
            return;
        }
        let bucket = |t_ns: i64| (i128::from(t_ns.max(0)) << level) / i128::from(self.span_ns);
        let chunks = self.samples.chunk_by(|a, b| bucket(a.0) == bucket(b.0));
        let kept: Vec<Sample> = chunks.flat_map(four_of).collect();
        self.downsampled |= kept.len() < self.samples.len();
        self.samples = kept;
    }
    /// The samples that are left.
    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }
    /// True if samples are missing.
    pub fn is_downsampled(&self) -> bool {
        self.downsampled
    }
    /// The highest value; 0 without samples.
    pub fn highest(&self) -> f64 {
        self.samples.iter().fold(0.0, |highest, &(_, value)| value.max(highest))
    }
    /// The same samples times `factor`.
    pub fn scaled(&self, factor: f64) -> Trace {
        let samples = self.samples.iter().map(|&(t_ns, value)| (t_ns, value * factor)).collect();
        Trace { samples, ..*self }
    }
    /// When the value is above 0 for the first time.
    pub fn first_positive_ns(&self) -> Option<i64> {
        self.samples.iter().find(|&&(_, value)| value > 0.0).map(|&(t_ns, _)| t_ns)
    }
    /// The area under the line from its first sample to the end of the run, in units times seconds;
    /// the last value holds.
    pub fn area(&self) -> f64 {
        let between =
            |pair: &[Sample]| (pair[0].1 + pair[1].1) / 2.0 * (pair[1].0 - pair[0].0) as f64;
        let drawn: f64 = self.samples.windows(2).map(between).sum();
        let held =
            self.samples.last().map_or(0.0, |&(t_ns, value)| value * (self.span_ns - t_ns) as f64);
        (drawn + held) * 1e-9
    }
    /// The latest value.
    pub fn last(&self) -> Option<f64> {
        self.samples.last().map(|&(_, value)| value)
    }
}

/// First, lowest, highest and last of a bucket, in order of time, each once.
fn four_of(bucket: &[Sample]) -> impl Iterator<Item = Sample> + use<'_> {
    let by_value = |a: &&Sample, b: &&Sample| a.1.total_cmp(&b.1);
    let place = |of: Option<&Sample>| of.and_then(|of| bucket.iter().position(|s| s == of));
    let lowest = place(bucket.iter().min_by(by_value)).unwrap_or_default();
    let highest = place(bucket.iter().max_by(by_value)).unwrap_or_default();
    let mut places = vec![0, lowest, highest, bucket.len() - 1];
    places.sort_unstable();
    places.dedup();
    places.into_iter().map(|place| bucket[place])
}

/// Turns a count that only grows into its rate over windows of equal length.
#[derive(Clone, Debug)]
pub(super) struct Rate {
    window_ns: i64,
    /// The window under way; None before the first sample.
    window: Option<Window>,
    latest: (i64, f64),
}

/// A window under way.
#[derive(Clone, Copy, Debug)]
struct Window {
    start_ns: i64,
    end_ns: i64,
    /// The count at its start.
    base: f64,
}

impl Rate {
    /// Windows begin at multiples of `window_ns`.
    pub fn new(window_ns: i64) -> Rate {
        assert!(window_ns > 0, "a window takes time");
        Rate { window_ns, window: None, latest: (0, 0.0) }
    }
    /// The count was `value` at `t_ns`: `emit` receives each window that ended, by its number and
    /// units per second.
    ///
    /// A window counts up to the last sample in it. The first begins with the first sample.
    pub fn push(&mut self, t_ns: i64, value: f64, mut emit: impl FnMut(i64, f64)) {
        let before = std::mem::replace(&mut self.latest, (t_ns, value)).1;
        let mut window = self.window.unwrap_or_else(|| self.window_at(t_ns, value));
        while t_ns >= window.end_ns {
            let counted = if t_ns == window.end_ns { value } else { before };
            emit(self.number(window), self.per_second(window, counted));
            window = self.window_at(window.end_ns, counted);
        }
        self.window = Some(window);
    }
    /// The count stays as it is until `t_ns`.
    pub fn hold(&mut self, t_ns: i64, emit: impl FnMut(i64, f64)) {
        if self.window.is_some() {
            self.push(t_ns.max(self.latest.0), self.latest.1, emit);
        }
    }
    /// No sample follows: the window under way counts as a whole one.
    pub fn finish(&self, mut emit: impl FnMut(i64, f64)) {
        if let Some(window) = self.window.filter(|window| self.latest.0 > window.start_ns) {
            emit(self.number(window), self.per_second(window, self.latest.1));
        }
    }
    /// The window with the time `start_ns`, from then on.
    fn window_at(&self, start_ns: i64, base: f64) -> Window {
        let end_ns = (start_ns.div_euclid(self.window_ns) + 1) * self.window_ns;
        Window { start_ns, end_ns, base }
    }
    fn number(&self, window: Window) -> i64 {
        window.start_ns.div_euclid(self.window_ns)
    }
    fn per_second(&self, window: Window, counted: f64) -> f64 {
        (counted - window.base) * 1e9 / self.window_ns as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(span_ns: i64, samples: &[Sample]) -> Trace {
        let mut trace = Trace::new(span_ns);
        samples.iter().for_each(|&(t_ns, value)| trace.push(t_ns, value));
        trace
    }

    #[test]
    fn equal_samples_in_a_row_are_two() {
        let flat = trace(10, &[(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.0), (4, 2.0)]);
        assert_eq!(flat.samples(), [(0, 1.0), (3, 1.0), (4, 2.0)]);
        assert!(!flat.is_downsampled());
    }

    #[test]
    fn four_of_each_bucket_stay_in_order() {
        // 2^4 buckets of 100 ns; bucket 3 is 300..400: first 5 at 300, highest 99 at 317, lowest -1
        // at 350, last 7 at 399.
        let value = |t: i64| match t {
            300 => 5.0,
            317 => 99.0,
            350 => -1.0,
            399 => 7.0,
            _ => (t % 3) as f64,
        };
        let samples: Vec<Sample> = (0..1600).map(|t| (t, value(t))).collect();
        let mut downsampled = trace(1600, &samples);
        downsampled.downsample(COARSEST);
        let third = downsampled.samples().iter().filter(|(t, _)| (300..400).contains(t));
        let third: Vec<Sample> = third.copied().collect();
        assert_eq!(third, [(300, 5.0), (317, 99.0), (350, -1.0), (399, 7.0)]);
        assert!(downsampled.is_downsampled() && downsampled.samples().len() <= 64);
        assert_eq!(downsampled.samples().first(), Some(&samples[0]));
        assert_eq!(downsampled.samples().last(), samples.last());
    }

    #[test]
    fn downsampling_in_steps_is_downsampling_at_once() {
        let samples: Vec<Sample> =
            (0..40_000i64).map(|t| (t, ((t * 7919) % 10_007) as f64)).collect();
        let mut whole = Trace::new(40_000);
        whole.samples.clone_from(&samples);
        whole.downsample(5);
        let mut steps = trace(40_000, &samples);
        (5..=FINEST).rev().for_each(|level| steps.downsample(level));
        let extremes = |t: &Trace| {
            let values = t.samples().iter().map(|s| s.1);
            (values.clone().fold(f64::MAX, f64::min), values.fold(0.0, f64::max), t.samples().len())
        };
        assert_eq!(extremes(&whole), extremes(&steps));
        assert_eq!(whole.highest(), 10_006.0);
    }

    #[test]
    fn few_samples_stay_as_they_are() {
        let samples: Vec<Sample> = (0..2048).map(|t| (t, (t % 2) as f64)).collect();
        let mut trace = trace(10, &samples);
        trace.downsample(FINEST);
        assert_eq!((trace.samples(), trace.is_downsampled()), (&samples[..], false));
    }

    #[test]
    fn an_area_by_hand() {
        // Up from 0 to 4 in a second, level for another, then until the end of 5 s.
        let held = trace(5_000_000_000, &[(0, 0.0), (1_000_000_000, 4.0), (2_000_000_000, 4.0)]);
        assert!((held.area() - (2.0 + 4.0 + 12.0)).abs() < 1e-9, "{}", held.area());
    }

    fn rates(window_ns: i64, samples: &[Sample]) -> Vec<(i64, f64)> {
        let (mut rate, mut out) = (Rate::new(window_ns), Vec::new());
        for &(t_ns, value) in samples {
            rate.push(t_ns, value, |number, rate| out.push((number, rate)));
        }
        rate.finish(|number, rate| out.push((number, rate)));
        out
    }

    #[test]
    fn a_rate_is_what_was_counted_in_each_window() {
        const MS: i64 = 1_000_000;
        // 125 bytes in 100 ms are 1250 bytes a second.
        let samples =
            [(0, 0.0), (50 * MS, 50.0), (100 * MS, 125.0), (150 * MS, 125.0), (200 * MS, 625.0)];
        assert_eq!(rates(100 * MS, &samples), [(0, 1250.0), (1, 5000.0)]);
        // Nothing was heard for a while: the windows between count nothing, and what came is in the
        // window that it was seen in.
        let gap = [(100 * MS, 1000.0), (190 * MS, 1010.0), (410 * MS, 1030.0)];
        assert_eq!(rates(100 * MS, &gap), [(1, 100.0), (2, 0.0), (3, 0.0), (4, 200.0)]);
        assert_eq!(rates(100 * MS, &[(5, 7.0)]), []);
        // A count that is held until 350 ms: nothing more in two windows, nor in the one that has
        // begun.
        let (mut rate, mut out) = (Rate::new(100 * MS), Vec::new());
        rate.push(0, 0.0, |number, rate| out.push((number, rate)));
        rate.push(40 * MS, 50.0, |number, rate| out.push((number, rate)));
        rate.hold(350 * MS, |number, rate| out.push((number, rate)));
        rate.finish(|number, rate| out.push((number, rate)));
        assert_eq!(out, [(0, 500.0), (1, 0.0), (2, 0.0), (3, 0.0)]);
    }

    #[test]
    fn windows_count_everything_once() {
        let samples: Vec<Sample> = (0..977).map(|i| (i * 1_234_567, (i * i) as f64)).collect();
        let sum: f64 = rates(10_000_000, &samples).iter().map(|(_, rate)| rate * 0.01).sum();
        assert!((sum - 976.0 * 976.0).abs() < 1e-6, "{sum}");
    }
}

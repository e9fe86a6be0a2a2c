//! The delay profile: from windows to the delay that packets had under them, learned from ACKs.
//!
//! Window w in packets, delay in ms. A point for each w holds the smoothed delay of the packets
//! that left under a window of w:
//!
//! 1. `d_w <- d_w + (D - d_w) / 8` with each delay D; the first one as it is (authors' code);
//! 2. the rate of the path: the ACKs of a second, or of four round trips if they take longer, had a
//!    mean delay D_0 under a mean window W_0, so the path delivered `W_0 / D_0`, and at that rate
//!    any window w has the delay `ray(w) = max(D_min, D_0 w / W_0)`. That is the new delay of each
//!    point that was not seen in that time, with the weight of one delay. Where `D_0 <= 1.25 D_min`
//!    the queue was nearly empty and the path may be faster: such points are lowered to the ray, and
//!    none is raised. What was seen stays as it is: delays that others cause do not grow with one's
//!    own window;
//! 3. isotonic fit of the points, weighted by how often each was seen, 50 at most (pool adjacent
//!    violators);
//! 4. monotone cubic through them (Fritsch and Carlson 1980, doi:10.1137/0717021, with the
//!    derivatives of Fritsch and Butland 1984, doi:10.1137/0905021), a value for each whole w;
//! 5. above the largest window seen, w_top, a line to `w_top + max(10, w_top)`. Its slope is that of
//!    the ray, `D_0 / W_0`, if rule 2 knows it; else `max(0.05, (d_top - D_min) / w_top, slope of
//!    the upper quarter)` in ms per packet; where the queue was nearly empty the smaller one.
//!
//! So f never decreases, and has an inverse: the largest w with `f(w) <= d`.

use alloc::vec::Vec;
use forebay_base::{Span, Time};

/// Points that a fit needs.
pub(super) const MIN_POINTS: usize = 5;
/// Weight of a new delay (equation 1).
const GAIN: f64 = 0.125;
/// Maximum weight of a point, in delays (rule 3).
const MAX_WEIGHT: u32 = 50;
/// `D_0 / D_min` below which a queue is nearly empty (rule 2).
const NEARLY_EMPTY: f64 = 1.25;
/// What rule 2 looks back on: this, or so many round trips. For a round trip after a rise of W,
/// delays under the new window are those of the old one, which looks like a faster path. Flows that
/// share a link would keep the ratio of their windows if points followed sooner.
const LOOK_BACK: Span = Span::from_secs(1);
const LOOK_BACK_ROUND_TRIPS: f64 = 4.0;
/// Least slope of rule 5 where no rate is known, in ms per packet.
const MIN_SLOPE: f64 = 0.05;
/// Packets that rule 5 reaches beyond the largest window, at least.
const MIN_REACH: usize = 10;

/// What was seen under one window.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    delay_ms: f64,
    /// Delays so far, up to [`MAX_WEIGHT`].
    weight: u32,
    at: Time,
}

/// Sums over recent ACKs: windows and delays (rule 2).
#[derive(Clone, Copy, Debug, Default)]
struct Recent {
    /// None before the first ACK.
    since: Option<Time>,
    windows: f64,
    delays_ms: f64,
    count: f64,
}

/// Delays by the rate of the path (rule 2).
#[derive(Clone, Copy, Debug)]
struct Ray {
    /// `D_0 / W_0`, in ms per packet.
    slope: f64,
    /// The queue was nearly empty: the path may be faster.
    lower_bound: bool,
}

impl Recent {
    /// None without ACKs.
    fn ray(self, d_min_ms: f64) -> Option<Ray> {
        let Recent { windows, delays_ms, count, .. } = self;
        (count > 0.0).then(|| Ray {
            slope: delays_ms / windows,
            lower_bound: delays_ms <= NEARLY_EMPTY * d_min_ms * count,
        })
    }
}

/// Points and curve of one path.
#[derive(Clone, Debug)]
pub(super) struct Profile {
    /// That of window w at w - 1.
    points: Vec<Option<Point>>,
    known: usize,
    /// No window above this is kept.
    largest: usize,
    /// Rule 2 is in force.
    follow_rate: bool,
    recent: Recent,
    /// The last one known.
    ray: Option<Ray>,
    /// f(w) at w - 1; empty before the first fit.
    curve: Vec<f64>,
    /// Reused by fits.
    blocks: Vec<Block>,
    knots: Vec<(f64, f64)>,
}

/// Points that share one value, from knot `first` on (rule 3).
#[derive(Clone, Copy, Debug)]
struct Block {
    first: usize,
    weight: f64,
    delay_ms: f64,
}

impl Profile {
    pub(super) fn new(largest: u32, follow_rate: bool) -> Profile {
        Profile {
            points: Vec::new(),
            known: 0,
            largest: largest as usize,
            follow_rate,
            recent: Recent::default(),
            ray: None,
            curve: Vec::new(),
            blocks: Vec::new(),
            knots: Vec::new(),
        }
    }

    /// A packet that left under a window of `w` came back after `delay_ms` (equation 1).
    pub(super) fn add(&mut self, now: Time, w: u64, delay_ms: f64) {
        let w = w.max(1);
        let at = (w as usize).min(self.largest) - 1;
        if self.points.len() <= at {
            self.points.resize(at + 1, None);
        }
        match &mut self.points[at] {
            Some(point) => {
                point.delay_ms += GAIN * (delay_ms - point.delay_ms);
                point.weight = (point.weight + 1).min(MAX_WEIGHT);
                point.at = now;
            }
            empty => {
                *empty = Some(Point { delay_ms, weight: 1, at: now });
                self.known += 1;
            }
        }
        self.recent.since.get_or_insert(now);
        self.recent.windows += w as f64;
        self.recent.delays_ms += delay_ms;
        self.recent.count += 1.0;
    }

    /// Windows of which something is known.
    pub(super) fn known(&self) -> usize {
        self.known
    }
    /// True once there is a curve.
    pub(super) fn is_fitted(&self) -> bool {
        !self.curve.is_empty()
    }
    /// The largest window on the curve; 0 without one.
    pub(super) fn reach(&self) -> u64 {
        self.curve.len() as u64
    }

    /// The largest window that was seen; 0 before the first.
    pub(super) fn top(&self) -> u64 {
        self.points.len() as u64
    }

    /// Forget what was seen under windows from `w` on: the overshoot of slow start.
    pub(super) fn forget_from(&mut self, w: u64) {
        let keep = (w.max(1) as usize - 1).min(self.points.len());
        self.points.truncate(keep);
        self.known = self.points.iter().flatten().count();
    }

    /// Fit the curve anew. Without enough points it is the line through `(1, D_min)` and the
    /// largest window seen; without any it stays as it is. `d_rtt_ms` is a round trip.
    pub(super) fn fit(&mut self, now: Time, d_min_ms: f64, d_rtt_ms: f64) {
        self.follow(now, d_min_ms, d_rtt_ms);
        while self.points.last().is_some_and(Option::is_none) {
            self.points.pop();
        }
        if self.known == 0 {
            return;
        }
        let mut knots = core::mem::take(&mut self.knots);
        knots.clear();
        self.pool(&mut knots, d_min_ms);
        if self.known < MIN_POINTS {
            let last = knots[knots.len() - 1];
            knots.truncate(1);
            if last.0 > knots[0].0 {
                knots.push(last);
            }
        }
        self.curve.clear();
        interpolate(&knots, &mut self.curve);
        self.extend(&knots, d_min_ms);
        self.knots = knots;
        debug_assert!(self.curve.is_sorted(), "a delay profile never decreases");
    }

    /// Rule 2.
    fn follow(&mut self, now: Time, d_min_ms: f64, d_rtt_ms: f64) {
        let round_trips = Span::from_secs_f64(LOOK_BACK_ROUND_TRIPS * d_rtt_ms / 1e3);
        let back = LOOK_BACK.max(round_trips);
        if !self.follow_rate || self.recent.since.is_none_or(|since| now.since(since) < back) {
            return;
        }
        let next = Recent { since: Some(now), ..Recent::default() };
        let Some(ray) = core::mem::replace(&mut self.recent, next).ray(d_min_ms) else { return };
        self.ray = Some(ray);
        for (at, point) in self.points.iter_mut().enumerate() {
            let Some(point) = point.as_mut().filter(|point| now.since(point.at) >= back) else {
                continue;
            };
            let delay_ms = (ray.slope * (at + 1) as f64).max(d_min_ms);
            if !ray.lower_bound || delay_ms < point.delay_ms {
                (point.delay_ms, point.weight) = (delay_ms, 1);
            }
        }
    }

    /// Rule 3: `(w, delay)` for each point, none below the one before; the first is that of w = 1.
    fn pool(&mut self, knots: &mut Vec<(f64, f64)>, d_min_ms: f64) {
        let blocks = &mut self.blocks;
        blocks.clear();
        let seen = self.points.iter().enumerate();
        for (at, point) in seen.filter_map(|(at, point)| point.map(|point| (at, point))) {
            if knots.is_empty() && at > 0 {
                knots.push((1.0, d_min_ms.min(point.delay_ms)));
                blocks.push(Block { first: 0, weight: 1.0, delay_ms: knots[0].1 });
            }
            let weight = f64::from(point.weight);
            blocks.push(Block { first: knots.len(), weight, delay_ms: point.delay_ms });
            knots.push(((at + 1) as f64, point.delay_ms));
            while let [.., low, high] = blocks[..]
                && low.delay_ms > high.delay_ms
            {
                let weight = low.weight + high.weight;
                let sum = low.weight * low.delay_ms + high.weight * high.delay_ms;
                blocks.pop();
                *blocks.last_mut().expect("there were two") =
                    Block { first: low.first, weight, delay_ms: sum / weight };
            }
        }
        let mut end = knots.len();
        for block in blocks.iter().rev() {
            knots[block.first..end].iter_mut().for_each(|knot| knot.1 = block.delay_ms);
            end = block.first;
        }
    }

    /// Rule 5.
    fn extend(&mut self, knots: &[(f64, f64)], d_min_ms: f64) {
        let (w_top, d_top) = knots[knots.len() - 1];
        let (w_low, d_low) = knots[(knots.len() * 3 / 4).min(knots.len().saturating_sub(2))];
        let upper = if w_top > w_low { (d_top - d_low) / (w_top - w_low) } else { 0.0 };
        let mean = (d_top - d_min_ms) / w_top;
        let seen = MIN_SLOPE.max(mean).max(upper);
        let slope = match self.ray {
            None => seen,
            Some(ray) if ray.lower_bound => seen.min(ray.slope),
            Some(ray) => ray.slope,
        };
        let top = w_top as usize;
        let reach = (top + top.max(MIN_REACH)).min(self.largest.max(top));
        self.curve.extend((1..=reach - top).map(|step| d_top + slope * step as f64));
    }

    /// f(w), linear between whole windows; beyond the curve its ends. 0 without a curve.
    pub(super) fn delay_ms(&self, w: f64) -> f64 {
        let Some(last) = self.curve.len().checked_sub(1) else { return 0.0 };
        let at = (w - 1.0).clamp(0.0, last as f64);
        let (below, part) = (at as usize, at - libm::floor(at));
        let low = self.curve[below];
        low + part * (self.curve[(below + 1).min(last)] - low)
    }

    /// The inverse: the largest whole w with `f(w) <= delay`, 1 at least.
    pub(super) fn window(&self, delay_ms: f64) -> u64 {
        (self.curve.partition_point(|&f| f <= delay_ms) as u64).max(1)
    }

    /// The same between whole windows, where the curve is linear.
    pub(super) fn exact_window(&self, delay_ms: f64) -> f64 {
        let whole = self.window(delay_ms);
        let at = whole as usize - 1;
        let (Some(&low), Some(&high)) = (self.curve.get(at), self.curve.get(at + 1)) else {
            return whole as f64;
        };
        let part = (delay_ms - low) / (high - low);
        whole as f64 + if high > low { part.clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// Rule 4 for every whole w from that of the first knot to that of the last.
fn interpolate(knots: &[(f64, f64)], curve: &mut Vec<f64>) {
    let mut slope = slope_at(knots, 0);
    for at in 0..knots.len() - 1 {
        let ((x0, y0), (x1, y1)) = (knots[at], knots[at + 1]);
        let next = slope_at(knots, at + 1);
        let h = x1 - x0;
        for step in 0..h as usize {
            let t = step as f64 / h;
            let (t2, t3) = (t * t, t * t * t);
            let y = (2.0 * t3 - 3.0 * t2 + 1.0) * y0
                + (t3 - 2.0 * t2 + t) * h * slope
                + (3.0 * t2 - 2.0 * t3) * y1
                + (t3 - t2) * h * next;
            // Rounding alone could leave the range of a monotone piece.
            let least = curve.last().copied().unwrap_or(y0).max(y0);
            curve.push(y.clamp(least, y1.max(least)));
        }
        slope = next;
    }
    curve.push(knots[knots.len() - 1].1);
}

/// The derivative at a knot: a weighted harmonic mean of the secants on both sides, 0 where one of
/// them is flat; at an end a formula of three points, within what keeps the curve monotone.
fn slope_at(knots: &[(f64, f64)], at: usize) -> f64 {
    let secant = |at: usize| {
        let ((x0, y0), (x1, y1)) = (knots[at], knots[at + 1]);
        (x1 - x0, (y1 - y0) / (x1 - x0))
    };
    let end = |(h0, s0): (f64, f64), (h1, s1): (f64, f64)| {
        let slope = ((2.0 * h0 + h1) * s0 - h0 * s1) / (h0 + h1);
        slope.clamp(0.0, 3.0 * s0)
    };
    match (knots.len(), at) {
        (1, _) => 0.0,
        (2, _) => secant(0).1,
        (_, 0) => end(secant(0), secant(1)),
        (n, at) if at == n - 1 => end(secant(n - 2), secant(n - 3)),
        _ => {
            let ((h0, s0), (h1, s1)) = (secant(at - 1), secant(at));
            if s0 <= 0.0 || s1 <= 0.0 {
                return 0.0;
            }
            let (w0, w1) = (2.0 * h1 + h0, h1 + 2.0 * h0);
            (w0 + w1) / (w0 / s0 + w1 / s1)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use forebay_base::{Rng, Stream};

    fn seen(points: &[(u64, f64)]) -> Profile {
        let mut profile = Profile::new(40_000, false);
        points.iter().for_each(|&(w, d)| profile.add(Time::ZERO, w, d));
        profile
    }
    fn fitted(points: &[(u64, f64)], d_min_ms: f64) -> Profile {
        let mut profile = seen(points);
        profile.fit(Time::ZERO, d_min_ms, 50.0);
        profile
    }

    /// Values of an implementation of the two papers' formulas elsewhere.
    #[test]
    fn the_curve_between_points_is_the_monotone_cubic() {
        let profile = fitted(&[(1, 10.0), (2, 11.0), (6, 40.0), (7, 44.0), (9, 60.0)], 10.0);
        let expected = [10.0, 11.0, 15.475937, 23.826183, 33.013338, 40.0, 44.0, 50.619048, 60.0];
        for (at, value) in expected.into_iter().enumerate() {
            assert!((profile.curve[at] - value).abs() < 1e-5, "{}: {:?}", at + 1, profile.curve);
        }
    }

    #[test]
    fn points_that_fall_share_a_value_and_the_others_keep_theirs() {
        // 20, 30, 26, 40: the middle two become 28.
        let points = [(1, 20.0), (2, 30.0), (3, 26.0), (4, 40.0), (5, 50.0)];
        let profile = fitted(&points, 20.0);
        assert_eq!(profile.curve[..5], [20.0, 28.0, 28.0, 40.0, 50.0]);
        // One more point changes its own block alone.
        let mut more = seen(&points);
        more.add(Time::ZERO, 6, 47.0);
        more.fit(Time::ZERO, 20.0, 50.0);
        assert_eq!(more.curve[..6], [20.0, 28.0, 28.0, 40.0, 48.5, 48.5]);
    }

    #[test]
    fn a_delay_moves_its_point_by_an_eighth() {
        let mut profile = seen(&[(4, 20.0), (4, 28.0)]);
        assert_eq!(profile.points[3].unwrap().delay_ms, 21.0);
        profile.add(Time::ZERO, 4, 21.0);
        assert_eq!(profile.points[3].unwrap().weight, 3);
        assert_eq!(profile.known(), 1);
    }

    #[test]
    fn above_the_largest_window_it_goes_on_as_a_line() {
        // Mean slope (30 - 10) / 5 = 4, upper quarter 10: the steeper one, for 10 packets.
        let points = [(1, 10.0), (2, 11.0), (3, 12.0), (4, 20.0), (5, 30.0)];
        let profile = fitted(&points, 10.0);
        assert_eq!((profile.reach(), profile.curve[14]), (15, 130.0));
        // Flat: 0.05 ms for each packet.
        let flat: Vec<(u64, f64)> = (1..=40).map(|w| (w, 10.0)).collect();
        let profile = fitted(&flat, 10.0);
        assert_eq!(profile.reach(), 80);
        assert!((profile.delay_ms(80.0) - 12.0).abs() < 1e-9);
    }

    #[test]
    fn few_points_make_a_line_from_the_smallest_delay() {
        let profile = fitted(&[(5, 30.0), (3, 90.0)], 10.0);
        // 90 before 30: both 60.
        assert_eq!(profile.curve[..5], [10.0, 22.5, 35.0, 47.5, 60.0]);
        let profile = fitted(&[(1, 12.0)], 10.0);
        assert_eq!((profile.curve[0], profile.reach()), (12.0, 11));
        assert!(!fitted(&[], 10.0).is_fitted());
    }

    #[test]
    fn the_inverse_is_the_largest_window_within_the_delay() {
        let profile = fitted(&[(1, 10.0), (2, 20.0), (3, 20.0), (4, 30.0), (5, 40.0)], 10.0);
        let windows = [0.0, 10.0, 19.9, 20.0, 29.9, 40.0].map(|d| profile.window(d));
        assert_eq!(windows, [1, 1, 1, 3, 3, 5]);
        assert_eq!(profile.exact_window(15.0), 1.5);
        assert_eq!(profile.exact_window(25.0), 3.5);
        assert_eq!(profile.window(1e9), profile.reach());
        for w in 1..=profile.reach() {
            let delay = profile.delay_ms(w as f64);
            assert!(profile.window(delay) >= w && profile.exact_window(delay) >= w as f64);
        }
    }

    /// A path of 10 ms per packet, and what was seen since: `delay_ms` under a window of 5, for a
    /// second.
    fn followed(delay_ms: f64, d_min_ms: f64) -> Profile {
        let mut profile = Profile::new(40_000, true);
        (1..=50).for_each(|w| profile.add(Time::ZERO, w, 10.0 * w as f64));
        profile.fit(Time::from_secs(1), 10.0, 50.0);
        assert_eq!(profile.delay_ms(50.0), 500.0);
        let later = Time::from_secs(2);
        (0..100).for_each(|_| profile.add(later, 5, delay_ms));
        profile.fit(later, d_min_ms, 50.0);
        profile
    }

    #[test]
    fn all_windows_follow_the_rate_of_one() {
        // 5 packets in 100 ms: half of the rate.
        let slower = followed(100.0, 30.0);
        assert_eq!([20.0, 50.0].map(|w| slower.delay_ms(w)), [400.0, 1000.0]);
        assert!((slower.delay_ms(5.0) - 100.0).abs() < 1e-3, "seen");
        assert!((slower.delay_ms(100.0) - 2000.0).abs() < 1e-9, "above what was seen");
        // 5 packets in 40 ms: a rate of 125 packets per second.
        let faster = followed(40.0, 20.0);
        assert_eq!([1.0, 2.0, 20.0, 50.0].map(|w| faster.delay_ms(w)), [20.0, 20.0, 160.0, 400.0]);
        // Seen under 4 and 5 at the new rate, and under 50 a moment ago: that one stays.
        let mut young = followed(100.0, 30.0);
        let soon = Time::from_secs(3);
        young.add(soon, 50, 1000.0);
        (0..10).for_each(|_| young.add(soon, 5, 60.0));
        young.fit(soon, 30.0, 50.0);
        assert_eq!(young.delay_ms(50.0), 1000.0);
        // With round trips of 0.5 s a second says nothing yet.
        let mut long = followed(100.0, 30.0);
        for (at_s, f_50) in [(3, 1000.0), (4, 500.0)] {
            (0..10).for_each(|_| long.add(Time::from_secs(at_s), 6, 60.0));
            long.fit(Time::from_secs(at_s), 30.0, 500.0);
            assert!((long.delay_ms(50.0) - f_50).abs() < 1e-9, "{at_s} s: {}", long.delay_ms(50.0));
        }
    }

    #[test]
    fn a_path_without_a_queue_lowers_what_is_old_and_raises_nothing() {
        let faster = followed(20.0, 20.0);
        assert!((faster.delay_ms(50.0) - 200.0).abs() < 1e-9, "{}", faster.delay_ms(50.0));
        // 5 packets in 30 ms is not all that the path can do.
        let mut idle = followed(20.0, 20.0);
        let later = Time::from_secs(4);
        (0..100).for_each(|_| idle.add(later, 2, 20.0));
        idle.fit(later, 20.0, 50.0);
        assert!((idle.delay_ms(50.0) - 200.0).abs() < 1e-9, "{}", idle.delay_ms(50.0));
    }

    #[test]
    fn the_largest_window_is_bounded_and_overshoot_is_forgotten() {
        let mut profile = Profile::new(100, false);
        (1..=1000).for_each(|w| profile.add(Time::ZERO, w, 10.0 + w as f64));
        profile.fit(Time::ZERO, 10.0, 50.0);
        assert_eq!(profile.reach(), 100);
        profile.forget_from(51);
        profile.fit(Time::ZERO, 10.0, 50.0);
        assert_eq!((profile.known(), profile.reach()), (50, 100));
    }

    /// A profile of up to 60 windows with up to 5 delays each.
    fn random(rng: &mut Rng) -> Profile {
        let mut profile = Profile::new(40_000, false);
        for _ in 0..1 + rng.below(60) {
            let w = 1 + rng.below(120);
            let delay_ms = 20.0 + w as f64 * rng.unit() + 30.0 * rng.unit();
            (0..=rng.below(5)).for_each(|_| profile.add(Time::ZERO, w, delay_ms));
        }
        profile
    }

    #[test]
    fn no_random_profile_decreases_and_each_has_its_inverse() {
        let mut rng = Rng::new(1, Stream::Controller, 1);
        for _ in 0..2000 {
            let mut profile = random(&mut rng);
            profile.follow_rate = rng.chance(0.5);
            profile.fit(Time::from_secs(rng.below(3)), 15.0 + 20.0 * rng.unit(), 50.0);
            assert!(profile.curve.is_sorted() && profile.curve.iter().all(|f| f.is_finite()));
            for w in 1..=profile.reach() {
                let delay_ms = profile.delay_ms(w as f64);
                assert!(profile.window(delay_ms) >= w, "{w}: {:?}", profile.curve);
                assert!(profile.exact_window(delay_ms) >= w as f64);
            }
        }
    }

    /// The pooled value for each window.
    fn pooled(profile: &mut Profile) -> Vec<(f64, f64)> {
        let mut knots = Vec::new();
        profile.pool(&mut knots, 20.0);
        knots
    }

    /// What may change is the block that has the new point, and blocks of before that lie in it,
    /// or had its place between their windows.
    #[test]
    fn a_new_point_changes_its_pooled_block_alone() {
        let mut rng = Rng::new(1, Stream::Controller, 2);
        let mut changed = 0;
        for _ in 0..2000 {
            let mut profile = random(&mut rng);
            // The point of w = 1 is given, so that it is not made of another.
            profile.add(Time::ZERO, 1, 20.0);
            let before = pooled(&mut profile);
            let w = 2 + rng.below(118);
            if profile.points.get(w as usize - 1).is_some_and(Option::is_some) {
                continue;
            }
            profile.add(Time::ZERO, w, 20.0 + 150.0 * rng.unit());
            let after = pooled(&mut profile);
            let own = after.iter().find(|knot| knot.0 == w as f64).expect("it is one of them").1;
            let block = after.iter().filter(|knot| knot.1 == own).map(|knot| knot.0);
            let (low, high) = block.fold((w as f64, w as f64), |(a, b), w| (a.min(w), b.max(w)));
            // Old blocks that touch it, as the values that they had.
            let within = |at: f64| (low..=high).contains(&at);
            let mut touched: Vec<f64> =
                before.iter().filter(|knot| within(knot.0)).map(|knot| knot.1).collect();
            let below = before.iter().rfind(|knot| knot.0 < w as f64).map(|knot| knot.1);
            let above = before.iter().find(|knot| knot.0 > w as f64).map(|knot| knot.1);
            touched.extend(below.filter(|_| below == above));
            for &(at, value) in &before {
                let now = after.iter().find(|knot| knot.0 == at).expect("it is still there").1;
                let may = within(at) || touched.contains(&value);
                assert!(may || (now - value).abs() < 1e-9, "{at}: {value} to {now}, new {w}");
                changed += u32::from((now - value).abs() > 1e-9);
            }
        }
        assert!(changed > 1000, "{changed}");
    }
}

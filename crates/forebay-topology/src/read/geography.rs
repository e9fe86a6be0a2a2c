//! Lengths of links from the positions of their ends.

use crate::map::Map;
use libm::{asin, cos, sin, sqrt};

/// Mean radius of the Earth (IUGG), in metres.
const EARTH_M: f64 = 6_371_008.8;

/// The great-circle distance of two places, longitude and latitude in degrees, in metres
/// (haversine formula).
pub(super) fn distance_m([lon_a, lat_a]: [f64; 2], [lon_b, lat_b]: [f64; 2]) -> f64 {
    let [lon_a, lat_a, lon_b, lat_b] = [lon_a, lat_a, lon_b, lat_b].map(f64::to_radians);
    let square = |x: f64| x * x;
    let h = square(sin((lat_b - lat_a) / 2.0))
        + cos(lat_a) * cos(lat_b) * square(sin((lon_b - lon_a) / 2.0));
    2.0 * EARTH_M * asin(sqrt(h.clamp(0.0, 1.0)))
}

/// True if a position can be a longitude and a latitude, in degrees.
pub(super) fn is_on_earth([lon, lat]: [f64; 2]) -> bool {
    (-180.0..=180.0).contains(&lon) && (-90.0..=90.0).contains(&lat)
}

/// Give the links of a geographic map whose length is not known the distance of their ends, where
/// both have a position.
pub(super) fn add_lengths(map: &mut Map) {
    if !map.geographic {
        return;
    }
    for link in map.links.iter_mut().filter(|link| link.length_m.is_none()) {
        let [a, b] = link.ends.map(|end| map.nodes[end].at);
        link.length_m = a.zip(b).map(|(a, b)| distance_m(a, b));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quarter of a great circle, and two airports whose distance is published: JFK to LAX,
    /// 3 983 km on the ellipsoid, within the 0.5 % of a sphere.
    #[test]
    fn known_distances() {
        let quarter = distance_m([0.0, 0.0], [90.0, 0.0]);
        assert!((quarter - EARTH_M * core::f64::consts::FRAC_PI_2).abs() < 1.0, "{quarter}");
        let across = distance_m([-73.7789, 40.6398], [-118.4081, 33.9425]);
        assert!((across / 3_983_000.0 - 1.0).abs() < 0.005, "{across}");
        assert_eq!(distance_m([5.0, 50.0], [5.0, 50.0]), 0.0);
        // Across the date line it is as far as anywhere else on the equator.
        let line = distance_m([179.5, 0.0], [-179.5, 0.0]);
        assert!((line - distance_m([0.0, 0.0], [1.0, 0.0])).abs() < 1.0, "{line}");
    }
}

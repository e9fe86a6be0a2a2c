//! Whether the colours of looks can be distinguished, by computation: the difference CIEDE2000
//! (Sharma, Wu, Dalal 2005, doi:10.1002/col.20070) between colours as people see them who lack one
//! kind of cones (Machado, Oliveira, Fernandes 2009, doi:10.1109/TVCG.2009.113, severity 1).

use super::{COLOURS, LOOKS, WHOLE};

type Triple = [f64; 3];
type Matrix = [Triple; 3];

/// Of linear RGB: all cones; without those of long, medium and short waves.
const EYES: [(&str, Matrix); 4] = [
    ("normal", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    (
        "protanopia",
        [
            [0.152_286, 1.052_583, -0.204_868],
            [0.114_503, 0.786_281, 0.099_216],
            [-0.003_882, -0.048_116, 1.051_998],
        ],
    ),
    (
        "deuteranopia",
        [
            [0.367_322, 0.860_646, -0.227_968],
            [0.280_085, 0.672_501, 0.047_413],
            [-0.011_820, 0.042_940, 0.968_881],
        ],
    ),
    (
        "tritanopia",
        [
            [1.255_528, -0.076_749, -0.178_779],
            [-0.078_411, 0.930_809, 0.147_602],
            [0.004_733, 0.691_367, 0.303_900],
        ],
    ),
];
/// sRGB to XYZ, of which D65 is white (IEC 61966-2-1).
const XYZ: Matrix = [
    [0.412_456_4, 0.357_576_1, 0.180_437_5],
    [0.212_672_9, 0.715_152_2, 0.072_175_0],
    [0.019_333_9, 0.119_192_0, 0.950_304_1],
];
const WHITE: Triple = [0.950_47, 1.0, 1.088_83];

/// Two colours side by side differ plainly from about 10 on; from about 2.3 on they differ at all.
const PLAIN: f64 = 10.0;
const AT_ALL: f64 = 4.5;

fn product(matrix: &Matrix, of: Triple) -> Triple {
    matrix.map(|row| row.iter().zip(of).map(|(a, b)| a * b).sum())
}

fn linear(hex: &str) -> Triple {
    [1, 3, 5].map(|at| {
        let part = f64::from(u8::from_str_radix(&hex[at..at + 2], 16).unwrap()) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    })
}

/// CIE L*a*b*.
fn lab(linear: Triple) -> Triple {
    let xyz = product(&XYZ, linear);
    let root = |t: f64| {
        if t > 216.0 / 24_389.0 { t.cbrt() } else { (24_389.0 / 27.0 * t + 16.0) / 116.0 }
    };
    let [x, y, z] = [0, 1, 2].map(|i| root(xyz[i] / WHITE[i]));
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

fn seen(hex: &str, eye: &Matrix) -> Triple {
    lab(product(eye, linear(hex)).map(|part| part.clamp(0.0, 1.0)))
}

/// CIEDE2000 with all weights 1, by the names of the paper.
fn difference([l1, a1, b1]: Triple, [l2, a2, b2]: Triple) -> f64 {
    let share = |chroma: f64| (chroma.powi(7) / (chroma.powi(7) + 25f64.powi(7))).sqrt();
    let g = 0.5 * (1.0 - share((a1.hypot(b1) + a2.hypot(b2)) / 2.0));
    let (a1, a2) = (a1 * (1.0 + g), a2 * (1.0 + g));
    let (c1, c2) = (a1.hypot(b1), a2.hypot(b2));
    let hue = |a: f64, b: f64| b.atan2(a).to_degrees().rem_euclid(360.0);
    let (h1, h2) = (hue(a1, b1), hue(a2, b2));
    let grey = c1 * c2 == 0.0;
    let turn = match h2 - h1 {
        _ if grey => 0.0,
        turn if turn > 180.0 => turn - 360.0,
        turn if turn < -180.0 => turn + 360.0,
        turn => turn,
    };
    let (dl, dc) = (l2 - l1, c2 - c1);
    let dh = 2.0 * (c1 * c2).sqrt() * (turn / 2.0).to_radians().sin();
    let (l, c) = ((l1 + l2) / 2.0, (c1 + c2) / 2.0);
    let h = if grey { h1 + h2 } else { (h1 + turn / 2.0).rem_euclid(360.0) };
    let cos = |degrees: f64| degrees.to_radians().cos();
    let t = 1.0 - 0.17 * cos(h - 30.0) + 0.24 * cos(2.0 * h) + 0.32 * cos(3.0 * h + 6.0)
        - 0.20 * cos(4.0 * h - 63.0);
    let sl = 1.0 + 0.015 * (l - 50.0).powi(2) / (20.0 + (l - 50.0).powi(2)).sqrt();
    let (sc, sh) = (1.0 + 0.045 * c, 1.0 + 0.015 * c * t);
    let theta = 30.0 * (-((h - 275.0) / 25.0).powi(2)).exp();
    let rt = -2.0 * share(c) * (2.0 * theta).to_radians().sin();
    let (l, c, h) = (dl / sl, dc / sc, dh / sh);
    (l * l + c * c + h * h + rt * c * h).sqrt()
}

/// Pairs 1, 7, 9, 17, 21 and 34 of the test data of Sharma et al. (table 1).
#[test]
fn differences_are_those_of_the_published_test_data() {
    let data = [
        ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
        ([50.0, 0.0, 0.0], [50.0, -1.0, 2.0], 2.3669),
        ([50.0, 2.49, -0.001], [50.0, -2.49, 0.0009], 7.1792),
        ([50.0, 2.5, 0.0], [73.0, 25.0, -18.0], 27.1492),
        ([50.0, 2.5, 0.0], [50.0, 3.1736, 0.5854], 1.0000),
        ([2.0776, 0.0795, -1.1350], [0.9033, -0.0636, -0.5514], 0.9082),
    ];
    for (one, other, expected) in data {
        let found = difference(one, other);
        assert!((found - expected).abs() < 1e-4, "{one:?} and {other:?}: {found}");
    }
}

#[test]
fn colours_of_lines_with_the_same_dashes_differ_in_every_eye() {
    for (eye, matrix) in &EYES {
        let seen = COLOURS.map(|colour| seen(colour, matrix));
        for (one, other) in (0..LOOKS).flat_map(|one| (0..one).map(move |other| (one, other))) {
            let least = if one / WHOLE == other / WHOLE { PLAIN } else { AT_ALL };
            let found = difference(seen[one], seen[other]);
            let pair = (COLOURS[one], COLOURS[other]);
            assert!(found >= least, "{pair:?}, {eye}: {found:.1}");
        }
    }
}

/// WCAG 2.2 asks for 3:1 of graphics; orange and sky blue of Okabe and Ito have less.
#[test]
fn colours_stand_out_from_white() {
    for colour in COLOURS {
        let luminance: f64 = XYZ[1].iter().zip(linear(colour)).map(|(a, b)| a * b).sum();
        let contrast = 1.05 / (luminance + 0.05);
        assert!(contrast > 2.0, "{colour}: {contrast:.2}");
    }
}

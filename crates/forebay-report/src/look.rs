//! Colours, markers and dashes of protocols and of classes of flows.
//!
//! There are 16 looks. Each has a colour and a marker of its own, and two looks whose lines have
//! the same dashes have colours that the colour-blind can distinguish. An algorithm has the look of
//! its place in the table of algorithms, any other name, that of a registered one among them, one
//! that follows from its letters: so a name looks the same on every page,
//! unless another name of the page has that look already. From the 17th name on colours repeat,
//! with other markers and dashes.

use super::marker::{MARKERS, picture};
use super::results::Results;
use forebay_scenario::Registry;
use serde::Serialize;

/// Looks with colours of their own.
const LOOKS: usize = 16;
/// Of these the first have whole lines, the others dashed ones.
const WHOLE: usize = 8;
/// Steps from a marker to that of the next name with the same colour: 5 and 16 have no common
/// divisor.
const NEXT_MARKER: usize = 5;
/// Steps from dashes to those of the next name with the same colour: whole lines and the first
/// dashes are those of the first names.
pub(super) const NEXT_DASHES: usize = LOOKS / WHOLE;

/// Colours that are distinct on white under protanopia, deuteranopia and tritanopia, those of
/// whole lines among each other and those of dashed lines among each other. The first seven: Okabe
/// and Ito, "Color Universal Design" (2008), without yellow. Those after them: Paul Tol, "Colour
/// Schemes" (SRON/EPS/TN/09-002, 2021), from his schemes bright, medium, muted, light and dark.
const COLOURS: [&str; LOOKS] = [
    "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#882255",
    "#228833", "#EE6677", "#332288", "#6699CC", "#663333", "#AA3377", "#225555", "#EE99AA",
];
/// Lengths of dashes and of gaps between them, in pixels; no dashes are a whole line.
pub(super) const DASHES: [&[u8]; 8] =
    [&[], &[10, 3], &[2, 2], &[9, 3, 2, 3], &[5, 5], &[1, 4], &[9, 3, 2, 3, 2, 3], &[18, 6]];

/// A protocol and its look; of one of several folders, the protocol of that folder.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Protocol {
    pub name: String,
    pub title: String,
    pub colour: String,
    pub marker: &'static str,
    /// Number of the pattern of dashes; 0 is a whole line.
    pub dash: usize,
}

impl Protocol {
    /// Its marker, as a picture as high as the text.
    pub fn picture(&self) -> String {
        picture(&self.colour, self.marker)
    }
}

/// Which look each name of a page has.
pub(super) struct Looks {
    /// Names and places; of places beyond [`LOOKS`] see [`look_at`].
    places: Vec<(String, usize)>,
    /// Classes of flows, in the order of their names.
    classes: Vec<String>,
}

impl Looks {
    /// For a page of these results.
    pub fn of_results<'a>(results: impl Iterator<Item = &'a Results> + Clone) -> Looks {
        let aggregates = || results.clone().flat_map(|of| &of.aggregate);
        let flows = results.clone().flat_map(|of| &of.runs).flat_map(|run| &run.per_flow);
        let classes = aggregates().flat_map(|of| of.means.by_class.keys());
        let classes = classes.chain(flows.map(|flow| &flow.class)).filter(|name| !name.is_empty());
        Looks::new(aggregates().map(|of| of.name.as_str()), classes.map(String::as_str))
    }

    /// For a page that shows these protocols and classes of flows. Their order says nothing.
    pub fn new<'a>(
        protocols: impl Iterator<Item = &'a str>,
        classes: impl Iterator<Item = &'a str>,
    ) -> Looks {
        let mut looks = Looks { places: Vec::new(), classes: in_order(classes) };
        for name in in_order(protocols).into_iter().chain(looks.classes.clone()) {
            looks.add(name);
        }
        looks
    }

    fn add(&mut self, name: String) {
        if self.place(&name).is_some() {
            return;
        }
        let home = home(&name);
        let round = |round: usize| (0..LOOKS).map(move |k| (home + k) % LOOKS + round * LOOKS);
        let is_free = |place: &usize| self.places.iter().all(|(_, taken)| taken != place);
        let place = (0..).flat_map(round).find(is_free).expect("there are more numbers");
        self.places.push((name, place));
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.places.iter().find(|(known, _)| known == name).map(|(_, place)| *place)
    }

    /// The look of the protocol `name`, which the results call `title` if they say so.
    ///
    /// Panics if it is not one of the page.
    pub fn of(&self, name: &str, title: &str) -> Protocol {
        let known = Registry::default().algorithm(name);
        let title = match (title, &known) {
            ("", Some(algorithm)) => algorithm.title(),
            ("", None) => name,
            (title, _) => title,
        };
        let place = self.place(name).expect("a name of the page");
        Protocol { title: title.to_string(), ..look_at(place, name) }
    }

    /// The look of a class of flows in the runs of `protocol`. Where the page shows `several`
    /// protocols, the colour is that of the protocol and the marker that of the class; else the
    /// class has a look of its own. A class may be called as a protocol, with that one's `title`.
    ///
    /// Panics if it is not one of the page.
    pub fn of_class(
        &self,
        protocol: &Protocol,
        class: &str,
        title: &str,
        several: bool,
    ) -> Protocol {
        let own = self.of(class, title);
        if !several {
            return own;
        }
        let place = self.classes.iter().position(|other| other == class).unwrap_or_default();
        let dash = protocol.dash + NEXT_DASHES * place;
        Protocol { colour: protocol.colour.clone(), dash, ..own }
    }

    /// Notes for readers where there are more names than looks.
    pub fn note(protocols: usize) -> Option<String> {
        (protocols > LOOKS).then(|| {
            format!(
                "{protocols} protocols share {LOOKS} colours: markers and dashes differ where \
                 colours do not."
            )
        })
    }
}

/// Each name once: algorithms in the order of their table, then others in that of their letters.
fn in_order<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names: Vec<&str> = names.collect();
    names.sort_by_key(|name| (table_place(name).unwrap_or(usize::MAX), *name));
    names.dedup();
    names.into_iter().map(str::to_string).collect()
}

fn table_place(name: &str) -> Option<usize> {
    Registry::default().algorithms().iter().position(|algorithm| algorithm.name() == name)
}

/// The look that a name has where no other has it: FNV-1a of its letters, if it is not an
/// algorithm.
fn home(name: &str) -> usize {
    let hash = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let place = table_place(name);
    place.unwrap_or_else(|| name.bytes().fold(0x811c_9dc5, hash) as usize >> 8) % LOOKS
}

/// Colour, marker and dashes of a place: of 16 the colours differ, of 256 the pairs of colour and
/// marker, of 64 the pairs of colour and dashes.
fn look_at(place: usize, name: &str) -> Protocol {
    let (look, round) = (place % LOOKS, place / LOOKS);
    Protocol {
        name: name.to_string(),
        title: name.to_string(),
        colour: COLOURS[look].to_string(),
        marker: MARKERS[(look + NEXT_MARKER * round) % MARKERS.len()].name,
        dash: look / WHOLE + NEXT_DASHES * round,
    }
}

/// Of protocols of one page with the same colour each has dashes and a marker of its own.
pub(super) fn tell_apart(protocols: &mut [Protocol]) {
    for place in 1..protocols.len() {
        let (before, rest) = protocols.split_at_mut(place);
        let own = &mut rest[0];
        let alike = || before.iter().filter(|other| other.colour == own.colour);
        let dash = (own.dash..).find(|&dash| alike().all(|other| other.dash != dash));
        let first = MARKERS.iter().position(|marker| marker.name == own.marker).unwrap_or(0);
        let markers =
            (0..MARKERS.len()).map(|k| &MARKERS[(first + NEXT_MARKER * k) % MARKERS.len()]);
        let marker =
            markers.map(|marker| marker.name).find(|name| alike().all(|o| o.marker != *name));
        (own.dash, own.marker) = (dash.expect("more numbers"), marker.unwrap_or(own.marker));
    }
}

#[cfg(test)]
mod vision;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn looks(names: &[&str]) -> Vec<Protocol> {
        let looks = Looks::new(names.iter().copied(), std::iter::empty());
        names.iter().map(|name| looks.of(name, "")).collect()
    }

    /// How many of these protocols differ in what `of` says.
    fn count<T: Ord>(protocols: &[Protocol], of: impl Fn(&Protocol) -> T) -> usize {
        protocols.iter().map(of).collect::<BTreeSet<_>>().len()
    }

    fn colour_and_marker(of: &Protocol) -> (String, &'static str) {
        (of.colour.clone(), of.marker)
    }

    #[test]
    fn sixteen_names_have_colours_and_markers_of_their_own() {
        let algorithms = Registry::default().algorithms();
        let mut names: Vec<&str> = algorithms.iter().map(|algorithm| algorithm.name()).collect();
        names.truncate(LOOKS - 2);
        names.extend(["verus-r4", "verus-r6"]);
        let page = looks(&names);
        assert_eq!(count(&page, |of| of.colour.clone()), names.len());
        assert_eq!(count(&page, |of| of.marker), names.len());
        // Variants alone, whatever their letters.
        let variants: Vec<String> = (0..LOOKS).map(|i| format!("variant-{i}")).collect();
        let page = looks(&variants.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!((count(&page, |of| of.colour.clone()), count(&page, |of| of.marker)), (16, 16));
        assert_eq!(Looks::note(LOOKS), None);
    }

    #[test]
    fn forty_variants_differ_and_the_page_says_that_colours_repeat() {
        let variants: Vec<String> = (0..40).map(|i| format!("v{i}")).collect();
        let page = looks(&variants.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(count(&page, colour_and_marker), 40);
        assert_eq!(count(&page, |of| (of.colour.clone(), of.dash)), 40);
        assert!(page.iter().all(|of| of.dash < DASHES.len()));
        assert!(Looks::note(40).is_some_and(|note| note.starts_with("40 protocols share 16")));
    }

    #[test]
    fn a_name_looks_the_same_on_every_page_and_in_every_order() {
        let own = |page: &[&str], name: &str| {
            let looks = Looks::new(page.iter().copied(), std::iter::empty());
            colour_and_marker(&looks.of(name, ""))
        };
        for name in ["newreno", "verus", "kickass", "verus-r4", "paper"] {
            assert_eq!(own(&[name], name), own(&["inrpp", name, "cubic"], name), "{name}");
        }
        // Of two that would look alike the one that comes first in the order of names keeps it,
        // and an algorithm before any variant.
        let cubic = "#D55E00".to_string();
        let alike: Vec<String> = (0..60).map(|i| format!("x{i}")).collect();
        let alike: Vec<&str> = alike.iter().map(String::as_str).filter(|x| home(x) == 1).collect();
        let [first, second, ..] = alike.as_slice() else { panic!("too few names") };
        for page in [[*first, second, "cubic"], ["cubic", second, first]] {
            assert_eq!(own(&page, "cubic"), (cubic.clone(), "square"));
            assert_eq!(own(&page, first), own(&["cubic", first], first));
            assert_eq!(looks(&page).iter().map(|of| &of.colour).collect::<BTreeSet<_>>().len(), 3);
        }
        // Those of the first release.
        assert_eq!(own(&["newreno"], "newreno"), ("#0072B2".into(), "circle"));
        assert_eq!(own(&["rcp"], "rcp"), ("#CC79A7".into(), "diamond"));
    }

    #[test]
    fn classes_and_protocols_never_look_alike() {
        let protocols = ["kickass", "rcp"];
        let looks = Looks::new(protocols.into_iter(), ["first", "later", "rcp"].into_iter());
        let mut all: Vec<Protocol> = protocols.map(|name| looks.of(name, "")).into();
        for protocol in protocols.map(|name| looks.of(name, "")) {
            for class in ["first", "later"] {
                let of = looks.of_class(&protocol, class, "", true);
                assert_eq!(of.colour, protocol.colour);
                all.push(of);
            }
        }
        assert_eq!(count(&all, colour_and_marker), 6);
        assert_eq!(count(&all, |of| (of.colour.clone(), of.dash)), 6);
        // Flows of RCP in the runs of Kick-Ass; in its own runs they are the protocol itself.
        let [kickass, rcp] = protocols.map(|name| looks.of(name, ""));
        let beside = looks.of_class(&kickass, "rcp", "RCP", true);
        assert_eq!((&beside.colour, beside.marker), (&kickass.colour, rcp.marker));
        assert_eq!(looks.of_class(&rcp, "rcp", "", true).marker, rcp.marker);
        // On the page of one protocol classes have colours of their own.
        let one = Looks::new(["kickass"].into_iter(), ["first", "later"].into_iter());
        let kickass = one.of("kickass", "");
        let classes = ["first", "later"].map(|class| one.of_class(&kickass, class, "", false));
        let [first, later] = classes;
        assert_eq!(count(&[kickass, first, later], |of| of.colour.clone()), 3);
    }

    #[test]
    fn protocols_of_several_folders_have_dashes_and_markers_of_their_own() {
        // The shades of six folders repeat after three.
        let names = ["cubic", "rcp", "kickass"];
        let shaded = |folder: usize| {
            let shade = move |of: Protocol| Protocol {
                colour: format!("{}-{}", of.colour, folder % 3),
                ..of
            };
            looks(&names).into_iter().map(shade)
        };
        let mut protocols: Vec<Protocol> = (0..6).flat_map(shaded).collect();
        tell_apart(&mut protocols);
        assert_eq!(count(&protocols, colour_and_marker), 18);
        assert_eq!(count(&protocols, |of| (of.colour.clone(), of.dash)), 18);
    }

    #[test]
    fn titles_are_those_of_the_results() {
        let looks = Looks::new(["cubic", "a"].into_iter(), std::iter::empty());
        let titles = (looks.of("cubic", "").title, looks.of("a", "A").title);
        assert_eq!(titles, ("CUBIC".into(), "A".into()));
    }
}

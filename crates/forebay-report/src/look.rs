//! Colours and markers of protocols, from their places: the table of algorithms, then those that a
//! program registered, then variants in the order of the results.

use super::data::Protocol;
use forebay_scenario::Algorithm;

/// Colours that the colour-blind can tell apart on white: Okabe and Ito, "Color Universal Design",
/// without yellow.
const COLOURS: [&str; 7] =
    ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];
const MARKERS: [&str; 8] =
    ["circle", "square", "triangle", "diamond", "cross", "plus", "star", "pentagon"];

/// Places of the names of a page that are no algorithms.
pub(super) struct Looks {
    others: Vec<String>,
}

impl Looks {
    /// For a page that shows `names`, in its order.
    pub fn new<'a>(names: impl Iterator<Item = &'a str>) -> Looks {
        let mut others: Vec<String> = Vec::new();
        for name in names {
            if Algorithm::by_name(name).is_none() && others.iter().all(|other| other != name) {
                others.push(name.to_string());
            }
        }
        Looks { others }
    }

    /// The look of the protocol `name`, which the results call `title` if they say so.
    pub fn of(&self, name: &str, title: &str) -> Protocol {
        let known = Algorithm::all();
        let place = known.iter().position(|algorithm| algorithm.name() == name);
        let place = place.unwrap_or_else(|| {
            let behind = self.others.iter().position(|other| other == name);
            known.len() + behind.unwrap_or(self.others.len())
        });
        let title = match (title, Algorithm::by_name(name)) {
            ("", Some(algorithm)) => algorithm.title(),
            ("", None) => name,
            (title, _) => title,
        };
        let (colour, marker) = look_at(place);
        let (name, title, colour) = (name.to_string(), title.to_string(), colour.to_string());
        Protocol { name, title, colour, marker, dash: 0 }
    }
}

/// Lines have no markers: of protocols of one page with the same colour each has dashes of its own.
pub(super) fn tell_apart(protocols: &mut [Protocol]) {
    for place in 1..protocols.len() {
        let (before, rest) = protocols.split_at_mut(place);
        let own = &mut rest[0];
        let is_taken =
            |dash: usize| before.iter().any(|p| p.colour == own.colour && p.dash == dash);
        own.dash = (own.dash..).find(|&dash| !is_taken(dash)).expect("there are more numbers");
    }
}

/// Colour and marker of a place. 7 and 8 have no common divisor: 56 places differ.
fn look_at(place: usize) -> (&'static str, &'static str) {
    (COLOURS[place % COLOURS.len()], MARKERS[place % MARKERS.len()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn fifty_six_places_have_looks_of_their_own() {
        assert_eq!((0..56).map(look_at).collect::<BTreeSet<_>>().len(), 56);
        // Those of the first release: a page of old results keeps its colours.
        assert_eq!(look_at(0), ("#0072B2", "circle"));
        assert_eq!(look_at(3), ("#CC79A7", "diamond"));
    }

    #[test]
    fn lines_of_the_same_colour_have_dashes_of_their_own() {
        let of = |place, dash| {
            let (colour, marker) = look_at(place);
            let [name, title, colour] = ["", "", colour].map(str::to_string);
            Protocol { name, title, colour, marker, dash }
        };
        // The fourth and the eleventh place, RCP and Kick-Ass, and a second folder of the first.
        let mut protocols = [of(10, 0), of(3, 0), of(4, 0), of(3, 1), of(17, 0)];
        tell_apart(&mut protocols);
        assert_eq!(protocols.map(|p| p.dash), [0, 1, 0, 2, 3]);
    }

    #[test]
    fn names_that_are_no_algorithms_look_different() {
        let looks = Looks::new(["cubic", "a", "b", "a"].into_iter());
        let seen: BTreeSet<_> = ["newreno", "cubic", "inrpp", "rcp", "a", "b"]
            .map(|name| looks.of(name, ""))
            .map(|look| (look.colour, look.marker))
            .into();
        assert_eq!(seen.len(), 6);
        assert_eq!(
            (looks.of("cubic", "").title, looks.of("a", "A").title),
            ("CUBIC".into(), "A".into())
        );
    }
}

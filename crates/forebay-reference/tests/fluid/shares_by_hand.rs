//! Max-min rates that can be worked out on paper.

use crate::close;
use forebay_reference::{Demand, MaxMin, Use};

fn plain(link: u32) -> Use {
    Use { link, weight: 1.0, detourable: 0.0, acks: false }
}

/// Rates of flows that load each of their links with what they deliver.
fn rates(capacity: &[f64], flows: &[&[u32]]) -> Vec<f64> {
    let uses: Vec<Vec<Use>> =
        flows.iter().map(|links| links.iter().map(|&l| plain(l)).collect()).collect();
    let demands: Vec<Demand<'_>> = uses.iter().map(|uses| Demand { uses, flows: 1.0 }).collect();
    MaxMin::new(capacity.len(), Vec::new()).rates(capacity, &demands).to_vec()
}

fn assert_rates(capacity: &[f64], flows: &[&[u32]], expected: &[f64]) {
    let found = rates(capacity, flows);
    assert_eq!(found.len(), expected.len());
    for (&rate, &wanted) in found.iter().zip(expected) {
        close(rate, wanted, 1e-12);
    }
}

#[test]
fn three_networks_of_two_and_three_links() {
    let third = 4.0 / 3.0;
    assert_rates(&[10.0, 4.0], &[&[0], &[0, 1], &[1], &[1]], &[10.0 - third, third, third, third]);
    let c = 10.0 / 3.0;
    assert_rates(&[10.0; 3], &[&[0, 1, 2], &[0], &[1], &[2], &[2]], &[c, 10.0 - c, 10.0 - c, c, c]);
    assert_rates(&[5.0, 10.0, 3.0], &[&[0, 1], &[1, 2], &[0], &[1]], &[2.5, 3.0, 2.5, 4.5]);
}

#[test]
fn on_a_parking_lot_all_have_half() {
    for hops in 1..=8u32 {
        let long: Vec<u32> = (0..hops).collect();
        let cross: Vec<[u32; 1]> = (0..hops).map(|hop| [hop]).collect();
        let mut flows: Vec<&[u32]> = vec![&long];
        flows.extend(cross.iter().map(|links| &links[..]));
        assert_rates(&vec![7.0; hops as usize], &flows, &vec![3.5; hops as usize + 1]);
    }
}

#[test]
fn flows_of_one_way_share_it_as_flows_of_their_own_do() {
    let capacity = [9.0, 4.0];
    let routes = [vec![plain(0)], vec![plain(0), plain(1)]];
    let demands = [(0, 2.0), (1, 3.0)].map(|(route, flows)| Demand { uses: &routes[route], flows });
    let mut solver = MaxMin::new(2, Vec::new());
    let grouped = solver.rates(&capacity, &demands).to_vec();
    let single = rates(&capacity, &[&[0], &[0], &[0, 1], &[0, 1], &[0, 1]]);
    // Link 1 gives 4/3 to each of its three, and leaves 5 of link 0 to two.
    for (found, alone, by_hand) in
        [(grouped[0], single[0], 2.5), (grouped[1], single[4], 4.0 / 3.0)]
    {
        close(found, by_hand, 1e-12);
        close(alone, by_hand, 1e-12);
    }
}

/// Two flows in opposite directions over a link of 10 each way. Data costs 1.05 of a byte for each,
/// its ACKs 0.02 on the way back: both rise to 10 / 1.07.
#[test]
fn acks_load_the_way_back() {
    let route = |there, back| {
        [
            Use { link: there, weight: 1.05, detourable: 0.0, acks: false },
            Use { link: back, weight: 0.02, detourable: 0.0, acks: false },
        ]
    };
    let routes = [route(0, 1), route(1, 0)];
    let demands = routes.each_ref().map(|uses| Demand { uses, flows: 1.0 });
    let mut solver = MaxMin::new(2, Vec::new());
    let found = solver.rates(&[10.0, 10.0], &demands);
    found.iter().for_each(|&rate| close(rate, 10.0 / 1.07, 1e-12));
}

#[test]
fn a_link_that_is_down_stops_its_flows_and_no_other() {
    assert_rates(&[10.0, 0.0], &[&[0], &[0, 1]], &[10.0, 0.0]);
}

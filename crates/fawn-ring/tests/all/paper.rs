//! The paper's own examples (FAWN SOSP'09, Figures 6 and 8).

use crate::cluster::{Moved, moved};
use fawn_ring::{Key, MachineId, NodeId, Ring, VirtualId, VirtualNode};

/// A ring of virtual nodes named by the letter of their node, in ring order.
fn ring_of(letters: &str) -> Ring {
    let mut ring = Ring::new();
    for (place, letter) in letters.chars().enumerate().filter(|(_, letter)| *letter != '-') {
        ring.insert(virtual_node(place, letter)).unwrap();
    }
    ring
}

fn virtual_node(place: usize, letter: char) -> VirtualNode {
    let number = letter as u64;
    let id = VirtualId(Key::lowest_with_prefix((place as u64 + 1) << 32));
    VirtualNode { id, node: NodeId(number), machine: MachineId(number), domain: None }
}

fn letters(chain: &[VirtualNode]) -> String {
    chain.iter().map(|member| char::from(member.node.0 as u8)).collect()
}

/// Six nodes with two virtual IDs each, R = 3: "node C1 is thus the tail for range R1, mid for range R2, and tail for
/// range R3", where the last is a slip of the pen; each virtual ID is "the tail for one chain, a mid node in R-2 chains,
/// and the head for one".
#[test]
fn sosp09_fig6_a_virtual_id_is_tail_mid_and_head_of_three_chains() {
    let ring = ring_of("ABCDEFBADCFE");
    let c = NodeId('C' as u64);
    let place_in_chain = |place: usize| {
        let chain = ring.chain(&ring.virtual_nodes()[place].id, 3).unwrap();
        chain.iter().position(|member| member.node == c)
    };
    assert_eq!([0, 1, 2, 3].map(place_in_chain), [Some(2), Some(1), Some(0), None], "tail, mid, head, and no member");
    assert_eq!(letters(&ring.chain(&ring.virtual_nodes()[0].id, 3).unwrap()), "ABC");
}

/// The chains that differ on two rings, R = 3, in ring order.
fn replaced(before: &Ring, after: &Ring) -> Vec<String> {
    let changed = moved(before, after, 3).into_iter().filter(Moved::is_changed);
    changed.map(|of| format!("{} to {}", letters(&of.before), letters(&of.after))).collect()
}

/// C1 joins between B1 and D1: "as a new middle replica for range R2", whose tail E1 is dropped.
#[test]
fn sosp09_fig8_joins_as_mid() {
    let (before, after) = (ring_of("AB-DEF"), ring_of("ABCDEF"));
    assert_eq!(after.ranges().count(), before.ranges().count() + 1, "one range is split");
    assert_eq!(replaced(&before, &after), ["ABD to ABC", "BDE to BCD", "DEF to CDE"]);
}

/// Where two virtual IDs before the new one are on one machine, it reaches one range further back than the paper's R.
#[test]
fn a_join_reaches_further_back_past_two_places_of_one_machine() {
    let (before, after) = (ring_of("FABA-DE"), ring_of("FABACDE"));
    assert_eq!(replaced(&before, &after), ["ABD to ABC", "BAD to BAC", "ADE to ACD", "DEF to CDE"]);
}

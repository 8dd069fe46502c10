//! The paper's own examples (FAWN SOSP'09, Figures 6 and 8).

use fawn_ring::{Change, Incarnation, Key, MachineId, NodeId, Ring, Role, View, VirtualId, VirtualNode, changes};

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
    let view = View::of(&ring, 3, |_| Incarnation(1));
    let c = NodeId('C' as u64);
    let role_in_range = |place: usize| {
        let at = ring.virtual_nodes()[place].id.0;
        view.lookup(&at).role(c)
    };
    assert_eq!([0, 1, 2].map(role_in_range), [Some(Role::Tail), Some(Role::Mid), Some(Role::Head)]);
    assert_eq!(role_in_range(3), None);
    assert_eq!(letters(&ring.chain(&ring.virtual_nodes()[0].id, 3).unwrap()), "ABC");
}

/// C1 joins between B1 and D1: "as a new middle replica for range R2", whose tail E1 is dropped.
#[test]
fn sosp09_fig8_joins_as_mid() {
    let (before, after) = (ring_of("AB-DEF"), ring_of("ABCDEF"));
    let plan: Vec<String> = changes(&before, &after, 3)
        .iter()
        .map(|change| match change {
            Change::Split { .. } => "split".to_string(),
            Change::Replace { before, after, .. } => format!("{} to {}", letters(before), letters(after)),
            Change::Merge { .. } => "merge".to_string(),
        })
        .collect();
    assert_eq!(plan, ["split", "ABD to ABC", "BDE to BCD", "DEF to CDE"]);
}

/// Where two virtual IDs before the new one are on one machine, it reaches one range further back than the paper's R.
#[test]
fn a_join_reaches_further_back_past_two_places_of_one_machine() {
    let (before, after) = (ring_of("FABA-DE"), ring_of("FABACDE"));
    let replaced: Vec<String> = changes(&before, &after, 3)
        .iter()
        .filter_map(|change| match change {
            Change::Replace { before, after, .. } => Some(format!("{} to {}", letters(before), letters(after))),
            _ => None,
        })
        .collect();
    assert_eq!(replaced, ["ABD to ABC", "BAD to BAC", "ADE to ACD", "DEF to CDE"]);
}

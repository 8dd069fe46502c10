//! Two seats that do not hear each other, for good, while both reach the managers: whoever is asked, every request is answered.

use fawn_sim::cluster::Script;

/// One way, the other, and both.
const WAYS: [&[(bool, bool)]; 3] = [&[(true, false)], &[(false, true)], &[(true, false), (false, true)]];

/// A cluster of `nodes` seats, each with a node and a front-end, and `alone` front-ends of their own.
fn script(seed: u64, (nodes, replicas, alone): (usize, usize, usize), links: &[String]) -> String {
    let fronts = nodes + alone;
    format!(
        "seed {seed}\nplan nodes={nodes} replicas={replicas} fronts={fronts} clients=5 keys=16 managers=1 until=11000000\n\
         at 1000000 sever {}\n",
        links.join(" ")
    )
}

/// The links between two seats, each a list of parties, in one of [`WAYS`].
fn links(one: &[String], other: &[String], way: usize) -> Vec<String> {
    let pairs = one.iter().flat_map(|one| other.iter().map(move |other| (one, other)));
    let there = WAYS[way].iter().any(|(there, _)| *there);
    let back = WAYS[way].iter().any(|(_, back)| *back);
    let both = |(one, other): (&String, &String)| {
        [there.then(|| format!("{one}>{other}")), back.then(|| format!("{other}>{one}"))]
    };
    pairs.flat_map(both).flatten().collect()
}

/// The same in a weak cluster.
fn weak(script: &str) -> String {
    script.replacen(" until=", " weak=true until=", 1)
}

fn seat(number: usize) -> Vec<String> {
    vec![format!("n{number}"), format!("f{number}")]
}

fn run(text: &str) {
    let script: Script = text.parse().unwrap();
    let summary = script.run().unwrap_or_else(|violation| panic!("{violation}\n{text}"));
    assert!(summary.operations > 200, "{}\n{text}", summary.operations);
}

/// Every pair of seats, in every way or in one of them by turns.
fn sever_each_pair(nodes: usize, replicas: usize, every_way: bool) {
    for one in 0..nodes {
        for other in one + 1..nodes {
            let by_turns = |way: &usize| every_way || (one + other + replicas) % WAYS.len() == *way;
            for way in (0..WAYS.len()).filter(by_turns) {
                let seed = (nodes * 100 + one * 10 + other) as u64;
                run(&script(seed, (nodes, replicas, 0), &links(&seat(one), &seat(other), way)));
            }
        }
    }
}

#[test]
fn each_pair_of_three_seats_may_be_severed() {
    sever_each_pair(3, 3, true);
    sever_each_pair(3, 2, true);
}

#[test]
fn each_pair_of_four_seats_may_be_severed() {
    sever_each_pair(4, 3, false);
    sever_each_pair(4, 2, false);
}

#[test]
fn each_pair_of_five_seats_may_be_severed() {
    sever_each_pair(5, 3, false);
    sever_each_pair(5, 2, false);
}

#[test]
fn a_front_end_of_its_own_and_each_node_may_be_severed() {
    for (node, way) in (0..3).flat_map(|node| (0..WAYS.len()).map(move |way| (node, way))) {
        let alone = vec!["f3".to_owned()];
        run(&script(600 + node as u64, (3, 3, 1), &links(&alone, &seat(node), way)));
    }
}

#[test]
fn a_client_and_each_front_end_may_be_severed() {
    // Which clients know who owns what is drawn; those that keep no session have nobody else to ask.
    for (front, way) in (0..3).flat_map(|front| (0..WAYS.len()).map(move |way| (front, way))) {
        let clients: Vec<String> = (0..5).map(|client| format!("c{client}")).collect();
        run(&script(700 + front as u64, (3, 3, 0), &links(&clients, &[format!("f{front}")], way)));
    }
}

#[test]
fn two_pairs_may_be_severed_as_long_as_each_has_a_third_that_hears_both() {
    let both = WAYS.len() - 1;
    let pairs = [links(&seat(0), &seat(1), both), links(&seat(2), &seat(3), both)].concat();
    run(&script(800, (5, 3, 0), &pairs));
    run(&script(801, (5, 2, 0), &pairs));
}

#[test]
fn a_seat_may_be_severed_from_all_others() {
    for (way, nodes, replicas) in (0..WAYS.len()).flat_map(|way| [(way, 4, 2), (way, 4, 3), (way, 3, 2)]) {
        for one in (0..nodes).filter(|one| replicas == 2 || *one == 2) {
            let others: Vec<String> = (0..nodes).filter(|other| *other != one).flat_map(seat).collect();
            let script = script(900 + way as u64, (nodes, replicas, 0), &links(&seat(one), &others, way));
            let by_turns = (one + way) % 2 == 1;
            run(&if by_turns { weak(&script) } else { script });
        }
    }
}

#[test]
fn a_seat_whose_node_has_one_neighbour_may_be_severed_from_all_others() {
    // Two of the three are in one failure domain, so that each of them is in chains with the third alone.
    for (one, way) in [0, 2].into_iter().flat_map(|one| (0..WAYS.len()).map(move |way| (one, way))) {
        let others: Vec<String> = (0..3).filter(|other| *other != one).flat_map(seat).collect();
        for seed in 920..924 {
            let script = script(seed, (3, 2, 0), &links(&seat(one), &others, way));
            run(&script.replacen(" fronts=", " domains=2 fronts=", 1));
        }
    }
}

#[test]
fn a_front_end_of_its_own_may_be_severed_from_all_others() {
    let nodes = [seat(0), seat(1), seat(2)].concat();
    for (way, replicas) in (0..WAYS.len()).flat_map(|way| [(way, 2), (way, 3)]) {
        let script = script(910 + way as u64, (3, replicas, 1), &links(&["f3".to_owned()], &nodes, way));
        run(&script);
        run(&weak(&script));
    }
}

//! The fuzzer itself: what it starts from, and that it finds what is wrong.

use std::collections::BTreeSet;

use fawn_kv::wire::Message;

use super::*;

fn run_unmeasured(target: &dyn Target, executions: u64) -> Result<(), Box<Failure>> {
    let measure = |work: &mut dyn FnMut()| {
        work();
        0
    };
    run(target, 1, 0..executions, &measure, &mut |_| {})
}

#[test]
fn every_variant_of_a_message_is_generated() {
    let (mut random, pool) = (Random::new(1), [7; 64]);
    let variants: BTreeSet<u8> =
        (0..5000).map(|_| generate::generate::<Message>(&mut random, &pool).encode()[1]).collect();
    assert!(variants.len() > 20 && variants.iter().copied().eq(0..variants.len() as u8), "{variants:?}");
}

#[test]
fn an_input_is_the_same_every_time_and_reads_back_from_its_text() {
    for target in TARGETS {
        let (mut one, mut two) = (Inputs::new(*target, 3), Inputs::new(*target, 3));
        let first = one.at(70_000);
        one.at(3);
        assert_eq!(one.at(70_000), first, "{}", target.name());
        assert_eq!(two.at(70_000), first, "{}", target.name());
        assert_eq!(from_hex(&to_hex(&first)), Some(first));
        assert_ne!(Inputs::new(*target, 4).at(70_000), two.at(70_000));
    }
    assert_eq!(from_hex("0g"), None);
    assert_eq!(from_hex("012"), None);
}

/// Fails on what it says.
struct Wrong(fn(&Input));

impl Target for Wrong {
    fn name(&self) -> &'static str {
        "wrong"
    }

    fn valid(&self, random: &mut Random) -> Input {
        vec![vec![0; random.below(50) as usize], b"magic".to_vec()]
    }

    fn most_bytes(&self, _: &Input) -> u64 {
        100
    }

    fn execute(&self, input: &Input) -> bool {
        (self.0)(input);
        true
    }
}

#[test]
fn a_decoder_that_panics_is_found_and_its_input_told() {
    let target = Wrong(|input| assert!(!input.concat().windows(2).any(|pair| pair == b"mm"), "twice"));
    let failure = run_unmeasured(&target, 100_000).unwrap_err();
    assert!(failure.what.contains("twice") && failure.hex.contains("6d6d"), "{failure}");
    let again = run(
        &target,
        1,
        failure.number..failure.number + 1,
        &|work: &mut dyn FnMut()| {
            work();
            0
        },
        &mut |_| {},
    );
    assert_eq!(again, Err(failure));
}

#[test]
fn an_input_is_decoded_or_refused() {
    let measure = |work: &mut dyn FnMut()| {
        work();
        0
    };
    for target in TARGETS {
        // A session may be of lines alone that are no requests.
        let decoded = |seed| execute(*target, &target.valid(&mut Random::new(seed)), &measure) == Ok(true);
        assert!((0..20).any(decoded), "{}", target.name());
        assert_eq!(execute(*target, &vec![vec![]], &measure), Ok(false), "{}", target.name());
    }
}

#[test]
fn a_decoder_that_holds_too_much_is_found() {
    let measure = |work: &mut dyn FnMut()| {
        work();
        101
    };
    let failure = run(&Wrong(|_| {}), 1, 0..10, &measure, &mut |_| {}).unwrap_err();
    assert!(failure.what.contains("101 bytes, 100 at most"), "{failure}");
}

#[test]
fn a_cluster_in_which_nothing_is_changed_answers_and_refuses_no_message() {
    for seed in 0..16 {
        let mut bench = peers::Bench::new(seed, Vec::new());
        bench.run();
        assert_eq!((bench.edited, bench.refused()), (0, 0), "seed {seed}");
        assert!(bench.answered > 150, "seed {seed}: {} answers", bench.answered);
    }
}

#[test]
fn messages_with_a_damaged_field_end_nobody_and_are_refused() {
    let mut refused = 0;
    for number in 0..60 {
        let mut inputs = Inputs::new(&peers::Peers, 5);
        let input = inputs.at(number);
        let edits = input[1..].iter().filter_map(|part| edit::FieldEdit::of(part)).collect();
        let mut bench = peers::Bench::new(input[0].first().map_or(0, |seed| u64::from(*seed)), edits);
        bench.run();
        refused += bench.refused();
    }
    assert!(refused > 6, "{refused} messages were refused");
}

/// Messages that are refused where a field of one of a kind is made as large as it can be, in so many clusters at work.
fn refused_of(kind: u8, field: u16, occurrences: u16) -> u64 {
    let refused = (0..occurrences).map(|occurrence| {
        let edit = edit::FieldEdit { kind, occurrence, field, how: 3, amount: 0, beside: 0 };
        let mut bench = peers::Bench::new(0, vec![edit]);
        bench.run();
        bench.refused().min(1)
    });
    refused.sum()
}

#[test]
fn an_acknowledgement_of_what_was_never_sent_is_refused() {
    // Its kind is the first of its fields: more has come than was sent, and more is committed than has come.
    let (have, last, committed) = (5, 4, 5);
    let [last, committed] = [last, committed].map(|field| refused_of(have, field, 16));
    assert!(last >= 8 && committed >= 8, "{last} and {committed} of 16 were refused");
}

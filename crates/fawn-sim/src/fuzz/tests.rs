//! The fuzzer itself: what it starts from, and that it finds what is wrong.

use std::collections::BTreeSet;

use fawn_kv::message::Message;

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

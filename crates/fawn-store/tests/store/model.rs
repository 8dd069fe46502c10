//! The store against an ordered map that knows every version.

use fawn_check::random::Random;
use fawn_sim::store::Machine;
use fawn_store::flash::{FileId, Flash};

use crate::common::{for_seeds, number};
use crate::script::{Script, random_options, random_pace};

/// One sequence of random operations on one random small store; every answer is checked where it is released.
fn sequence(seed: u64) {
    let mut random = Random::new(seed);
    let options = random_options(&mut random);
    let mut machine = Machine::new(options, seed).unwrap();
    machine.set_pace(random_pace(&mut random));
    let mut script = Script::new(&mut random, true);
    for _ in 0..random.within(10, 400) {
        script.step(&mut machine);
        if let Some(why) = machine.store().stopped() {
            panic!("a store on a sound device stops: {why}");
        }
    }
    machine.finish_gets();
    let names: Vec<Vec<u8>> = machine.oracle().names().map(<[u8]>::to_vec).collect();
    for name in &names {
        machine.get(name).unwrap();
    }
    machine.restart().after_clean_stop().unwrap();
    assert!(machine.compact_and_wait());
    machine.settle();
    for name in &names {
        machine.get(name).unwrap();
    }
    nothing_is_left(&mut machine);
}

/// Once everything is deleted and merged, no segment and no large value's file is left on flash.
fn nothing_is_left(machine: &mut Machine) {
    assert!(machine.flush_all().unwrap());
    machine.sync_log();
    machine.seal().unwrap();
    machine.settle();
    assert!(machine.compact_and_wait());
    machine.settle();
    let left = machine.flash().list().unwrap();
    let is_data = |file: &FileId| matches!(file, FileId::Segment(_) | FileId::Value(_));
    assert!(!left.iter().any(|(file, _)| is_data(file)), "files are left of nothing: {left:?}");
}

#[test]
fn random_sequences_with_restarts_seals_merges_and_splits_answer_as_the_model_does() {
    let (first, count) = (number("FAWN_MODEL_SEED", 0), number("FAWN_MODEL_SEQUENCES", 400));
    for_seeds("model", first, count, sequence);
}

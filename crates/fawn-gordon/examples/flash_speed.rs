//! Measures how fast the simulators of flash are, in CPU time of the one thread that they use.
//!
//! `cargo run --release -p fawn-gordon --example flash_speed`. With the argument `terabyte` it also fills and overwrites a device
//! of 1 TiB, with a table of owners and without, which takes two gigabytes of memory and several minutes. With the argument `short`
//! it measures a tenth of the requests.

use fawn_gordon::amplification::{BlockDevice, VictimChoice, WritePattern, simulate};
use fawn_gordon::flash::presets::preset;
use fawn_gordon::ftl::warm_up::{WarmUp, settle};
use fawn_gordon::ftl::{ArrivalMode, Device, FtlSettings, HostKind, HostRequest, Stripe, Translation};
use fawn_gordon::time::SimTime;
use fawn_machine::process::thread_cpu_us;
use rand::rngs::Xoshiro256PlusPlus;
use rand::{Rng, SeedableRng};

fn random_requests(device_bytes: u64, reads: u64, count: u64) -> impl Iterator<Item = HostRequest> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let pages = device_bytes / 4_096;
    (0..count).map(move |_| {
        let page = ((random.next_u64() >> 32) * pages) >> 32;
        let kind = if random.next_u64() % 100 < reads { HostKind::Read } else { HostKind::Write };
        HostRequest { at: SimTime::ZERO, kind, offset: page * 4_096, bytes: 4_096, stamp: 0 }
    })
}

fn all_commands(device: &Device) -> u64 {
    let counts = device.array().usage().counts;
    counts.reads + counts.programs + counts.erases + counts.copy_backs
}

fn programs(device: &Device) -> u64 {
    device.translation().counts().programmed()
}

/// The same device with 4,096 blocks a plane, with a table of owners or without.
fn terabyte(keeps_owners: bool) {
    let Some(mut chosen) = preset("mqsim-default") else { return };
    chosen.design.geometry.page_bytes = 4_096;
    chosen.design.geometry.blocks_per_plane = 4_096;
    let settings = FtlSettings { queue_depth: 256, ..FtlSettings::plain(Stripe::SINGLE, chosen.spare_factor) };
    let begin = thread_cpu_us();
    let filled = Translation::new(chosen.design.geometry, settings, keeps_owners)
        .and_then(|translation| Device::with(&chosen.design, translation, None))
        .and_then(|mut device| settle(&mut device, WarmUp::ClosedForm, 1).map(|()| device));
    let Ok(mut device) = filled else { return };
    let fill_s = (thread_cpu_us() - begin) / 1e6;
    let bytes = device.bytes();
    let begin = thread_cpu_us();
    let report = device.run(random_requests(bytes, 50, 1_000_000), ArrivalMode::Saturated, |_| {});
    let took = thread_cpu_us() - begin;
    if let Err(error) = report {
        return println!("{error}");
    }
    println!(
        "1 TiB, half reads, under cleaning, {} a table of owners: filled in {fill_s:.1} s, {:.3} M requests and {:.3} M programs a \
         second of CPU, {:.2} bytes of memory a page",
        if keeps_owners { "with" } else { "without" },
        1e6 / took,
        programs(&device) as f64 / took,
        device.translation().memory_bytes() as f64 / chosen.design.geometry.pages() as f64,
    );
}

fn main() {
    let Some(mut chosen) = preset("mqsim-default") else { return };
    chosen.design.geometry.page_bytes = 4_096;
    chosen.design.geometry.blocks_per_plane = 256;
    let divisor = if std::env::args().any(|argument| argument == "short") { 10 } else { 1 };
    println!("4 KiB requests on 8 channels x 4 chips x 2 dies x 2 planes, 4 KiB pages, 256 requests under way:");
    for (reads, warm_up) in [
        (100, WarmUp::Sequential),
        (50, WarmUp::Sequential),
        (0, WarmUp::Sequential),
        (50, WarmUp::ClosedForm),
        (0, WarmUp::ClosedForm),
    ] {
        let settings = FtlSettings { queue_depth: 256, ..FtlSettings::plain(Stripe::SINGLE, chosen.spare_factor) };
        let mut device = match Device::new(&chosen.design, settings, false) {
            Ok(device) => device,
            Err(error) => return println!("{error}"),
        };
        let bytes = device.bytes();
        if let Err(error) = settle(&mut device, warm_up, 1) {
            return println!("{error}");
        }
        // After a sequential fill, erased blocks last for that many writes, as in MQSim's run.
        let count = if warm_up == WarmUp::Sequential { 600_000 } else { 1_000_000 } / divisor;
        let before = all_commands(&device);
        let begin = thread_cpu_us();
        let report = device.run(random_requests(bytes, reads, count), ArrivalMode::Saturated, |_| {});
        let took = thread_cpu_us() - begin;
        let Ok(report) = report else { return };
        let commands = all_commands(&device) - before;
        println!(
            "  {reads:>3} % reads, {warm_up:?}: {:.2} M requests, {:.2} M programs and {:.2} M commands a second of CPU; {:.0} MB/s \
             simulated, write amplification {:.2}",
            count as f64 / took,
            programs(&device) as f64 / took,
            commands as f64 / took,
            report.bytes_per_second() / 1e6,
            device.translation().counts().data_amplification(),
        );
    }
    if std::env::args().any(|argument| argument == "terabyte") {
        terabyte(true);
        terabyte(false);
    }
    println!("write amplification alone, 4,000 blocks of 64 pages, S = 0.10:");
    for victims in [VictimChoice::Fifo, VictimChoice::Greedy, VictimChoice::DChoices(10), VictimChoice::Random] {
        let device = BlockDevice { blocks: 4_000, pages_per_block: 64, spare_factor: 0.1 };
        let begin = thread_cpu_us();
        let counted = simulate(device, victims, WritePattern::Uniform, 10, 10, 1);
        let took = thread_cpu_us() - begin;
        println!(
            "  {victims:?}: {:.0} M programs a second of CPU, factor {:.3}",
            counted.programmed_in_all as f64 / took,
            counted.factor()
        );
    }
}

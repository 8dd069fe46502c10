//! Readers of what people write for surveys and simulators: designs, ratings, flash arrays, disks and catalogues. What is read
//! can be reckoned with: no number in it is infinite, and designs are bounded however short the text is that asks for
//! them.

use std::fmt::Write as _;
use std::sync::OnceLock;

use fawn_check::random::Random;
use fawn_gordon::disk::DiskValues;
use fawn_gordon::disk::presets::named;
use fawn_gordon::flash::{FlashValues, presets};
use fawn_gordon::node::NodeDesign;
use fawn_gordon::survey::SurveyFile;
use fawn_gordon::survey::catalogue::{SurveyRatings, designs};
use fawn_plan::Catalogue;

use super::{Input, Target};

/// Bytes of memory that a reader of a short text may hold.
const MOST_BYTES: u64 = 1 << 20;

/// Bytes of memory for each byte of a text: a parser has a node for each value, and errors quote the text.
const BYTES_A_BYTE: u64 = 400;

/// Bytes of memory of all designs of a file, whose number and texts are bounded.
const MOST_DESIGN_BYTES: u64 = 64 << 20;

/// The text that an input's parts are; `None` where the bytes are no text.
fn text(input: &Input) -> Option<String> {
    String::from_utf8(input.concat()).ok()
}

fn parser_bytes(input: &Input) -> u64 {
    MOST_BYTES + BYTES_A_BYTE * input.iter().map(|part| part.len() as u64).sum::<u64>()
}

/// What a survey reckons with is a number, and not less than nothing.
fn check(design: &NodeDesign) {
    let watts = design.watts();
    assert!(watts.idle >= 0.0 && watts.active >= watts.idle && watts.active.is_finite(), "{watts:?}");
    let rate = design.instructions_per_second();
    assert!(rate > 0.0 && rate.is_finite(), "{rate} instructions per second");
    assert!(design.price_dollars().is_none_or(|price| price >= 0.0 && price.is_finite()), "a price is no number");
    for rate in [design.storage.read, design.storage.write] {
        let seconds = rate.seconds(4096.0, 1.0);
        assert!(seconds > 0.0 && seconds.is_finite(), "{rate:?} takes {seconds} s");
    }
}

/// A number from `least` to 1,000 times as much, as text that TOML and JSON both have.
fn number(random: &mut Random, least: f64) -> String {
    format!("{:?}", least * random.within(1, 1000) as f64)
}

/// One's own designs.
pub struct SurveyFiles;

impl SurveyFiles {
    fn node(random: &mut Random, name: u64) -> String {
        let idle = random.below(5);
        let price = |random: &mut Random| {
            if random.chance(2, 3) { format!("price_dollars = {}\n", random.below(500)) } else { String::new() }
        };
        let volts = "volts = { low_hz = 0.6e9, low_volts = 0.8, high_hz = 2.4e9, high_volts = 1.6 }\n";
        let rate = |random: &mut Random| {
            format!("{{ bytes_per_second = {}, seconds_per_access = 8e-5 }}", number(random, 1e6))
        };
        format!(
            "[[nodes]]\nname = \"node {name}\"\nprocessors = {}\nhz = {}\nnetwork_bytes_per_second = {}\n\
             overhead_share = 0.{}\n[nodes.processor]\nname = \"core\"\ninstructions_per_cycle = 1.5\nrated_hz = {}\n\
             watts = {{ idle = {idle}, active = {} }}\n{}{}[nodes.memory]\nwatts = {{ idle = 0.5, active = 1 }}\n\
             bytes_per_second = {}\n{}[nodes.storage]\nname = \"drive\"\ndevices = {}\nread = {}\nwrite = {}\n\
             watts = {{ idle = {idle}, read = {}, write = {} }}\n{}",
            random.within(1, 9),
            number(random, 1e7),
            number(random, 1e6),
            random.below(9),
            number(random, 1e7),
            idle + random.below(9),
            if random.chance(1, 3) { volts } else { "" },
            price(random),
            number(random, 1e7),
            price(random),
            random.within(1, 4),
            rate(random),
            rate(random),
            idle + random.below(9),
            idle + random.below(9),
            price(random),
        )
    }

    fn space(random: &mut Random) -> String {
        let values = |random: &mut Random, least: f64| {
            let values: Vec<String> = (0..random.within(1, 4)).map(|_| number(random, least)).collect();
            values.join(", ")
        };
        let counts = |random: &mut Random| {
            let counts: Vec<String> = (1..random.within(2, 5)).map(|count| count.to_string()).collect();
            counts.join(", ")
        };
        let most_watts =
            if random.chance(1, 2) { format!("most_watts = {}\n", random.below(40)) } else { String::new() };
        format!(
            "[[spaces]]\nnetwork_bytes_per_second = [{}]\nnotes = [\"a note\"]\n{most_watts}\
             memory = {{ watts = {{ idle = 1, active = 2 }}, bytes_per_second = 17e9 }}\n[[spaces.processors]]\n\
             hz = [{}]\ncounts = [{}]\nmodel = {{ name = \"core\", instructions_per_cycle = 1.5, rated_hz = 2e9, \
             watts = {{ idle = 1, active = 4 }} }}\n[[spaces.storages]]\ncounts = [{}]\n[spaces.storages.storage]\n\
             name = \"SATA\"\ndevices = 1\nread = {{ bytes_per_second = 5e8, seconds_per_access = 9e-5 }}\n\
             write = {{ bytes_per_second = 4e8, seconds_per_access = 4e-5 }}\nwatts = {{ idle = 0.1, read = 2, write = 3 }}\n",
            values(random, 1e6),
            values(random, 1e7),
            counts(random),
            counts(random),
        )
    }
}

impl Target for SurveyFiles {
    fn name(&self) -> &'static str {
        "survey-file"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let mut text = "title = \"a test\"\n".to_owned();
        (0..random.below(3)).for_each(|name| text.push_str(&Self::node(random, name)));
        if random.chance(1, 2) {
            text.push_str(&Self::space(random));
        }
        if random.chance(1, 2)
            && let Ok(file) = SurveyFile::parse(&text)
        {
            text = serde_json::to_string(&file).expect("a file of designs is JSON");
        }
        vec![text.into_bytes()]
    }

    fn cost(&self) -> u64 {
        8
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        parser_bytes(input) + MOST_DESIGN_BYTES
    }

    fn execute(&self, input: &Input) -> bool {
        let Some(Ok(file)) = text(input).map(|text| SurveyFile::parse(&text)) else { return false };
        let designs = file.designs();
        assert!(designs.len() <= 10_000, "{} designs", designs.len());
        designs.iter().for_each(check);
        true
    }
}

fn today() -> &'static Catalogue {
    static TODAY: OnceLock<Catalogue> = OnceLock::new();
    TODAY.get_or_init(|| Catalogue::built_in("today").expect("the catalogue `today` is built in"))
}

/// What a catalogue lacks for a survey.
pub struct Ratings;

impl Target for Ratings {
    fn name(&self) -> &'static str {
        "survey-ratings"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let mut text = String::new();
        let flag = random.chance(1, 2);
        writeln!(text, "writes_as_reads = {flag}").expect("memory takes text");
        for _ in 0..random.within(1, 4) {
            let option = random.pick(&today().options);
            let [mips, rate] = [number(random, 10.0), number(random, 1e6)];
            write!(
                text,
                "[[machines]]\nmachine = \"{}\"\nseven_zip_mips = {mips}\nsource = \"here\"\ndate = \"2026-11\"\n\
                 [[storage]]\noption = \"{}\"\nread = {{ bytes_per_second = {rate}, seconds_per_access = 8e-5 }}\n\
                 write = {{ bytes_per_second = {rate}, seconds_per_access = 3e-5 }}\nsource = \"here\"\n",
                option.machine, option.name,
            )
            .expect("memory takes text");
        }
        vec![text.into_bytes()]
    }

    fn cost(&self) -> u64 {
        8
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        parser_bytes(input)
    }

    fn execute(&self, input: &Input) -> bool {
        let Some(Ok(ratings)) = text(input).map(|text| SurveyRatings::parse(&text)) else { return false };
        let (known, unknown) = designs(today(), &ratings);
        assert_eq!(known.len() + unknown.len(), today().options.len(), "an option is lost");
        known.iter().for_each(check);
        !ratings.machines.is_empty() || !ratings.storage.is_empty()
    }
}

/// A catalogue of nodes, as designs.
pub struct Catalogues;

impl Target for Catalogues {
    fn name(&self) -> &'static str {
        "catalogue"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let mut text =
            "name = \"own\"\ntitle = \"a test\"\n[sources.here]\ntitle = \"here\"\ndate = \"2026-11\"\n".to_owned();
        let known = "kind = \"measured\", source = \"here\"";
        write!(
            text,
            "[machines.board]\nname = \"Raspberry Pi 5 8 GB\"\nprice_dollars = {{ value = {}, {known} }}\n\
             watts_idle = {{ value = {}, {known} }}\nwatts_stress = {{ low = 20, high = {}, {known} }}\n\
             network_mbit = {{ value = 938, {known} }}\nread_4k_per_second = {{ value = {}, {known} }}\n",
            random.below(900),
            random.within(1, 9),
            20 + random.below(9),
            random.within(1, 900_000),
        )
        .expect("memory takes text");
        let drive = random.chance(1, 2);
        if drive {
            writeln!(text, "[drives.nvme]\nname = \"NVMe\"\ngb = {{ value = {}, {known} }}\nprice_dollars = {{ value = 80, {known} }}",
                random.within(1, 4000)
            ).expect("memory takes text");
        }
        for option in 0..random.within(1, 4) {
            writeln!(text, "[[options]]\nname = \"option {option}\"\nmachine = \"board\"").expect("memory takes text");
            if drive {
                writeln!(text, "drive = \"nvme\"\ndrives = {}", random.within(1, 5)).expect("memory takes text");
            }
        }
        vec![text.into_bytes()]
    }

    fn cost(&self) -> u64 {
        8
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        parser_bytes(input)
    }

    fn execute(&self, input: &Input) -> bool {
        static RATINGS: OnceLock<SurveyRatings> = OnceLock::new();
        let ratings = RATINGS.get_or_init(|| SurveyRatings { writes_as_reads: true, ..SurveyRatings::today() });
        let Some(Ok(catalogue)) = text(input).map(|text| Catalogue::parse(&text)) else { return false };
        let (known, unknown) = designs(&catalogue, ratings);
        assert_eq!(known.len() + unknown.len(), catalogue.options.len(), "an option is lost");
        known.iter().for_each(check);
        true
    }
}

/// A flash array of one's own.
pub struct FlashFiles;

impl Target for FlashFiles {
    fn name(&self) -> &'static str {
        "flash-array"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let count = |random: &mut Random| (1u32 << random.below(6)).to_string();
        let mut values: Vec<(&str, String)> = [
            "buses",
            "packages_per_bus",
            "dies_per_package",
            "planes_per_die",
            "blocks_per_plane",
            "pages_per_block",
            "command_cycles",
            "rated_erases",
        ]
        .map(|name| (name, count(random)))
        .to_vec();
        values.extend([
            ("page_bytes", (512u32 << random.below(6)).to_string()),
            ("spare_bytes", random.below(1024).to_string()),
            ("read_us", format!("[{}, {}]", random.below(90), random.below(90))),
            ("program_us", format!("[{}]", random.below(900))),
            ("erase_us", format!("{}.5", random.below(9000))),
            ("bus_bits", if random.chance(1, 2) { "8" } else { "16" }.to_owned()),
            ("bus_mt", random.within(1, 800).to_string()),
            ("cache_register", random.chance(1, 2).to_string()),
            ("spare_factor", format!("0.{}", random.within(1, 60))),
            ("die_idle_w", "0.003".to_owned()),
            ("die_active_w", "0.04".to_owned()),
            ("name", "\"a drive\"".to_owned()),
        ]);
        if random.chance(1, 2) {
            values.retain(|_| random.chance(1, 3));
            values.push(("preset", format!("\"{}\"", random.pick(&presets::presets()).name)));
        }
        let text = if random.chance(1, 2) {
            let lines: Vec<String> = values.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
            lines.concat()
        } else {
            let pairs: Vec<String> = values.iter().map(|(name, value)| format!("\"{name}\": {value}")).collect();
            format!("{{{}}}", pairs.join(", "))
        };
        vec![text.into_bytes()]
    }

    fn cost(&self) -> u64 {
        4
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        parser_bytes(input)
    }

    fn execute(&self, input: &Input) -> bool {
        let Some(Ok(values)) = text(input).map(|text| FlashValues::parse(&text)) else { return false };
        let Ok(model) = values.model() else { return false };
        let geometry = &model.design.geometry;
        assert!(geometry.bytes() > 0, "an array without a byte");
        let factors = [geometry.dies(), geometry.planes_per_die, geometry.blocks_per_plane, geometry.pages_per_block];
        let pages = factors.into_iter().try_fold(1u64, |product, factor| product.checked_mul(u64::from(factor)));
        assert_eq!(pages, Some(geometry.pages()));
        let cells = &model.design.cells;
        for page in 0..3 {
            assert!(cells.read(page).seconds().is_finite() && cells.program(page).seconds().is_finite());
        }
        assert!(model.design.bus.mega_transfers > 0.0 && model.spare_factor < 1.0);
        true
    }
}

/// A disk of one's own.
pub struct DiskFiles;

impl Target for DiskFiles {
    fn name(&self) -> &'static str {
        "disk-file"
    }

    fn valid(&self, random: &mut Random) -> Input {
        let track = random.within(1, 2000);
        let seek = random.within(1, 9);
        let mut values: Vec<(&str, String)> = vec![
            ("name", "\"a disk\"".to_owned()),
            ("rpm", number(random, 10.0).trim_end_matches(".0").to_owned()),
            ("heads", random.within(1, 20).to_string()),
            ("cylinders", random.within(100, 200_000).to_string()),
            ("zones", random.within(1, 32).to_string()),
            ("outer_track_sectors", (track + random.below(1000)).to_string()),
            ("inner_track_sectors", track.to_string()),
            ("seek_ms", format!("[0.{seek}, {}, {}]", seek + 1, 2 * seek + 2)),
            ("head_switch_ms", format!("0.{}", random.below(9))),
            ("write_settle_ms", format!("0.{}", random.below(9))),
            ("interface_mb_per_s", random.within(1, 900).to_string()),
            ("queue_depth", random.within(1, 64).to_string()),
            ("policy", "\"shortest-seek\"".to_owned()),
        ];
        if random.chance(1, 2) {
            values.retain(|_| random.chance(1, 3));
            values.push(("preset", format!("\"{}\"", random.pick(&named()).name)));
        }
        if random.chance(1, 3) {
            values.extend([("idle_w", "5".to_owned()), ("read_w", "8".to_owned()), ("write_w", "9".to_owned())]);
        }
        let lines: Vec<String> = values.iter().map(|(name, value)| format!("{name} = {value}\n")).collect();
        let mut text = lines.concat();
        if random.chance(1, 2) {
            let sectors = random.below(1 << 16);
            write!(text, "[buffer]\nsegments = 4\nsegment_sectors = {sectors}\nwrite_sectors = {sectors}\n")
                .expect("memory takes text");
        }
        vec![text.into_bytes()]
    }

    fn cost(&self) -> u64 {
        4
    }

    fn most_bytes(&self, input: &Input) -> u64 {
        parser_bytes(input)
    }

    fn execute(&self, input: &Input) -> bool {
        let Some(Ok(values)) = text(input).map(|text| DiskValues::parse(&text)) else { return false };
        let Ok(disk) = values.disk() else { return false };
        let model = &disk.model;
        let layout = model.layout().expect("what is taken has a layout");
        assert!(layout.sectors() > 0 && model.revolution_ms() > 0.0 && model.interface_bytes_per_s > 0.0);
        for sector in [0, layout.sectors() / 2, layout.sectors() - 1] {
            let place = layout.place(sector);
            assert!(place.cylinder < layout.cylinders() && place.head < model.heads, "{sector}: {place:?}");
            assert!((0.0..1.0).contains(&place.angle), "{sector}: {place:?}");
        }
        let far = layout.cylinders() - 1;
        for distance in [0, 1.min(far), far / 3, far] {
            let ms = model.seek.time_ms(distance);
            assert!((0.0..1e6).contains(&ms), "{ms} ms over {distance} cylinders");
        }
        if let Some(power) = disk.power {
            let watts = power.watts;
            assert!(watts.idle >= 0.0 && watts.read.is_finite() && watts.write.is_finite(), "{watts:?}");
        }
        true
    }
}

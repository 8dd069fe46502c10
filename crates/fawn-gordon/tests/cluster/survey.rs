//! The survey: the paper's design space, its Pareto set and Figures 6 to 8, and what they cannot be.

use std::sync::OnceLock;

use fawn_gordon::node::workloads::{NODES, TraceShape, suite};
use fawn_gordon::survey::catalogue::{self, SurveyRatings};
use fawn_gordon::survey::figures::{figure_6, figure_7, figure_8};
use fawn_gordon::survey::paper::{self, CONFIGURATIONS, STATED_CONFIGURATIONS};
use fawn_gordon::survey::table6::{DESIGNS, PRINTED, disk_designs};
use fawn_gordon::survey::{SurveyAxis, SurveyBound, SurveyPoint, SurveyReport, SurveySettings, page, scatter, tables};
use fawn_plan::Catalogue;
use fawn_report::Nobody;

/// The survey of the paper's designs and workloads on 32 nodes, made once.
pub fn survey() -> &'static SurveyReport {
    static SURVEY: OnceLock<SurveyReport> = OnceLock::new();
    SURVEY.get_or_init(|| {
        let traces = suite(&TraceShape::fitted(), NODES, 1);
        SurveyReport::of(&paper::space().designs(), &traces, &SurveySettings::default(), &Nobody).unwrap()
    })
}

pub fn point(name: &str) -> &'static SurveyPoint {
    survey().points.iter().find(|point| point.name == name).unwrap()
}

#[test]
fn table_5_gives_84_configurations_where_88_are_stated() {
    let designs = paper::space().designs();
    assert_eq!((designs.len(), STATED_CONFIGURATIONS), (CONFIGURATIONS, 88));
    // The budget of 300 W excludes none, so that it is not the reason.
    let most = designs.iter().map(|design| design.watts().active).fold(0.0, f64::max);
    assert!(most < 300.0, "{most}");
    assert_eq!(survey().points.len(), 84);
    assert_eq!(survey().workloads.len(), 7);
    assert_eq!(survey().points[survey().reference].name, "4 Core 2 2.4 GHz, 1 disk");
}

#[test]
fn a_gordon_node_draws_19_watts_at_most() {
    assert!((paper::max_efficiency().watts().active - 19.0).abs() < 1e-9);
}

/// Documented difference: §3 has 81 W for a full-blown server. Four Core 2 draw 83.2 W alone when active. With the overhead
/// that makes a Gordon node's 19 W, the server with one disk draws 146 W.
#[test]
fn a_full_blown_server_draws_more_than_81_watts() {
    assert!(4.0 * paper::core2().watts.active > 81.0);
    assert!((paper::reference().watts().active - 145.7).abs() < 0.1, "{:?}", paper::reference().watts());
}

#[test]
fn figure_6_all_pareto_optimal_designs_are_flash_on_every_workload() {
    let rows = figure_6(survey());
    assert_eq!(rows.len(), 8 * 84, "seven workloads and their average");
    for row in rows.iter().filter(|row| row.is_pareto) {
        assert_eq!(row.storage, "flash array", "{}: {}", row.workload, row.design);
    }
    let reference = rows.iter().find(|row| row.workload == "average" && row.design == "4 Core 2 2.4 GHz, 1 disk");
    let reference = reference.unwrap();
    assert!((reference.time - 1.0).abs() < 1e-12 && (reference.energy - 1.0).abs() < 1e-12);
}

#[test]
fn figure_6_the_fastest_design_is_four_core_2_with_flash_and_the_lowest_power_is_not_pareto_optimal() {
    let is_pareto = |name: &str| survey().points.iter().position(|it| it.name == name).map(|at| survey().pareto[at]);
    assert_eq!(is_pareto(DESIGNS[5]), Some(Some(true)), "MinT");
    assert_eq!(is_pareto(DESIGNS[0]), Some(Some(false)), "MinP is not Pareto optimal (Table 6)");
    let watts = |point: &SurveyPoint| point.mean(SurveyBound::Sync, |run| run.average_watts);
    let least = survey().points.iter().min_by(|a, b| watts(a).total_cmp(&watts(b))).unwrap();
    assert_eq!(least.name, DESIGNS[0], "MinP");
    let time = |point: &SurveyPoint| survey().value(point, SurveyAxis::Time, SurveyBound::Sync, None).unwrap();
    let fastest = survey().points.iter().min_by(|a, b| time(a).total_cmp(&time(b))).unwrap();
    assert_eq!(fastest.name, DESIGNS[5]);
}

/// Documented difference. Table 6 has one Atom as the most efficient design and one and two Core 2 on the Pareto set. By
/// Tables 3 and 4 four Atoms are faster than one Core 2 (0.5 × 1.9 × 4 = 3.8 G instructions per second over 3.6) and draw
/// less (9.6 W over 20.8 W active, 0.64 W over 12 W idle). Under the paper's own rule for p processors they dominate it,
/// whatever the traces.
#[test]
fn four_atoms_dominate_one_core_2_and_the_papers_pareto_set_does_not_show_it() {
    let (atoms, core) = (paper::atom(), paper::core2());
    assert!(4.0 * atoms.instructions_per_second(1.9e9) > core.instructions_per_second(2.4e9));
    assert!(4.0 * atoms.watts.active < core.watts.active && 4.0 * atoms.watts.idle < core.watts.idle);
    let (four, one) = (point("4 Atom 1.9 GHz, 1 flash array"), point(DESIGNS[2]));
    for bound in [SurveyBound::Sync, SurveyBound::Nosync] {
        for (a, b) in four.cells.iter().zip(&one.cells) {
            let (a, b) = (a.figures(bound), b.figures(bound));
            assert!(a.seconds <= b.seconds && a.joules < b.joules);
        }
    }
    // So our set is four Atoms and four Core 2, with two Core 2 between them where input and output matter.
    let best: Vec<&str> = survey().best().into_iter().map(|point| point.name.as_str()).collect();
    assert_eq!(best, [four.name.as_str(), DESIGNS[5]]);
    for set in &survey().pareto_by_workload {
        let names: Vec<&str> =
            survey().points.iter().zip(set).filter(|it| *it.1 == Some(true)).map(|it| it.0.name.as_str()).collect();
        assert!(names.contains(&best[0]) && names.contains(&best[1]) && names.len() <= 3, "{names:?}");
        assert!(names.iter().all(|name| best.contains(name) || *name == DESIGNS[3]), "{names:?}");
    }
}

/// Documented difference: Figure 6 and its Pareto set are under `sync`, and by Table 6's own figures under `sync` four Core
/// 2 at 1.8 GHz are slower than at 2.4 GHz (1.29 over 1.49) and no more efficient (0.92 over 0.93). It is listed all the
/// same; without barriers it would belong (1.11 over 1.08). Ours is dominated under both.
#[test]
fn four_core_2_at_1_8_ghz_are_dominated_by_the_printed_figures() {
    let (slow, fast) = (&PRINTED[4], &PRINTED[5]);
    assert!(slow.speedup.sync < fast.speedup.sync && slow.efficiency_ratio.sync < fast.efficiency_ratio.sync);
    assert!(slow.efficiency_ratio.nosync > fast.efficiency_ratio.nosync);
    let value = |name: &str, axis| survey().value(point(name), axis, SurveyBound::Sync, None).unwrap();
    for axis in [SurveyAxis::Time, SurveyAxis::Energy] {
        assert!(value(DESIGNS[4], axis) > value(DESIGNS[5], axis));
    }
}

#[test]
fn the_most_efficient_disk_design_has_four_atoms_and_one_disk() {
    for bound in [SurveyBound::Sync, SurveyBound::Nosync] {
        let disks = disk_designs(survey(), bound).unwrap();
        assert_eq!(disks.most_efficient.name, "4 Atom 1.9 GHz, 1 disk");
        assert_eq!(disks.fastest.name, "4 Core 2 2.4 GHz, 4 disks");
        assert_eq!(disks.least_power.name, "1 Atom 0.8 GHz, 1 disk");
    }
}

#[test]
fn figure_7_flash_moves_the_limit_from_storage_to_the_processor() {
    let (flash, disk) = (point(DESIGNS[1]), point("4 Atom 1.9 GHz, 1 disk"));
    let rows = figure_7(&[flash, disk], SurveyBound::Nosync);
    let mean = |design: &str, part: fn(&fawn_gordon::survey::figures::Figure7Row) -> f64| {
        rows.iter().filter(|row| row.design == design).map(part).sum::<f64>() / 7.0
    };
    for row in &rows {
        let sum = row.processor + row.storage + row.network + row.several + row.none + row.waiting;
        assert!((sum - 1.0).abs() < 1e-9, "{row:?}");
    }
    let (flash_cpu, flash_storage) = (mean(&flash.name, |row| row.processor), mean(&flash.name, |row| row.storage));
    assert!(flash_cpu > 0.5 && flash_cpu > 5.0 * flash_storage, "MaxE is CPU bound: {flash_cpu} {flash_storage}");
    // "About equal time" for the disk and for the processors.
    let (disk_cpu, disk_storage) = (mean(&disk.name, |row| row.processor), mean(&disk.name, |row| row.storage));
    assert!((0.7..1.5).contains(&(disk_storage / disk_cpu)), "{disk_storage} {disk_cpu}");
}

/// Documented difference: the fastest design goes from processor bound (complex grep) to bound by its input and output
/// (Identity), as in the paper. There it is the flash that limits. By the paper's own inputs it is the network: two of three
/// copies travel at 125 MB/s, and flash takes 900.
#[test]
fn figure_7_the_fastest_design_goes_from_processor_bound_to_network_bound() {
    let rows = figure_7(&[point(DESIGNS[5])], SurveyBound::Nosync);
    let row = |workload: &str| rows.iter().find(|row| row.workload == workload).unwrap();
    let (grep, identity) = (row("Grep (complex)"), row("Identity"));
    assert!(grep.processor > 0.9, "{grep:?}");
    assert!(identity.processor < 0.3 && identity.network > 0.6 && identity.storage < 0.1, "{identity:?}");
    let (network, flash) = (paper::reference().network_bytes_per_second, paper::flash().write.bytes_per_second);
    assert!(network * 1.5 < flash, "writes whose copies travel are slower than flash");
}

/// The paper says 40 % on average; its Table 6 says 1/2.54 without barriers and 1/2.15 with them. Ours are near that for
/// all workloads together. The mean of the single shares is higher: where processors limit, one Atom takes so much longer
/// than four that it needs about as much energy, with flash or without.
#[test]
fn figure_8_flash_takes_less_than_half_of_the_energy_and_storage_almost_none() {
    let (flash, disk) = (point(DESIGNS[1]), point("4 Atom 1.9 GHz, 1 disk"));
    for (bound, printed) in [(SurveyBound::Sync, 2.15), (SurveyBound::Nosync, 2.54)] {
        let rows = figure_8(flash, disk, bound);
        assert_eq!(rows.len(), 8);
        let average = rows.last().unwrap();
        let all = flash.mean(bound, |run| run.joules) / disk.mean(bound, |run| run.joules);
        assert!(all < 0.7 && (0.6..0.75).contains(&average.total()), "{all} {average:?}");
        let efficiency = disk.mean_ratio(bound, flash, |run| run.joules);
        assert!((efficiency / printed - 1.0).abs() < 0.2, "{efficiency}");
        assert!(average.memory > average.storage && average.overhead > average.storage, "{average:?}");
        let disk_storage: f64 = figure_8(disk, disk, bound).last().map(|row| row.storage).unwrap();
        assert!(average.storage < 0.4 * disk_storage, "flash removes most of storage's energy: {average:?}");
    }
}

#[test]
fn bounds_are_bounds_and_the_estimate_is_above_the_lower() {
    for point in &survey().points {
        for cell in &point.cells {
            assert!(cell.nosync.seconds <= cell.sync.seconds * (1.0 + 1e-12));
            assert!(cell.nosync.seconds <= cell.estimate.seconds * (1.0 + 1e-12));
            for run in [&cell.sync, &cell.nosync, &cell.estimate] {
                assert!(run.seconds_without.iter().all(|it| *it <= run.seconds * (1.0 + 1e-12)));
                let busy = run.busy_resource();
                assert!(busy.margin >= 0.0 && busy.saving <= 1.0);
            }
        }
    }
}

#[test]
fn a_balanced_node_has_one_of_each() {
    let balance = &point(DESIGNS[1]).balance;
    // 900 MB/s for 0.95 G instructions per second.
    assert!((balance.io_bits_per_instruction - 7.2 / 0.95).abs() < 1e-9);
    assert!((balance.memory_bytes_per_instruction.unwrap() - 2.147_483_648 / 0.95).abs() < 1e-9);
    let disk = &point("4 Core 2 2.4 GHz, 1 disk").balance;
    assert!(disk.io_bits_per_instruction < 0.1, "a server with one disk is far from balance");
}

#[test]
fn a_third_axis_keeps_the_cheap_and_an_unknown_price_is_in_no_set() {
    let traces = suite(&TraceShape::fitted(), 4, 1);
    let axes = vec![SurveyAxis::Time, SurveyAxis::Energy, SurveyAxis::Price];
    let settings = SurveySettings { axes, ..SurveySettings::default() };
    let report = SurveyReport::of(&paper::space().designs(), &traces, &settings, &Nobody).unwrap();
    for (point, is_best) in report.points.iter().zip(&report.pareto) {
        assert_eq!(is_best.is_none(), point.processor == "Atom", "nobody says what an Atom costs");
    }
    assert!(report.best().iter().any(|point| point.storage == "disk"), "disks are cheaper");
    let notes = tables::notes(&report);
    let uncompared = "36 designs are not compared for the Pareto set: time, energy, price must all be known for that";
    assert!(notes.iter().any(|note| note == uncompared), "{notes:?}");
    assert!(!page(&report).contains("<polyline"), "with three axes a line would lead up and down");
    assert!(page(survey()).contains("<polyline"));
}

#[test]
fn todays_parts_are_surveyed_with_their_prices() {
    let catalogue = Catalogue::built_in("today").unwrap();
    let ratings = SurveyRatings { writes_as_reads: true, ..SurveyRatings::today() };
    let (designs, unknown) = catalogue::designs(&catalogue, &ratings);
    let traces = suite(&TraceShape::fitted(), 8, 1);
    let settings = SurveySettings {
        reference: designs[0].name.clone(),
        axes: vec![SurveyAxis::Time, SurveyAxis::Energy, SurveyAxis::Price],
        ..SurveySettings::default()
    };
    let mut report = SurveyReport::of(&designs, &traces, &settings, &Nobody).unwrap();
    assert_eq!(tables::points(&report, false).rows.len(), designs.len());
    assert!(report.pareto.iter().all(Option::is_some), "every price is known");
    let best: Vec<&str> = report.best().into_iter().map(|point| point.name.as_str()).collect();
    assert!(best.contains(&"Orange Pi 5 + NVMe 1 TB"), "the cheapest and the fastest: {best:?}");
    assert!(!best.contains(&"Raspberry Pi 5 8 GB + NVMe 2 TB"), "as fast as with 1 TB, and dearer");
    report.left_out = unknown;
    let page = page(&report);
    let missing = "left out, no processor rating, no read rate of its drive, no write rate of its drive known: Thelio";
    assert!(page.contains(missing), "what is missing is said");
    assert!(page.contains("Time and price"), "a third axis has a picture of its own");
    assert!(page.contains("7-Zip rating of 11830 MIPS"));
}

#[test]
fn a_survey_of_nothing_is_none() {
    let settings = SurveySettings::default();
    assert!(SurveyReport::of(&[], &suite(&TraceShape::fitted(), 1, 1), &settings, &Nobody).is_none());
    assert!(SurveyReport::of(&[paper::reference()], &[], &settings, &Nobody).is_none());
}

#[test]
fn the_page_has_every_design_and_nothing_from_elsewhere() {
    let page = page(survey());
    for design in &survey().points {
        assert!(page.contains(&design.name), "{}", design.name);
    }
    for what in ["<script", "src=", "@import", "url("] {
        assert!(!page.contains(what), "{what}");
    }
    let links: Vec<&str> = page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert!(links.len() >= 8 * 84, "each mark of each picture is a link");
    for link in links {
        let id = link.strip_prefix('#').unwrap_or_else(|| panic!("{link} leads elsewhere"));
        assert!(page.contains(&format!("<tr id=\"{id}\">")), "{link} leads nowhere");
    }
    assert!(page.contains("<title>4 Core 2 2.4 GHz, 1 flash array: time ×"), "marks have titles");
    for tag in ["table", "details", "svg", "div", "ul", "a", "tr"] {
        let opened = page.matches(&format!("<{tag}>")).count() + page.matches(&format!("<{tag} ")).count();
        assert_eq!(opened, page.matches(&format!("</{tag}>")).count(), "{tag}");
    }
    assert!(page.len() < 1 << 20, "{}", page.len());
    let drawn = scatter(survey(), None, SurveyAxis::Energy);
    assert_eq!(drawn.matches("<title>").count(), 84);
    assert!(!drawn.contains("NaN"));
}

#[test]
fn a_report_is_json_that_names_its_fields() {
    let traces = suite(&TraceShape::fitted(), 2, 1);
    let report = SurveyReport::of(&[paper::reference()], &traces[..1], &SurveySettings::default(), &Nobody).unwrap();
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["points"][0]["cells"][0]["workload"], "RandomWriter");
    assert!(json["points"][0]["cells"][0]["sync"]["seconds_without"].as_array().unwrap().len() == 3);
    assert_eq!(json["settings"]["axes"], serde_json::json!(["time", "energy"]));
}

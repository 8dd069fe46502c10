//! All of §6 at once: a question, and what it costs on the paper's parts and on a catalogue's nodes.

use fawn_plan::Catalogue;
use serde::Serialize;

use super::copies::{CopiedData, FlashNode, NodeDemand, SleepingServer};
use super::petabyte::{
    CatalogueCost, CostPart, PETABYTE_GB, PRINTED_TABLE_8, PetabyteCost, PrintedCost, TABLE_7, catalogue_costs, servers,
};
use super::schedule::{DaySchedule, ScheduleError};
use super::sleeping::{CopiesCost, all_in_flash, one_in_flash};
use super::slices::{ClusterSlice, SliceJob, SliceRun, hiding_seconds_per_gb, run_jobs};
use crate::node::NodeDesign;
use crate::survey::catalogue::{SurveyRatings, UnsurveyedOption, designs};
use crate::survey::paper;

/// Bytes of the flash of a Gordon node (§3).
const GORDON_BYTES: f64 = 256e9;

/// What is to be stored and computed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CostQuestion {
    /// Data with copies; one copy is what Table 8 stores.
    pub data: CopiedData,
    /// The server whose disks sleep.
    pub server: SleepingServer,
    /// The share of flash nodes that are lost per year.
    pub losses_per_year: f64,
    /// How busy flash nodes are on average, from 0 to 1.
    pub activity: f64,
    /// Nodes of a slice.
    pub slice_nodes: u32,
    /// Bytes per second between a slice and the data warehouse.
    pub link_bytes_per_second: f64,
    /// The job of a slice.
    pub job: SliceJob,
}

/// A row of Table 8.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Table8Row {
    /// The medium.
    pub medium: &'static str,
    /// As printed; `None` for another amount than a petabyte.
    pub printed: Option<PrintedCost>,
    /// As computed.
    pub computed: PetabyteCost,
}

/// A kind of flash node with its copies in flash and on sleeping disks (§6.1), and as a slice (§6.3).
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeCosts {
    /// The node.
    pub name: String,
    /// All copies in flash.
    pub all_in_flash: CopiesCost,
    /// One copy in flash, the others on disks that sleep.
    pub one_in_flash: CopiesCost,
    /// The slice.
    pub slice: ClusterSlice,
    /// Jobs one after the other.
    pub in_turn: SliceRun,
    /// Jobs whose loads and stores are hidden behind others' computing.
    pub overlapped: SliceRun,
}

/// What it costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CostReport {
    /// The question.
    pub question: CostQuestion,
    /// Table 7.
    pub table_7: Vec<CostPart>,
    /// Table 8 for one copy of the data.
    pub table_8: Vec<Table8Row>,
    /// The catalogue.
    pub catalogue: String,
    /// One copy of the data on the catalogue's nodes.
    pub catalogue_costs: Vec<CatalogueCost>,
    /// §6.1 and §6.3: the paper's node first, then the catalogue's.
    pub nodes: Vec<NodeCosts>,
    /// Nodes of the catalogue of which too little is known for §6.1 and §6.3.
    pub left_out: Vec<UnsurveyedOption>,
    /// Seconds that a job must compute per gigabyte for loading the next to be hidden.
    pub hiding_seconds_per_gb: f64,
    /// What has to be known beside the figures.
    pub notes: Vec<String>,
}

impl CostReport {
    /// Answers a question.
    ///
    /// # Errors
    /// The disk servers' day is too short for what they are to take.
    pub fn of(question: &CostQuestion, catalogue: &Catalogue, ratings: &SurveyRatings) -> Result<Self, ScheduleError> {
        let schedule = DaySchedule::of(&question.data, &question.server)?;
        let gb = question.data.bytes / 1e9;
        let is_printed = (gb / PETABYTE_GB - 1.0).abs() < 1e-9;
        let row = |(printed, server): (PrintedCost, _)| Table8Row {
            medium: printed.medium,
            printed: is_printed.then_some(printed),
            computed: PetabyteCost::of(&server, gb),
        };
        let (today, mut left_out) = designs(catalogue, ratings);
        let gordon = paper::max_efficiency();
        let mut nodes = vec![node_costs(question, &schedule, &gordon, "Gordon node (paper)", GORDON_BYTES)];
        for design in today {
            let option = catalogue.options.iter().find(|option| option.name == design.name);
            match option.and_then(|option| option.value(fawn_plan::Quantity::Gb)) {
                Some(gb) => nodes.push(node_costs(question, &schedule, &design, &design.name, gb * 1e9)),
                None => left_out.push(UnsurveyedOption { name: design.name, missing: vec!["space"] }),
            }
        }
        let mut notes = notes(is_printed);
        notes.extend(copies_notes(question.data.copies, &nodes));
        Ok(Self {
            question: *question,
            table_7: TABLE_7.to_vec(),
            table_8: PRINTED_TABLE_8.into_iter().zip(servers()).map(row).collect(),
            catalogue: catalogue.name.clone(),
            catalogue_costs: catalogue_costs(catalogue, gb),
            left_out,
            hiding_seconds_per_gb: hiding_seconds_per_gb(&nodes[0].slice),
            nodes,
            notes,
        })
    }
}

fn node_costs(
    question: &CostQuestion,
    schedule: &DaySchedule,
    design: &NodeDesign,
    name: &str,
    bytes: f64,
) -> NodeCosts {
    let (watts, storage) = (design.watts(), &design.storage);
    let devices = f64::from(storage.devices);
    let node = FlashNode {
        bytes,
        write_bytes_per_second: storage.write.bytes_per_second * devices,
        network_bytes_per_second: design.network_bytes_per_second,
        watts: watts.at(question.activity),
        dollars: design.price_dollars(),
        losses_per_year: question.losses_per_year,
    };
    let slice = ClusterSlice {
        nodes: question.slice_nodes,
        node_bytes: bytes,
        node_bytes_per_second: storage.read.bytes_per_second * devices,
        link_bytes_per_second: question.link_bytes_per_second,
        watts: f64::from(question.slice_nodes) * watts.active,
    };
    NodeCosts {
        name: name.to_owned(),
        all_in_flash: all_in_flash(&question.data, &node),
        one_in_flash: one_in_flash(&question.data, &node, &question.server, schedule),
        in_turn: run_jobs(&slice, &question.job, false),
        overlapped: run_jobs(&slice, &question.job, true),
        slice,
    }
}

fn notes(is_printed: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if is_printed {
        notes.push("a petabyte is 2^20 GB, as the printed numbers of servers have it".to_owned());
        notes.push(
            "NAND: the paper states four cards a server, which give 1,638 servers; three give the printed 2,185"
                .to_owned(),
        );
        notes.push(
            "SATA disks: 44 servers of 16 disks at $129 cost $90,816; $100,000 are printed. The printed shares of power do not \
             follow from Table 7"
                .to_owned(),
        );
    }
    notes.push(
        "the paper has no watts of a sleeping server, no time to wake it up and no rate of losses: these are assumptions"
            .to_owned(),
    );
    notes.push("no price of an Atom is known, so that a Gordon node has none; energy is modelled".to_owned());
    notes
}

/// What has to be known of the copies: that nothing recovers one alone, what asks for more nodes than the data, and disks
/// that never sleep.
fn copies_notes(copies: u32, nodes: &[NodeCosts]) -> Vec<String> {
    let mut notes = Vec::new();
    if copies == 1 {
        notes.push("with one copy nothing recovers the data of a lost node, and no copy sleeps on disks".to_owned());
    }
    let named = |is_meant: &dyn Fn(&NodeCosts) -> bool| {
        let names: Vec<&str> = nodes.iter().filter(|node| is_meant(node)).map(|node| node.name.as_str()).collect();
        let is_all = names.len() == nodes.len();
        (!names.is_empty()).then(|| if is_all { "every kind of node".to_owned() } else { names.join("; ") })
    };
    let in_flash =
        |node: &NodeCosts, demand| [node.all_in_flash, node.one_in_flash].iter().any(|it| it.flash_demand == demand);
    if let Some(names) = named(&|node| in_flash(node, NodeDemand::Copies)) {
        notes.push(format!("fewer flash nodes would hold the data, but each copy is on another one: {names}"));
    }
    if let Some(names) = named(&|node| in_flash(node, NodeDemand::Writes)) {
        notes.push(format!("fewer flash nodes would hold the data, but could not write what changes: {names}"));
    }
    if nodes.iter().any(|node| node.one_in_flash.disk_demand == Some(NodeDemand::Copies)) {
        notes.push("fewer disk servers would hold the data, but each copy is on another one".to_owned());
    }
    if let Some(names) = named(&|node| node.one_in_flash.awake_share >= 1.0) {
        notes.push(format!("changes and losses of nodes keep the disks awake all the time: {names}"));
    }
    notes
}

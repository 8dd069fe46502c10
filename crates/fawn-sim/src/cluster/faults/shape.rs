//! The cluster of a seed: a shape that the seed draws, made to fit its scenario.

use fawn_check::random::Random;
use fawn_kv::ids::{Ack, Consistency, Rules};

use crate::cluster::faults::scenarios::Scenario;
use crate::cluster::script::plan::{Plan, RULES};

impl Plan {
    /// A small cluster of a shape that the seed decides.
    pub fn of(seed: u64) -> Self {
        Self::shaped(seed, None, None)
    }

    /// The same with so many members of each chain and places of each node; `None`: as the seed decides.
    pub fn shaped(seed: u64, replicas: Option<u32>, virtual_ids: Option<u32>) -> Self {
        let mut random = Random::new(seed ^ 0x706c_616e);
        let drawn = *random.pick(&[1, 2, 3, 3, 3, 5]);
        let wanted = replicas;
        let replicas = wanted.unwrap_or(drawn);
        let shared = random.chance(1, 8);
        let machines = replicas + random.below(3) as u32;
        let rules = Rules {
            ack: if random.chance(1, 6) { Ack::Replicated } else { Ack::Durable },
            consistency: Consistency::Chain,
            min_write_replicas: if random.chance(1, 4) { 2.min(replicas as u8) } else { 1 },
            spread_reads: random.chance(1, 3),
            ..RULES
        };
        let late = random.below(3) as u32;
        let drawn = *random.pick(&[1, 1, 1, 2, 4]);
        let domains = Random::new(seed ^ 0x646f_6d61_696e).below(4 * u64::from(replicas + 2)) as u32;
        let plan = Self {
            nodes: if shared { machines * 2 } else { machines },
            late,
            shared,
            replicas,
            virtual_ids: virtual_ids.unwrap_or(drawn),
            adopts: 0,
            archives: 0,
            rests: false,
            // None in three of four seeds; else fewer, as many as members, or more.
            domains: if domains < replicas + 2 { domains } else { 0 },
            rules,
            lost_clock: random.chance(1, 8),
            on_flash: seed % 4 == 3,
            clients: 3 + random.below(8) as u32,
            // Few keys are contended; many make copies long.
            keys: if random.chance(1, 8) { 300 } else { 4 + random.below(30) },
            fronts: *random.pick(&[0, 0, 1, 2, 2, 3, 3]),
            managers: 3,
            hasty: random.chance(1, 2),
            faults_us: 8_000_000,
            faults: true,
            fixed: false,
            trace: false,
        };
        let shaped = Scenario::of(seed).shape(plan);
        let shaped = Self {
            replicas: wanted.unwrap_or(shaped.replicas),
            virtual_ids: virtual_ids.unwrap_or(shaped.virtual_ids),
            ..shaped
        };
        if shaped.archives > 0 {
            return shaped;
        }
        let archives = archives(seed, &shaped);
        Self { archives, rests: archives > 0 && Random::new(seed ^ 0x7265_7374_7300_0000).chance(1, 2), ..shaped }
    }

    /// The same, with each member a chain of its own.
    pub fn weak(seed: u64) -> Self {
        let plan = Self::of(seed);
        Self { rules: Rules { consistency: Consistency::Weak, ..plan.rules }, archives: 0, rests: false, ..plan }
    }
}

/// How many of the nodes are archives: none in three of four seeds, else fewer than there are members of a chain, or as many.
fn archives(seed: u64, plan: &Plan) -> u32 {
    let mut random = Random::new(seed ^ 0x6172_6368_6976_6573);
    let most = plan.replicas.min(plan.nodes + plan.late - 1).min(plan.nodes + plan.late - plan.adopts);
    if most > 0 && random.chance(1, 4) { random.within(1, u64::from(most)) as u32 } else { 0 }
}

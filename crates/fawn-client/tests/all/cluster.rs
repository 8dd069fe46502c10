//! A cluster to try a client on.

use fawn_client::{Client, Options};
use fawn_kv::manager::Leases;
use fawn_kv::manager::roster::NodeClass;
use fawn_kv::status::{Answer, Question, Status};
use fawn_manager::{Operator, Running, Tls};
use fawn_node::ServeOptions;
use fawn_node::cluster::{ClusterOptions, Process, start};
use fawn_tls::Material;
use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Nothing that a test waits for takes longer.
pub const LONG: Duration = Duration::from_secs(40);

pub struct Cluster {
    pub manager: Option<Running>,
    /// Where it is.
    pub address: String,
    members: BTreeMap<String, Process>,
    certificates: Option<PathBuf>,
    leases: Leases,
    dirs: TempDir,
}

impl Cluster {
    /// A cluster with so many replicas, and a node for each.
    pub fn start(replicas: u32) -> Self {
        Self::with(replicas, None)
    }

    /// With certificates of this directory.
    pub fn with(replicas: u32, certificates: Option<PathBuf>) -> Self {
        Self::of(replicas, certificates, Leases::default())
    }

    /// Whose nodes go on for so long without a manager.
    pub fn with_leases(replicas: u32, lease: Duration) -> Self {
        Self::of(replicas, None, Leases { lease_us: lease.as_micros() as u64, ..Leases::default() })
    }

    fn of(replicas: u32, certificates: Option<PathBuf>, leases: Leases) -> Self {
        let (members, dirs) = (BTreeMap::new(), tempfile::tempdir().unwrap());
        let mut cluster = Self { manager: None, address: "127.0.0.1:0".into(), members, certificates, leases, dirs };
        cluster.start_manager(replicas);
        for name in ["a", "b", "c"].iter().take(replicas as usize) {
            cluster.start_member(name);
        }
        cluster.settles(replicas as usize);
        cluster
    }

    pub fn start_manager(&mut self, replicas: u32) {
        let mut options = fawn_manager::Options::new(&self.dirs.path().join("manager"));
        (options.settings.replicas, options.settings.first_nodes) = (replicas, replicas);
        options.settings.leases = self.leases;
        options.listen = Some(self.address.clone());
        options.tls = self.material("manager");
        let manager = fawn_manager::start(options).unwrap();
        self.address = manager.address().unwrap().to_string();
        self.manager = Some(manager);
    }

    pub fn material(&self, name: &str) -> Option<Material> {
        self.certificates.as_ref().map(|dir| Material::in_dir(dir, name))
    }

    pub fn start_member(&mut self, name: &str) {
        let options = ClusterOptions {
            serve: ServeOptions {
                listen: Vec::new(),
                threads: NonZeroUsize::MIN,
                memory_bytes: 32 << 20,
                ..ServeOptions::new(self.dirs.path().join(name))
            },
            name: name.to_owned(),
            managers: vec![self.address.clone()],
            cluster_listen: "127.0.0.1:0".into(),
            advertise: None,
            machine: None,
            domain: None,
            virtual_ids: 2,
            node: NodeClass::Serving,
            rest: Duration::ZERO,
            is_front: true,
            cache_bytes: 1 << 20,
            copy_bytes_per_s: 128 << 20,
            certificates: self.material(name),
        };
        let process = start(&[options], &AtomicBool::new(false)).unwrap();
        self.members.insert(name.to_owned(), process);
    }

    pub fn stop_member(&mut self, name: &str) {
        self.members.remove(name).unwrap().stop().unwrap();
    }

    /// Where a member is reached.
    pub fn address_of(&self, name: &str) -> String {
        self.members[name].addresses[0].clone()
    }

    pub fn status(&self) -> Status {
        let tls = self.material("operator").map(|material| Tls::of(&material).unwrap());
        match Operator::new(vec![self.address.clone()], tls, LONG).ask(&Question::Status).unwrap() {
            Answer::Status(status) => *status,
            other => panic!("{other:?}"),
        }
    }

    /// Waits until every chain has so many members, and every wedge an owner that lives.
    pub fn settles(&self, replicas: usize) {
        let begun = Instant::now();
        loop {
            let status = self.status();
            let level = !status.ranges.is_empty()
                && status.ranges.iter().all(|range| !range.is_changing && range.chain.members.len() == replicas);
            let owned = !status.wedges.is_empty() && status.wedges.iter().all(|wedge| wedge.owner.is_some());
            if level && owned && status.is_settled {
                return;
            }
            assert!(begun.elapsed() < LONG, "it does not settle: {:?}", status.ranges);
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn options(&self) -> Options {
        Options { timeout: LONG, connect_timeout: LONG, ..Options::new([self.address.clone()]) }
    }

    pub async fn client(&self) -> Client {
        Client::connect(self.options()).await.unwrap()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for (_, member) in std::mem::take(&mut self.members) {
            let stopped = member.stop();
            assert!(stopped.is_ok() || std::thread::panicking(), "{stopped:?}");
        }
    }
}

/// Runs a test's asynchronous part.
pub fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

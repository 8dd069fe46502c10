//! Compiles what lies between `BerkeleyDB`'s structures of function pointers and this program, and passes on the versions of
//! the engines that are crates.

fn main() {
    println!("cargo::rerun-if-changed=Cargo.lock");
    let lock = std::fs::read_to_string("Cargo.lock").unwrap_or_default();
    for engine in ["fjall", "redb"] {
        let name = format!("name = \"{engine}\"\nversion = \"");
        let rest = lock.split_once(&name).map_or("", |(_, rest)| rest);
        let version = rest.split('"').next().unwrap_or_default();
        println!("cargo::rustc-env={}_VERSION={version}", engine.to_uppercase());
    }
    #[cfg(feature = "bdb")]
    {
        println!("cargo::rerun-if-changed=src/engines/bdb.c");
        cc::Build::new().file("src/engines/bdb.c").warnings(true).compile("peer_bdb");
        println!("cargo::rustc-link-lib=db");
    }
}

//! Compiles the programs that the kernel runs for the observer of a host's inside.

use std::path::PathBuf;
use std::process::{Command, exit};

const SOURCE: &str = "src/inside/inside.bpf.c";

fn main() {
    println!("cargo:rerun-if-changed=src/inside/bpf");
    println!("cargo:rerun-if-changed={SOURCE}");
    if Command::new("clang").arg("--version").output().is_err() {
        eprintln!("dwell-net: clang is missing, which compiles {SOURCE}: run `make setup`");
        exit(1);
    }
    let Some(out) = std::env::var_os("OUT_DIR") else {
        eprintln!("dwell-net: build.rs is run by cargo alone");
        exit(1);
    };
    let built = libbpf_cargo::SkeletonBuilder::new()
        .source(SOURCE)
        // Atomic instructions that give the old value back.
        .clang_args(["-mcpu=v3", "-Wall", "-Werror", "-Wno-unused-function"])
        .obj(PathBuf::from(out).join("inside.bpf.o"))
        .build();
    if let Err(error) = built {
        eprintln!("dwell-net: {error:#}");
        exit(1);
    }
}

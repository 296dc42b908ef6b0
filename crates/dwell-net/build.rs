//! Compiles the programs that the kernel runs: those of the observer of a host's inside, a wire's, and the filter of a ring.

use std::path::Path;
use std::process::{Command, exit};

const SOURCES: [&str; 3] =
    ["src/inside/inside.bpf.c", "src/wire/wire.bpf.c", "src/capture/ring/filter.bpf.c"];

fn main() {
    println!("cargo:rerun-if-changed=src/inside/bpf");
    println!("cargo:rerun-if-changed=src/bpf/words.h");
    println!("cargo:rerun-if-changed=src/capture/ring/kernel.h");
    println!("cargo:rerun-if-changed=src/capture/ring/walk.h");
    SOURCES.iter().for_each(|source| println!("cargo:rerun-if-changed={source}"));
    if Command::new("clang").arg("--version").output().is_err() {
        eprintln!("dwell-net: clang is missing, which compiles {}: run `make setup`", SOURCES.join(", "));
        exit(1);
    }
    let Some(out) = std::env::var_os("OUT_DIR") else {
        eprintln!("dwell-net: build.rs is run by cargo alone");
        exit(1);
    };
    for source in SOURCES.map(Path::new) {
        let Some(name) = source.file_stem() else { continue };
        let built = libbpf_cargo::SkeletonBuilder::new()
            .source(source)
            // Atomic instructions that give the old value back.
            .clang_args(["-mcpu=v3", "-Wall", "-Werror", "-Wno-unused-function"])
            .obj(Path::new(&out).join(name).with_extension("bpf.o"))
            .build();
        if let Err(error) = built {
            eprintln!("dwell-net: {error:#}");
            exit(1);
        }
    }
}

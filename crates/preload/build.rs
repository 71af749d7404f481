//! Compiles the crate a second time, as the shared object for `LD_PRELOAD`. The crate contains the
//! result (`session::LIBRARY`). Cargo cannot do this by itself: a package has its shared object and
//! its library from one set of settings, and the object must not contain Rust's standard library.

use std::env;
use std::path::PathBuf;
use std::process::{Command, exit};

/// Settings of the shared object. It has no start files and no standard library, so it depends on
/// no version of the C library. Unwind tables are for threads that are cancelled inside a call.
const SETTINGS: [&str; 8] = [
    "-Copt-level=3",
    "-Ccodegen-units=1",
    "-Clto=fat",
    "-Cpanic=abort",
    "-Cforce-unwind-tables=yes",
    "-Cstrip=symbols",
    "-Ctarget-feature=-crt-static",
    "-Clink-arg=-nostartfiles",
];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(exported)");
    println!("cargo::rerun-if-changed=src");
    let [Some(compiler), Some(target), Some(folder)] =
        ["RUSTC", "TARGET", "OUT_DIR"].map(env::var_os)
    else {
        return refuse("expected RUSTC, TARGET and OUT_DIR, which cargo sets");
    };
    let object = PathBuf::from(folder).join("libtcpsf_preload.so");
    let mut command = Command::new(compiler);
    command.args(["--edition=2024", "--crate-name=tcpsf_preload", "--crate-type=cdylib"]);
    command.args(["--cfg=exported", "--cap-lints=allow"]).args(SETTINGS);
    command.arg("--target").arg(target).arg("-o").arg(&object).arg("src/lib.rs");
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        command.arg("-C").arg(format!("linker={}", linker.display()));
    }
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => refuse(&format!("the compiler ended with {status}")),
        Err(error) => refuse(&error.to_string()),
    }
}

/// Ends the build with a reason.
fn refuse(reason: &str) {
    println!("cargo::error=cannot compile the library for LD_PRELOAD: {reason}");
    exit(1);
}

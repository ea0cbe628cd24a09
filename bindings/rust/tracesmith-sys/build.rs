// SPDX-License-Identifier: Apache-2.0
//
// Finds libtracesmith: in the folder TRACESMITH_LIB_DIR, a build folder of TraceSmith, or by pkg-config.

use std::env;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=TRACESMITH_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    if let Ok(dir) = env::var("TRACESMITH_LIB_DIR") {
        // A build folder has no link of the plain name, so this makes one.
        let library = Path::new(&dir).join("libtracesmith.so.0");
        let out = env::var("OUT_DIR").expect("cargo sets OUT_DIR");
        let link = Path::new(&out).join("libtracesmith.so");
        assert!(library.exists(), "there is no {}", library.display());
        let _ = fs::remove_file(&link);
        symlink(&library, &link).expect("a link to the library");
        println!("cargo:rustc-link-search=native={out}");
        println!("cargo:rustc-link-lib=dylib=tracesmith");
        return;
    }
    let found = Command::new("pkg-config").args(["--libs-only-L", "tracesmith"]).output();
    let out = match found {
        Ok(out) if out.status.success() => out,
        _ => panic!("libtracesmith was not found: install it, or set TRACESMITH_LIB_DIR to a build folder"),
    };
    for word in String::from_utf8_lossy(&out.stdout).split_whitespace() {
        if let Some(dir) = word.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={dir}");
        }
    }
    println!("cargo:rustc-link-lib=dylib=tracesmith");
}

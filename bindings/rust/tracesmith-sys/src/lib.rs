// SPDX-License-Identifier: Apache-2.0

//! `libtracesmith` as it is: `tracesmith.h` is the reference. The crate `tracesmith` is safe.

#![allow(non_camel_case_types)]

mod api;
pub use api::*;

pub const TS_NO_ID: u64 = 0xffff_ffff;
pub const TS_MISSING: u64 = u64::MAX;
pub const TS_MISSING_SIGNED: i64 = i64::MIN;

// SPDX-License-Identifier: Apache-2.0

//! Traces of GPU commands: reading them, asking for races, replaying them, and programs with
//! breakpoints. It is `libtracesmith` (docs/library.md) with Rust's ownership.
//!
//! A trace may move to another thread; one thread at a time uses it. Whatever a trace holds, a call
//! gives a value or an [`Error`].

mod answer;
mod columns;
mod kinds;
mod session;
mod trace;

pub use answer::Answer;
pub use columns::{column_kind, column_name, Argument, ArgumentValue, ColumnKind, MISSING, MISSING_SIGNED};
pub use kinds::*;
pub use session::{Interrupt, Options, Program, Replay, Session, Stop};
pub use trace::{Cursor, Filter, Frame, Name, State, Trace, Value};

use std::ffi::{CStr, CString};
use std::fmt;
use std::os::raw::{c_char, c_int};
use tracesmith_sys as sys;

/// What could not be done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub kind: ErrorKind,
    /// A sentence.
    pub what: String,
    /// What to do about it, or "".
    pub cure: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    Usage,
    System,
    NotFound,
    BadTrace,
    Incomplete,
    Permission,
    Unsupported,
    Limit,
    Interrupted,
    Other,
}

pub type Result<T> = std::result::Result<T, Error>;

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}", self.what)?;
        if self.cure.is_empty() {
            Ok(())
        } else {
            write!(f, ". {}", self.cure)
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    fn usage(what: &str) -> Error {
        Error { kind: ErrorKind::Usage, what: what.to_string(), cure: String::new() }
    }
}

/// The text of a C string that may be NULL; what is not UTF-8 becomes U+FFFD.
fn text(p: *const c_char) -> Option<String> {
    if p.is_null() {
        return None;
    }
    // SAFETY: the library's texts end by 0 and live until its next call, which comes later.
    Some(unsafe { CStr::from_ptr(p) }.to_string_lossy().into_owned())
}

fn c_text(s: &str) -> Result<CString> {
    CString::new(s).map_err(|_| Error::usage("a text has a NUL in it"))
}

/// What a result means; TS_END is an error here, callers for which it is none look first.
fn need(result: c_int) -> Result<()> {
    let kind = match result {
        sys::TS_OK => return Ok(()),
        sys::TS_USAGE => ErrorKind::Usage,
        sys::TS_SYSTEM => ErrorKind::System,
        sys::TS_NOT_FOUND => ErrorKind::NotFound,
        sys::TS_BAD_TRACE => ErrorKind::BadTrace,
        sys::TS_INCOMPLETE => ErrorKind::Incomplete,
        sys::TS_PERMISSION => ErrorKind::Permission,
        sys::TS_UNSUPPORTED => ErrorKind::Unsupported,
        sys::TS_LIMIT => ErrorKind::Limit,
        sys::TS_INTERRUPTED => ErrorKind::Interrupted,
        _ => ErrorKind::Other,
    };
    // SAFETY: both give this thread's texts, which stay until its next failure.
    let (what, cure) = unsafe { (text(sys::ts_error()), text(sys::ts_error_cure())) };
    Err(Error { kind, what: what.unwrap_or_default(), cure: cure.unwrap_or_default() })
}

/// The version of the library that was loaded.
pub fn version() -> String {
    // SAFETY: a text that lives for ever.
    text(unsafe { sys::ts_version() }).unwrap_or_default()
}

/// Two traces compared, as `tsdb diff` does: the object `trace_diff` of docs/json.md.
pub fn diff(a: &str, b: &str, options: &[&str]) -> Result<Answer> {
    let (a, b) = (c_text(a)?, c_text(b)?);
    let words = options.iter().map(|o| c_text(o)).collect::<Result<Vec<_>>>()?;
    let mut list: Vec<*const c_char> = words.iter().map(|w| w.as_ptr()).collect();
    list.push(std::ptr::null());
    // SAFETY: the texts and the list outlive the call, which keeps none of them.
    Answer::made(|ret| unsafe { sys::ts_diff(ret, a.as_ptr(), b.as_ptr(), list.as_ptr()) })
}

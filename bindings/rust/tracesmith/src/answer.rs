// SPDX-License-Identifier: Apache-2.0

use crate::{c_text, need, text, Result};
use std::os::raw::c_int;
use std::ptr;
use tracesmith_sys as sys;

/// A JSON document (docs/json.md), and what is in it by path: "seq", "[2].a.command.stream", "" for
/// the whole. A copy: it outlives what was asked.
pub struct Answer {
    p: *mut sys::ts_answer,
}

// SAFETY: nothing in an answer belongs to a thread; it is not Sync, since questions fill a cache.
unsafe impl Send for Answer {}

impl Drop for Answer {
    fn drop(&mut self) {
        // SAFETY: made by the library, freed once.
        unsafe { sys::ts_answer_free(self.p) }
    }
}

impl Answer {
    pub(crate) fn made(ask: impl FnOnce(*mut *mut sys::ts_answer) -> c_int) -> Result<Answer> {
        let mut p = ptr::null_mut();
        need(ask(&mut p))?;
        Ok(Answer { p })
    }

    /// The whole document, or what a command printed.
    pub fn text(&self) -> String {
        // SAFETY: valid while self is.
        text(unsafe { sys::ts_answer_text(self.p) }).unwrap_or_default()
    }

    /// What tsdb would have printed besides, on its standard error.
    pub fn notes(&self) -> String {
        // SAFETY: valid while self is.
        text(unsafe { sys::ts_answer_notes(self.p) }).unwrap_or_default()
    }

    /// How many elements a list has, or members an object.
    pub fn count(&self, path: &str) -> Result<u64> {
        let (path, mut n) = (c_text(path)?, 0);
        // SAFETY: both pointers are valid for the call.
        need(unsafe { sys::ts_answer_count(self.p, path.as_ptr(), &mut n) })?;
        Ok(n)
    }

    /// A whole number without a sign, a truth value, or an address.
    pub fn number(&self, path: &str) -> Result<u64> {
        let (path, mut n) = (c_text(path)?, 0);
        // SAFETY: both pointers are valid for the call.
        need(unsafe { sys::ts_answer_number(self.p, path.as_ptr(), &mut n) })?;
        Ok(n)
    }

    pub fn real(&self, path: &str) -> Result<f64> {
        let (path, mut v) = (c_text(path)?, 0.0);
        // SAFETY: both pointers are valid for the call.
        need(unsafe { sys::ts_answer_real(self.p, path.as_ptr(), &mut v) })?;
        Ok(v)
    }

    pub fn string(&self, path: &str) -> Result<String> {
        let (path, mut v) = (c_text(path)?, ptr::null());
        // SAFETY: both pointers are valid for the call; the text is copied at once.
        need(unsafe { sys::ts_answer_string(self.p, path.as_ptr(), &mut v) })?;
        Ok(text(v).unwrap_or_default())
    }
}

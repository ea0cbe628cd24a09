// SPDX-License-Identifier: Apache-2.0

use crate::{c_text, need, text, Answer, Error, Result};
use std::ffi::CString;
use std::ops::Deref;
use std::os::raw::{c_char, c_int, c_void};
use std::ptr;
use std::sync::{Arc, Mutex};
use tracesmith_sys as sys;

/// How a session begins.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The program tsdb; None: the one that belongs to the library.
    pub tsdb: Option<String>,
    /// "soft", "real", "none" or "auto".
    pub on: Option<String>,
    pub window: Option<u64>,
    pub any_device: bool,
    pub no_sandbox: bool,
    /// Of a program.
    pub cwd: Option<String>,
    /// Of a program: the trace that is written.
    pub record: Option<String>,
}

impl Options {
    pub fn on(device: &str) -> Options {
        Options { on: Some(device.to_string()), ..Options::default() }
    }

    fn with<T>(&self, f: impl FnOnce(&sys::ts_session_options) -> T) -> Result<T> {
        let owned = |t: &Option<String>| t.as_deref().map(c_text).transpose();
        let texts = [owned(&self.tsdb)?, owned(&self.on)?, owned(&self.cwd)?, owned(&self.record)?];
        let at = |t: &Option<CString>| t.as_ref().map_or(ptr::null(), |t| t.as_ptr());
        Ok(f(&sys::ts_session_options {
            size: std::mem::size_of::<sys::ts_session_options>(),
            tsdb: at(&texts[0]),
            on: at(&texts[1]),
            window: self.window.unwrap_or(sys::TS_MISSING),
            any_device: c_int::from(self.any_device),
            no_sandbox: c_int::from(self.no_sandbox),
            cwd: at(&texts[2]),
            record: at(&texts[3]),
        }))
    }
}

struct Handle(*mut sys::ts_session);

// SAFETY: one thread at a time uses a session; Interrupt's calls are made under the mutex.
unsafe impl Send for Handle {}

/// A tsdb of its own, which ends with the object.
pub struct Session {
    p: *mut sys::ts_session,
    alive: Arc<Mutex<Option<Handle>>>,
}

// SAFETY: one thread at a time uses a session, whichever it is.
unsafe impl Send for Session {}

impl Drop for Session {
    fn drop(&mut self) {
        // An Interrupt holds the mutex while it uses the session, and finds None behind this.
        let taken = self.alive.lock().map(|mut h| h.take()).unwrap_or(None);
        if taken.is_some() {
            // SAFETY: made by the library, closed once.
            unsafe { sys::ts_session_close(self.p) }
        }
    }
}

/// Ends what a session's thread waits for.
#[derive(Clone)]
pub struct Interrupt(Arc<Mutex<Option<Handle>>>);

impl Interrupt {
    pub fn interrupt(&self) {
        if let Ok(guard) = self.0.lock() {
            if let Some(h) = guard.as_ref() {
                // SAFETY: the session is not closed while the mutex is held.
                unsafe { sys::ts_session_interrupt(h.0) }
            }
        }
    }
}

/// Where a move has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// "breakpoint", "watchpoint", "step", "begin", "end", "exited" ... (`stop_reason` of
    /// docs/json.md).
    pub reason: String,
    pub seq: Option<u64>,
    pub stream: Option<u32>,
    pub breakpoints: Vec<u64>,
    pub kernel: Option<String>,
}

fn maybe<T>(r: Result<T>) -> Result<Option<T>> {
    match r {
        Ok(v) => Ok(Some(v)),
        Err(e) if e.kind == crate::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

impl Session {
    fn new(p: *mut sys::ts_session) -> Session {
        Session { p, alive: Arc::new(Mutex::new(Some(Handle(p)))) }
    }

    /// For other threads.
    pub fn interrupter(&self) -> Interrupt {
        Interrupt(self.alive.clone())
    }

    /// A command of tsdb's shell, or several lines, and what it prints.
    pub fn ask(&self, command: &str) -> Result<Answer> {
        let command = c_text(command)?;
        // SAFETY: valid for the call.
        Answer::made(|ret| unsafe { sys::ts_ask(ret, self.p, command.as_ptr()) })
    }

    /// The last stop in full: the object `stop` of docs/json.md.
    pub fn stopped(&self) -> Result<Answer> {
        // SAFETY: valid for the call.
        Answer::made(|ret| unsafe { sys::ts_stopped(ret, self.p) })
    }

    /// What was said at the last stop.
    pub fn stop_text(&self) -> String {
        // SAFETY: copied before the session moves again.
        text(unsafe { sys::ts_stop_text(self.p) }).unwrap_or_default()
    }

    fn moved(&self, r: c_int) -> Result<Stop> {
        need(r)?;
        let a = self.stopped()?;
        let n = a.count("breakpoint_list")?;
        Ok(Stop {
            reason: a.string("stop_reason")?,
            seq: maybe(a.number("seq"))?,
            stream: maybe(a.number("stream"))?.and_then(|s| u32::try_from(s).ok()),
            breakpoints: (0..n).map(|i| a.number(&format!("breakpoint_list[{i}]"))).collect::<Result<_>>()?,
            kernel: maybe(a.string("kernel_name"))?,
        })
    }

    /// A breakpoint at what `break PLACE` takes; its number.
    pub fn break_at(&self, place: &str) -> Result<u64> {
        let (place, mut n) = (c_text(place)?, 0);
        // SAFETY: both pointers are valid for the call.
        need(unsafe { sys::ts_break(self.p, place.as_ptr(), &mut n) })?;
        Ok(n)
    }

    /// Runs on to the next stop.
    pub fn go_on(&self) -> Result<Stop> {
        // SAFETY: no place for the reason is fine.
        self.moved(unsafe { sys::ts_continue(self.p, ptr::null_mut()) })
    }

    pub fn read(&self, addr: u64, size: usize) -> Result<Vec<u8>> {
        let mut bytes = vec![0u8; size];
        // SAFETY: `size` bytes are there.
        need(unsafe { sys::ts_memory_read(self.p, addr, bytes.as_mut_ptr() as *mut c_void, size) })?;
        Ok(bytes)
    }

    /// In a replay a what-if: what runs from here on finds the bytes.
    pub fn write(&self, addr: u64, bytes: &[u8]) -> Result<()> {
        // SAFETY: the slice is valid for the call.
        need(unsafe { sys::ts_memory_write(self.p, addr, bytes.as_ptr() as *const c_void, bytes.len()) })
    }
}

/// A replay of a trace.
pub struct Replay(Session);

impl Deref for Replay {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.0
    }
}

impl Replay {
    pub(crate) fn begin(t: *mut sys::ts_trace, options: &Options) -> Result<Replay> {
        let mut p = ptr::null_mut();
        // SAFETY: the trace is open, the options are valid for the call.
        need(options.with(|o| unsafe { sys::ts_replay(&mut p, t, o) })?)?;
        Ok(Replay(Session::new(p)))
    }

    /// The command that was submitted last; 0 at the beginning.
    pub fn seq(&self) -> Result<u64> {
        let mut n = 0;
        // SAFETY: the pointer is valid for the call.
        need(unsafe { sys::ts_position(self.0.p, &mut n) })?;
        Ok(n)
    }

    /// To right behind command `seq`; 0: the beginning.
    pub fn goto(&self, seq: u64) -> Result<()> {
        // SAFETY: no pointers but the session's.
        need(unsafe { sys::ts_goto(self.0.p, seq) })
    }

    /// n commands on, or -n back.
    pub fn step(&self, n: i64) -> Result<()> {
        // SAFETY: no pointers but the session's.
        need(unsafe { sys::ts_step(self.0.p, n) })
    }

    /// Runs backwards to the previous stop.
    pub fn go_back(&self) -> Result<Stop> {
        // SAFETY: no place for the reason is fine.
        self.moved(unsafe { sys::ts_reverse_continue(self.0.p, ptr::null_mut()) })
    }

    /// The last command up to here that wrote there: the object `writer`.
    pub fn who_wrote(&self, addr: u64, size: u64) -> Result<Answer> {
        // SAFETY: valid for the call.
        Answer::made(|ret| unsafe { sys::ts_who_wrote(ret, self.0.p, addr, size) })
    }

    /// The whole run compared with the recording: the object `replayed`.
    pub fn verify(&self) -> Result<Answer> {
        // SAFETY: valid for the call.
        Answer::made(|ret| unsafe { sys::ts_verify(ret, self.0.p) })
    }
}

/// A program that `run()` starts, with breakpoints.
pub struct Program(Session);

impl Deref for Program {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.0
    }
}

impl Program {
    pub fn launch(argv: &[&str], options: &Options) -> Result<Program> {
        let words = argv.iter().map(|w| c_text(w)).collect::<Result<Vec<_>>>()?;
        let mut list: Vec<*const c_char> = words.iter().map(|w| w.as_ptr()).collect();
        let mut p = ptr::null_mut();
        if list.is_empty() {
            return Err(Error::usage("a program has a name"));
        }
        list.push(ptr::null());
        // SAFETY: the list and its texts outlive the call, which keeps none of them.
        need(options.with(|o| unsafe { sys::ts_launch(&mut p, list.as_ptr(), o) })?)?;
        Ok(Program(Session::new(p)))
    }

    /// Starts it; the first stop, or its end.
    pub fn run(&self) -> Result<Stop> {
        // SAFETY: no place for the reason is fine.
        self.moved(unsafe { sys::ts_run(self.0.p, ptr::null_mut()) })
    }
}

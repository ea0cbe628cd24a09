// SPDX-License-Identifier: Apache-2.0

use crate::{c_text, need, text, Answer, Command, Options, Replay, Result};
use std::ffi::CString;
use std::marker::PhantomData;
use std::os::raw::{c_char, c_void};
use std::{ptr, slice};
use tracesmith_sys as sys;

/// An open trace.
pub struct Trace {
    p: *mut sys::ts_trace,
}

// SAFETY: a trace is used by one thread at a time, whichever it is. It is not Sync.
unsafe impl Send for Trace {}

impl Drop for Trace {
    fn drop(&mut self) {
        // SAFETY: cursors and states borrow the trace, so none is left.
        unsafe { sys::ts_close(self.p) }
    }
}

impl Trace {
    pub fn open(path: &str) -> Result<Trace> {
        let (path, mut p) = (c_text(path)?, ptr::null_mut());
        // SAFETY: both pointers are valid for the call.
        need(unsafe { sys::ts_open(&mut p, path.as_ptr()) })?;
        Ok(Trace { p })
    }

    pub(crate) fn pointer(&self) -> *mut sys::ts_trace {
        self.p
    }

    /// program, cwd, host, gpu, tsdb, damage; None: not known.
    pub fn text(&self, name: &str) -> Option<String> {
        let name = c_text(name).ok()?;
        // SAFETY: copied before the trace is asked again.
        text(unsafe { sys::ts_text(self.p, name.as_ptr()) })
    }

    /// commands, first_seq, last_seq, lost, bytes, start_ns, pid, rank, ranks, soft ...; None: not
    /// known.
    pub fn number(&self, name: &str) -> Result<Option<u64>> {
        let (name, mut n) = (c_text(name)?, 0);
        // SAFETY: both pointers are valid for the call.
        need(unsafe { sys::ts_number(self.p, name.as_ptr(), &mut n) })?;
        Ok(if n == sys::TS_MISSING { None } else { Some(n) })
    }

    /// Commands from the first with a seq not below `seq`; `filter`: those for which it holds.
    pub fn commands(&self, seq: u64, filter: &Filter) -> Result<Cursor<'_>> {
        let mut p = ptr::null_mut();
        // SAFETY: the cursor borrows the trace, and so does not outlive it.
        need(unsafe { sys::ts_cursor_open(&mut p, self.p, seq) })?;
        let mut cursor = Cursor { p, done: false, of: PhantomData };
        filter.put(&mut cursor)?;
        Ok(cursor)
    }

    /// The GPU's state right after the command with this seq.
    pub fn state(&self, seq: u64) -> Result<State<'_>> {
        let mut p = ptr::null_mut();
        // SAFETY: as of a cursor.
        need(unsafe { sys::ts_state_at(&mut p, self.p, seq) })?;
        Ok(State { p, of: PhantomData })
    }

    /// `races`: a list of the object `race`; options are the command's.
    pub fn races(&self, options: &str) -> Result<Answer> {
        let options = c_text(options)?;
        // SAFETY: valid for the call.
        Answer::made(|ret| unsafe { sys::ts_races(ret, self.p, options.as_ptr()) })
    }

    /// Whether command a is finished before b begins, and why: the object `order_why`.
    pub fn order_why(&self, a: u64, b: u64) -> Result<Answer> {
        // SAFETY: valid for the call.
        Answer::made(|ret| unsafe { sys::ts_order_why(ret, self.p, a, b) })
    }

    /// A replay, at first before its first command; it does not need the trace any more.
    pub fn replay(&self, options: &Options) -> Result<Replay> {
        Replay::begin(self.p, options)
    }
}

/// Which commands: all for which everything that is set holds.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    pub kind: Option<String>,
    /// A glob of the kernel's name.
    pub kernel: Option<String>,
    pub stream: Option<u32>,
    /// What breakpoints have: "grid_x > 64 && arg2 != 0".
    pub condition: Option<String>,
    pub last: Option<u64>,
}

fn pointer(of: &Option<CString>) -> *const c_char {
    of.as_ref().map_or(ptr::null(), |t| t.as_ptr())
}

impl Filter {
    pub fn kind(kind: &str) -> Filter {
        Filter { kind: Some(kind.to_string()), ..Filter::default() }
    }

    fn put(&self, c: &mut Cursor) -> Result<()> {
        let owned = |t: &Option<String>| t.as_deref().map(c_text).transpose();
        let (kind, kernel) = (owned(&self.kind)?, owned(&self.kernel)?);
        let condition = owned(&self.condition)?;
        let f = sys::ts_filter {
            size: std::mem::size_of::<sys::ts_filter>(),
            kind: pointer(&kind),
            kernel: pointer(&kernel),
            stream: self.stream.map_or(sys::TS_MISSING, u64::from),
            condition: pointer(&condition),
            last: self.last.unwrap_or(u64::MAX),
        };
        // SAFETY: the filter and its texts outlive the call, which keeps none of them.
        need(unsafe { sys::ts_cursor_filter(c.p, &f) })
    }
}

/// A value of an enumeration of the trace's format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    pub number: u64,
    /// None: this version knows none.
    pub text: Option<String>,
}

/// What a field has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Unsigned(u64),
    Signed(i64),
    Name(Name),
    Text(String),
    Bytes(Vec<u8>),
}

/// One frame of a host stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    pub function: Option<String>,
    pub file: Option<String>,
    pub module: Option<String>,
    pub offset: u64,
    pub line: u32,
    pub inlined: bool,
    pub python: bool,
}

/// Goes through commands. `advance()` goes to the next one; as an iterator it gives (seq, Command).
pub struct Cursor<'t> {
    p: *mut sys::ts_cursor,
    done: bool,
    of: PhantomData<&'t Trace>,
}

impl Drop for Cursor<'_> {
    fn drop(&mut self) {
        // SAFETY: made by the library, closed once.
        unsafe { sys::ts_cursor_close(self.p) }
    }
}

impl Cursor<'_> {
    pub(crate) fn pointer(&self) -> *mut sys::ts_cursor {
        self.p
    }

    /// To the next command; false: there is none.
    pub fn advance(&mut self) -> Result<bool> {
        // SAFETY: the cursor is open.
        match unsafe { sys::ts_next(self.p) } {
            sys::TS_END => Ok(false),
            r => need(r).map(|_| true),
        }
    }

    pub fn seq(&self) -> u64 {
        // SAFETY: the cursor is open.
        unsafe { sys::ts_seq(self.p) }
    }

    pub fn kind(&self) -> &'static str {
        // SAFETY: names of kinds live for ever, and are ASCII.
        unsafe { std::ffi::CStr::from_ptr(sys::ts_kind(self.p)) }.to_str().unwrap_or("")
    }

    pub fn command(&self) -> Result<Command> {
        Command::read(self)
    }

    fn raw(&self, name: &str) -> Result<sys::ts_value> {
        let name = c_text(name)?;
        let mut v = sys::ts_value { r#type: 0, number: 0, data: ptr::null(), size: 0 };
        // SAFETY: both pointers are valid for the call.
        need(unsafe { sys::ts_field(self.p, name.as_ptr(), &mut v) })?;
        Ok(v)
    }

    /// A field of the command, or what follows from fields: "gpu_ns", "kernel_name".
    pub fn field(&self, name: &str) -> Result<Value> {
        let v = self.raw(name)?;
        Ok(match v.r#type {
            sys::TS_SIGNED => Value::Signed(v.number as i64),
            sys::TS_NAME => Value::Name(name_of(&v)),
            sys::TS_TEXT => Value::Text(String::from_utf8_lossy(&bytes_of(&v)).into_owned()),
            sys::TS_BYTES => Value::Bytes(bytes_of(&v)),
            _ => Value::Unsigned(v.number),
        })
    }

    pub(crate) fn number(&self, name: &str) -> Result<u64> {
        Ok(self.raw(name)?.number)
    }
    pub(crate) fn signed(&self, name: &str) -> Result<i64> {
        Ok(self.raw(name)?.number as i64)
    }
    pub(crate) fn flag(&self, name: &str) -> Result<bool> {
        Ok(self.raw(name)?.number != 0)
    }
    /// None: "no stream" and the like; and what a damaged trace has beyond 32 bits.
    pub(crate) fn id(&self, name: &str) -> Result<Option<u32>> {
        let n = self.raw(name)?.number;
        Ok(if n >= sys::TS_NO_ID { None } else { Some(n as u32) })
    }
    pub(crate) fn text(&self, name: &str) -> Result<String> {
        Ok(String::from_utf8_lossy(&bytes_of(&self.raw(name)?)).into_owned())
    }
    pub(crate) fn bytes(&self, name: &str) -> Result<Vec<u8>> {
        Ok(bytes_of(&self.raw(name)?))
    }
    pub(crate) fn name(&self, name: &str) -> Result<Name> {
        Ok(name_of(&self.raw(name)?))
    }

    /// The host stack that the command was called from, innermost first.
    pub fn stack(&mut self) -> Result<Vec<Frame>> {
        let (mut frames, mut n) = (ptr::null(), 0);
        // SAFETY: both pointers are valid for the call.
        need(unsafe { sys::ts_stack(self.p, &mut frames, &mut n) })?;
        if n == 0 {
            return Ok(Vec::new());
        }
        // SAFETY: n frames, valid until the cursor is asked again; all is copied.
        let frames = unsafe { slice::from_raw_parts(frames, n) };
        Ok(frames.iter().map(frame_of).collect())
    }
}

impl Iterator for Cursor<'_> {
    type Item = Result<(u64, Command)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        match self.advance() {
            Ok(true) => Some(self.command().map(|c| (self.seq(), c))),
            Ok(false) => None,
            Err(e) => {
                self.done = true;
                Some(Err(e))
            }
        }
    }
}

fn bytes_of(v: &sys::ts_value) -> Vec<u8> {
    if v.data.is_null() || v.size == 0 {
        return Vec::new();
    }
    // SAFETY: the library says that `size` bytes are there until the next ts_next().
    unsafe { slice::from_raw_parts(v.data as *const c_void as *const u8, v.size) }.to_vec()
}

fn name_of(v: &sys::ts_value) -> Name {
    Name { number: v.number, text: text(v.data as *const c_char) }
}

fn frame_of(f: &sys::ts_frame) -> Frame {
    Frame {
        function: text(f.function),
        file: text(f.file),
        module: text(f.module),
        offset: f.offset,
        line: f.line,
        inlined: f.inlined != 0,
        python: f.python != 0,
    }
}

/// The GPU's state at a command.
pub struct State<'t> {
    p: *mut sys::ts_state,
    of: PhantomData<&'t Trace>,
}

impl Drop for State<'_> {
    fn drop(&mut self) {
        // SAFETY: made by the library, freed once.
        unsafe { sys::ts_state_free(self.p) }
    }
}

impl State<'_> {
    /// (id, status) of every stream: "Idle", "Dispatch Pending", "Running", "Waiting", "Finished".
    pub fn streams(&self) -> Result<Vec<(u32, String)>> {
        let mut all = Vec::new();
        for i in 0.. {
            let size = std::mem::size_of::<sys::ts_stream>();
            let mut s = sys::ts_stream { size, id: 0, ctx: 0, status: ptr::null(), pending: 0 };
            // SAFETY: the pointer is valid for the call.
            match unsafe { sys::ts_state_stream(self.p, i, &mut s) } {
                sys::TS_END => break,
                r => need(r)?,
            }
            all.push((s.id, text(s.status).unwrap_or_default()));
        }
        Ok(all)
    }

    /// commands, launches, copies, pending, live_bytes, live_allocations ...
    pub fn number(&self, name: &str) -> Result<u64> {
        let (name, mut n) = (c_text(name)?, 0);
        // SAFETY: both pointers are valid for the call.
        need(unsafe { sys::ts_state_number(self.p, name.as_ptr(), &mut n) })?;
        Ok(n)
    }

    /// All objects of a kind as JSON: streams, events, allocations ... or "all".
    pub fn json(&mut self, what: &str) -> Result<String> {
        let (what, mut v) = (c_text(what)?, ptr::null());
        // SAFETY: both pointers are valid for the call; the text is copied at once.
        need(unsafe { sys::ts_state_json(self.p, what.as_ptr(), &mut v) })?;
        Ok(text(v).unwrap_or_default())
    }
}

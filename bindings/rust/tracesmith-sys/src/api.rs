// SPDX-License-Identifier: Apache-2.0
//
// Made by scripts/rust-bindings from tracesmith.h; do not edit.

use std::os::raw::{c_char, c_int, c_uint, c_void};

#[repr(C)]
pub struct ts_trace {
    _private: [u8; 0],
}

#[repr(C)]
pub struct ts_cursor {
    _private: [u8; 0],
}

#[repr(C)]
pub struct ts_state {
    _private: [u8; 0],
}

#[repr(C)]
pub struct ts_answer {
    _private: [u8; 0],
}

#[repr(C)]
pub struct ts_session {
    _private: [u8; 0],
}

#[repr(C)]
pub struct ts_writer {
    _private: [u8; 0],
}

pub const TS_OK: c_int = 0;
pub const TS_END: c_int = 1;
pub const TS_USAGE: c_int = 2;
pub const TS_SYSTEM: c_int = 3;
pub const TS_NOT_FOUND: c_int = 4;
pub const TS_BAD_TRACE: c_int = 5;
pub const TS_INCOMPLETE: c_int = 6;
pub const TS_PERMISSION: c_int = 7;
pub const TS_UNSUPPORTED: c_int = 8;
pub const TS_LIMIT: c_int = 9;
pub const TS_INTERRUPTED: c_int = 10;

pub const TS_UNSIGNED: c_int = 0;
pub const TS_SIGNED: c_int = 1;
pub const TS_NAME: c_int = 2;
pub const TS_TEXT: c_int = 3;
pub const TS_BYTES: c_int = 4;

pub const TS_ARG_UNKNOWN: c_int = 0;
pub const TS_ARG_UNSIGNED: c_int = 1;
pub const TS_ARG_SIGNED: c_int = 2;
pub const TS_ARG_FLOAT: c_int = 3;
pub const TS_ARG_POINTER: c_int = 4;

pub const TS_STOP_OTHER: c_int = 4;
pub const TS_STOP_BREAKPOINT: c_int = 1;
pub const TS_STOP_END: c_int = 2;
pub const TS_STOP_BEGIN: c_int = 3;
pub const TS_STOP_STEP: c_int = 5;
pub const TS_STOP_WATCHPOINT: c_int = 6;
pub const TS_STOP_INTERRUPTED: c_int = 7;
pub const TS_STOP_FAULT: c_int = 8;
pub const TS_STOP_FAILED_CALL: c_int = 9;
pub const TS_STOP_SIGNAL: c_int = 10;
pub const TS_STOP_EXITED: c_int = 11;
pub const TS_STOP_KILLED: c_int = 12;
pub const TS_STOP_WINDOW_CLOSED: c_int = 13;
pub const TS_STOP_KERNEL_BEGIN: c_int = 14;
pub const TS_STOP_KERNEL_END: c_int = 15;
pub const TS_STOP_WARP_END: c_int = 16;
pub const TS_STOP_AGENT: c_int = 17;
pub const TS_STOP_TRIGGER: c_int = 18;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_value {
    pub r#type: c_int,
    pub number: u64,
    pub data: *const c_void,
    pub size: usize,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_frame {
    pub function: *const c_char,
    pub file: *const c_char,
    pub module: *const c_char,
    pub offset: u64,
    pub line: c_uint,
    pub inlined: c_int,
    pub python: c_int,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_arg {
    pub size: usize,
    pub name: *const c_char,
    pub r#type: *const c_char,
    pub is: c_int,
    pub data: *const c_void,
    pub bytes: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_filter {
    pub size: usize,
    pub kind: *const c_char,
    pub kernel: *const c_char,
    pub stream: u64,
    pub condition: *const c_char,
    pub last: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_stream {
    pub size: usize,
    pub id: u32,
    pub ctx: u32,
    pub status: *const c_char,
    pub pending: u64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ts_session_options {
    pub size: usize,
    pub tsdb: *const c_char,
    pub on: *const c_char,
    pub window: u64,
    pub any_device: c_int,
    pub no_sandbox: c_int,
    pub cwd: *const c_char,
    pub record: *const c_char,
}

extern "C" {
    pub fn ts_error() -> *const c_char;
    pub fn ts_error_cure() -> *const c_char;
    pub fn ts_version() -> *const c_char;
    pub fn ts_open(ret: *mut *mut ts_trace, path: *const c_char) -> c_int;
    pub fn ts_close(t: *mut ts_trace);
    pub fn ts_text(t: *const ts_trace, name: *const c_char) -> *const c_char;
    pub fn ts_number(t: *const ts_trace, name: *const c_char, ret: *mut u64) -> c_int;
    pub fn ts_kernel(t: *mut ts_trace, kernel: u64) -> *const c_char;
    pub fn ts_kernel_short(t: *mut ts_trace, kernel: u64) -> *const c_char;
    pub fn ts_kind_name(index: c_uint) -> *const c_char;
    pub fn ts_field_name(kind: *const c_char, index: c_uint) -> *const c_char;
    pub fn ts_field_help(kind: *const c_char, field: *const c_char) -> *const c_char;
    pub fn ts_kind_of(number: u64) -> *const c_char;
    pub fn ts_cursor_open(ret: *mut *mut ts_cursor, t: *mut ts_trace, seq: u64) -> c_int;
    pub fn ts_cursor_close(c: *mut ts_cursor);
    pub fn ts_cursor_seek(c: *mut ts_cursor, seq: u64) -> c_int;
    pub fn ts_next(c: *mut ts_cursor) -> c_int;
    pub fn ts_seq(c: *const ts_cursor) -> u64;
    pub fn ts_kind(c: *const ts_cursor) -> *const c_char;
    pub fn ts_field(c: *const ts_cursor, name: *const c_char, ret: *mut ts_value) -> c_int;
    pub fn ts_stack(c: *mut ts_cursor, ret: *mut *const ts_frame, ret_n: *mut usize) -> c_int;
    pub fn ts_argument(c: *mut ts_cursor, index: c_uint, ret: *mut ts_arg) -> c_int;
    pub fn ts_cursor_filter(c: *mut ts_cursor, f: *const ts_filter) -> c_int;
    pub fn ts_columns(c: *mut ts_cursor, fields: *const *const c_char, nfields: usize, columns: *const *mut u64, rows: usize, ret_rows: *mut usize) -> c_int;
    pub fn ts_column_type(field: *const c_char, ret: *mut c_int) -> c_int;
    pub fn ts_column_text(t: *const ts_trace, number: u64) -> *const c_char;
    pub fn ts_column_name(field: *const c_char, number: u64) -> *const c_char;
    pub fn ts_state_at(ret: *mut *mut ts_state, t: *mut ts_trace, seq: u64) -> c_int;
    pub fn ts_state_free(s: *mut ts_state);
    pub fn ts_state_stream(s: *const ts_state, index: c_uint, ret: *mut ts_stream) -> c_int;
    pub fn ts_state_number(s: *const ts_state, name: *const c_char, ret: *mut u64) -> c_int;
    pub fn ts_state_json(s: *mut ts_state, what: *const c_char, ret: *mut *const c_char) -> c_int;
    pub fn ts_answer_free(a: *mut ts_answer);
    pub fn ts_answer_text(a: *const ts_answer) -> *const c_char;
    pub fn ts_answer_notes(a: *const ts_answer) -> *const c_char;
    pub fn ts_answer_count(a: *const ts_answer, path: *const c_char, ret: *mut u64) -> c_int;
    pub fn ts_answer_number(a: *const ts_answer, path: *const c_char, ret: *mut u64) -> c_int;
    pub fn ts_answer_real(a: *const ts_answer, path: *const c_char, ret: *mut f64) -> c_int;
    pub fn ts_answer_string(a: *mut ts_answer, path: *const c_char, ret: *mut *const c_char) -> c_int;
    pub fn ts_races(ret: *mut *mut ts_answer, t: *mut ts_trace, options: *const c_char) -> c_int;
    pub fn ts_order_why(ret: *mut *mut ts_answer, t: *mut ts_trace, a: u64, b: u64) -> c_int;
    pub fn ts_stats(ret: *mut *mut ts_answer, t: *mut ts_trace, options: *const c_char) -> c_int;
    pub fn ts_critical_path(ret: *mut *mut ts_answer, t: *mut ts_trace, options: *const c_char) -> c_int;
    pub fn ts_diff(ret: *mut *mut ts_answer, path_a: *const c_char, path_b: *const c_char, options: *const *const c_char) -> c_int;
    pub fn ts_replay(ret: *mut *mut ts_session, t: *mut ts_trace, options: *const ts_session_options) -> c_int;
    pub fn ts_launch(ret: *mut *mut ts_session, argv: *const *const c_char, options: *const ts_session_options) -> c_int;
    pub fn ts_session_close(s: *mut ts_session);
    pub fn ts_session_interrupt(s: *mut ts_session);
    pub fn ts_ask(ret: *mut *mut ts_answer, s: *mut ts_session, command: *const c_char) -> c_int;
    pub fn ts_position(s: *mut ts_session, ret: *mut u64) -> c_int;
    pub fn ts_goto(s: *mut ts_session, seq: u64) -> c_int;
    pub fn ts_step(s: *mut ts_session, n: i64) -> c_int;
    pub fn ts_break(s: *mut ts_session, place: *const c_char, ret: *mut u64) -> c_int;
    pub fn ts_run(s: *mut ts_session, ret: *mut c_int) -> c_int;
    pub fn ts_continue(s: *mut ts_session, ret: *mut c_int) -> c_int;
    pub fn ts_reverse_continue(s: *mut ts_session, ret: *mut c_int) -> c_int;
    pub fn ts_stopped(ret: *mut *mut ts_answer, s: *const ts_session) -> c_int;
    pub fn ts_stop_text(s: *const ts_session) -> *const c_char;
    pub fn ts_memory_read(s: *mut ts_session, addr: u64, dst: *mut c_void, size: usize) -> c_int;
    pub fn ts_memory_write(s: *mut ts_session, addr: u64, src: *const c_void, size: usize) -> c_int;
    pub fn ts_who_wrote(ret: *mut *mut ts_answer, s: *mut ts_session, addr: u64, size: u64) -> c_int;
    pub fn ts_check(ret: *mut *mut ts_answer, s: *mut ts_session, options: *const c_char) -> c_int;
    pub fn ts_verify(ret: *mut *mut ts_answer, s: *mut ts_session) -> c_int;
    pub fn ts_writer_open(ret: *mut *mut ts_writer, path: *const c_char, program: *const c_char) -> c_int;
    pub fn ts_writer_begin(w: *mut ts_writer, kind: *const c_char, seq: u64) -> c_int;
    pub fn ts_writer_set(w: *mut ts_writer, field: *const c_char, number: u64) -> c_int;
    pub fn ts_writer_set_data(w: *mut ts_writer, field: *const c_char, data: *const c_void, size: usize) -> c_int;
    pub fn ts_writer_end(w: *mut ts_writer) -> c_int;
    pub fn ts_writer_close(w: *mut ts_writer) -> c_int;
}

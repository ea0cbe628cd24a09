// SPDX-License-Identifier: Apache-2.0
//
// Fields of many commands at once: arrays that the caller owns.

use crate::{c_text, need, text, Cursor, Result, Trace};
use std::os::raw::c_char;
use std::ptr;
use tracesmith_sys as sys;

/// What the numbers of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    Unsigned,
    /// In two's complement: `n as i64`. What a command does not have is `MISSING_SIGNED`.
    Signed,
    /// Numbers that `Trace::column_name()` has names for.
    Name,
    /// Numbers that `Trace::column_text()` has texts for.
    Text,
}

/// In a column: the command has no such field.
pub const MISSING: u64 = sys::TS_MISSING;
/// The same, of a signed field.
pub const MISSING_SIGNED: i64 = i64::MIN;

/// What a column of this field holds.
pub fn column_kind(field: &str) -> Result<ColumnKind> {
    let (field, mut kind) = (c_text(field)?, 0);
    // SAFETY: both pointers are valid for the call.
    need(unsafe { sys::ts_column_type(field.as_ptr(), &mut kind) })?;
    Ok(match kind {
        sys::TS_SIGNED => ColumnKind::Signed,
        sys::TS_NAME => ColumnKind::Name,
        sys::TS_TEXT => ColumnKind::Text,
        _ => ColumnKind::Unsigned,
    })
}

/// What a number of a column of names is called: "h2d"; None: it has no name.
pub fn column_name(field: &str, number: u64) -> Option<String> {
    let field = c_text(field).ok()?;
    // SAFETY: valid for the call; the name lives for ever.
    text(unsafe { sys::ts_column_name(field.as_ptr(), number) })
}

impl Cursor<'_> {
    /// The next commands, columns[i] full of fields[i]; all columns have one length. Returns how
    /// many commands there were; fewer than that length: the end.
    pub fn columns(&mut self, fields: &[&str], columns: &mut [&mut [u64]]) -> Result<usize> {
        let rows = columns.first().map_or(0, |c| c.len());
        if fields.len() != columns.len() || columns.iter().any(|c| c.len() != rows) {
            return Err(crate::Error::usage("there is one column for each field, all of one length"));
        }
        let owned = fields.iter().map(|f| c_text(f)).collect::<Result<Vec<_>>>()?;
        let names: Vec<*const c_char> = owned.iter().map(|n| n.as_ptr()).collect();
        let into: Vec<*mut u64> = columns.iter_mut().map(|c| c.as_mut_ptr()).collect();
        let mut n = 0;
        // SAFETY: as many names as columns, each with room for `rows` numbers.
        need(unsafe { sys::ts_columns(self.pointer(), names.as_ptr(), names.len(), into.as_ptr(), rows, &mut n) })?;
        Ok(n)
    }
}

impl Trace {
    /// The text with this number of a column of texts; None: there is none.
    pub fn column_text(&self, number: u64) -> Option<String> {
        if number == MISSING {
            return None;
        }
        // SAFETY: the text lives as long as the trace, and is copied.
        text(unsafe { sys::ts_column_text(self.pointer(), number) })
    }
}

/// One argument of a launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    pub name: Option<String>,
    /// As C++ writes it.
    pub type_name: Option<String>,
    pub value: ArgumentValue,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentValue {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Pointer(u64),
    /// Structures, and what has no known type.
    Bytes(Vec<u8>),
    NotRecorded,
}

/// Little endian, at most 8 bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
}

fn value_of(is: i32, bytes: Vec<u8>) -> ArgumentValue {
    let bits = bytes.len() as u32 * 8;
    match (is, bits) {
        (sys::TS_ARG_FLOAT, 32) => ArgumentValue::Float(f32::from_bits(number(&bytes) as u32).into()),
        (sys::TS_ARG_FLOAT, 64) => ArgumentValue::Float(f64::from_bits(number(&bytes))),
        (sys::TS_ARG_UNSIGNED, 8..=64) => ArgumentValue::Unsigned(number(&bytes)),
        (sys::TS_ARG_SIGNED, 8..=64) => {
            let up = 64 - bits;
            ArgumentValue::Signed(((number(&bytes) << up) as i64) >> up)
        }
        (sys::TS_ARG_POINTER, 64) => ArgumentValue::Pointer(number(&bytes)),
        _ => ArgumentValue::Bytes(bytes),
    }
}

impl Cursor<'_> {
    /// The arguments of the launch that the cursor is at, in their order.
    pub fn arguments(&mut self) -> Result<Vec<Argument>> {
        let mut all = Vec::new();
        for i in 0.. {
            let size = std::mem::size_of::<sys::ts_arg>();
            let mut a = sys::ts_arg { size, name: ptr::null(), r#type: ptr::null(), is: 0, data: ptr::null(), bytes: 0 };
            // SAFETY: both pointers are valid for the call; all is copied before the cursor moves.
            match unsafe { sys::ts_argument(self.pointer(), i, &mut a) } {
                sys::TS_END => break,
                r => need(r)?,
            }
            let value = if a.data.is_null() {
                ArgumentValue::NotRecorded
            } else {
                // SAFETY: the library says that `bytes` bytes are there.
                let bytes = unsafe { std::slice::from_raw_parts(a.data as *const u8, a.bytes as usize) };
                value_of(a.is, bytes.to_vec())
            };
            all.push(Argument { name: text(a.name), type_name: text(a.r#type), value });
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_size() {
        assert_eq!(value_of(sys::TS_ARG_SIGNED, vec![0xff]), ArgumentValue::Signed(-1));
        assert_eq!(value_of(sys::TS_ARG_SIGNED, vec![0x00, 0x80]), ArgumentValue::Signed(-32768));
        assert_eq!(value_of(sys::TS_ARG_UNSIGNED, vec![0xff; 4]), ArgumentValue::Unsigned(0xffff_ffff));
        assert_eq!(value_of(sys::TS_ARG_SIGNED, vec![0xff; 8]), ArgumentValue::Signed(-1));
        assert_eq!(value_of(sys::TS_ARG_FLOAT, 1.5f32.to_le_bytes().to_vec()), ArgumentValue::Float(1.5));
        assert_eq!(value_of(sys::TS_ARG_FLOAT, (-0.25f64).to_le_bytes().to_vec()), ArgumentValue::Float(-0.25));
        assert_eq!(value_of(sys::TS_ARG_FLOAT, vec![0, 60]), ArgumentValue::Bytes(vec![0, 60]));
        assert_eq!(value_of(sys::TS_ARG_POINTER, vec![0, 0, 0, 2, 3, 0, 0, 0]), ArgumentValue::Pointer(0x302000000));
        assert_eq!(value_of(sys::TS_ARG_UNSIGNED, vec![1; 9]), ArgumentValue::Bytes(vec![1; 9]));
        assert_eq!(value_of(sys::TS_ARG_SIGNED, Vec::new()), ArgumentValue::Bytes(Vec::new()));
    }
}

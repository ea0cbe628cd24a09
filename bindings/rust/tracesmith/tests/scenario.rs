// SPDX-License-Identifier: Apache-2.0
//
// The missing wait of race_demo (docs/rust.md), found in its trace, which SCENARIO_TRACE names by its
// full path; the saved schedule goes beside it. Without it there is nothing to test.

use std::env;
use std::path::Path;
use tracesmith::{column_kind, column_name, ArgumentValue, ColumnKind, Command, ErrorKind, Filter, Options, Program, Trace, KINDS, MISSING};

fn trace() -> Option<Trace> {
    let path = env::var("SCENARIO_TRACE").ok()?;
    let folder = Path::new(&path).parent().expect("a full path");
    env::set_current_dir(folder).expect("the trace's folder");
    Some(Trace::open(&path).expect("the trace"))
}

fn float(bytes: &[u8]) -> f32 {
    f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[test]
fn the_scenario() -> tracesmith::Result<()> {
    let t = match trace() {
        Some(t) => t,
        None => return Ok(()),
    };
    let races = t.races("")?;
    let (a, b) = (races.number("[0].a.seq")?, races.number("[0].b.seq")?);
    assert_eq!((a, b), (18, 21));
    assert!(races.string("[0].cure")?.contains("cuStreamWaitEvent on stream 2"));
    assert!(t.order_why(a, b)?.string("text")?.contains("may begin before"));

    // An order that the program allows gives another sum.
    let r = t.replay(&Options::on("soft"))?;
    let found = r.ask("replay explore --json")?;
    let (sum, saved) = (found.number("found[0].addr")?, found.string("found[0].trace")?);
    r.goto(71)?;
    let right = float(&r.read(sum, 4)?);
    drop(r);

    // The wrong sum, and backwards to the command that wrote it.
    let wrong = Trace::open(&saved)?;
    let r = wrong.replay(&Options::on("soft"))?;
    r.ask("replay goto end")?;
    let end = r.seq()?;
    assert!((right, float(&r.read(sum, 4)?)) == (55.0, 54.0));
    r.ask(&format!("watch {sum:#x} len 4"))?;
    let stop = r.go_back()?;
    assert_eq!((stop.reason.as_str(), stop.kernel.as_deref(), stop.stream), ("watchpoint", Some("consume"), Some(2)));
    let seq = stop.seq.expect("a command");
    assert!(seq < end);
    assert_eq!(r.who_wrote(sum, 4)?.number("seq")?, seq);
    assert_eq!(r.stopped()?.string("watch.bytes_after")?, "00005842");
    let streams = wrong.state(seq)?.streams()?;
    assert_eq!(streams.len(), 3);
    assert!(streams[1..].iter().all(|(id, status)| (*id == 1 || *id == 2) && !status.is_empty()));
    // The schedule comes out the same.
    let verified = r.verify()?;
    assert_eq!((verified.number("identical")?, verified.count("differences")?), (2, 0));
    Ok(())
}

#[test]
fn commands() -> tracesmith::Result<()> {
    let t = match trace() {
        Some(t) => t,
        None => return Ok(()),
    };
    let mut n = 0;
    for item in t.commands(0, &Filter::default())? {
        let (seq, command) = item?;
        assert!(!matches!(command, Command::Unknown(_)), "#{seq}");
        n += 1;
    }
    assert_eq!(Some(n), t.number("commands")?);
    let mut launches = t.commands(0, &Filter { kernel: Some("cons*".into()), ..Filter::kind("launch") })?;
    assert!(launches.advance()?);
    assert_eq!((launches.seq(), launches.kind()), (21, "launch"));
    match launches.command()? {
        Command::Launch(l) => assert_eq!((l.grid_x, l.block_x, l.stream), (4, 256, Some(2))),
        other => panic!("{other:?}"),
    }
    let stack = launches.stack()?;
    assert_eq!(stack.last().and_then(|f| f.function.as_deref()), Some("main"));
    assert_eq!(launches.field("no such field").unwrap_err().kind, ErrorKind::NotFound);
    assert!(KINDS.contains(&"launch"));
    Ok(())
}

#[test]
fn arguments() -> tracesmith::Result<()> {
    let t = match trace() {
        Some(t) => t,
        None => return Ok(()),
    };
    let mut launches = t.commands(0, &Filter { kernel: Some("produce".into()), ..Filter::kind("launch") })?;
    assert!(launches.advance()? && launches.advance()?);
    let a = launches.arguments()?;
    let names: Vec<_> = a.iter().map(|a| a.name.as_deref().unwrap_or("")).collect();
    assert_eq!(names, ["out", "value", "n", "work"]);
    assert_eq!(a[0].type_name.as_deref(), Some("float *"));
    assert!(matches!(a[0].value, ArgumentValue::Pointer(p) if p != 0));
    let values: Vec<_> = a[1..].iter().map(|a| a.value.clone()).collect();
    assert_eq!(values, [ArgumentValue::Float(2.0), ArgumentValue::Signed(1024), ArgumentValue::Signed(20)]);
    let mut others = t.commands(0, &Filter::kind("alloc"))?;
    assert!(others.advance()?);
    assert_eq!(others.arguments().unwrap_err().kind, ErrorKind::Usage);
    Ok(())
}

/// Every number of the columns is what the cursor says of the command, in pieces of any size.
#[test]
fn columns() -> tracesmith::Result<()> {
    let t = match trace() {
        Some(t) => t,
        None => return Ok(()),
    };
    let fields = ["seq", "stream", "kernel_name", "dir"];
    let (mut row, mut c) = (0, t.commands(0, &Filter::default())?);
    let mut one = t.commands(0, &Filter::default())?;
    loop {
        let mut room = vec![vec![0u64; 7]; fields.len()];
        let mut into: Vec<&mut [u64]> = room.iter_mut().map(|c| c.as_mut_slice()).collect();
        let n = c.columns(&fields, &mut into)?;
        for i in 0..n {
            assert!(one.advance()?);
            assert_eq!(room[0][i], one.seq());
            let name = one.field("kernel_name").ok().map(|v| format!("{v:?}"));
            assert_eq!(t.column_text(room[2][i]).map(|n| format!("Text({n:?})")), name);
            assert_eq!(room[3][i] == MISSING, one.field("dir").is_err());
            row += 1;
        }
        if n < 7 {
            break;
        }
    }
    assert!(!one.advance()? && row > 50);
    assert_eq!((column_kind("dir")?, column_kind("kernel_name")?), (ColumnKind::Name, ColumnKind::Text));
    assert_eq!(column_name("dir", 9999), None);
    let (mut a, mut b) = ([0u64; 2], [0u64; 3]);
    assert_eq!(c.columns(&["seq", "stream"], &mut [&mut a, &mut b]).unwrap_err().kind, ErrorKind::Usage);
    assert_eq!(c.columns(&["seq", "stream"], &mut [&mut a]).unwrap_err().kind, ErrorKind::Usage);
    assert!(c.columns(&["nothing"], &mut [&mut a]).is_err());
    Ok(())
}

#[test]
fn a_program_stops() -> tracesmith::Result<()> {
    let program = match env::var("SCENARIO_PROGRAM") {
        Ok(p) => p,
        Err(_) => return Ok(()),
    };
    let p = Program::launch(&[&program], &Options::on("soft"))?;
    assert_eq!(p.break_at("kernel consume if stream == 2")?, 1);
    let stop = p.run()?;
    assert_eq!((stop.reason.as_str(), stop.breakpoints.as_slice(), stop.stream), ("breakpoint", &[1][..], Some(2)));
    p.ask("delete")?;
    assert_eq!(p.go_on()?.reason, "exited");
    let interrupt = p.interrupter();
    drop(p);
    interrupt.interrupt(); // of what has ended: nothing
    Ok(())
}

#[test]
fn what_cannot_be_is_an_error() {
    assert_eq!(Trace::open("/nowhere.sbt").err().map(|e| e.kind), Some(ErrorKind::System));
    assert_eq!(Trace::open("a\0b").err().map(|e| e.kind), Some(ErrorKind::Usage));
    assert_eq!(Program::launch(&[], &Options::default()).err().map(|e| e.kind), Some(ErrorKind::Usage));
    if let Some(t) = trace() {
        assert_eq!(t.order_why(18, 99999).err().map(|e| e.kind), Some(ErrorKind::NotFound));
        assert!(t.replay(&Options::on("moon")).is_err());
    }
}

// SPDX-License-Identifier: Apache-2.0
//
// examples/time_travel.c in Rust: the same questions, and the same lines as answers.
//
//     cargo run --example time_travel -- race_demo.sbt [./race_demo]

use std::env;
use tracesmith::{Options, Program, Replay, Result, Trace};

fn value(s: &Replay, addr: u64) -> Result<f32> {
    let b = s.read(addr, 4)?;
    Ok(f32::from_le_bytes([b[0], b[1], b[2], b[3]]))
}

/// The first race: both commands and its memory.
fn race(t: &Trace) -> Result<(u64, u64, u64)> {
    let a = t.races("")?;
    let (first, second) = (a.number("[0].a.seq")?, a.number("[0].b.seq")?);
    println!("race: #{first} and #{second}\nmissing: {}", a.string("[0].cure")?);
    println!("why: {}", t.order_why(first, second)?.string("text")?);
    Ok((first, second, a.number("[0].addr")?))
}

fn travel(t: &Trace, second: u64, addr: u64) -> Result<()> {
    let s = t.replay(&Options::default())?;
    s.goto(second)?;
    println!("at #{second}: {}", value(&s, addr)?);
    let writer = s.who_wrote(addr, 4)?.number("seq")?;
    println!("written by #{writer}");
    s.goto(writer)?;
    s.step(-1)?;
    println!("before it, at #{}: {}", s.seq()?, value(&s, addr)?);
    s.write(addr, &100f32.to_le_bytes())?;
    println!("what if: {}", value(&s, addr)?);
    Ok(())
}

/// Finds an order with another result, which is saved as a trace: its path, and where it differs.
fn explore(t: &Trace) -> Result<(String, u64)> {
    let s = t.replay(&Options::default())?;
    let a = s.ask("replay explore --json")?;
    let (sum, saved) = (a.number("found[0].addr")?, a.string("found[0].trace")?);
    s.goto(71)?;
    println!("the sum: {}", value(&s, sum)?);
    Ok((saved, sum))
}

/// From the wrong sum backwards, by a watchpoint; then the whole schedule once more.
fn wrong_sum(path: &str, sum: u64) -> Result<()> {
    let t = Trace::open(path)?;
    let s = t.replay(&Options::default())?;
    println!("{}, the sum: {}", s.go_on()?.reason, value(&s, sum)?);
    s.ask(&format!("watch {sum:#x} len 4"))?;
    let stop = s.go_back()?;
    let how = if stop.reason == "watchpoint" { "written by" } else { "missed" };
    println!("{how}: {}", stop.kernel.unwrap_or_default());
    for (id, status) in t.state(stop.seq.unwrap_or(0))?.streams()? {
        println!("stream {id}: {status}");
    }
    let v = s.verify()?;
    println!("replayed: {} of {} identical", v.number("identical")?, v.number("allocations")?);
    Ok(())
}

fn stop(program: &str) -> Result<()> {
    let p = Program::launch(&[program], &Options::default())?;
    let id = p.break_at("kernel consume")?;
    let how = if p.run()?.reason == "breakpoint" { "reached" } else { "missed" };
    println!("breakpoint {id}: {how} from {}", p.ask("backtrace --json")?.string("[0].function")?);
    Ok(())
}

fn main() -> Result<()> {
    let args: Vec<String> = env::args().collect();
    let t = Trace::open(args.get(1).map_or("race_demo.sbt", |a| a))?;
    let (_, second, addr) = race(&t)?;
    travel(&t, second, addr)?;
    let (saved, sum) = explore(&t)?;
    drop(t);
    wrong_sum(&saved, sum)?;
    match args.get(2) {
        Some(program) => stop(program),
        None => Ok(()),
    }
}

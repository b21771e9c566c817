//! How fast replies are read: `cargo bench -p innkeeper-benches`.
//!
//! Every row is timed in the same run as the limits it is held against. `-- --strict` makes a missed bar an
//! error, `-- --quick` takes less time and is less sure. The same table with other parsers in it:
//! `cargo bench --manifest-path benches/peers/Cargo.toml`.

use std::process::ExitCode;

#[path = "protocol/run.rs"]
mod run;

fn main() -> ExitCode {
    run::run(&run::Peers {
        whole: |_, _, _| {},
        streamed: |_| {},
    })
}

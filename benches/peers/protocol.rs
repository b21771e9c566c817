//! The table of `benches/protocol.rs` with other parsers in it:
//! `cargo bench --manifest-path benches/peers/Cargo.toml`.

use std::process::ExitCode;

#[path = "../protocol/run.rs"]
mod run;
mod tool_parser;

fn main() -> ExitCode {
    run::run(&run::Peers {
        whole: tool_parser::whole,
        streamed: tool_parser::streamed,
    })
}

//! The launcher: a process of its own that builds the room around one program and sees it to its end.
//!
//! `outer` is the process that the sandbox starts: it makes the namespaces and waits. `inner` is the first process
//! in them, and never the program itself: it builds the root (`root`), starts the program (`payload`), watches it
//! (`watch`) and tells what came of it. Neither takes anything from the program but its end.

mod bpf;
mod census;
mod collect;
mod disk;
mod identity;
mod inner;
mod landlock;
mod measure;
mod nameless;
mod network;
mod outer;
mod payload;
mod root;
mod seccomp;
pub(crate) mod socket;
mod sys;
mod trees;
mod watch;

use std::io;

use crate::LAUNCHER_ARGUMENT;
use crate::layers::Layer;
use crate::wire::Fault;

/// Takes the process over if it was started as a launcher.
pub(crate) fn take_over() {
    let mut words = std::env::args_os();
    let is_launcher =
        words.len() == 2 && words.nth(1).is_some_and(|word| word == LAUNCHER_ARGUMENT);
    if is_launcher {
        std::process::exit(outer::main());
    }
}

type Result<T> = std::result::Result<T, Fault>;

/// Says which layer could not be had, and what was being done.
trait Doing<T> {
    fn doing(self, layer: Layer, doing: &str) -> Result<T>;
}

impl<T> Doing<T> for rustix::io::Result<T> {
    fn doing(self, layer: Layer, doing: &str) -> Result<T> {
        self.map_err(|error| Fault::Layer {
            layer,
            doing: doing.to_owned(),
            errno: error.raw_os_error(),
        })
    }
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, layer: Layer, doing: &str) -> Result<T> {
        self.map_err(|error| Fault::Layer {
            layer,
            doing: doing.to_owned(),
            errno: error.raw_os_error().unwrap_or_default(),
        })
    }
}

fn other(doing: &str, error: impl std::fmt::Display) -> Fault {
    Fault::Other {
        why: format!("{doing}: {error}"),
    }
}

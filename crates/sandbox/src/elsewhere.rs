//! Where the sandbox has no means: nothing is run, and it says so.

use crate::{
    Collected, Layer, LayerState, Limit, Program, SandboxError, SandboxOptions, SandboxPolicy,
    Usage,
};

#[cfg(not(unix))]
pub type Sender = tokio::io::DuplexStream;
#[cfg(not(unix))]
pub type Receiver = tokio::io::DuplexStream;

#[derive(Debug, Default)]
pub(crate) struct Host;

/// There are none.
#[derive(Debug)]
pub(crate) enum Room {}

#[derive(Debug)]
pub(crate) enum Pipes {}

pub(crate) struct Report {
    pub(crate) exit: Option<i32>,
    pub(crate) signal: Option<i32>,
    pub(crate) limit: Option<Limit>,
    pub(crate) cancelled: bool,
    pub(crate) usage: Usage,
}

impl Host {
    pub(crate) async fn open(
        &self,
        _: &SandboxOptions,
        _: Option<&Program>,
        _: &SandboxPolicy,
    ) -> Result<(Room, Pipes), SandboxError> {
        Err(SandboxError::Unavailable {
            layer: Layer::Platform,
            why: format!("there is none for {} yet", std::env::consts::OS),
            remedy: "run Innkeeper on Linux, in a virtual machine or under WSL 2, to use scripts"
                .to_owned(),
        })
    }
}

impl Room {
    pub(crate) fn layers(&self) -> &[LayerState] {
        match *self {}
    }

    pub(crate) fn stop(&self) {
        match *self {}
    }

    pub(crate) fn kill(&mut self) {
        match *self {}
    }

    pub(crate) async fn end(&mut self) -> Result<(Report, Vec<Collected>, usize), SandboxError> {
        match *self {}
    }
}

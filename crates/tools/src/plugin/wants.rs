//! What scripts ask to read, write and reach. Requests, never grants.

use super::names::{file_uri, host};
use super::place::Place;
use super::problem::{Code, Report};
use super::{Permissions, ScriptCommand};

#[derive(Debug, Default, Clone)]
pub(super) struct Wants {
    read: Vec<String>,
    write: Vec<String>,
    hosts: Vec<String>,
}

impl Wants {
    pub(super) fn read_files(
        &mut self,
        owner: &Place<'_>,
        read: &str,
        write: &str,
        report: &mut Report,
    ) {
        for (field, list) in [(read, &mut self.read), (write, &mut self.write)] {
            for (at, text) in owner.texts(field, report) {
                add(list, &at, file_uri(text), report);
            }
        }
    }

    pub(super) fn read_hosts(&mut self, owner: &Place<'_>, field: &str, report: &mut Report) {
        for (at, text) in owner.texts(field, report) {
            add(&mut self.hosts, &at, host(text), report);
        }
    }

    /// One permission in its canonical words, as a tool file may list it.
    pub(super) fn read_permission(&mut self, at: &Place<'_>, text: &str, report: &mut Report) {
        if let Some(uri) = text.strip_prefix("file:read:") {
            add(&mut self.read, at, file_uri(uri), report);
        } else if let Some(uri) = text.strip_prefix("file:write:") {
            add(&mut self.write, at, file_uri(uri), report);
        } else if let Some(name) = text.strip_prefix("net:") {
            add(&mut self.hosts, at, host(name), report);
        } else if !text.starts_with("run:") {
            report.problem(
                at,
                Code::BadPermission,
                format!(
                    "'{text}' is no permission of a tool; write net:…, file:read:… or file:write:…"
                ),
            );
        }
    }

    /// Adds them to what a command asks for.
    pub(super) fn give(&self, command: &mut ScriptCommand) {
        for (from, to) in [
            (&self.read, &mut command.read),
            (&self.write, &mut command.write),
            (&self.hosts, &mut command.hosts),
        ] {
            for entry in from {
                if !to.contains(entry) {
                    to.push(entry.clone());
                }
            }
        }
    }

    pub(super) fn ask(&self, permissions: &mut Permissions) {
        ask(&self.read, &self.write, &self.hosts, permissions);
    }
}

/// Everything a command needs to be granted.
pub(super) fn ask_for_command(command: &ScriptCommand, permissions: &mut Permissions) {
    permissions.add(format!("run:{}", command.program));
    ask(&command.read, &command.write, &command.hosts, permissions);
}

fn ask(read: &[String], write: &[String], hosts: &[String], permissions: &mut Permissions) {
    for (prefix, list) in [
        ("file:read:", read),
        ("file:write:", write),
        ("net:", hosts),
    ] {
        for entry in list {
            permissions.add(format!("{prefix}{entry}"));
        }
    }
}

fn add(list: &mut Vec<String>, at: &Place<'_>, entry: Result<String, String>, report: &mut Report) {
    match entry {
        Ok(entry) if list.contains(&entry) => {}
        Ok(entry) => list.push(entry),
        Err(message) => report.problem(at, Code::BadPermission, message),
    }
}

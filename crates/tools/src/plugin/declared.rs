//! `hooks` and `services` of a manifest: programs of the plugin that the server asks or offers.

use super::command::{read_command, read_protocol, read_timeout};
use super::folder::Folder;
use super::names::{hook_name, is_service_name};
use super::place::Place;
use super::problem::{Code, Report};
use super::wants::Wants;
use super::{HookDeclaration, Permissions, ScriptCommand, ServiceDeclaration};
use crate::Pattern;
use crate::hook::{HookFailure, HookPoint};
use crate::limits::{MAX_DECLARED_TIMEOUT, MAX_HOOK_TIMEOUT};

pub(super) fn read_hooks(
    root: &Place<'_>,
    folder: &Folder,
    permissions: &Permissions,
    wants: &Wants,
    report: &mut Report,
) -> Vec<HookDeclaration> {
    let places = root.items("hooks", report);
    let hooks = places.iter().filter_map(|place| {
        if !place.expect_map(report) {
            return None;
        }
        place.known(
            &["on", "run", "order", "timeoutMs", "onFailure", "tools"],
            report,
        );
        let point = read_point(place, permissions, report);
        let command = read_run(place, folder, wants, report);
        let order = place.whole("order", i32::MIN.into(), i32::MAX.into(), report);
        let timeout = read_timeout(place, "timeoutMs", MAX_HOOK_TIMEOUT, report);
        let failures = [
            ("refuse", HookFailure::Refuse),
            ("continue", HookFailure::Continue),
        ];
        let on_failure = place.choice("onFailure", &failures, report);
        let tools = place.texts("tools", report);
        Some(HookDeclaration {
            point: point?,
            command: command?,
            order: order
                .and_then(|order| i32::try_from(order).ok())
                .unwrap_or_default(),
            timeout: timeout.unwrap_or(MAX_HOOK_TIMEOUT),
            on_failure: on_failure.unwrap_or_default(),
            tools: tools
                .into_iter()
                .map(|(_, text)| Pattern::new(text))
                .collect(),
        })
    });
    hooks.collect()
}

fn read_point(
    place: &Place<'_>,
    permissions: &Permissions,
    report: &mut Report,
) -> Option<HookPoint> {
    let on = place.required("on", report)?;
    let text = on.as_text(report)?;
    let name = match hook_name(text) {
        Ok(name) => name,
        Err(message) => {
            report.problem(&on, Code::UnknownHook, message);
            return None;
        }
    };
    let Ok(point) = name.parse::<HookPoint>() else {
        report.problem(
            &on,
            Code::UnknownHook,
            format!("'{name}' runs in the page; ask for it under permissions.hooks and register it there"),
        );
        return None;
    };
    if !permissions.has(name) {
        report.problem(
            &on,
            Code::HookNotRequested,
            format!("'{name}' is not asked for; add it to permissions.hooks"),
        );
    }
    Some(point)
}

fn read_run(
    place: &Place<'_>,
    folder: &Folder,
    wants: &Wants,
    report: &mut Report,
) -> Option<ScriptCommand> {
    let run = place.required("run", report)?;
    let mut command = read_command(&run, folder, report)?;
    wants.give(&mut command);
    Some(command)
}

pub(super) fn read_services(
    root: &Place<'_>,
    folder: &Folder,
    wants: &Wants,
    report: &mut Report,
) -> Vec<ServiceDeclaration> {
    let mut services: Vec<ServiceDeclaration> = Vec::new();
    for place in root.items("services", report) {
        if !place.expect_map(report) {
            continue;
        }
        place.known(
            &[
                "name",
                "run",
                "timeoutMs",
                "protocol",
                "idleTimeout",
                "concurrency",
            ],
            report,
        );
        let name = read_service_name(&place, &services, report);
        let command = read_run(&place, folder, wants, report);
        let timeout = read_timeout(&place, "timeoutMs", MAX_DECLARED_TIMEOUT, report);
        let protocol = read_protocol(&place, report);
        if let (Some(name), Some(command)) = (name, command) {
            let command = ScriptCommand {
                timeout,
                protocol: protocol.protocol,
                idle_timeout: protocol.idle_timeout,
                concurrency: protocol.concurrency,
                ..command
            };
            services.push(ServiceDeclaration { name, command });
        }
    }
    services
}

fn read_service_name(
    place: &Place<'_>,
    services: &[ServiceDeclaration],
    report: &mut Report,
) -> Option<String> {
    let at = place.required("name", report)?;
    let name = at.as_text(report)?;
    if !is_service_name(name) {
        let message = format!("'{name}' is no name of a service, such as Weather.Today");
        report.problem(&at, Code::BadValue, message);
        return None;
    }
    if services.iter().any(|service| service.name == name) {
        let message = format!("the service '{name}' is there twice; choose another name");
        report.problem(&at, Code::DuplicateService, message);
        return None;
    }
    Some(name.to_owned())
}

//! Whether a schema is one. Nothing is ever fetched for it.

use innkeeper_yaml::Value;
use jsonschema::error::ValidationErrorKind;
use serde_json::Value as Json;

use super::place::Place;
use super::problem::{Code, Report};

/// Checks `place` as a JSON Schema and gives it back as JSON if it is one.
pub(super) fn read_schema(place: &Place<'_>, report: &mut Report) -> Option<Json> {
    let schema = place.node.to_json();
    if !matches!(schema, Json::Object(_) | Json::Bool(_)) {
        let message = format!("expected a JSON Schema, found {}", place.node.kind());
        report.problem(place, Code::BadSchema, message);
        return None;
    }
    if let Err(error) = jsonschema::meta::validate(&schema) {
        let at = place.pointer(error.instance_path().as_str());
        report.problem(
            &at,
            Code::BadSchema,
            format!("this is no JSON Schema: {error}"),
        );
        return None;
    }
    let built = jsonschema::options().offline().build(&schema);
    let Err(error) = built else {
        return Some(schema);
    };
    if matches!(error.kind(), ValidationErrorKind::Referencing(_)) {
        let at = first_reference(place, &|target| !target.starts_with('#'))
            .or_else(|| first_reference(place, &|_| true));
        report.problem(
            at.as_ref().unwrap_or(place),
            Code::RemoteReference,
            "this refers to something that is not in this schema, and nothing is fetched; copy it into $defs and write \
             #/$defs/…",
        );
    } else {
        let at = place.pointer(error.instance_path().as_str());
        report.problem(
            &at,
            Code::BadSchema,
            format!("this schema cannot be used: {error}"),
        );
    }
    None
}

/// Only for the place of a message: what is inside `enum` or `default` is looked through as well.
fn first_reference<'n>(place: &Place<'n>, wanted: &dyn Fn(&str) -> bool) -> Option<Place<'n>> {
    let reference = ["$ref", "$dynamicRef", "$recursiveRef"]
        .iter()
        .find_map(|name| {
            let at = place.field(name)?;
            let fits = matches!(&at.node.value, Value::Text(target) if wanted(target));
            fits.then_some(at)
        });
    reference.or_else(|| {
        let children = place.children();
        children
            .iter()
            .find_map(|child| first_reference(child, wanted))
    })
}

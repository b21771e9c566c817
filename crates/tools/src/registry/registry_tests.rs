use async_trait::async_trait;
use innkeeper_protocol::ToolDefinition;
use serde_json::{Value as Json, json};

use super::*;
use crate::{Executor, Invocation, Reach, ToolError};

pub(crate) struct Echo(pub(crate) &'static str);

#[async_trait]
impl Executor for Echo {
    async fn execute(&self, _: Invocation) -> Result<Json, ToolError> {
        Ok(self.0.into())
    }
}

fn definition(id: &str, aliases: &[&str]) -> ToolDefinition {
    let mut definition = ToolDefinition::new(id, "", json!({"type": "object"}));
    definition.aliases = aliases.iter().map(|alias| (*alias).into()).collect();
    definition
}

fn offer(id: &str, aliases: &[&str]) -> Offer {
    Offer::new(
        Prepared::new(definition(id, aliases)).unwrap(),
        Arc::new(Echo("")),
    )
}

fn source(tools: &[&str]) -> Source {
    Source {
        tools: tools.iter().map(|id| offer(id, &[])).collect(),
        ..Source::default()
    }
}

fn found(snapshot: &Snapshot, name: &str) -> Result<String, Vec<String>> {
    match snapshot.find(name) {
        Lookup::Found(tool) => Ok(tool.definition().id.to_string()),
        Lookup::Unknown { .. } => Err(snapshot.nearest(name, &Reach::everything())),
    }
}

#[test]
fn a_name_is_looked_up_as_decided() {
    let registry = Registry::default();
    let tools = vec![
        offer("File.Write", &["FileOperator.WriteFile"]),
        offer("file.write2", &[]),
        offer("Plugin:tool", &[]),
        offer("Same.Name", &[]),
        offer("same.name", &[]),
        offer("A.b", &[]),
        offer("A:b", &[]),
        offer("工具.读取", &[]),
    ];
    let source = Source {
        tools,
        ..Source::default()
    };
    registry.replace("builtin", source).unwrap();
    let snapshot = registry.snapshot();
    for (name, expected) in [
        ("File.Write", Ok("File.Write")),
        (" File.Write ", Ok("File.Write")),
        ("FileOperator.WriteFile", Ok("File.Write")),
        ("file.write", Ok("File.Write")),
        ("FILEOPERATOR.writefile", Ok("File.Write")),
        ("File:Write", Ok("File.Write")),
        ("plugin.TOOL", Ok("Plugin:tool")),
        ("Same.Name", Ok("Same.Name")),
        ("same.name", Ok("same.name")),
        ("A.b", Ok("A.b")),
        ("A:b", Ok("A:b")),
        ("工具:读取", Ok("工具.读取")),
        // Two tools could be meant: neither is.
        ("SAME.NAME", Err(vec!["Same.Name", "same.name"])),
        ("File.Wrte", Err(vec!["File.Write", "file.write2"])),
        ("Disk.Write", Err(vec!["File.Write"])),
        ("zzzzzz", Err(vec![])),
        ("", Err(vec![])),
    ] {
        let expected = expected
            .map(str::to_owned)
            .map_err(|names| names.into_iter().map(str::to_owned).collect());
        assert_eq!(found(&snapshot, name), expected, "{name}");
    }
    let case = found(&snapshot, "a.B");
    assert!(matches!(case, Ok(id) if id == "A.b"), "case before colon");
}

#[test]
fn a_snapshot_outlives_a_change() {
    let registry = Registry::default();
    registry.replace("p", source(&["a"])).unwrap();
    let before = registry.snapshot();
    registry.replace("p", source(&["b"])).unwrap();
    assert!(found(&before, "a").is_ok());
    assert!(found(&registry.snapshot(), "a").is_err());
    assert!(found(&registry.snapshot(), "b").is_ok());
    assert!(registry.snapshot().generation() > before.generation());
    registry.remove("p");
    assert_eq!(registry.snapshot().tools().len(), 0);
}

#[test]
fn a_name_belongs_to_one_tool() {
    let registry = Registry::default();
    let first = Source {
        tools: vec![offer("a", &["x"])],
        ..Source::default()
    };
    registry.replace("p", first).unwrap();
    for tools in [
        vec![offer("a", &[])],
        vec![offer("x", &[])],
        vec![offer("b", &["a"])],
        vec![offer("b", &["x"])],
        vec![offer("b", &[]), offer("b", &[])],
        vec![offer("b", &["c"]), offer("c", &[])],
    ] {
        let source = Source {
            tools,
            ..Source::default()
        };
        let error = registry.replace("q", source).unwrap_err();
        assert_eq!(error.code(), "tool.id_taken", "{error}");
    }
    let harmless = Source {
        tools: vec![offer("b", &["c", "c"])],
        ..Source::default()
    };
    registry.replace("q", harmless).unwrap();
}

#[test]
fn one_that_does_not_fit_harms_no_other() {
    let registry = Registry::default();
    let failures = registry.replace_all([
        ("p".to_owned(), source(&["a"])),
        ("q".to_owned(), source(&["a", "b"])),
        ("r".to_owned(), source(&["b", "c"])),
    ]);
    assert_eq!(failures.len(), 1);
    assert_eq!(failures[0].0, "q");
    let ids: Vec<_> = registry
        .snapshot()
        .tools()
        .map(|tool| tool.definition().id.to_string())
        .collect();
    assert_eq!(ids, ["a", "b", "c"]);
    assert!(registry.replace("r", source(&["a"])).is_err());
    assert!(found(&registry.snapshot(), "c").is_ok(), "nothing changed");
}

#[test]
fn of_many_that_are_replaced_none_keeps_what_it_had() {
    for others in [vec![], vec![("q".to_owned(), source(&["x"]))]] {
        let registry = Registry::default();
        registry.replace("builtin", source(&["a"])).unwrap();
        registry.replace("p", source(&["old"])).unwrap();
        let changes = [("p".to_owned(), source(&["a"]))];
        let failures = registry.replace_all(changes.into_iter().chain(others));
        assert_eq!(failures.len(), 1);
        assert!(found(&registry.snapshot(), "old").is_err());
    }
}

#[test]
fn replacing_a_service_needs_the_permission() {
    let registry = Registry::default();
    let service = |name: &'static str| -> Vec<(String, Arc<dyn Executor>)> {
        vec![("Http.Request".to_owned(), Arc::new(Echo(name)))]
    };
    let builtin = Source {
        tools: vec![Offer::of_service(
            Prepared::new(definition("Http.Request", &[])).unwrap(),
            "Http.Request",
        )],
        services: service("builtin"),
        ..Source::default()
    };
    registry.replace("builtin", builtin).unwrap();
    let mut plugin = Source {
        services: service("plugin"),
        ..Source::default()
    };
    let error = registry.replace("a-plugin", plugin.clone()).unwrap_err();
    assert_eq!(error.code(), "tool.service_taken");
    plugin.may_replace.insert("Http.Request".to_owned());
    registry.replace("a-plugin", plugin).unwrap();
    let snapshot = registry.snapshot();
    let Lookup::Found(tool) = snapshot.find("Http.Request") else {
        panic!("it is there");
    };
    assert!(!Arc::ptr_eq(tool.executor(), &service("x").remove(0).1));
    registry.remove("a-plugin");
    assert!(found(&registry.snapshot(), "Http.Request").is_ok());
}

#[test]
fn what_is_no_declaration_is_refused() {
    for (id, aliases, parameters, code) in [
        ("", &[][..], json!({}), "tool.bad_id"),
        ("a b", &[], json!({}), "tool.bad_id"),
        ("a", &["x\ny"], json!({}), "tool.bad_id"),
        ("a", &[], json!([]), "tool.not_an_object_schema"),
        (
            "a",
            &[],
            json!({"type": "string"}),
            "tool.not_an_object_schema",
        ),
        (
            "a",
            &[],
            json!({"properties": {"x": {"type": "strin"}}}),
            "tool.invalid_schema",
        ),
        (
            "a",
            &[],
            json!({"properties": {"x": {"pattern": "("}}}),
            "tool.invalid_schema",
        ),
        (
            "a",
            &[],
            json!({"properties": {"x": {"$ref": "#/nowhere"}}}),
            "tool.invalid_schema",
        ),
        (
            "a",
            &[],
            json!({"properties": {"x": {"$ref": "https://example.com/s"}}}),
            "tool.invalid_schema",
        ),
        (
            "a",
            &[],
            json!({"properties": {"a_b": {}, "aB": {}}}),
            "tool.name_collision",
        ),
    ] {
        let mut definition = definition(id, aliases);
        definition.parameters = parameters.clone();
        let error = Prepared::new(definition).err().map(|error| error.code());
        assert_eq!(error, Some(code), "{id} {parameters}");
    }
}

#[test]
fn a_reach_narrows_what_is_told() {
    let registry = Registry::default();
    registry
        .replace("p", source(&["a.x", "a.y", "b.z"]))
        .unwrap();
    let snapshot = registry.snapshot();
    let reach = Reach {
        allow: vec!["a.*".into()],
        deny: vec!["a.y".into()],
    };
    let told: Vec<_> = snapshot
        .definitions(&reach)
        .map(|tool| tool.id.as_str())
        .collect();
    assert_eq!(told, ["a.x"]);
}

use async_trait::async_trait;
use innkeeper_engine::NodeError;
use innkeeper_engine::port::{ModelCall, ModelChunks};
use tokio_util::sync::CancellationToken;

use super::*;

/// Knows two channels; `m2` only one of them serves.
struct Known;

#[async_trait]
impl ModelPort for Known {
    fn find(&self, model: &str) -> Result<Option<ModelFound>, NodeError> {
        let (channel, name) = model.split_once('/').unwrap_or(("first", model));
        match (channel, name) {
            ("silent", _) => Ok(None),
            ("first" | "second" | "ollama", "m1") => Ok(Some(ModelFound {
                channel: if channel == "ollama" {
                    "first"
                } else {
                    channel
                }
                .to_owned(),
                provider: "ollama".to_owned(),
                format: Some("openai".to_owned()),
                model: name.to_owned(),
                context: None,
            })),
            ("second", "m2") => Err(NodeError::invalid(
                "model.unauthorized",
                "its key is missing",
            )),
            // Somebody else serves everything.
            ("elsewhere", _) => Ok(Some(ModelFound {
                channel: "first".to_owned(),
                ..ModelFound::default()
            })),
            _ => Err(NodeError::invalid("model.unknown", "there is none")),
        }
    }

    async fn stream(&self, _: ModelCall, _: CancellationToken) -> Result<ModelChunks, NodeError> {
        Err(NodeError::invalid("model.unknown", "nobody answers"))
    }
}

fn profile(choice: Json, chosen: Option<&str>) -> AgentProfile {
    let mut profile = crate::run::testing::profile(json!({}));
    profile.model = serde_json::from_value(choice).unwrap();
    profile.agent.model = chosen.map(str::to_owned);
    profile
}

fn over(connection: &str, model: &str) -> Json {
    json!({"mode": "connectionRef", "connectionRef": connection, "modelId": model})
}

#[test]
fn a_profile_is_run_over_its_connection_or_not_at_all() {
    let models: Arc<dyn ModelPort> = Arc::new(Known);
    let missing = Some("agent.profile_model_connection_missing");
    for (choice, chosen, refused) in [
        (over("first", "m1"), None, None),
        (over("second", "m1"), None, None),
        (over("ollama", "m1"), None, None),
        (over("silent", "m1"), None, None),
        (over("gone", "m1"), None, missing),
        (over("elsewhere", "m1"), None, missing),
        (
            over("second", "m2"),
            None,
            Some("agent.profile_model_connection_invalid"),
        ),
        // What was said for this run wins.
        (over("gone", "m1"), Some("m1"), None),
        (json!({"mode": "currentPromptSnapshot"}), None, None),
    ] {
        let checked = check_connection(&profile(choice.clone(), chosen), Some(&models));
        let reason = checked.err().and_then(|error| error.reason);
        assert_eq!(reason.as_deref(), refused, "{choice}");
    }
}

#[test]
fn what_is_told_is_what_is_asked() {
    let models: Arc<dyn ModelPort> = Arc::new(Known);
    for (choice, chosen, of_host, name, told) in [
        (json!({}), None, "m1", "m1", json!(["first", "m1"])),
        (
            over("second", "m1"),
            None,
            "m9",
            "second/m1",
            json!(["second", "m1"]),
        ),
        (
            over("second", "m1"),
            Some("first/m1"),
            "",
            "first/m1",
            json!(["first", "m1"]),
        ),
        (
            json!({"modelId": "m1"}),
            None,
            "m9",
            "m1",
            json!(["first", "m1"]),
        ),
        // It cannot be found: asking it says why.
        (json!({}), None, "m9", "m9", json!([null, "m9"])),
    ] {
        let profile = profile(choice.clone(), chosen);
        let crate::run::Input::Created(created) =
            crate::run::testing::created(profile.run.presentation, json!({}))
        else {
            panic!("no beginning");
        };
        let created = Created {
            model: of_host.to_owned(),
            profile,
            ..Created::clone(&created)
        };
        assert_eq!(model_name(&created), name, "{choice}");
        let binding = binding(&created, Some(&models));
        assert_eq!(
            json!([binding["channel"], binding["modelId"]]),
            told,
            "{choice}"
        );
        let request = request(&binding, 3, 2);
        assert_eq!(request["model"], binding["modelId"]);
        assert_eq!(
            (&request["messageCount"], &request["toolCount"]),
            (&json!(3), &json!(2))
        );
    }
}

#[test]
fn a_tool_is_told_with_the_name_that_the_model_calls_it_by() {
    let mut tool = ToolDefinition::new("workspace.read_file", "Reads", json!({"type": "object"}));
    tool.output = Some(json!({"type": "string"}));
    let tools = [Arc::new(tool)];
    let specs = |dialect| specs(&tools, &aliases(&tools, dialect));
    let native = specs(Dialect::Native);
    assert_eq!(native[0]["modelName"], "workspace_read_file");
    assert_eq!(native[0]["outputSchema"], json!({"type": "string"}));
    assert_eq!(native[0]["annotations"], json!({}));
    assert_eq!(specs(Dialect::Tam)[0].get("modelName"), None);
}

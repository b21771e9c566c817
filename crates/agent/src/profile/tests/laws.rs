//! What holds for all profiles: what is written is what is read.

use innkeeper_protocol::event::Presentation;
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};

use super::{comfy, read, version_1};
use crate::limits::{MAX_REQUEST_TOKENS, MIN_REQUEST_TOKENS};
use crate::profile::{
    AfterCrash, AgentProfile, AgentRules, Budget, CompactionRules, Dialect, Profiles, TextTurn,
    ToolDescription,
};

fn word() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9_-]{0,12}"
}

fn words() -> impl Strategy<Value = String> {
    "[a-zA-Z界\"\\\\\n ]{0,30}[a-z]"
}

fn json_value() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        any::<i64>().prop_map(Json::from),
        (-1e9..1e9f64).prop_map(Json::from),
        ".{0,20}".prop_map(Json::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Json::from),
            prop::collection::btree_map(".{0,8}", inner, 0..4)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Map<String, Json>> {
    prop::collection::btree_map("x_[a-z]{1,8}", json_value(), 0..4)
        .prop_map(|map| map.into_iter().collect())
}

fn rules() -> impl Strategy<Value = AgentRules> {
    let choices = (
        prop_oneof![
            Just(Dialect::Tam),
            Just(Dialect::Action),
            Just(Dialect::Native)
        ],
        prop_oneof![
            Just(TextTurn::ByPresentation),
            Just(TextTurn::Answers),
            Just(TextTurn::Nudges)
        ],
        prop_oneof![Just(AfterCrash::Continue), Just(AfterCrash::Pause)],
        prop::option::of(prop_oneof![Just("auto"), Just("on"), Just("off")]),
    );
    let budget = (
        prop::option::of(1..i64::MAX as u64),
        prop::option::of(1e-3..1e6f64),
        prop::option::of(1..1_000_000u64),
    );
    let texts = (prop::option::of(words()), prop::option::of(words()));
    let states = (
        object(),
        prop::option::of(object()),
        prop::option::of(0..10_000u64),
    );
    (choices, budget, texts, states).prop_map(|(choices, budget, texts, states)| AgentRules {
        protocol: choices.0,
        text_turn: choices.1,
        after_crash: choices.2,
        grammar: choices.3.map(str::to_owned),
        budget: Budget {
            max_tokens: budget.0,
            max_cost: budget.1,
            max_wall_time_ms: budget.2,
            max_tokens_per_tool: budget
                .0
                .map(|max| ("chat.search".to_owned(), max))
                .into_iter()
                .collect(),
            max_cost_per_tool: budget
                .1
                .map(|max| ("chat.search".to_owned(), max))
                .into_iter()
                .collect(),
        },
        compaction: CompactionRules {
            enabled: budget.0.is_none(),
            max_request_tokens: budget
                .0
                .map(|max| max.clamp(MIN_REQUEST_TOKENS, MAX_REQUEST_TOKENS)),
            model: texts.0.clone(),
            ..CompactionRules::default()
        },
        deliberation_workflow: texts.0,
        model: texts.1,
        parameters: states.0,
        private_state: states.1.map_or(Json::Null, Json::Object),
        private_state_schema: Json::Null,
        commit_timeout_ms: states.2,
        ..AgentRules::default()
    })
}

/// A good profile with much of it changed.
fn profile(base: fn() -> Json) -> impl Strategy<Value = AgentProfile> {
    let names = (
        word(),
        words(),
        prop::option::of(words()),
        prop::option::of(words()),
    );
    let tools = (
        prop::collection::vec(
            prop_oneof![word(), Just("workflow:w".to_owned()), Just("*".to_owned())],
            0..6,
        ),
        prop::collection::vec("deny_[a-z]{1,4}", 0..3),
        prop::collection::btree_map(word(), 1..1_000u32, 0..3),
        prop::collection::btree_map(
            word(),
            (
                prop::option::of(words()),
                prop::collection::btree_map(word(), words(), 0..3),
            ),
            0..3,
        ),
        (1..1_000u32, 1..1_000u32),
    );
    let others = (
        any::<bool>(),
        any::<bool>(),
        -1..100i64,
        0..100u32,
        any::<bool>(),
    );
    (names, tools, others, rules(), object()).prop_map(
        move |(names, tools, others, rules, kept)| {
            let mut profile = read(&base());
            profile.id = names.0.as_str().into();
            profile.display_name = names.1;
            profile.description = names.2;
            profile.instructions.agent_system_prompt = names.3;
            profile.tools.allow.extend(tools.0);
            profile.tools.deny = tools.1;
            profile.tools.max_calls_per_tool = tools.2;
            let described = tools
                .3
                .into_iter()
                .map(|(tool, (description, properties))| {
                    (
                        tool,
                        ToolDescription {
                            description,
                            properties,
                        },
                    )
                });
            profile.tools.tool_descriptions = described.collect();
            (profile.tools.max_rounds, profile.tools.max_calls_per_run) = tools.4;
            profile.run.stream = others.0;
            profile.context.include_activated_world_info = others.1;
            profile.context.initial_chat_history_messages = others.2;
            profile.run.model_retry.max_retries = others.3;
            profile.delegation.can_delegate = others.4;
            let format = profile.agent.format;
            profile.agent = AgentRules { format, ..rules };
            if !format.is_tavern() {
                profile.agent.kept = kept;
                // Otherwise it would need tools to finish with.
                profile.agent.text_turn = TextTurn::Answers;
                profile.run.presentation = Presentation::Background;
            }
            profile
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_what_is_read(profile in prop_oneof![profile(version_1), profile(comfy)]) {
        let text = profile.to_json().to_string();
        let again = AgentProfile::read(&text, None);
        prop_assert_eq!(again.map(|reading| reading.profile), Ok(profile));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_json_is_a_profile_or_a_list_of_problems(json in json_value(), key in "[a-z]{2,10}") {
        for (base, format) in [(version_1(), "tavern"), (comfy(), "comfy")] {
            for section in ["tools", "output", "agent", "preset", "workspace", key.as_str()] {
                let json = super::with(base.clone(), &format!("/{section}"), json!([json.clone()])[0].clone());
                if let Ok(reading) = AgentProfile::from_json(&json, None) {
                    let again = AgentProfile::from_json(&reading.profile.to_json(), None);
                    prop_assert_eq!(again.map(|it| it.profile), Ok(reading.profile), "{}", format);
                }
            }
        }
    }

    #[test]
    fn what_is_saved_is_what_is_loaded(profile in prop_oneof![profile(version_1), profile(comfy)]) {
        let home = tempfile::tempdir().unwrap();
        let profiles = Profiles::of_house(home.path());
        profiles.save(&profile, None).unwrap();
        let loaded = profiles.load(profile.id.as_str(), None).unwrap();
        prop_assert_eq!(loaded.profile, profile);
    }
}

use super::*;
use crate::provider::Providers;

fn info(toml: &str) -> ModelInfo {
    toml::from_str(toml).unwrap()
}

fn usage(sent: Option<u64>, cached: Option<u64>, received: Option<u64>) -> Usage {
    Usage {
        prompt_tokens: sent,
        cached_tokens: cached,
        completion_tokens: received,
        ..Usage::default()
    }
}

#[test]
fn costs_are_exact() {
    let full = "input = 1.25\noutput = 10.0\ncached_input = 0.125";
    let rows = [
        (
            full,
            usage(Some(1_000_000), None, Some(0)),
            Some(1_250_000_000),
        ),
        (
            full,
            usage(Some(1_000_000), Some(400_000), Some(100_000)),
            Some(1_800_000_000),
        ),
        (full, usage(Some(1), None, None), Some(1_250)),
        (full, usage(None, None, Some(3)), Some(30_000)),
        // More from memory than was sent is somebody's mistake, and must not pay money back.
        (full, usage(Some(10), Some(99), None), Some(1_250)),
        (full, usage(None, Some(5), None), None),
        (
            "input = 2\noutput = 8.0",
            usage(Some(10), Some(10), None),
            Some(20_000),
        ),
        (
            "input = 0.0\noutput = 0.0",
            usage(Some(10), None, Some(10)),
            Some(0),
        ),
        (
            "input = 0.0375\noutput = 1.0",
            usage(Some(3), None, None),
            Some(113),
        ),
        ("output = 1.0", usage(Some(10), None, Some(10)), None),
        (
            "input = 1000000.0\noutput = 1.0",
            usage(Some(u64::MAX), None, None),
            Some(u64::MAX),
        ),
    ];
    for (prices, usage, expected) in rows {
        let cost = info(prices).cost(&usage);
        assert_eq!(
            cost,
            expected.map(Cost::from_nanodollars),
            "{prices} {usage:?}"
        );
    }
}

#[test]
fn the_most_specific_entry_counts_and_the_users_before_it() {
    let providers = Providers::shipped();
    let own = BTreeMap::from([
        ("openai/gpt-5".to_owned(), info("input = 1.0\noutput = 1.0")),
        ("mine/*".to_owned(), info("context = 77")),
        (
            "Tiny*".to_owned(),
            info("input = 0.5\noutput = 0.5\nmax_output = 5"),
        ),
    ]);
    let table = ModelTable::shipped().with(own);
    let rows = [
        ("openai", "openai", "gpt-4o", Some(2.5), Some(128_000)),
        (
            "openai",
            "openai",
            "GPT-4o-2024-08-06",
            Some(2.5),
            Some(128_000),
        ),
        (
            "openai",
            "openai",
            "gpt-4o-2024-05-13",
            Some(5.0),
            Some(128_000),
        ),
        ("openai", "openai", "gpt-4o-mini", Some(0.15), Some(128_000)),
        ("openai", "openai", "gpt-4o-audio-preview", None, None),
        ("openai", "openai", "gpt-5", Some(1.0), Some(400_000)),
        ("mine", "openai", "gpt-4o", Some(2.5), Some(77)),
        (
            "a",
            "anthropic",
            "claude-sonnet-4-5-20250929",
            Some(3.0),
            Some(200_000),
        ),
        ("r", "openrouter", "openai/gpt-4o", Some(2.5), Some(128_000)),
        ("d", "deepseek", "deepseek-chat", Some(0.28), Some(131_072)),
        ("l", "vllm", "openai/gpt-4o", None, Some(128_000)),
        ("l", "ollama", "tiny:1b", Some(0.5), None),
        ("l", "ollama", "qwen3", None, None),
    ];
    for (channel, provider, model, input, context) in rows {
        let found = table.info(channel, providers.get(provider).unwrap(), model);
        let price = found.input.map(Price::dollars_per_million);
        assert_eq!(
            (price, found.context),
            (input, context),
            "{channel} {provider} {model}"
        );
    }
}

#[test]
fn the_shipped_table_makes_sense() {
    let shipped: Shipped = toml::from_str(SHIPPED).unwrap();
    assert!(shipped.models.len() > 60);
    assert_eq!(ModelTable::shipped().shipped.len(), shipped.models.len());
    let providers = Providers::shipped();
    for (name, info) in &shipped.models {
        let (provider, _) = name.split_once('/').unwrap();
        assert!(providers.get(provider).is_some(), "{name}");
        assert!(info.has_price() && info.context.is_some(), "{name}");
        assert!(info.input <= info.output, "{name}");
        assert!(
            info.cached_input
                .is_none_or(|cached| Some(cached) < info.input),
            "{name}"
        );
        let most = info.max_output.map(u64::from);
        assert!(most <= info.context, "{name}");
    }
}

#[test]
fn what_is_no_price_is_refused() {
    for price in ["-1.0", "nan", "inf", "1e7", "'cheap'"] {
        assert!(
            toml::from_str::<ModelInfo>(&format!("input = {price}")).is_err(),
            "{price}"
        );
    }
    assert!(toml::from_str::<ModelInfo>("inptu = 1.0").is_err());
}

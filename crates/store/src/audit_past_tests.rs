use serde_json::json;

use super::*;
use crate::{AuditDecision, AuditEntry, Store};

fn entry(tool: &str, second: i64) -> AuditEntry {
    AuditEntry {
        at: Timestamp::from_second(second).unwrap(),
        user: "ann".into(),
        actor: "person".into(),
        project: "inn".into(),
        run: "run_1".into(),
        call_id: format!("call_{second}"),
        request_id: None,
        tool: tool.into(),
        source: "builtin".into(),
        arguments: json!({}),
        outcome: AuditOutcome::Success,
        error_code: None,
        message: None,
        duration_us: 1,
        decision: AuditDecision::Allow,
        rule: None,
        approved_by: None,
        attempts: 1,
        result_chars: 0,
    }
}

#[tokio::test]
async fn only_ones_own_successes_count_and_only_the_newest_records() {
    let store = Store::in_memory().await.unwrap();
    let audit = store.audit();
    audit.append(entry("too.old", 1)).await.unwrap();
    for second in 0..MAX_PAST_RECORDS - 5 {
        let of_others = AuditEntry {
            user: "mia".into(),
            ..entry("theirs", second)
        };
        audit.append(of_others).await.unwrap();
    }
    let failed = AuditEntry {
        outcome: AuditOutcome::Error,
        ..entry("failed", 2)
    };
    let elsewhere = AuditEntry {
        project: "other".into(),
        ..entry("elsewhere", 3)
    };
    for entry in [
        entry("a", 4),
        failed,
        elsewhere,
        entry("b", 5),
        entry("a", 6),
    ] {
        audit.append(entry).await.unwrap();
    }
    store.flush().await.unwrap();
    let calls = audit.succeeded("ann", "inn").await.unwrap();
    let told: Vec<_> = calls
        .iter()
        .map(|call| (call.tool.as_str(), call.at.as_second()))
        .collect();
    assert_eq!(told, [("a", 6), ("b", 5), ("a", 4)]);
    assert!(audit.succeeded("nobody", "inn").await.unwrap().is_empty());
}

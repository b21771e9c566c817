//! Asking the model.

use serde_json::Value as Json;

use super::{InvocationId, payloads};

payloads! {
    ModelBindingResolved {
        mode: String,
        chat_completion_source: Option<String>,
        custom_api_format: Option<String>,
        model_id: Option<String>,
    }
    ModelRequestCreated {
        round: u32,
        invocation_id: InvocationId,
        request: Json,
    }
    ModelCallAttempt {
        round: u32,
        invocation_id: InvocationId,
        attempt: u32,
        max_retries: u32,
    }
    ModelCallAttemptFailed {
        round: u32,
        invocation_id: InvocationId,
        attempt: u32,
        max_retries: u32,
        retryable: bool,
        will_retry: bool,
        message: String,
    }
    /// The oldest part of the conversation gave way to a summary of it. Tokens are estimates.
    ContextCompacted {
        round: u32,
        invocation_id: InvocationId,
        messages_before: u64,
        messages_after: u64,
        tokens_before: u64,
        tokens_after: u64,
        /// The messages that gave way, word for word.
        dropped_ref: String,
        dropped_count: u64,
        summary_chars: u64,
        /// `model`, or `note` where the model could not summarise.
        summary_by: String,
        model: Option<String>,
        usage: Json,
        cost: Option<f64>,
    }
    ModelCallRetryScheduled {
        round: u32,
        next_attempt: u32,
        interval_ms: u64,
    }
    ModelResponseStored {
        round: u32,
        invocation_id: InvocationId,
        path: String,
        response_id: Option<String>,
        model: Option<String>,
    }
    ProviderStateUpdated {
        round: u32,
        provider_state: Json,
    }
    ModelCompleted {
        round: u32,
        invocation_id: InvocationId,
        model_response_path: Option<String>,
        tool_call_count: u64,
        text_chars: u64,
        text_words: u64,
        has_assistant_text: bool,
        assistant_text_chars: u64,
        assistant_text_words: u64,
        has_reasoning: bool,
        reasoning_chars: u64,
        reasoning_words: u64,
        /// The first words of what the model said.
        #[serde(skip_serializing_if = "Option::is_none")]
        narration: Option<String>,
    }
}

//! Makes a request ready for the channel that it goes to, and keeps back what that channel surely cannot do.

use super::Channel;
use super::route::Candidate;
use crate::estimate::{Estimate, at_most};
use crate::names::quoted;
use crate::prices::{ModelInfo, ModelTable};
use crate::{Message, ModelError, ModelErrorKind, ModelRequest, WireFormat};

/// The request as that channel gets it, and what is known of the model. `model` is its name there. An error is about
/// this channel alone: another may hold more, or know the form that the answer must have.
pub(super) fn prepare(
    channel: &Channel,
    model: &str,
    table: &ModelTable,
    mut request: ModelRequest,
) -> Result<(ModelRequest, ModelInfo), ModelError> {
    let (config, provider) = (&channel.config, &channel.provider);
    let model = match &request.raw {
        // It is sent as it is, so the name in it is the one that counts.
        Some(raw) if provider.format == WireFormat::OpenAi => raw.model().unwrap_or(model),
        _ => model,
    };
    let model = model.to_owned();
    let info = known(channel, &model, table);
    request.model = model;
    can_say(channel, &request)?;
    request.stream &= config.stream;
    if request.raw.is_some() {
        return Ok((request, info));
    }
    let usual = config.max_tokens.or(provider.quirks.default_max_tokens);
    let usual = usual.map(|usual| info.max_output.map_or(usual, |most| usual.min(most)));
    let Some(window) = info.context else {
        request.sampling.max_tokens = request.sampling.max_tokens.or(usual);
        return Ok((request, info));
    };
    let wanted = request.sampling.max_tokens.or(usual);
    let most = at_most(&request).saturating_add(wanted.map_or(1, u64::from));
    if most <= window {
        request.sampling.max_tokens = wanted;
        return Ok((request, info));
    }
    let estimate = Estimate::of_request(&request);
    // Gemini counts what is sent and what comes back apart.
    let apart = provider.format == WireFormat::Gemini;
    let least = if apart { 0 } else { 1 };
    if estimate.low.saturating_add(least) > window {
        return Err(too_long(&request.model, window, estimate));
    }
    let room = match window.saturating_sub(estimate.likely) {
        _ if apart => u64::MAX,
        0 => window.saturating_sub(estimate.low),
        room => room,
    };
    let room = u32::try_from(room).unwrap_or(u32::MAX);
    // Some servers stop at the window by themselves, others refuse to be asked for more than is left.
    request.sampling.max_tokens = wanted.map(|wanted| wanted.min(room));
    Ok((request, info))
}

/// What is known of a model at that channel. The nearer the source, the more it counts: the user, the server itself, the
/// table.
pub(super) fn known(channel: &Channel, model: &str, table: &ModelTable) -> ModelInfo {
    let (config, provider) = (&channel.config, &channel.provider);
    let info = table.info(&config.name, provider, model);
    ModelInfo {
        context: config
            .context
            .or_else(|| table.own(&config.name, provider, model).context)
            .or_else(|| channel.learned(model))
            .or(info.context),
        ..info
    }
}

/// Whether there are words for it in that provider's format. Asked before anything is sent, so that a refusal of ours is
/// not taken for one of the provider, which would end the call.
fn can_say(channel: &Channel, request: &ModelRequest) -> Result<(), ModelError> {
    let (format, quirks) = (channel.provider.format, &channel.provider.quirks);
    if request.raw.is_some() {
        return match format {
            WireFormat::OpenAi => Ok(()),
            WireFormat::Anthropic | WireFormat::Gemini => {
                format.encode(request, quirks).map(|_| ())
            }
        };
    }
    if request.constraint.is_none() {
        return Ok(());
    }
    // The conversation may be long, and what is asked here does not depend on it.
    let mut short = ModelRequest::new(request.model.clone(), vec![Message::user("?")]);
    short.constraint.clone_from(&request.constraint);
    format.encode(&short, quirks).map(|_| ())
}

/// A raw payload is asked of another channel only under the name that stands in it: what it means elsewhere is not
/// known.
pub(super) fn means_another(candidate: &Candidate, request: &ModelRequest) -> Option<ModelError> {
    let named = request.raw.as_ref()?.model()?;
    let is_sent = candidate.channel.provider.format == WireFormat::OpenAi;
    (is_sent && named != candidate.model).then(|| {
        let message = format!(
            "the raw payload names the model '{}', which is '{}' here; it is not sent under another name",
            quoted(named),
            quoted(&candidate.model)
        );
        ModelError::new(ModelErrorKind::UnknownModel, message)
    })
}

fn too_long(model: &str, window: u64, estimate: Estimate) -> ModelError {
    let Estimate { low, likely, .. } = estimate;
    let message = format!(
        "the conversation is too long for {}: about {likely} tokens, at least {low}, and the model holds {window}; \
         shorten it, or set `context` if the model holds more",
        quoted(model)
    );
    ModelError::new(ModelErrorKind::ContextTooLong, message)
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;

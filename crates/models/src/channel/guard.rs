//! Makes a request ready for the channel that it goes to, and keeps back what surely does not fit.

use super::Channel;
use crate::estimate::Estimate;
use crate::prices::{ModelInfo, ModelTable};
use crate::{ModelError, ModelErrorKind, ModelRequest};

/// The request as that channel gets it, and what is known of the model. `model` is its name there.
pub(super) fn prepare(
    channel: &Channel,
    model: &str,
    table: &ModelTable,
    mut request: ModelRequest,
) -> Result<(ModelRequest, ModelInfo), ModelError> {
    let (config, provider) = (&channel.config, &channel.provider);
    let mut info = table.info(&config.name, provider, model);
    // The nearer the source, the more it counts: the user, the server itself, the table.
    info.context = config
        .context
        .or_else(|| table.own(&config.name, provider, model).context)
        .or_else(|| channel.learned(model))
        .or(info.context);
    request.model = model.to_owned();
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
    let estimate = Estimate::of_request(&request);
    let wanted = request.sampling.max_tokens;
    let reply = u64::from(wanted.unwrap_or(1));
    if estimate.low.saturating_add(reply) > window {
        return Err(too_long(channel, model, window, estimate, wanted));
    }
    request.sampling.max_tokens = wanted.or_else(|| {
        let room = match window.saturating_sub(estimate.likely) {
            0 => window.saturating_sub(estimate.low),
            room => room,
        };
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        usual.map(|usual| usual.min(room))
    });
    Ok((request, info))
}

fn too_long(
    channel: &Channel,
    model: &str,
    window: u64,
    estimate: Estimate,
    wanted: Option<u32>,
) -> ModelError {
    let Estimate { low, likely, .. } = estimate;
    let reply = wanted.map_or_else(String::new, |wanted| {
        format!(", {wanted} more are asked for")
    });
    let message = format!(
        "{}/{model}: the conversation is too long: about {likely} tokens, at least {low}{reply}, and the model holds \
         {window}; shorten it, ask for less, or set `context` if the model holds more",
        channel.name()
    );
    ModelError::new(ModelErrorKind::ContextTooLong, message)
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;

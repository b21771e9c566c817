//! Who asks. Everything behind `authenticate` has an identity; the extractors say how far it must go.

use std::sync::Arc;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::Method;
use axum::http::request::Parts;
use axum::middleware::Next;
use axum::response::Response;
use innkeeper_protocol::ErrorCode;
use innkeeper_store::Scope;

use super::credentials::Credentials;
use crate::app::App;
use crate::guard::{Client, Peer};
use crate::house::House;
use crate::problem::Problem;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The token's public part.
    pub(crate) token: String,
    pub(crate) user: String,
    pub(crate) scope: Scope,
}

impl Identity {
    pub(crate) fn check(&self, needed: Scope) -> Result<(), Problem> {
        match self.scope >= needed {
            true => Ok(()),
            false => Err(Problem::new(
                ErrorCode::HttpForbidden,
                format!(
                    "this token may {}, and this needs '{needed}'; use a token with that scope",
                    self.scope
                ),
            )
            .with("needed", needed.as_str())),
        }
    }
}

/// Whoever cannot be told who they are goes no further.
pub(crate) async fn authenticate(
    State(app): State<App>,
    mut request: Request,
    next: Next,
) -> Result<Response, Problem> {
    let now = app.now();
    let peer = Peer::of(request.extensions());
    let credentials = Credentials::of(request.headers(), app.names.port());
    let identity = match credentials {
        Some(credentials) => {
            app.names.check_means(&request, credentials.means)?;
            let admitted = app.doorkeeper.admit(credentials.token, now).await?;
            // Nobody guesses 32 bytes: whoever has the right ones is not kept out by whoever tries.
            if admitted.is_none() {
                app.rates.check_wrong(peer, now)?;
                app.rates.wrong(peer, now);
            }
            admitted
        }
        None => {
            app.rates.check(&Client::Peer(peer), now)?;
            None
        }
    };
    let identity = identity.ok_or_else(|| {
        Problem::new(
            ErrorCode::HttpUnauthorized,
            "there is no token, or it is wrong, has expired or was revoked; send 'Authorization: Bearer …' with one that `innkeeper access token` made",
        )
    })?;
    app.rates
        .check(&Client::Token(identity.token.clone()), now)?;
    request.extensions_mut().insert(identity);
    Ok(next.run(request).await)
}

/// Whatever changes something needs more than a token for reading, even where an operation forgot to say so.
pub(crate) async fn changing_needs_run(
    identity: Identity,
    request: Request,
    next: Next,
) -> Result<Response, Problem> {
    if !matches!(
        *request.method(),
        Method::GET | Method::HEAD | Method::OPTIONS
    ) {
        identity.check(Scope::Run)?;
    }
    Ok(next.run(request).await)
}

impl FromRequestParts<App> for Identity {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        let known = parts.extensions.get::<Self>().cloned();
        known.ok_or_else(|| {
            Problem::new(ErrorCode::HttpUnauthorized, "nobody has asked who this is")
        })
    }
}

/// Whoever may look.
pub(crate) struct MayRead {
    pub(crate) identity: Identity,
    /// Theirs.
    pub(crate) house: Arc<House>,
}

/// Whoever may also start, steer and write.
pub(crate) struct MayRun {
    /// Theirs.
    pub(crate) house: Arc<House>,
}

/// Whoever may also change what others may do.
pub(crate) struct MayAdmin {
    pub(crate) identity: Identity,
    /// Theirs.
    pub(crate) house: Arc<House>,
}

async fn admitted(parts: &mut Parts, app: &App, needed: Scope) -> Result<Identity, Problem> {
    let identity = Identity::from_request_parts(parts, app).await?;
    identity.check(needed)?;
    Ok(identity)
}

impl FromRequestParts<App> for MayRead {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let identity = admitted(parts, app, Scope::Read).await?;
        let house = app.houses.of(&identity.user).await?;
        Ok(Self { identity, house })
    }
}

impl FromRequestParts<App> for MayRun {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let identity = admitted(parts, app, Scope::Run).await?;
        let house = app.houses.of(&identity.user).await?;
        Ok(Self { house })
    }
}

impl FromRequestParts<App> for MayAdmin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        let identity = admitted(parts, app, Scope::Admin).await?;
        let house = app.houses.of(&identity.user).await?;
        Ok(Self { identity, house })
    }
}

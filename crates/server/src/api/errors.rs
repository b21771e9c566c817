//! What a code means: the page that every problem links to.

use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use innkeeper_protocol::ErrorCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::guard::PathOf;
use crate::problem::Problem;

const ALL: &str = include_str!("../../../../docs/errors.md");

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(explain))
}

/// In words, as Markdown.
#[utoipa::path(get, path = "/docs/errors/{code}", tag = "server", operation_id = "explainError",
    params(("code" = String, Path, description = "As it stands in a problem")),
    responses((status = 200, body = String, content_type = "text/markdown"), Problem))]
async fn explain(PathOf(code): PathOf<String>) -> Result<Response, Problem> {
    let known = code.parse::<ErrorCode>().ok();
    let section = known.and_then(|code| section(code.as_str()));
    let section = section.ok_or_else(|| {
        Problem::new(
            ErrorCode::HttpNotFound,
            "there is no such error code; docs/errors.md has them all",
        )
    })?;
    let kind = [(header::CONTENT_TYPE, "text/markdown; charset=utf-8")];
    Ok((StatusCode::OK, kind, section).into_response())
}

/// From its heading to the next anchor.
fn section(code: &str) -> Option<&'static str> {
    let heading = format!("### {code}\n");
    let start = ALL.find(&heading)?;
    let rest = ALL.get(start..)?;
    let end = rest.find("\n<a id=").or_else(|| rest.find("\n## "));
    rest.get(..end.unwrap_or(rest.len())).map(str::trim_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_page() {
        for code in ErrorCode::ALL {
            let text = section(code.as_str()).unwrap_or_default();
            let lines = text.lines().filter(|line| !line.is_empty()).count();
            assert!(lines >= 3, "{code}: {text:?}");
            assert_eq!(text.matches("### ").count(), 1, "{code}");
        }
    }
}

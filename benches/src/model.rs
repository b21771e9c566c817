//! The model that all sides ask: a server in a process of its own, and the bare client that drops what it gets.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use innkeeper_testkit::model_server::{ModelServer, Request};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::Failed;
use crate::resources::open_many;

/// A process of this program. Ends when it is dropped.
pub struct ServerProcess {
    child: Child,
    pub url: String,
}

impl ServerProcess {
    /// These arguments make it [`serve`].
    pub fn start(args: impl IntoIterator<Item = String>) -> Result<Self, Failed> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut url = String::new();
        if let Some(said) = child.stdout.take() {
            BufReader::new(said).read_line(&mut url)?;
        }
        let url = url.trim().to_owned();
        let server = Self { child, url };
        match server.url.is_empty() {
            true => Err("the server did not start".into()),
            false => Ok(server),
        }
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        // Its input has come to an end then.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Until the input ends.
pub fn serve(server: impl Future<Output = ModelServer>) -> Result<(), Failed> {
    open_many()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let server = runtime.block_on(server);
    let mut out = std::io::stdout();
    writeln!(out, "{}", server.url())?;
    out.flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// The same client as ours stands on.
pub fn bare_client() -> Result<reqwest::Client, Failed> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(tls)
        .http1_only()
        .tcp_nodelay(true)
        .no_proxy();
    Ok(client.build()?)
}

/// What ours has sent with its request, for the bare client.
pub fn headers_of(asked: &Request) -> Result<HeaderMap, Failed> {
    let mut headers = HeaderMap::new();
    for (name, value) in &asked.headers {
        if !matches!(name.as_str(), "host" | "content-length") {
            headers.insert(HeaderName::try_from(name)?, HeaderValue::try_from(value)?);
        }
    }
    Ok(headers)
}

//! Which hosts may be asked: the `[http]` section of the settings. Nothing is, unless it says so.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};

use innkeeper_protocol::ErrorCode;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::ToolError;
use crate::limits::{
    DEFAULT_HTTP_BYTES, DEFAULT_HTTP_CONNECT_TIMEOUT, DEFAULT_HTTP_TIMEOUT, MAX_HTTP_BYTES,
    MAX_HTTP_TIMEOUT,
};

/// What requests of models may reach and cost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct HttpPolicy {
    pub allow: Vec<HostRule>,
    /// For a request that names no time of its own.
    pub timeout_ms: u64,
    /// Longest time that a request may ask for.
    pub max_timeout_ms: u64,
    pub connect_timeout_ms: u64,
    /// Most of an answer that is kept; a request may ask for less.
    pub max_bytes: u64,
}

impl Default for HttpPolicy {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            timeout_ms: DEFAULT_HTTP_TIMEOUT.as_millis() as u64,
            max_timeout_ms: MAX_HTTP_TIMEOUT.as_millis() as u64,
            connect_timeout_ms: DEFAULT_HTTP_CONNECT_TIMEOUT.as_millis() as u64,
            max_bytes: DEFAULT_HTTP_BYTES as u64,
        }
    }
}

/// One line of the list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RuleText", into = "RuleText")]
pub struct HostRule {
    host: HostPattern,
    ports: Option<Vec<u16>>,
    private: bool,
    methods: Option<Vec<String>>,
}

/// A rule as people write it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleText {
    /// `api.example.com`, `*.example.com` for all names below it, `*` for every public host, or an address.
    pub host: String,
    /// Without it: 80 and 443.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<Vec<u16>>,
    /// Whether the host may have an address that is not of the open internet.
    #[serde(default)]
    pub private: bool,
    /// Without it: all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub methods: Option<Vec<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error(
        "'{0}' is no host: write 'api.example.com', '*.example.com', '*' or an address, without scheme, port and path"
    )]
    Host(String),
    #[error("'{0}' is no method: use GET, HEAD, POST, PUT, PATCH or DELETE")]
    Method(String),
    #[error("The rule for '*' cannot allow private addresses: name the hosts that may have them")]
    PrivateForAll,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostPattern {
    Any,
    /// Names below it, not itself.
    Below(String),
    Exactly(Host),
}

impl HostPattern {
    fn parse(text: &str) -> Result<Self, RuleError> {
        let wrong = || RuleError::Host(text.to_owned());
        if text == "*" {
            return Ok(Self::Any);
        }
        if let Some(domain) = text.strip_prefix("*.") {
            return match host_of(domain).ok_or_else(wrong)? {
                Host::Domain(domain) => Ok(Self::Below(domain)),
                Host::Ipv4(_) | Host::Ipv6(_) => Err(wrong()),
            };
        }
        host_of(text).map(Self::Exactly).ok_or_else(wrong)
    }

    fn matches(&self, host: &Host) -> bool {
        match (self, host) {
            (Self::Any, _) => true,
            (Self::Below(domain), Host::Domain(name)) => name
                .strip_suffix(domain.as_str())
                .is_some_and(|rest| rest.len() > 1 && rest.ends_with('.')),
            (Self::Below(_), _) => false,
            (Self::Exactly(expected), host) => expected == host,
        }
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Below(domain) => write!(f, "*.{domain}"),
            Self::Exactly(host) => host.fmt(f),
        }
    }
}

/// As a browser reads it, in the one spelling of each host.
fn host_of(text: &str) -> Option<Host> {
    let host = match text.parse::<Ipv6Addr>() {
        Ok(address) => Host::Ipv6(address),
        Err(_) => Host::parse(text).ok()?,
    };
    let host = canonical(&host)?;
    let plain = match &host {
        Host::Domain(name) => !name.contains('*'),
        Host::Ipv4(_) | Host::Ipv6(_) => true,
    };
    plain.then_some(host)
}

/// One spelling for each host: no dot at the end, IPv4 as IPv4. `None` for what is no name.
pub(super) fn canonical<S: AsRef<str>>(host: &Host<S>) -> Option<Host> {
    match host {
        Host::Domain(name) => {
            let name = name.as_ref();
            let name = name.strip_suffix('.').unwrap_or(name);
            let labels = name.split('.').all(|label| (1..=63).contains(&label.len()));
            (labels && name.len() <= 253).then(|| Host::Domain(name.to_owned()))
        }
        Host::Ipv4(address) => Some(Host::Ipv4(*address)),
        Host::Ipv6(address) => Some(match address.to_canonical() {
            IpAddr::V4(address) => Host::Ipv4(address),
            IpAddr::V6(address) => Host::Ipv6(address),
        }),
    }
}

pub(super) const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];

impl TryFrom<RuleText> for HostRule {
    type Error = RuleError;

    fn try_from(rule: RuleText) -> Result<Self, RuleError> {
        let host = HostPattern::parse(&rule.host)?;
        if rule.private && host == HostPattern::Any {
            return Err(RuleError::PrivateForAll);
        }
        let method = |method: String| {
            let upper = method.to_ascii_uppercase();
            match METHODS.contains(&upper.as_str()) {
                true => Ok(upper),
                false => Err(RuleError::Method(method)),
            }
        };
        let methods = rule
            .methods
            .map(|methods| methods.into_iter().map(method).collect());
        Ok(Self {
            host,
            ports: rule.ports,
            private: rule.private,
            methods: methods.transpose()?,
        })
    }
}

impl From<HostRule> for RuleText {
    fn from(rule: HostRule) -> Self {
        Self {
            host: rule.host.to_string(),
            ports: rule.ports,
            private: rule.private,
            methods: rule.methods,
        }
    }
}

/// What the rules that fit grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) private: bool,
}

impl HttpPolicy {
    pub(super) fn timeout_ms(&self, asked: Option<u64>) -> u64 {
        let most = self.max_timeout_ms.min(MAX_HTTP_TIMEOUT.as_millis() as u64);
        asked.unwrap_or(self.timeout_ms).min(most)
    }

    pub(super) fn max_bytes(&self, asked: Option<u64>) -> usize {
        let most = self.max_bytes.min(MAX_HTTP_BYTES as u64);
        usize::try_from(asked.unwrap_or(most).min(most)).unwrap_or(MAX_HTTP_BYTES)
    }

    /// Whether the list has this host, port and method in one rule. The URL has been made canonical.
    pub(super) fn grant(&self, url: &Url, method: &str) -> Result<Grant, ToolError> {
        let host = url.host().and_then(|host| canonical(&host));
        let (Some(host), Some(port)) = (host, url.port_or_known_default()) else {
            return Err(ToolError::invalid(format!("'{url}' has no host")).permanent());
        };
        let for_host = || self.allow.iter().filter(|rule| rule.host.matches(&host));
        let for_port = || {
            for_host().filter(|rule| match &rule.ports {
                Some(ports) => ports.contains(&port),
                None => matches!(port, 80 | 443),
            })
        };
        let mut fitting = for_port()
            .filter(|rule| {
                rule.methods
                    .as_ref()
                    .is_none_or(|methods| methods.iter().any(|allowed| allowed == method))
            })
            .peekable();
        if fitting.peek().is_some() {
            let private = fitting.any(|rule| rule.private);
            return Ok(Grant { private });
        }
        Err(if for_host().next().is_none() {
            denied(
                "http.host_not_allowed",
                format!(
                    "The host '{host}' is not on the list of hosts that may be asked; a person can add it"
                ),
            )
        } else if for_port().next().is_none() {
            denied(
                "http.port_not_allowed",
                format!(
                    "Port {port} of '{host}' is not allowed; a person can add it to the 'ports' of the host"
                ),
            )
        } else {
            denied(
                "http.method_not_allowed",
                format!(
                    "{method} is not allowed for '{host}'; a person can add it to the 'methods' of the host"
                ),
            )
        })
    }
}

/// `sentence` ends where the place of the remedy is named.
pub(super) fn denied(reason: &str, sentence: String) -> ToolError {
    ToolError::new(
        ErrorCode::ToolPolicyDenied,
        format!("{sentence} in the [http] section of innkeeper.toml"),
    )
    .because(reason)
    .permanent()
}

#[cfg(test)]
#[path = "policy_tests.rs"]
mod tests;

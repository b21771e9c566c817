//! `innkeeper serve` and `innkeeper access …`: what can be typed.

use std::net::IpAddr;

use clap::{Args, Subcommand, ValueEnum};
use innkeeper_store::Scope;

pub(super) const SERVE: &str = "\
Examples:
  innkeeper serve                           Open the doors, for this machine alone
  innkeeper serve --port 9000               At another port
  innkeeper serve --allow-origin http://localhost:8000
                                            Let a page of SillyTavern ask
  innkeeper serve --json | head -1 | jq -r .link

Prints the address and a link that lets one browser in, once. Other programs need a token (innkeeper access token), other \
devices a code (innkeeper access pair). Every request is checked: the name under which the server is reached, the page that \
asks, the token and how far it goes. Runs that are at work when it is stopped are parked and go on when it is started again \
or innkeeper runs resume is called. Another process that drives the runs of this home has to end first.

Exit codes: 0 it was stopped in an orderly way, 1 it cannot listen there, 2 wrong usage, 6 another process drives the runs of \
this home.";

pub(super) const ACCESS: &str = "\
Examples:
  innkeeper access pair                     A code for another browser, good once and for ten minutes
  innkeeper access token backup --scope read
                                            A token for a program, shown this once
  innkeeper access list                     Who may come in
  innkeeper access revoke 3q2-7wAAAAAA      Let a token open nothing any more

There are three scopes, and each includes the ones before it: read (see everything but secrets), run (also start, steer and \
answer runs, call tools, write files), admin (also plugins, keys, tokens). What is kept of a token is its hash. All this also \
works while the server runs.

Exit codes: 0 done, 1 failed or no such token, 2 wrong usage.";

const PAIR: &str = "\
Examples:
  innkeeper access pair
  innkeeper access pair --name phone --scope run
  innkeeper access pair --json | jq -r .code";

const TOKEN: &str = "\
Examples:
  innkeeper access token backup --scope read
  innkeeper access token sillytavern --scope run --days 90
  curl -H \"Authorization: Bearer $(innkeeper access token curl --json | jq -r .token)\" http://127.0.0.1:8787/api/v1/session";

const LIST: &str = "\
Examples:
  innkeeper access list
  innkeeper access list --json | jq -r '.tokens[] | select(.usedAt == null).id'";

const REVOKE: &str = "\
Examples:
  innkeeper access revoke 3q2-7wAAAAAA";

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Port to listen at; 0 takes any that is free
    #[arg(long, value_name = "PORT", default_value_t = 8787)]
    pub(crate) port: u16,
    /// Address to listen at; one that other machines reach needs --beyond-this-machine
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    pub(crate) address: IpAddr,
    /// Let other machines come too
    #[arg(long)]
    pub(crate) beyond_this_machine: bool,
    /// Further name under which the server is reached, with its port: inn.example:8787; may be repeated
    #[arg(long, value_name = "HOST")]
    pub(crate) host_name: Vec<String>,
    /// Let pages of this origin ask: http://localhost:8000; may be repeated
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) allow_origin: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AccessCommand {
    /// Make a code that lets one browser or device in, once
    #[command(after_help = PAIR, args_override_self = true, max_term_width = 100)]
    Pair(AccessPairArgs),
    /// Make a token for a program
    #[command(after_help = TOKEN, args_override_self = true, max_term_width = 100)]
    Token(AccessTokenArgs),
    /// List tokens, without their secrets
    #[command(after_help = LIST, args_override_self = true, max_term_width = 100)]
    List,
    /// Let a token open nothing any more
    #[command(after_help = REVOKE, args_override_self = true, max_term_width = 100)]
    Revoke(AccessRevokeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AccessPairArgs {
    /// For whom or what it is
    #[arg(long, value_name = "NAME", default_value = "browser")]
    pub(crate) name: String,
    /// How far it goes
    #[arg(long, value_enum, value_name = "SCOPE", default_value = "admin")]
    pub(crate) scope: ScopeChoice,
}

#[derive(Debug, Args)]
pub(crate) struct AccessTokenArgs {
    /// For whom or what it is
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// How far it goes
    #[arg(long, value_enum, value_name = "SCOPE", default_value = "run")]
    pub(crate) scope: ScopeChoice,
    /// Days after which it expires [default: never]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500))]
    pub(crate) days: Option<u32>,
}

#[derive(Debug, Args)]
pub(crate) struct AccessRevokeArgs {
    /// The token's public part, as innkeeper access list shows it
    #[arg(value_name = "ID", allow_hyphen_values = true)]
    pub(crate) id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeChoice {
    /// See everything but secrets
    Read,
    /// Also start, steer and answer runs, call tools, write files
    Run,
    /// Also plugins, keys, tokens
    Admin,
}

impl From<ScopeChoice> for Scope {
    fn from(choice: ScopeChoice) -> Self {
        match choice {
            ScopeChoice::Read => Self::Read,
            ScopeChoice::Run => Self::Run,
            ScopeChoice::Admin => Self::Admin,
        }
    }
}

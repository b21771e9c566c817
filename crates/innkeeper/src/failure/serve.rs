//! The server cannot be opened, or who may come in cannot be changed.

use std::net::SocketAddr;

use innkeeper_server::{BadOptions, Problem};

use super::{cause, message, shown};

#[derive(Debug)]
pub(crate) enum ServeFault {
    Options(BadOptions),
    Bind {
        address: SocketAddr,
        why: std::io::Error,
    },
    UnknownToken(String),
    /// A name for a token that cannot be shown in a list.
    Name,
    Refused(Problem),
}

impl ServeFault {
    pub(super) fn code(&self) -> &'static str {
        match self {
            Self::Options(BadOptions::NotLoopback(_)) => "serve.beyond_this_machine",
            Self::Options(_) => "serve.invalid_name",
            Self::Bind { .. } => "serve.cannot_listen",
            Self::UnknownToken(_) => "access.unknown_token",
            Self::Name => "access.invalid_name",
            Self::Refused(_) => "access.failed",
        }
    }

    pub(super) fn exit_code(&self) -> u8 {
        match self {
            Self::Options(_) | Self::Name => 2,
            Self::Bind { .. } | Self::UnknownToken(_) | Self::Refused(_) => 1,
        }
    }

    pub(super) fn english(&self) -> String {
        match self {
            Self::Options(bad) => message(&bad.to_string()),
            Self::Bind { address, why } => format!(
                "{address}: cannot listen there ({}); end what uses the port, or choose another with --port",
                cause(why)
            ),
            Self::UnknownToken(id) => format!(
                "there is no token '{}'; innkeeper access list shows those there are",
                shown(id)
            ),
            Self::Name => {
                "the name of a token has 1 to 100 characters that can be shown; choose another"
                    .into()
            }
            Self::Refused(problem) => message(&problem.detail),
        }
    }

    pub(super) fn chinese(&self) -> String {
        match self {
            Self::Options(BadOptions::NotLoopback(ip)) => format!(
                "{ip} 是其他机器够得着的地址；如果确实要这样，请加上 --beyond-this-machine，否则请监听 127.0.0.1"
            ),
            Self::Options(BadOptions::Origin(origin)) => format!(
                "“{}”不是来源；请按浏览器的写法给出协议、主机和端口，后面什么都不要：http://localhost:8000",
                shown(origin)
            ),
            Self::Options(BadOptions::Host(host)) => format!(
                "“{}”不是主机名；请按地址的写法给出，有端口就带上：inn.example:8443",
                shown(host)
            ),
            Self::Bind { address, why } => format!(
                "{address}：无法在那里监听（{}）；请结束占用端口的程序，或用 --port 换一个",
                cause(why)
            ),
            Self::UnknownToken(id) => format!(
                "没有令牌“{}”；innkeeper access list 会列出已有的令牌",
                shown(id)
            ),
            Self::Name => "令牌的名称应为 1 到 100 个可以显示的字符；请换一个".into(),
            Self::Refused(problem) => format!("没有成功：{}", message(&problem.detail)),
        }
    }
}

impl From<BadOptions> for ServeFault {
    fn from(bad: BadOptions) -> Self {
        Self::Options(bad)
    }
}

impl From<Problem> for ServeFault {
    fn from(problem: Problem) -> Self {
        Self::Refused(problem)
    }
}

//! Environment variables in which scripts find options: how they are called, and which are not for options.

/// Variables that change how programs run; an option must not set them.
const RESERVED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "PWD",
    "OLDPWD",
    "CDPATH",
    "IFS",
    "ENV",
    "BASH_ENV",
    "PS4",
    "PROMPT_COMMAND",
    "TMPDIR",
    "TMP",
    "TEMP",
    "TZ",
    "TZDIR",
    "LANG",
    "LANGUAGE",
    "TERM",
    "TERMINFO",
    "EDITOR",
    "PAGER",
    "BROWSER",
    "CLASSPATH",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "RUBYOPT",
    "RUBYLIB",
    "PERL5LIB",
    "PERL5OPT",
    "PERL5DB",
    "LUA_PATH",
    "LUA_CPATH",
    "PHPRC",
    "R_HOME",
    "R_PROFILE",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "FTP_PROXY",
    "NO_PROXY",
    "HOSTALIASES",
    "RESOLV_HOST_CONF",
    "LOCALDOMAIN",
    "GCONV_PATH",
    "LOCPATH",
    "NLSPATH",
    "OPENSSL_CONF",
    "OPENSSL_MODULES",
    "SSLKEYLOGFILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "COMSPEC",
    "SYSTEMROOT",
    "WINDIR",
    "PATHEXT",
    "APPDATA",
    "LOCALAPPDATA",
    "USERPROFILE",
    "VIRTUAL_ENV",
];
const RESERVED_PREFIXES: &[&str] = &[
    "LD_",
    "DYLD_",
    "PYTHON",
    "NODE_",
    "NPM_",
    "BUN_",
    "DENO_",
    "GLIBC_",
    "MALLOC_",
    "LC_",
    "XDG_",
    "GIT_",
    "SSH_",
    "SSL_CERT_",
    "UV_",
    "PIP_",
    "DOTNET_",
    "INNKEEPER_",
];

pub(super) fn is_reserved(variable: &str) -> bool {
    let by_prefix = RESERVED_PREFIXES
        .iter()
        .any(|prefix| variable.starts_with(prefix));
    by_prefix || RESERVED.contains(&variable)
}

/// `apiKey`, `api-key` and `api_key` are `API_KEY`; `HTTPUrl` is `HTTP_URL`.
pub(super) fn variable_of(key: &str) -> String {
    let letters: Vec<char> = key.chars().collect();
    let mut variable = String::new();
    for (at, c) in letters.iter().copied().enumerate() {
        let before = at.checked_sub(1).and_then(|at| letters.get(at)).copied();
        let after = letters.get(at + 1).copied();
        let small =
            |c: Option<char>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        let large = before.is_some_and(|c| c.is_ascii_uppercase());
        let new_word = small(before) || (large && after.is_some_and(|c| c.is_ascii_lowercase()));
        if c.is_ascii_uppercase() && new_word {
            variable.push('_');
        }
        variable.push(match c {
            '-' | '.' => '_',
            c => c.to_ascii_uppercase(),
        });
    }
    variable
}

//! Names of things in a run. Each is a string on the wire.

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(
                Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
            )]
            #[serde(transparent)]
            pub struct $name(String);

            impl $name {
                pub fn new(text: impl Into<String>) -> Self {
                    Self(text.into())
                }

                pub fn as_str(&self) -> &str {
                    &self.0
                }
            }

            impl std::fmt::Display for $name {
                fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    f.write_str(&self.0)
                }
            }

            impl From<&str> for $name {
                fn from(text: &str) -> Self {
                    Self::new(text)
                }
            }
        )*
    };
}

ids! {
    RunId;
    EventId;
    /// One call of a tool within a run.
    CallId;
    /// One agent at work within a run; the first is [`InvocationId::ROOT`].
    InvocationId;
    WorkspaceId;
    ProfileId;
    TaskId;
    CheckpointId;
    CommitId;
    /// RFC 3339, given by whoever has the clock.
    Timestamp;
}

impl InvocationId {
    pub const ROOT: &'static str = "inv_root";

    pub fn root() -> Self {
        Self::new(Self::ROOT)
    }
}

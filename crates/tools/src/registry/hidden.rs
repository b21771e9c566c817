//! Tools that are listed nowhere: found by their ids, made when they are first asked for.

use std::fmt;
use std::sync::{Arc, OnceLock};

use super::{Prepared, RegisterError, Tool};
use crate::Executor;

type Make = dyn Fn() -> Result<(Prepared, Arc<dyn Executor>), RegisterError> + Send + Sync;

/// A tool that whoever knows its id can call. An agent must be allowed it by that id, not by a pattern.
#[derive(Clone)]
pub struct Hidden {
    id: Arc<str>,
    make: Arc<Make>,
    made: Arc<OnceLock<Option<Arc<Tool>>>>,
}

impl Hidden {
    /// May stand before the id.
    pub const PREFIX: &str = "node:";

    pub fn new(
        id: impl Into<Arc<str>>,
        make: impl Fn() -> Result<(Prepared, Arc<dyn Executor>), RegisterError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            id: id.into(),
            make: Arc::new(make),
            made: Arc::default(),
        }
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// Nothing if it cannot be declared as a tool.
    pub(super) fn tool(&self) -> Option<&Arc<Tool>> {
        let made = self.made.get_or_init(|| {
            let (prepared, executor) = (self.make)().ok()?;
            Some(Arc::new(Tool::hidden(prepared, executor)))
        });
        made.as_ref()
    }
}

impl fmt::Debug for Hidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hidden({})", self.id)
    }
}

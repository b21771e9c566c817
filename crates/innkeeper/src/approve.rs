//! Who answers where a rule says to ask.

use std::sync::Arc;

use innkeeper_tools::policy::{Approver, Nobody};

use crate::output::Screen;

pub(crate) enum Approve {
    Always,
    Typed,
    Person,
    Nobody,
}

impl Approve {
    pub(crate) fn approver(self, _screen: &Screen) -> Arc<dyn Approver> {
        Arc::new(Nobody)
    }
}

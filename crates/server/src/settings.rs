//! What the owner of a house has laid down, as far as it can be changed from outside. Kept by whoever opens the house.

use innkeeper_agent::instance::RetentionSettings;

use crate::Problem;

pub trait HouseSettings: Send + Sync {
    /// As the file says it now. It may wait for the disk.
    fn retention(&self) -> Result<RetentionSettings, Problem>;

    /// On disk when it returns; everything else in the file stays as it is.
    fn set_retention(&self, retention: RetentionSettings) -> Result<(), Problem>;
}

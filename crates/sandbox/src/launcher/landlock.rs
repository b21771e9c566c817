//! Landlock: a second lock on the same doors. The root already shows only what was granted; this says once more, in
//! another part of the kernel, what of it may be changed and which ports may be reached.

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, NetPort,
    PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetError, RulesetStatus,
    Scope,
};

use crate::layers::{Layer, LayerState};
use crate::wire::Spec;

/// The newest rights that we know the meaning of.
const NEWEST: ABI = ABI::V7;
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// An old kernel may know less of it, or nothing: the root holds without.
pub(super) fn restrict(spec: &Spec) -> LayerState {
    let (active, detail) = match apply(spec) {
        Ok((RulesetStatus::NotEnforced, _)) => (false, "this kernel does not have it".to_owned()),
        Ok((RulesetStatus::PartiallyEnforced, abi)) => (true, format!("{abi}, in part")),
        Ok((RulesetStatus::FullyEnforced, abi)) => (true, abi),
        Err(error) => (false, error.to_string()),
    };
    LayerState {
        layer: Layer::Landlock,
        active,
        detail,
    }
}

fn apply(spec: &Spec) -> Result<(RulesetStatus, String), RulesetError> {
    let everything = AccessFs::from_all(NEWEST);
    let reading = AccessFs::from_read(NEWEST);
    let device = AccessFs::ReadFile | AccessFs::WriteFile;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(everything)?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .no_new_privs(false);
    let writable = spec.roots.iter().filter(|root| root.writable);
    let places = [("/".into(), reading), ("/tmp".into(), everything)]
        .into_iter()
        .chain(writable.map(|root| (root.target.clone(), everything)))
        .chain(DEVICES.map(|device_path| (device_path.into(), device)));
    for (path, access) in places {
        // What cannot be opened is not opened to the program either.
        if let Ok(fd) = PathFd::new(path) {
            let access: BitFlags<AccessFs> = access;
            rules = rules.add_rule(PathBeneath::new(fd, access))?;
        }
    }
    for door in &spec.doors {
        rules = rules.add_rule(NetPort::new(door.port(), AccessNet::ConnectTcp))?;
    }
    let status = rules.restrict_self()?;
    let abi = match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => format!("ABI {}", effective_abi as i32),
        _ => String::new(),
    };
    Ok((status.ruleset, abi))
}

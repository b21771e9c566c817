//! Which crate of the workspace may use which: the table of `docs/architecture.md`, as a function.
//!
//! Knows nothing of cargo; `architecture` feeds it the real graph, its own tests feed it bad ones.

/// Who may use a crate, and whom it may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Room {
    /// A floor of the house: uses lower floors only, never a neighbour on its own.
    Floor(u8),
    /// For tests of the floors: a dev-dependency only; itself uses anything but the binary.
    TestKit,
    /// Measures everything, is used by nobody.
    Benches,
}

/// Higher floors use lower ones: innkeeper → server → agent → tools → engine, sandbox, models, store → protocol,
/// yaml.
const ROOMS: &[(&str, Room)] = &[
    ("innkeeper", Room::Floor(TOP)),
    ("innkeeper-server", Room::Floor(4)),
    ("innkeeper-agent", Room::Floor(3)),
    ("innkeeper-tools", Room::Floor(2)),
    ("innkeeper-engine", Room::Floor(1)),
    ("innkeeper-sandbox", Room::Floor(1)),
    ("innkeeper-models", Room::Floor(1)),
    ("innkeeper-store", Room::Floor(1)),
    ("innkeeper-protocol", Room::Floor(0)),
    ("innkeeper-yaml", Room::Floor(0)),
    ("innkeeper-testkit", Room::TestKit),
    ("innkeeper-benches", Room::Benches),
];
const TOP: u8 = 5;

/// What the ground floor must not bring in: it neither waits nor reaches out.
const NOT_ON_THE_GROUND: &[&str] = &[
    "async-std",
    "async-trait",
    "axum",
    "cap-std",
    "futures",
    "futures-util",
    "hyper",
    "mio",
    "notify",
    "reqwest",
    "rusqlite",
    "smol",
    "sqlx",
    "tempfile",
    "tokio",
    "tokio-util",
    "tower",
    "ureq",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Also build dependencies: they decide what gets built.
    Normal,
    Dev,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Crate {
    pub(crate) name: String,
    pub(crate) uses: Vec<(String, Kind)>,
}

/// One sentence for each arrow that must not be.
pub(crate) fn violations(crates: &[Crate]) -> Vec<String> {
    let mut found = Vec::new();
    for from in crates {
        let Some(room) = room(&from.name) else {
            found.push(format!(
                "{} is not in the table: decide where it stands, add it to ROOMS in \
                 crates/innkeeper/tests/suite/graph.rs and to docs/architecture.md",
                from.name
            ));
            continue;
        };
        for (to, kind) in &from.uses {
            let allowed = match crates.iter().any(|known| known.name == *to) {
                // An unknown crate is reported once, as itself.
                true => self::room(to).is_none_or(|target| may_use(room, target, *kind)),
                false => room != Room::Floor(0) || !NOT_ON_THE_GROUND.contains(&to.as_str()),
            };
            if !allowed {
                found.push(format!(
                    "{} must not use {to} ({kind:?}): see docs/architecture.md",
                    from.name
                ));
            }
        }
    }
    found
}

fn room(name: &str) -> Option<Room> {
    ROOMS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, room)| *room)
}

fn may_use(from: Room, to: Room, kind: Kind) -> bool {
    match (from, to) {
        (Room::Benches, Room::Benches) | (_, Room::Benches) => false,
        (Room::Benches, _) => true,
        (Room::Floor(_), Room::TestKit) => kind == Kind::Dev,
        (Room::TestKit, Room::TestKit) => false,
        (Room::TestKit, Room::Floor(floor)) => floor < TOP,
        (Room::Floor(from), Room::Floor(to)) => from > to,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a > b` is an arrow, `a ~ b` an arrow of tests only; names without the common beginning.
    fn graph(arrows: &str) -> Vec<Crate> {
        fn entry(crates: &mut Vec<Crate>, name: &str) -> usize {
            let known = crates.iter().position(|known| known.name == name);
            known.unwrap_or_else(|| {
                crates.push(Crate {
                    name: name.to_owned(),
                    uses: Vec::new(),
                });
                crates.len() - 1
            })
        }
        let mut crates = Vec::new();
        for arrow in arrows.split(',') {
            let words: Vec<&str> = arrow.split_whitespace().collect();
            let (from, sign, to) = (words[0], words[1], words[2]);
            let kind = if sign == "~" { Kind::Dev } else { Kind::Normal };
            let full = |name: &str| match name.strip_prefix("ext:") {
                Some(outside) => outside.to_owned(),
                None if name == "innkeeper" => name.to_owned(),
                None => format!("innkeeper-{name}"),
            };
            let index = entry(&mut crates, &full(from));
            crates[index].uses.push((full(to), kind));
            if !to.starts_with("ext:") {
                entry(&mut crates, &full(to));
            }
        }
        crates
    }

    #[test]
    fn arrows_down_are_allowed() {
        for arrows in [
            "innkeeper > server, server > agent, agent > tools, tools > engine, engine > protocol",
            "innkeeper > protocol, server > store, agent > models, tools > sandbox, tools > yaml, models > yaml",
            "protocol ~ testkit, engine ~ testkit, innkeeper ~ testkit, testkit > protocol",
            "testkit > server, testkit > agent, testkit ~ models",
            "benches > innkeeper, benches > protocol, benches > testkit",
            "protocol > ext:serde, store > ext:tokio, server > ext:axum",
        ] {
            assert_eq!(violations(&graph(arrows)), Vec::<String>::new(), "{arrows}");
        }
    }

    #[test]
    fn every_other_arrow_is_found() {
        for arrows in [
            "protocol > store",
            "protocol > yaml",
            "yaml > protocol",
            "protocol ~ engine",
            "engine > store",
            "store > engine",
            "sandbox > models",
            "models > sandbox",
            "engine ~ store",
            "engine > tools",
            "tools > agent",
            "agent > server",
            "server > innkeeper",
            "store > innkeeper",
            "tools > testkit",
            "innkeeper > testkit",
            "testkit > innkeeper",
            "server > benches",
            "server ~ benches",
            "testkit ~ benches",
            "protocol > ext:tokio",
            "protocol ~ ext:reqwest",
            "protocol > ext:sqlx",
            "protocol > ext:axum",
        ] {
            let found = violations(&graph(arrows));
            assert_eq!(found.len(), 1, "{arrows}: {found:?}");
            assert!(found[0].contains("must not use"), "{found:?}");
        }
    }

    #[test]
    fn an_unknown_crate_is_asked_for_its_place() {
        let found = violations(&graph("tools > helpers, helpers > protocol"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].contains("innkeeper-helpers is not in the table"),
            "{found:?}"
        );
    }

    #[test]
    fn one_bad_arrow_among_many_is_named() {
        let found = violations(&graph("innkeeper > server, models > store, server > tools"));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].starts_with("innkeeper-models must not use innkeeper-store"),
            "{found:?}"
        );
    }
}

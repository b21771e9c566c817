//! Workflows full of streams, made by chance: who writes, who reads how, who takes the whole as a value.

use proptest::prelude::*;

use crate::DataFlowType;

/// One of what the nodes before give, by number, modulo how many fit.
pub(super) type Wish = usize;

#[derive(Debug, Clone)]
pub(super) enum Kind {
    Write {
        chunks: usize,
        /// Breaks after so many.
        fails: Option<usize>,
    },
    Relay(Wish),
    Listen {
        from: Wish,
        /// Leaves after so many.
        most: Option<usize>,
    },
    Both {
        one: Wish,
        two: Wish,
        /// The second is the other stream of whoever writes the first.
        is_twin: bool,
        order: &'static str,
    },
    Take {
        any: Wish,
        text: Option<Wish>,
        list: Option<Wish>,
        many: Vec<Wish>,
        is_task: bool,
    },
    If {
        condition: Flag,
        then: Wish,
        otherwise: Wish,
    },
    Switch {
        case: &'static str,
        x: Wish,
        y: Wish,
    },
    Pick {
        flag: Flag,
        yes: Wish,
        no: Wish,
        holds: bool,
    },
    Loop {
        from: Wish,
        turns: usize,
    },
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Flag {
    Set(bool),
    /// Known only when what is wished for is.
    From(Wish),
}

#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) ms: u64,
    /// Begins only when all of this is there: of a stream, when it has ended.
    pub(super) after: Option<Wish>,
    /// What it gives is an output of the workflow; else it may be needed by a lazy input alone, or by nobody.
    pub(super) is_shown: bool,
}

/// An output of the workflow beside those of the nodes that are shown.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) from: Wish,
    pub(super) flow: DataFlowType,
    pub(super) is_stream: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Streams {
    pub(super) nodes: Vec<Node>,
    pub(super) outputs: Vec<Shown>,
    pub(super) parallel: usize,
}

fn flag() -> impl Strategy<Value = Flag> {
    prop_oneof![
        any::<bool>().prop_map(Flag::Set),
        (0usize..1_000).prop_map(Flag::From)
    ]
}

fn kind(breaks: bool) -> impl Strategy<Value = Kind> {
    let wish = || 0usize..1_000;
    let write =
        (0usize..300, proptest::option::of(0usize..300)).prop_map(move |(chunks, fails)| {
            let fails = fails.filter(|_| breaks);
            Kind::Write { chunks, fails }
        });
    let listen = (wish(), proptest::option::weighted(0.3, 0usize..200))
        .prop_map(|(from, most)| Kind::Listen { from, most });
    let order = prop_oneof![Just("one"), Just("two"), Just("turns")];
    let both =
        (wish(), wish(), any::<bool>(), order).prop_map(|(one, two, is_twin, order)| Kind::Both {
            one,
            two,
            is_twin,
            order,
        });
    let some = || proptest::option::of(wish());
    let many = proptest::collection::vec(wish(), 0..4);
    let take = (wish(), some(), some(), many, any::<bool>()).prop_map(
        |(any, text, list, many, is_task)| Kind::Take {
            any,
            text,
            list,
            many,
            is_task,
        },
    );
    let choice = (flag(), wish(), wish()).prop_map(|(condition, then, otherwise)| Kind::If {
        condition,
        then,
        otherwise,
    });
    let case = prop_oneof![Just("x"), Just("y"), Just("neither")];
    let switch = (case, wish(), wish()).prop_map(|(case, x, y)| Kind::Switch { case, x, y });
    let pick =
        (flag(), wish(), wish(), any::<bool>()).prop_map(|(flag, yes, no, holds)| Kind::Pick {
            flag,
            yes,
            no,
            holds,
        });
    let turns = (wish(), 0usize..3).prop_map(|(from, turns)| Kind::Loop { from, turns });
    prop_oneof![
        2 => write,
        3 => wish().prop_map(Kind::Relay),
        4 => listen,
        2 => both,
        4 => take,
        2 => choice,
        1 => switch,
        2 => pick,
        1 => turns,
    ]
}

/// `breaks`: writers may fail.
pub(super) fn streams(breaks: bool) -> impl Strategy<Value = Streams> {
    let node = (
        kind(breaks),
        prop_oneof![3 => Just(0u64), 1 => 1u64..4],
        proptest::option::weighted(0.25, 0usize..1_000),
        proptest::bool::weighted(0.7),
    );
    let node = node.prop_map(|(kind, ms, after, is_shown)| Node {
        kind,
        ms,
        after,
        is_shown,
    });
    let flow = prop_oneof![
        Just(DataFlowType::Wildcard),
        Just(DataFlowType::String),
        Just(DataFlowType::Array)
    ];
    let shown = (0usize..1_000, flow, any::<bool>()).prop_map(|(from, flow, is_stream)| Shown {
        from,
        flow,
        is_stream,
    });
    (
        0usize..400,
        proptest::collection::vec(node, 1..12),
        proptest::collection::vec(shown, 0..4),
        prop_oneof![Just(1usize), Just(2), Just(256)],
    )
        .prop_map(|(chunks, mut nodes, outputs, parallel)| {
            let first = Kind::Write {
                chunks,
                fails: None,
            };
            let first = Node {
                kind: first,
                ms: 0,
                after: None,
                is_shown: false,
            };
            nodes.insert(0, first);
            Streams {
                nodes,
                outputs,
                parallel,
            }
        })
}

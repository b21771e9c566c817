//! What only a lazy input needs: it waits behind a gate, which opens when the input is wanted.

use super::order::Edges;

/// Gates inside gates are told apart up to this depth; what lies deeper runs as soon as it can.
const MAX_DEPTH: u32 = 256;

/// A gate: one lazy input of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Gate {
    pub(super) vertex: u32,
    pub(super) input: u32,
    /// Number of the gate around it, `None` for a gate that lies in the open.
    parent: Option<u32>,
    depth: u32,
}

/// For each vertex, the number of the gate that it waits behind.
pub(super) struct Gates {
    pub(super) gates: Vec<Gate>,
    pub(super) of: Vec<Option<u32>>,
}

/// `uses` tells for each vertex who takes its outputs: the vertex and, if that input is lazy, which. A vertex that is
/// `open` is needed by more than other vertices.
pub(super) fn find(
    order: &[u32],
    edges: &Edges,
    uses: &[Vec<(u32, Option<u32>)>],
    open: &[bool],
) -> Gates {
    let mut gates: Vec<Gate> = Vec::new();
    let mut numbers = std::collections::HashMap::new();
    let mut of: Vec<Option<u32>> = vec![None; edges.len()];
    for vertex in order.iter().rev() {
        let users = uses.get(*vertex as usize).map_or(&[][..], Vec::as_slice);
        if users.is_empty() || open.get(*vertex as usize).copied().unwrap_or(true) {
            continue;
        }
        let mut common: Option<Option<u32>> = None;
        for (user, lazy) in users {
            let around = of.get(*user as usize).copied().flatten();
            let gate = match lazy {
                None => around,
                Some(input) => {
                    let depth = around.and_then(|gate| gates.get(gate as usize));
                    let depth = depth.map_or(1, |gate| gate.depth + 1);
                    match depth > MAX_DEPTH {
                        true => around,
                        false => Some(*numbers.entry((*user, *input)).or_insert_with(|| {
                            gates.push(Gate {
                                vertex: *user,
                                input: *input,
                                parent: around,
                                depth,
                            });
                            u32::try_from(gates.len() - 1).unwrap_or(u32::MAX)
                        })),
                    }
                }
            };
            common = Some(match common {
                None => gate,
                Some(known) => shared(&gates, known, gate),
            });
        }
        if let (Some(place), Some(gate)) = (of.get_mut(*vertex as usize), common) {
            *place = gate;
        }
    }
    Gates { gates, of }
}

/// The innermost gate that both lie behind.
fn shared(gates: &[Gate], mut a: Option<u32>, mut b: Option<u32>) -> Option<u32> {
    let gate = |number: Option<u32>| number.and_then(|number| gates.get(number as usize));
    while a != b {
        let (depth_a, depth_b) = (
            gate(a).map_or(0, |gate| gate.depth),
            gate(b).map_or(0, |gate| gate.depth),
        );
        if depth_a >= depth_b {
            a = gate(a).and_then(|gate| gate.parent);
        }
        if depth_b >= depth_a {
            b = gate(b).and_then(|gate| gate.parent);
        }
    }
    a
}

//! An order in which nodes can run, or the cycle that forbids it.

use std::collections::VecDeque;

/// Edges from each vertex to those that need it.
pub(super) type Edges = Vec<Vec<u32>>;

/// The vertices in an order in which each comes after all that it needs; among those that are free, as they come in
/// the file. `Err` is a cycle: each needs the one before, and the first the last.
pub(super) fn sort(edges: &Edges) -> Result<Vec<u32>, Vec<u32>> {
    let mut waits = vec![0u32; edges.len()];
    for to in edges.iter().flatten() {
        if let Some(waits) = waits.get_mut(*to as usize) {
            *waits += 1;
        }
    }
    let free = (0u32..).zip(&waits).filter(|(_, waits)| **waits == 0);
    let mut queue: VecDeque<u32> = free.map(|(vertex, _)| vertex).collect();
    let mut order = Vec::with_capacity(edges.len());
    while let Some(vertex) = queue.pop_front() {
        order.push(vertex);
        for to in edges.get(vertex as usize).into_iter().flatten() {
            if let Some(waits) = waits.get_mut(*to as usize) {
                *waits -= 1;
                if *waits == 0 {
                    queue.push_back(*to);
                }
            }
        }
    }
    match order.len() == edges.len() {
        true => Ok(order),
        false => Err(cycle(edges, &waits)),
    }
}

/// Everyone who still waits waits for someone who waits: going back, one comes round.
fn cycle(edges: &Edges, waits: &[u32]) -> Vec<u32> {
    let is_stuck = |vertex: u32| waits.get(vertex as usize).is_some_and(|waits| *waits > 0);
    let mut before: Vec<Option<u32>> = vec![None; edges.len()];
    for (from, to) in (0u32..).zip(edges) {
        if is_stuck(from) {
            for to in to.iter().filter(|to| is_stuck(**to)) {
                if let Some(before) = before.get_mut(*to as usize) {
                    before.get_or_insert(from);
                }
            }
        }
    }
    let begin = (0u32..).zip(&before).find(|(_, before)| before.is_some());
    let Some((mut at, _)) = begin else {
        return Vec::new();
    };
    let mut seen = vec![false; edges.len()];
    while let Some(place) = seen.get_mut(at as usize)
        && !std::mem::replace(place, true)
    {
        match before.get(at as usize).copied().flatten() {
            Some(from) => at = from,
            None => return vec![at],
        }
    }
    let mut round = vec![at];
    let mut back = before.get(at as usize).copied().flatten();
    while let Some(from) = back
        && from != at
    {
        round.push(from);
        back = before.get(from as usize).copied().flatten();
    }
    round.reverse();
    round
}

//! Places for boxes that have none: in layers from left to right, each behind what it depends on, ordered so that few
//! wires cross, and wires that pass a layer led around its boxes.

/// Between boxes of a layer, and between passing wires.
const GAP: f64 = 28.0;
const WIRE_GAP: f64 = 14.0;
/// Between layers, before the wires between them are counted.
const LAYER_GAP: f64 = 72.0;
const SWEEPS: usize = 12;
const ALIGNMENTS: usize = 16;
/// Bends of all wires; those beyond go straight.
const MAX_BENDS: usize = 20_000;

/// From one box to another; the heights are from the top of each.
#[derive(Debug, Clone, Copy)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) from_y: f64,
    pub(super) to_y: f64,
}

pub(super) struct Layered {
    /// Top left of each box.
    pub(super) places: Vec<(f64, f64)>,
    pub(super) size: (f64, f64),
    /// For each edge, the points that it passes.
    pub(super) routes: Vec<Vec<(f64, f64)>>,
}

/// A box, or a place where a wire passes a layer.
struct Item {
    layer: usize,
    /// Within the layer.
    order: usize,
    size: (f64, f64),
    y: f64,
    is_bend: bool,
}

/// Between items of neighbouring layers.
struct Link {
    from: usize,
    to: usize,
    from_y: f64,
    to_y: f64,
}

pub(super) fn layered(sizes: &[(f64, f64)], edges: &[Edge]) -> Layered {
    let layer_of = layers(sizes.len(), edges);
    let mut items: Vec<Item> = sizes
        .iter()
        .zip(&layer_of)
        .map(|(size, layer)| Item {
            layer: *layer,
            order: 0,
            size: *size,
            y: 0.0,
            is_bend: false,
        })
        .collect();
    let mut links = Vec::new();
    let bends: Vec<Vec<usize>> = edges
        .iter()
        .map(|edge| bend(edge, &layer_of, &mut items, &mut links))
        .collect();
    let mut columns = columns(&items);
    untangle(&mut columns, &mut items, &links);
    align(&columns, &mut items, &links);
    let (lefts, width) = lefts(&columns, &items, &links);
    let top = items
        .iter()
        .map(|item| item.y)
        .fold(f64::INFINITY, f64::min);
    let top = if top.is_finite() { top } else { 0.0 };
    let left = |item: &Item| lefts.get(item.layer).map_or(0.0, |column| column.0);
    let places = items.iter().take(sizes.len());
    let places = places.map(|item| (left(item), item.y - top)).collect();
    let bottom = items.iter().map(|item| item.y - top + item.size.1);
    let routes = bends.iter().map(|bends| {
        let points = bends.iter().filter_map(|bend| {
            let item = items.get(*bend)?;
            let (left, wide) = *lefts.get(item.layer)?;
            let y = item.y - top;
            Some([(left, y), (left + wide, y)])
        });
        points.flatten().collect()
    });
    Layered {
        places,
        size: (width, bottom.fold(0.0, f64::max)),
        routes: routes.collect(),
    }
}

/// How far each box is from the beginning; edges that would close a cycle do not count.
fn layers(count: usize, edges: &[Edge]) -> Vec<usize> {
    let mut after: Vec<Vec<usize>> = vec![Vec::new(); count];
    for edge in edges {
        if let Some(list) = after.get_mut(edge.from) {
            list.push(edge.to);
        }
    }
    let order = finished_last_first(&after);
    let mut rank = vec![0; count];
    for (at, node) in order.iter().enumerate() {
        if let Some(rank) = rank.get_mut(*node) {
            *rank = at;
        }
    }
    let is_forward = |from: usize, to: usize| rank.get(from) < rank.get(to);
    let mut layer = vec![0usize; count];
    for from in &order {
        let own = layer.get(*from).copied().unwrap_or_default();
        for to in after.get(*from).into_iter().flatten() {
            if is_forward(*from, *to)
                && let Some(theirs) = layer.get_mut(*to)
            {
                *theirs = (*theirs).max(own + 1);
            }
        }
    }
    // What nothing leads to stands right before what needs it.
    let mut has_before = vec![false; count];
    for edge in edges.iter().filter(|edge| is_forward(edge.from, edge.to)) {
        if let Some(has) = has_before.get_mut(edge.to) {
            *has = true;
        }
    }
    for (from, targets) in after.iter().enumerate() {
        let nearest = targets
            .iter()
            .filter(|to| is_forward(from, **to))
            .filter_map(|to| layer.get(*to).copied())
            .min();
        if let (Some(nearest), Some(false)) = (nearest, has_before.get(from))
            && let Some(own) = layer.get_mut(from)
        {
            *own = nearest.saturating_sub(1);
        }
    }
    layer
}

/// In the order of a search that leaves each box last, turned around: along it, only edges of cycles go back.
fn finished_last_first(after: &[Vec<usize>]) -> Vec<usize> {
    let mut seen = vec![false; after.len()];
    let mut order = Vec::with_capacity(after.len());
    for start in 0..after.len() {
        if std::mem::replace(seen.get_mut(start).unwrap_or(&mut true), true) {
            continue;
        }
        let mut path = vec![(start, 0)];
        while let Some((node, next)) = path.last_mut() {
            let target = after.get(*node).and_then(|list| list.get(*next)).copied();
            *next += 1;
            match target {
                Some(target) => {
                    if let Some(known) = seen.get_mut(target)
                        && !std::mem::replace(known, true)
                    {
                        path.push((target, 0));
                    }
                }
                None => {
                    order.push(*node);
                    path.pop();
                }
            }
        }
    }
    order.reverse();
    order
}

/// Links an edge's ends, over a bend in each layer that it passes.
fn bend(
    edge: &Edge,
    layer_of: &[usize],
    items: &mut Vec<Item>,
    links: &mut Vec<Link>,
) -> Vec<usize> {
    let (Some(first), Some(last)) = (layer_of.get(edge.from), layer_of.get(edge.to)) else {
        return Vec::new();
    };
    if last <= first {
        return Vec::new();
    }
    let has_room = items.len() + (last - first) < layer_of.len() + MAX_BENDS;
    let mut bends = Vec::new();
    let (mut from, mut from_y) = (edge.from, edge.from_y);
    if has_room {
        for layer in first + 1..*last {
            let bend = items.len();
            items.push(Item {
                layer,
                order: 0,
                size: (0.0, 0.0),
                y: 0.0,
                is_bend: true,
            });
            links.push(Link {
                from,
                to: bend,
                from_y,
                to_y: 0.0,
            });
            (from, from_y) = (bend, 0.0);
            bends.push(bend);
        }
    }
    if has_room || last - first == 1 {
        links.push(Link {
            from,
            to: edge.to,
            from_y,
            to_y: edge.to_y,
        });
    }
    bends
}

fn columns(items: &[Item]) -> Vec<Vec<usize>> {
    let count = items
        .iter()
        .map(|item| item.layer + 1)
        .max()
        .unwrap_or_default();
    let mut columns = vec![Vec::new(); count];
    for (at, item) in items.iter().enumerate() {
        if let Some(column) = columns.get_mut(item.layer) {
            column.push(at);
        }
    }
    columns
}

/// Each item as near as can be to the middle of those that it is linked to: fewer wires cross.
fn untangle(columns: &mut [Vec<usize>], items: &mut [Item], links: &[Link]) {
    number(columns, items);
    let mut near: [Vec<Vec<usize>>; 2] =
        [vec![Vec::new(); items.len()], vec![Vec::new(); items.len()]];
    for link in links {
        let [before, after] = &mut near;
        if let (Some(before), Some(after)) = (before.get_mut(link.to), after.get_mut(link.from)) {
            before.push(link.from);
            after.push(link.to);
        }
    }
    for sweep in 0..SWEEPS {
        let is_forward = sweep % 2 == 0;
        let [before, after] = &near;
        let side = if is_forward { before } else { after };
        let count = columns.len();
        for step in 0..count {
            let at = if is_forward { step } else { count - 1 - step };
            let Some(column) = columns.get_mut(at) else {
                continue;
            };
            let middle = |item: usize| {
                let own = items.get(item).map_or(0.0, |item| item.order as f64);
                let linked = side.get(item).map(Vec::as_slice).unwrap_or_default();
                if linked.is_empty() {
                    return own;
                }
                let orders = linked.iter().filter_map(|other| items.get(*other));
                let sum: f64 = orders.map(|item| item.order as f64).sum();
                sum / linked.len() as f64
            };
            let mut keyed: Vec<(f64, usize)> =
                column.iter().map(|item| (middle(*item), *item)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            *column = keyed.iter().map(|(_, item)| *item).collect();
            for (order, item) in column.iter().enumerate() {
                if let Some(item) = items.get_mut(*item) {
                    item.order = order;
                }
            }
        }
    }
}

fn number(columns: &[Vec<usize>], items: &mut [Item]) {
    for column in columns {
        for (order, item) in column.iter().enumerate() {
            if let Some(item) = items.get_mut(*item) {
                item.order = order;
            }
        }
    }
}

/// Heights: every wire as straight as the others let it be.
fn align(columns: &[Vec<usize>], items: &mut [Item], links: &[Link]) {
    for column in columns {
        let mut y = 0.0;
        for item in column {
            if let Some(item) = items.get_mut(*item) {
                item.y = y;
                y += item.size.1 + GAP;
            }
        }
    }
    for round in 0..ALIGNMENTS {
        let (mut wanted, mut count) = (vec![0.0; items.len()], vec![0.0f64; items.len()]);
        for link in links {
            let (Some(from), Some(to)) = (items.get(link.from), items.get(link.to)) else {
                continue;
            };
            // Passing wires are kept straight before boxes are moved for them.
            let weight = if from.is_bend && to.is_bend { 4.0 } else { 1.0 };
            let pulls = [
                (link.to, from.y + link.from_y - link.to_y),
                (link.from, to.y + link.to_y - link.from_y),
            ];
            for (item, y) in pulls {
                if let (Some(wanted), Some(count)) = (wanted.get_mut(item), count.get_mut(item)) {
                    *wanted += y * weight;
                    *count += weight;
                }
            }
        }
        for step in 0..columns.len() {
            let at = if round % 2 == 0 {
                step
            } else {
                columns.len() - 1 - step
            };
            let Some(column) = columns.get(at) else {
                continue;
            };
            let goals: Vec<f64> = column
                .iter()
                .map(
                    |item| match (wanted.get(*item), count.get(*item), items.get(*item)) {
                        (Some(sum), Some(count), _) if *count > 0.0 => sum / count,
                        (_, _, Some(own)) => own.y,
                        _ => 0.0,
                    },
                )
                .collect();
            settle(column, &goals, items);
        }
    }
}

/// As near to the goals as the order and the gaps allow: between what pushing down and what pushing up would give.
fn settle(column: &[usize], goals: &[f64], items: &mut [Item]) {
    let room = |above: &Item, below: &Item| match above.is_bend || below.is_bend {
        true => WIRE_GAP,
        false => GAP,
    };
    let mut down = goals.to_vec();
    for at in 1..column.len() {
        if let [above, own] = column.get(at - 1..=at).unwrap_or_default()
            && let (Some(above), Some(own)) = (items.get(*above), items.get(*own))
        {
            let least =
                down.get(at - 1).copied().unwrap_or_default() + above.size.1 + room(above, own);
            if let Some(y) = down.get_mut(at) {
                *y = y.max(least);
            }
        }
    }
    let mut up = goals.to_vec();
    for at in (1..column.len()).rev() {
        if let [above, own] = column.get(at - 1..=at).unwrap_or_default()
            && let (Some(above), Some(own)) = (items.get(*above), items.get(*own))
        {
            let most = up.get(at).copied().unwrap_or_default() - above.size.1 - room(above, own);
            if let Some(y) = up.get_mut(at - 1) {
                *y = y.min(most);
            }
        }
    }
    for (item, (down, up)) in column.iter().zip(down.iter().zip(&up)) {
        if let Some(item) = items.get_mut(*item) {
            item.y = (down + up) / 2.0;
        }
    }
}

/// Left edge and width of each layer, and how wide all is. Many wires between two layers need more room.
fn lefts(columns: &[Vec<usize>], items: &[Item], links: &[Link]) -> (Vec<(f64, f64)>, f64) {
    let mut lefts = Vec::with_capacity(columns.len());
    let (mut x, mut end) = (0.0, 0.0);
    for (at, column) in columns.iter().enumerate() {
        let sizes = column.iter().filter_map(|item| items.get(*item));
        let wide = sizes.map(|item| item.size.0).fold(0.0, f64::max);
        let leaving = links.iter().filter(|link| {
            let from = items.get(link.from);
            from.is_some_and(|item| item.layer == at)
        });
        lefts.push((x, wide));
        end = x + wide;
        x = end + LAYER_GAP + (leaving.count() as f64 * 3.0).min(96.0);
    }
    (lefts, end)
}

#[cfg(test)]
#[path = "layers_tests.rs"]
mod tests;

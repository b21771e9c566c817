//! Gives every box of a drawing its place: the canvas's own where there is one and nothing overlaps, else in layers.

use super::drawing::{Box, Drawing, Kind};
use super::layers::{Edge, layered};
use super::style::{TITLE, TYPE, VALUE, width};

pub(super) const HEADER: f64 = 46.0;
pub(super) const ROW: f64 = 21.0;
pub(super) const PAD: f64 = 12.0;
/// Around what lies in a box.
const INSIDE: f64 = 26.0;
const FRAME_HEADER: f64 = 34.0;
const MIN_WIDTH: f64 = 170.0;
pub(super) const MAX_WIDTH: f64 = 330.0;
/// Between two boxes of the canvas, at least.
const APART: f64 = 18.0;

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Rect {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) w: f64,
    pub(super) h: f64,
}

pub(super) struct Layout {
    /// Of each box.
    pub(super) rects: Vec<Rect>,
    /// For each wire, the points that it passes.
    pub(super) routes: Vec<Vec<(f64, f64)>>,
    pub(super) size: (f64, f64),
}

pub(super) fn of(drawing: &Drawing) -> Layout {
    let mut placer = Placer {
        drawing,
        rects: vec![Rect::default(); drawing.boxes.len()],
        routes: vec![Vec::new(); drawing.wires.len()],
        paths: (0..drawing.boxes.len())
            .map(|at| path(drawing, at))
            .collect(),
    };
    let size = placer.place(None);
    for child in drawing.children(None) {
        placer.settle(child, (0.0, 0.0));
    }
    Layout {
        rects: placer.rects,
        routes: placer.routes,
        size,
    }
}

/// From the outermost box to this one.
fn path(drawing: &Drawing, at: usize) -> Vec<usize> {
    let mut path = vec![at];
    let mut here = at;
    while let Some(parent) = drawing.boxes.get(here).and_then(|one| one.parent) {
        path.push(parent);
        here = parent;
    }
    path.reverse();
    path
}

struct Placer<'d> {
    drawing: &'d Drawing,
    /// Relative to what each lies in, until all is settled.
    rects: Vec<Rect>,
    routes: Vec<Vec<(f64, f64)>>,
    paths: Vec<Vec<usize>>,
}

impl Placer<'_> {
    /// Places all that lies in a box, from the inside out; gives the room that it takes.
    fn place(&mut self, parent: Option<usize>) -> (f64, f64) {
        let children: Vec<usize> = self.drawing.children(parent).collect();
        for child in &children {
            let inside = self.place(Some(*child));
            let size = self.drawing.boxes.get(*child).map(|one| size(one, inside));
            if let (Some(rect), Some((w, h))) = (self.rects.get_mut(*child), size) {
                (rect.w, rect.h) = (w, h);
            }
        }
        if children.is_empty() {
            return (0.0, 0.0);
        }
        match self.as_on_canvas(&children) {
            Some(size) => size,
            None => self.in_layers(&children, parent),
        }
    }

    /// By the positions in the file, drawn apart where our boxes are larger than the canvas's.
    fn as_on_canvas(&mut self, children: &[usize]) -> Option<(f64, f64)> {
        let mut places = Vec::with_capacity(children.len());
        for child in children {
            let (x, y) = self.drawing.boxes.get(*child)?.position?;
            places.push((x, y));
        }
        let first = *places.first()?;
        if children.len() > 1 && places.iter().all(|place| *place == first) {
            return None;
        }
        let least =
            |pick: fn(&(f64, f64)) -> f64| places.iter().map(pick).fold(f64::INFINITY, f64::min);
        let (left, top) = (least(|place| place.0), least(|place| place.1));
        let stretches = [1.0, 1.2, 1.5, 1.8, 2.2, 2.8, 3.5];
        let ways = stretches
            .iter()
            .flat_map(|y| stretches.map(move |x| (x, *y)));
        let mut ways: Vec<(f64, f64)> = ways.collect();
        ways.sort_by(|a, b| (a.0 * a.1).total_cmp(&(b.0 * b.1)));
        let rects = ways.iter().find_map(|stretch| {
            let rects: Vec<Rect> = children
                .iter()
                .zip(&places)
                .filter_map(|(child, place)| {
                    let rect = self.rects.get(*child)?;
                    Some(Rect {
                        x: (place.0 - left) * stretch.0,
                        y: (place.1 - top) * stretch.1,
                        ..*rect
                    })
                })
                .collect();
            is_free(&rects).then_some(rects)
        })?;
        let mut size = (0.0f64, 0.0f64);
        for (child, rect) in children.iter().zip(rects) {
            size = (size.0.max(rect.x + rect.w), size.1.max(rect.y + rect.h));
            if let Some(place) = self.rects.get_mut(*child) {
                *place = rect;
            }
        }
        // A canvas that somebody stretched over a continent is drawn in layers.
        let area: f64 = children
            .iter()
            .filter_map(|child| self.rects.get(*child))
            .map(|rect| rect.w * rect.h)
            .sum();
        let is_sparse = size.0 * size.1 > area * 60.0 && children.len() > 1;
        (size.0.is_finite() && size.1.is_finite() && !is_sparse).then_some(size)
    }

    fn in_layers(&mut self, children: &[usize], parent: Option<usize>) -> (f64, f64) {
        let depth = parent
            .and_then(|parent| self.paths.get(parent))
            .map_or(0, Vec::len);
        let local = |at: usize| {
            let path = self.paths.get(at)?;
            let is_inside = depth == 0 || path.get(depth - 1).copied() == parent;
            let child = path.get(depth).filter(|_| is_inside)?;
            children.iter().position(|known| known == child)
        };
        let mut edges = Vec::new();
        let mut wires = Vec::new();
        for (number, wire) in self.drawing.wires.iter().enumerate() {
            let (Some(from), Some(to)) = (local(wire.from), local(wire.to)) else {
                continue;
            };
            if from == to {
                continue;
            }
            let middle = |child: usize| {
                let rect = children.get(child).and_then(|child| self.rects.get(*child));
                rect.map_or(0.0, |rect| rect.h / 2.0)
            };
            let height = |child: usize, at: usize, slot: &str, side: Side| {
                let own = children.get(child).copied() == Some(at);
                let one = self.drawing.boxes.get(at).filter(|_| own);
                one.map_or_else(|| middle(child), |one| slot_y(one, slot, side))
            };
            edges.push(Edge {
                from,
                to,
                from_y: height(from, wire.from, &wire.from_slot, Side::Out),
                to_y: height(to, wire.to, &wire.to_slot, Side::In),
            });
            wires.push(number);
        }
        let sizes = children.iter().filter_map(|child| self.rects.get(*child));
        let sizes: Vec<(f64, f64)> = sizes.map(|rect| (rect.w, rect.h)).collect();
        let layered = layered(&sizes, &edges);
        for (child, (x, y)) in children.iter().zip(layered.places) {
            if let Some(rect) = self.rects.get_mut(*child) {
                (rect.x, rect.y) = (x, y);
            }
        }
        for (wire, route) in wires.iter().zip(layered.routes) {
            if let Some(place) = self.routes.get_mut(*wire) {
                *place = route;
            }
        }
        layered.size
    }

    /// From places within boxes to places on the page.
    fn settle(&mut self, at: usize, origin: (f64, f64)) {
        let Some(one) = self.drawing.boxes.get(at) else {
            return;
        };
        let Some(rect) = self.rects.get_mut(at) else {
            return;
        };
        (rect.x, rect.y) = (rect.x + origin.0, rect.y + origin.1);
        let inside = (rect.x + INSIDE, rect.y + top_of(one) + INSIDE * 0.6);
        let depth = self.paths.get(at).map_or(0, Vec::len);
        for (number, wire) in self.drawing.wires.iter().enumerate() {
            // Its points were found where both its ends are inside, each in another box.
            let end = |end: usize| {
                let path = self.paths.get(end)?;
                (path.get(depth - 1) == Some(&at)).then(|| path.get(depth).copied())?
            };
            if let (Some(from), Some(to)) = (end(wire.from), end(wire.to))
                && from != to
                && let Some(route) = self.routes.get_mut(number)
            {
                for point in route {
                    *point = (point.0 + inside.0, point.1 + inside.1);
                }
            }
        }
        let children: Vec<usize> = self.drawing.children(Some(at)).collect();
        for child in children {
            self.settle(child, inside);
        }
    }
}

fn is_free(rects: &[Rect]) -> bool {
    let mut sorted: Vec<&Rect> = rects.iter().collect();
    sorted.sort_by(|a, b| a.x.total_cmp(&b.x));
    sorted.iter().enumerate().all(|(at, one)| {
        sorted
            .iter()
            .skip(at + 1)
            .take_while(|other| other.x < one.x + one.w + APART)
            .all(|other| other.y >= one.y + one.h + APART || one.y >= other.y + other.h + APART)
    })
}

/// What stands above that which lies in a box.
fn top_of(one: &Box) -> f64 {
    match one.kind {
        Kind::Frame => FRAME_HEADER,
        _ => HEADER + rows(one) * ROW,
    }
}

fn rows(one: &Box) -> f64 {
    let more = usize::from(one.hidden > 0);
    (one.inputs.len().max(one.outputs.len()) + more) as f64
}

fn size(one: &Box, inside: (f64, f64)) -> (f64, f64) {
    let is_open = one.kind.holds_others() && inside.1 > 0.0;
    let titles = [width(&one.title, TITLE), width(&one.full_type, TYPE)];
    let title = titles.iter().fold(0.0, |most: f64, one| most.max(*one)) + PAD * 2.0 + 14.0;
    let pairs = one.inputs.iter().map(Some).chain(std::iter::repeat(None));
    let pairs = pairs.zip(one.outputs.iter().map(Some).chain(std::iter::repeat(None)));
    let row = pairs
        .take(one.inputs.len().max(one.outputs.len()))
        .map(|(input, output)| {
            let input = input.map_or(0.0, |slot| {
                let value = slot.value.as_deref().map_or(0.0, |text| {
                    width(text.lines().next().unwrap_or_default(), VALUE).min(110.0) + 8.0
                });
                width(&slot.key, VALUE) + value
            });
            let output = output.map_or(0.0, |slot| width(&slot.key, VALUE));
            input + output + PAD * 2.0 + 26.0
        });
    let row = row.fold(0.0, f64::max);
    let own = title.max(row).clamp(MIN_WIDTH, MAX_WIDTH);
    match is_open {
        false if one.kind == Kind::Frame => (own, FRAME_HEADER + INSIDE),
        false => (own, HEADER + rows(one) * ROW + PAD * 0.6),
        true => (
            own.max(inside.0 + INSIDE * 2.0),
            top_of(one) + inside.1 + INSIDE * 1.6,
        ),
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    In,
    Out,
}

/// Height of a slot from the top of its box. An end of a group has its slots on one side, and is connected on both.
pub(super) fn slot_y(one: &Box, key: &str, side: Side) -> f64 {
    let at = |slots: &[super::drawing::Slot]| slots.iter().position(|slot| slot.key == key);
    let row = match side {
        Side::In => at(&one.inputs).or_else(|| at(&one.outputs)),
        Side::Out => at(&one.outputs).or_else(|| at(&one.inputs)),
    };
    match row {
        Some(row) => HEADER + (row as f64 + 0.5) * ROW,
        None => HEADER / 2.0,
    }
}

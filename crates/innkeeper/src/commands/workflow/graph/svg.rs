//! A drawing as an SVG picture: whole in itself, light or dark as the viewer is.

use std::fmt::Write as _;

use super::drawing::{Box, Drawing, Kind, Slot, Wire};
use super::layout::{HEADER, Layout, PAD, ROW, Rect, Side, slot_y};
use super::style::{CSS, TITLE, TYPE, VALUE, fitted, flow_class, hue, width};

/// Around everything, and above it for the name.
const MARGIN: f64 = 36.0;
const TOP: f64 = 74.0;
/// A picture is never asked to be shown larger; it can still be scaled.
const MAX_SHOWN: f64 = 8_000.0;
const CORNER: f64 = 9.0;

pub(super) fn text(drawing: &Drawing, layout: &Layout) -> String {
    let (w, h) = (
        (layout.size.0 + MARGIN * 2.0).max(320.0),
        layout.size.1 + TOP + MARGIN,
    );
    let scale = (MAX_SHOWN / w.max(h)).min(1.0);
    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 {w:.0} {h:.0}\" \
         width=\"{:.0}\" height=\"{:.0}\">",
        w * scale,
        h * scale
    );
    let _ = writeln!(out, "<title>{}</title>", escaped(&drawing.title));
    if !drawing.about.is_empty() {
        let _ = writeln!(out, "<desc>{}</desc>", escaped(&drawing.about));
    }
    let _ = writeln!(
        out,
        "<style>\n{}\n</style>",
        CSS.replace('&', "&amp;").replace('<', "&lt;")
    );
    out.push_str(
        "<defs><pattern id=\"dots\" width=\"22\" height=\"22\" patternUnits=\"userSpaceOnUse\">\
         <circle class=\"grid\" cx=\"2\" cy=\"2\" r=\"1.1\"/></pattern></defs>\n",
    );
    let _ = writeln!(
        out,
        "<rect class=\"page\" width=\"{w:.0}\" height=\"{h:.0}\"/>\
         <rect width=\"{w:.0}\" height=\"{h:.0}\" fill=\"url(#dots)\"/>"
    );
    let _ = writeln!(
        out,
        "<text class=\"name\" x=\"{MARGIN}\" y=\"34\">{}</text>\
         <text class=\"sub\" x=\"{MARGIN}\" y=\"52\">{}</text>",
        escaped(&fitted(&drawing.title, 18.0, w - MARGIN * 2.0)),
        escaped(&fitted(&drawing.about, VALUE, w - MARGIN * 2.0))
    );
    let _ = writeln!(out, "<g transform=\"translate({MARGIN} {TOP})\">");
    paint(drawing, layout, &mut out);
    out.push_str("</g>\n</svg>\n");
    out
}

/// What holds others lies at the back, the outermost first; wires run over it and behind the nodes.
fn paint(drawing: &Drawing, layout: &Layout, out: &mut String) {
    let is_open = |at: usize, one: &Box| {
        one.kind.holds_others()
            && (one.kind == Kind::Frame || drawing.children(Some(at)).next().is_some())
    };
    let boxes: Vec<(usize, &Box)> = drawing.boxes.iter().enumerate().collect();
    let mut open: Vec<(usize, &Box)> = boxes.clone();
    open.retain(|(at, one)| is_open(*at, one));
    open.sort_by_key(|(at, _)| depth(drawing, *at));
    for (at, one) in open {
        if let Some(rect) = layout.rects.get(at) {
            container(one, rect, out);
        }
    }
    for (number, wire) in drawing.wires.iter().enumerate() {
        let route = layout.routes.get(number).map(Vec::as_slice);
        draw_wire(drawing, layout, wire, route.unwrap_or_default(), out);
    }
    for (at, one) in boxes {
        if let Some(rect) = layout.rects.get(at).filter(|_| !is_open(at, one)) {
            node(one, rect, out);
        }
    }
}

fn depth(drawing: &Drawing, at: usize) -> usize {
    let mut depth = 0;
    let mut here = at;
    while let Some(parent) = drawing.boxes.get(here).and_then(|one| one.parent) {
        depth += 1;
        here = parent;
    }
    depth
}

fn container(one: &Box, rect: &Rect, out: &mut String) {
    let class = match one.kind {
        Kind::Loop => "loop",
        Kind::OpenGroup => "group",
        _ => "frame",
    };
    open_group(one, rect, out);
    let _ = write!(
        out,
        "<rect class=\"{class}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"14\"/>",
        rect.w, rect.h
    );
    let room = rect.w - PAD * 2.0 - 20.0;
    let (title, sign) = match one.kind {
        Kind::Loop => (&one.title, "↻ "),
        _ => (&one.title, ""),
    };
    let _ = write!(
        out,
        "<text class=\"title\" x=\"{}\" y=\"22\">{sign}{}</text>",
        PAD + 4.0,
        escaped(&fitted(title, TITLE, room))
    );
    if one.kind != Kind::Frame {
        let _ = write!(
            out,
            "<text class=\"type\" x=\"{}\" y=\"37\">{}</text>",
            PAD + 4.0,
            escaped(&fitted(&one.full_type, TYPE, room))
        );
        slots(one, rect, out);
    }
    out.push_str("</g>\n");
}

fn node(one: &Box, rect: &Rect, out: &mut String) {
    open_group(one, rect, out);
    let bad = if one.unknown { " bad" } else { "" };
    let hue = match (one.unknown, one.kind) {
        (true, _) => "hx".to_owned(),
        (_, Kind::End) => "hx".to_owned(),
        _ => format!("h{}", hue(&one.category)),
    };
    let (w, h, r) = (rect.w, rect.h, CORNER);
    let _ = write!(
        out,
        "<rect class=\"node{bad}\" width=\"{w:.1}\" height=\"{h:.1}\" rx=\"{r}\"/>\
         <path class=\"{hue}\" fill-opacity=\".13\" d=\"M0 {head} V{r} Q0 0 {r} 0 H{right:.1} Q{w:.1} 0 {w:.1} {r} V{head} Z\"/>\
         <rect class=\"{hue}\" x=\"{PAD}\" y=\"12\" width=\"4\" height=\"22\" rx=\"2\"/>",
        head = HEADER - 2.0,
        right = w - r,
    );
    let room = w - PAD * 2.0 - 12.0;
    let _ = write!(
        out,
        "<text class=\"title\" x=\"{x}\" y=\"21\">{}</text><text class=\"type\" x=\"{x}\" y=\"35\">{}</text>",
        escaped(&fitted(&one.title, TITLE, room)),
        escaped(&fitted(&one.full_type, TYPE, room)),
        x = PAD + 11.0,
    );
    slots(one, rect, out);
    out.push_str("</g>\n");
}

fn open_group(one: &Box, rect: &Rect, out: &mut String) {
    let class = if one.bypassed { " class=\"off\"" } else { "" };
    let _ = write!(
        out,
        "<g{class} transform=\"translate({:.1} {:.1})\"><title>{}</title>",
        rect.x,
        rect.y,
        escaped(&tip(one))
    );
}

/// What a pointer over the box shows.
fn tip(one: &Box) -> String {
    let mut tip = format!("{} · {}", one.path, one.full_type);
    for (is_so, words) in [
        (one.bypassed, "bypassed"),
        (one.unknown, "unknown node type"),
    ] {
        if is_so {
            let _ = write!(tip, " · {words}");
        }
    }
    if !one.about.is_empty() {
        let _ = write!(tip, "\n{}", one.about);
    }
    tip
}

fn slots(one: &Box, rect: &Rect, out: &mut String) {
    for slot in &one.inputs {
        let y = slot_y(one, &slot.key, Side::In);
        dot(slot, 0.0, y, out);
        let opposite = one
            .outputs
            .iter()
            .find(|other| slot_y(one, &other.key, Side::Out) == y);
        let taken = opposite.map_or(0.0, |other| width(&other.key, VALUE) + 14.0);
        let room = (rect.w - PAD * 2.0 - taken).max(40.0);
        let key = fitted(&slot.key, VALUE, room);
        let _ = write!(
            out,
            "<text class=\"slot\" x=\"{PAD}\" y=\"{:.1}\">{}</text>",
            y + 4.0,
            escaped(&key)
        );
        let left = room - width(&key, VALUE) - 10.0;
        if let Some(value) = slot.value.as_deref().filter(|_| left > 24.0) {
            let _ = write!(
                out,
                "<text class=\"value\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                PAD + width(&key, VALUE) + 8.0,
                y + 4.0,
                escaped(&fitted(value, VALUE, left))
            );
        }
    }
    for slot in &one.outputs {
        let y = slot_y(one, &slot.key, Side::Out);
        dot(slot, rect.w, y, out);
        let _ = write!(
            out,
            "<text class=\"slot\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            rect.w - PAD,
            y + 4.0,
            escaped(&fitted(&slot.key, VALUE, rect.w - PAD * 2.0))
        );
    }
    if one.hidden > 0 {
        let row = one.inputs.len().max(one.outputs.len()) as f64;
        let _ = write!(
            out,
            "<text class=\"value\" x=\"{PAD}\" y=\"{:.1}\">+{}</text>",
            HEADER + (row + 0.5) * ROW + 4.0,
            one.hidden
        );
    }
}

/// Round for a value, a diamond for a stream.
fn dot(slot: &Slot, x: f64, y: f64, out: &mut String) {
    let class = flow_class(slot.flow);
    let _ = match slot.is_stream {
        false => write!(
            out,
            "<circle class=\"dot d-{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.5\"/>"
        ),
        true => write!(
            out,
            "<path class=\"dot d-{class}\" d=\"M{:.1} {y:.1} L{x:.1} {:.1} L{:.1} {y:.1} L{x:.1} {:.1} Z\"/>",
            x - 6.0,
            y - 6.0,
            x + 6.0,
            y + 6.0
        ),
    };
}

fn draw_wire(
    drawing: &Drawing,
    layout: &Layout,
    wire: &Wire,
    route: &[(f64, f64)],
    out: &mut String,
) {
    let end = |at: usize, slot: &str, side: Side| {
        let (one, rect) = (drawing.boxes.get(at)?, layout.rects.get(at)?);
        let x = match side {
            Side::In => rect.x,
            Side::Out => rect.x + rect.w,
        };
        Some((x, rect.y + slot_y(one, slot, side)))
    };
    let (Some(from), Some(to)) = (
        end(wire.from, &wire.from_slot, Side::Out),
        end(wire.to, &wire.to_slot, Side::In),
    ) else {
        return;
    };
    let mut path = format!("M{:.1} {:.1}", from.0, from.1);
    let mut here = from;
    for (number, point) in route.iter().enumerate() {
        match number % 2 {
            0 => curve(here, *point, &mut path),
            // Straight through the layer.
            _ => drop(write!(path, " L{:.1} {:.1}", point.0, point.1)),
        }
        here = *point;
    }
    curve(here, to, &mut path);
    let flow = if wire.is_stream { " flow" } else { "" };
    let class = flow_class(wire.flow);
    let _ = writeln!(
        out,
        "<path class=\"back\" d=\"{path}\"/><path class=\"wire {class}{flow}\" d=\"{path}\"/>"
    );
}

/// Leaves to the right, arrives from the left.
fn curve(from: (f64, f64), to: (f64, f64), path: &mut String) {
    let (dx, dy) = (to.0 - from.0, (to.1 - from.1).abs());
    let pull = match dx > 0.0 {
        true => (dx * 0.5).max((dy * 0.25).min(40.0)),
        // Back to the left, in a bow.
        false => (60.0 - dx * 0.25).min(220.0),
    };
    let _ = write!(
        path,
        " C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}",
        from.0 + pull,
        from.1,
        to.0 - pull,
        to.1,
        to.0,
        to.1
    );
}

/// Text that XML takes: what it has no letter for is left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => out.push(c),
        }
    }
    out
}

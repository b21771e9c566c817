//! `innkeeper workflow graph`: a workflow as a drawing.
//!
//! - `drawing.rs` is what there is to draw: boxes, their slots, the wires between them;
//! - `mermaid.rs` writes it as text for Markdown viewers;
//! - `layout.rs` and `layers.rs` give every box its place, `svg.rs` paints them.

mod drawing;
mod layers;
mod layout;
mod mermaid;
mod style;
mod svg;

use super::find::find;
use super::house::in_house;
use super::{Ended, project};
use crate::cli::{GraphArgs, GraphFormat};
use crate::failure::{Failure, WorkflowFault};
use crate::home::Home;
use crate::limits::{MAX_DRAWN_NODES, MAX_DRAWN_WIRES};
use crate::output::Screen;
use crate::save::save;
use drawing::Drawing;

pub(super) fn run(args: &GraphArgs, home: &Home, screen: &Screen) -> Result<Ended, Failure> {
    let project = project(&args.project.project)?;
    let drawing = in_house(home, &project, |house| {
        let found = find(&args.workflow, house)?;
        let workflow = found.readable()?;
        // Groups that would be too much are not opened.
        let (nodes, wires) = (workflow.nodes.len(), workflow.edges.len());
        if nodes > MAX_DRAWN_NODES || wires > MAX_DRAWN_WIRES {
            let place = found.place.clone();
            return Err(WorkflowFault::TooLargeToDraw {
                place,
                nodes,
                wires,
            }
            .into());
        }
        let types = house.engine.nodes().types();
        let groups = args.groups.then_some(&found.groups);
        Ok(Drawing::of(
            workflow,
            &types,
            groups.map(|groups| groups as _),
        ))
    })?;
    let text = match args.format {
        GraphFormat::Mermaid => mermaid::text(&drawing),
        GraphFormat::Svg => svg::text(&drawing, &layout::of(&drawing)),
    };
    match &args.output {
        None if screen.json => screen.document(&serde_json::json!({
            "format": match args.format {
                GraphFormat::Mermaid => "mermaid",
                GraphFormat::Svg => "svg",
            },
            "graph": text,
        }))?,
        None => screen.text(&text)?,
        Some(path) => {
            save(path, &text).map_err(|error| super::find::unwritable(path, &error))?;
            let place = path.display();
            screen.note(&format!("{place} is written"), &format!("已写入 {place}"));
        }
    }
    Ok(Ended::Done)
}

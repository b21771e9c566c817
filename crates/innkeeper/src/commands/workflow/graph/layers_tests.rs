use super::*;

fn edge(from: usize, to: usize) -> Edge {
    Edge {
        from,
        to,
        from_y: 20.0,
        to_y: 30.0,
    }
}

/// Graphs of all kinds, circles among them, the same each time.
fn graphs() -> impl Iterator<Item = (Vec<(f64, f64)>, Vec<Edge>)> {
    let mut seed = 7u64;
    let mut next = move |below: usize| {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % below
    };
    (1..60).map(move |count| {
        let sizes = (0..count).map(|_| (100.0 + next(200) as f64, 40.0 + next(160) as f64));
        let sizes = sizes.collect();
        let edges = (0..next(count * 3) + 1).map(|_| edge(next(count), next(count)));
        (sizes, edges.collect())
    })
}

#[test]
fn no_box_lies_on_another() {
    for (sizes, edges) in graphs() {
        let layered = layered(&sizes, &edges);
        let boxes: Vec<_> = layered.places.iter().zip(&sizes).collect();
        for (at, ((x, y), (w, h))) in boxes.iter().enumerate() {
            assert!(*x >= 0.0 && *y >= -0.01, "{x} {y}");
            assert!(x + w <= layered.size.0 + 0.01 && y + h <= layered.size.1 + 0.01);
            for ((other_x, other_y), (other_w, other_h)) in boxes.iter().skip(at + 1) {
                let beside = x + w <= *other_x || other_x + other_w <= *x;
                let above = y + h <= *other_y + 0.01 || other_y + other_h <= *y + 0.01;
                assert!(beside || above, "{} boxes", sizes.len());
            }
        }
    }
}

#[test]
fn what_depends_stands_to_the_right() {
    let sizes = vec![(100.0, 50.0); 6];
    let edges = [(0, 1), (1, 2), (0, 2), (3, 2), (2, 4), (0, 4)].map(|(from, to)| edge(from, to));
    let layered = layered(&sizes, &edges);
    let x = |at: usize| layered.places[at].0;
    for one in edges {
        assert!(x(one.from) + 100.0 < x(one.to), "{one:?}");
    }
    // Nothing leads to it, so it stands right before what needs it.
    assert_eq!(x(3), x(1));
    // A wire that passes layers is led through each of them.
    let bends: Vec<usize> = layered.routes.iter().map(Vec::len).collect();
    assert_eq!(bends, [0, 0, 2, 0, 0, 4]);
}

#[test]
fn a_circle_has_an_end() {
    let sizes = vec![(100.0, 50.0); 3];
    let edges = [(0, 1), (1, 2), (2, 0), (1, 1)].map(|(from, to)| edge(from, to));
    let places = layered(&sizes, &edges).places;
    assert!(
        places[0].0 < places[1].0 && places[1].0 < places[2].0,
        "{places:?}"
    );
}

#[test]
fn a_straight_chain_is_drawn_straight() {
    let sizes = [(100.0, 50.0), (120.0, 200.0), (90.0, 80.0)];
    let edges = [(0, 1), (1, 2)].map(|(from, to)| Edge {
        from,
        to,
        from_y: 25.0,
        to_y: 25.0,
    });
    let places = layered(&sizes, &edges).places;
    assert!(
        places.iter().all(|place| place.1 == places[0].1),
        "{places:?}"
    );
}

use innkeeper_sandbox::Layer;

use super::*;

fn findings(states: &[State], sandbox: Strength) -> Findings {
    let checks = states.iter().map(|state| Check {
        state: *state,
        ..Check::ok("home", "d")
    });
    Findings {
        checks: checks.collect(),
        sandbox,
    }
}

/// With these layers inactive.
fn strength(missing: &[Layer]) -> Strength {
    let usable = !missing.iter().any(|layer| layer.is_required());
    Strength {
        usable,
        layers: Layer::ALL
            .into_iter()
            .map(|layer| LayerState {
                layer,
                active: !missing.contains(&layer),
                detail: "detail".to_owned(),
            })
            .collect(),
        remedy: (!usable).then(|| "switch it on".to_owned()),
    }
}

#[test]
fn only_what_is_needed_makes_it_fail() {
    for (states, is_sound) in [
        (&[State::Ok][..], true),
        (&[State::Ok, State::Warn], true),
        (&[State::Warn, State::Fail, State::Ok], false),
    ] {
        let findings = findings(states, strength(&[]));
        assert_eq!(findings.is_sound(), is_sound);
        assert_eq!(findings.document()["ok"], json!(is_sound));
    }
}

#[test]
fn the_sandbox_fails_only_without_what_is_required() {
    for (missing, state, english, chinese) in [
        (&[][..], State::Ok, "every layer holds", "每一层都有效"),
        (
            &[Layer::Landlock, Layer::Cgroup],
            State::Ok,
            "without Landlock, cgroup",
            "缺少 Landlock、cgroup",
        ),
        (
            &[Layer::UserNamespace],
            State::Fail,
            "no script is run",
            "不运行任何脚本",
        ),
    ] {
        let strength = strength(missing);
        let check = machine::sandbox(&strength, Lang::En);
        assert_eq!(check.state, state);
        assert!(check.detail.contains(english), "{check:?}");
        let remedy = (state == State::Fail).then(|| "switch it on".to_owned());
        assert_eq!(check.remedy, remedy);
        let check = machine::sandbox(&strength, Lang::Zh);
        assert!(check.detail.contains(chinese), "{check:?}");
    }
}

#[test]
fn layers_are_marked_by_whether_they_are_needed() {
    let findings = findings(&[], strength(&[Layer::Landlock, Layer::Seccomp]));
    let text = findings.layers(Lang::En).render(None);
    let line = |name: &str| {
        let line = text.lines().find(|line| line.contains(name)).unwrap();
        let words: Vec<_> = line.split_whitespace().collect();
        words.join(" ")
    };
    assert_eq!(line("Landlock"), "warn Landlock optional detail");
    assert_eq!(line("seccomp"), "fail seccomp filter required detail");
    assert_eq!(line("launcher"), "ok launcher required detail");
    let chinese = findings.layers(Lang::Zh).render(None);
    assert!(
        chinese.contains("可选") && chinese.contains("启动器"),
        "{chinese}"
    );
    let document = findings.document();
    assert_eq!(
        document["sandbox"]["layers"][8],
        json!({"layer": "landlock", "active": false, "required": false, "detail": "detail"})
    );
    assert_eq!(document["sandbox"]["remedy"], json!("switch it on"));
}

#[test]
fn a_remedy_stands_below_its_check() {
    let mut findings = findings(&[], strength(&[]));
    findings.checks = vec![
        Check::ok("version", "1"),
        Check::warn("node", "not found", "install it"),
    ];
    let text = findings.table(Lang::En).render(None);
    let expected = "ok    version  1\nwarn  node     not found\n               → install it\n";
    assert_eq!(text, expected);
    let zh = findings.table(Lang::Zh).render(None);
    assert!(zh.starts_with("ok    版本  1"), "{zh}");
}

#[test]
fn every_check_has_a_name_in_both_languages() {
    let rows: Vec<_> = house_checks();
    for name in rows {
        assert!(NAMES.iter().any(|(known, _)| *known == name), "{name}");
    }
}

fn house_checks() -> Vec<&'static str> {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::of(Some(folder.path()));
    let looked = block_on(async { Ok(house::look(home, Lang::En, &|_| {}).await) });
    looked.unwrap().iter().map(|check| check.name).collect()
}

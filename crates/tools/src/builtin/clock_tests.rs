//! The time in many zones, and zones that do not exist.

use jiff::Timestamp;

use super::*;
use crate::builtin::testing::{call, check_definitions};

struct Stopped(&'static str);

impl Clock for Stopped {
    fn now(&self) -> Timestamp {
        self.0.parse().unwrap()
    }
}

fn at(time: &'static str, home: TimeZone) -> Tool {
    tools(Arc::new(Stopped(time)), home).remove(0)
}

#[test]
fn the_declaration_is_sound() {
    check_definitions(&[at("2026-01-01T00:00:00Z", TimeZone::UTC)]);
}

#[tokio::test]
async fn the_time_is_told_in_any_zone() {
    for (time, arguments, iso, weekday, zone) in [
        (
            "2026-03-01T23:30:15.9Z",
            json!({}),
            "2026-03-01T23:30:15+00:00",
            "Sunday",
            "UTC",
        ),
        (
            "2026-03-01T23:30:15Z",
            json!({"time_zone": "Asia/Shanghai"}),
            "2026-03-02T07:30:15+08:00",
            "Monday",
            "Asia/Shanghai",
        ),
        (
            "2026-03-01T23:30:15Z",
            json!({"time_zone": " asia/tokyo "}),
            "2026-03-02T08:30:15+09:00",
            "Monday",
            "Asia/Tokyo",
        ),
        // The hour that summer time skips.
        (
            "2026-03-29T01:00:00Z",
            json!({"time_zone": "Europe/Berlin"}),
            "2026-03-29T03:00:00+02:00",
            "Sunday",
            "Europe/Berlin",
        ),
        (
            "1900-01-01T00:00:00Z",
            json!({"time_zone": "UTC"}),
            "1900-01-01T00:00:00+00:00",
            "Monday",
            "UTC",
        ),
    ] {
        let got = call(&at(time, TimeZone::UTC), arguments.clone())
            .await
            .unwrap();
        let unix = time.parse::<Timestamp>().unwrap().as_second();
        let expected = json!({"iso": iso, "unix": unix, "weekday": weekday, "zone": zone});
        assert_eq!(got, expected, "{arguments}");
    }
}

#[tokio::test]
async fn without_a_zone_it_is_the_time_at_home() {
    let home = ZONES.get("America/New_York").unwrap();
    let got = call(&at("2026-07-01T12:00:00Z", home), json!({}))
        .await
        .unwrap();
    assert_eq!(got["iso"], "2026-07-01T08:00:00-04:00");
    let lost = at("2026-07-01T12:00:00Z", TimeZone::unknown());
    assert_eq!(call(&lost, json!({})).await.unwrap()["zone"], "UTC");
    let fixed = at("2026-07-01T12:00:00Z", TimeZone::fixed(jiff::tz::offset(2)));
    assert_eq!(call(&fixed, json!({})).await.unwrap()["zone"], "+02:00");
}

#[tokio::test]
async fn unknown_zones_are_told_near_names() {
    for (wrong, hint) in [
        ("Asia/Shangai", "'Asia/Shanghai'"),
        ("Tokyo", "'Asia/Tokyo'"),
        ("new york", "'America/New_York'"),
        ("Europe/Berln", "'Europe/Berlin'"),
        ("Middle-earth/Shire", "use an IANA name"),
        ("../../etc/passwd", "use an IANA name"),
        ("时区", "use an IANA name"),
    ] {
        let tool = at("2026-01-01T00:00:00Z", TimeZone::UTC);
        let error = call(&tool, json!({"time_zone": wrong}))
            .await
            .expect_err(wrong);
        assert!(error.message.contains(hint), "{wrong}: {}", error.message);
        assert_eq!(error.reason.as_deref(), Some("time.unknown_zone"));
    }
}

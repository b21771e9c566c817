//! The text form of Prometheus, version 0.0.4.

use std::fmt::Write;

#[derive(Default)]
pub(crate) struct Text(String);

#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl Text {
    /// What the next samples are about.
    pub(crate) fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = kind.as_str();
        self.line(format_args!("# HELP {name} {help}\n# TYPE {name} {kind}"));
    }

    pub(crate) fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}=\"{}\"", escaped(value)))
            .collect();
        match labels.is_empty() {
            true => self.line(format_args!("{name} {value}")),
            false => self.line(format_args!("{name}{{{}}} {value}", labels.join(","))),
        }
    }

    /// A family of one sample.
    pub(crate) fn one(&mut self, name: &str, kind: Kind, help: &str, value: f64) {
        self.family(name, kind, help);
        self.sample(name, &[], value);
    }

    pub(crate) fn finish(self) -> String {
        self.0
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a text does not fail.
        let _ = writeln!(self.0, "{line}");
    }
}

fn escaped(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_cannot_break_out() {
        let mut text = Text::default();
        text.one("a", Kind::Gauge, "An a", 1.5);
        text.sample("b", &[("x", "1\"2\\3\n4")], 2.0);
        assert_eq!(
            text.finish(),
            "# HELP a An a\n# TYPE a gauge\na 1.5\nb{x=\"1\\\"2\\\\3\\n4\"} 2\n"
        );
    }
}

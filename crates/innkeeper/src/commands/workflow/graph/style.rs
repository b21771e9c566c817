//! How a picture looks: letters, colours, and how wide a text will be.

use innkeeper_engine::DataFlowType;
use unicode_width::UnicodeWidthChar;

/// Sizes of letters; those of titles are bold, and so wider than they are high.
pub(super) const TITLE: f64 = 14.3;
pub(super) const TYPE: f64 = 10.0;
pub(super) const VALUE: f64 = 11.0;

/// Kinds of nodes are told apart by so many colours.
const HUES: usize = 8;

/// About how wide a text will be; nobody knows the letters of whoever looks at it.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(|c| letter(c) * size).sum()
}

fn letter(c: char) -> f64 {
    match c {
        'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' => 0.28,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | ' ' | '-' => 0.37,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.89,
        'A'..='Z' => 0.68,
        '_' | '0'..='9' => 0.58,
        c => match c.width().unwrap_or_default() {
            0 => 0.0,
            1 => 0.57,
            _ => 1.02,
        },
    }
}

/// The beginning of a text that is too wide.
pub(super) fn fitted(text: &str, size: f64, room: f64) -> String {
    let text = text.trim();
    let line = text.lines().next().unwrap_or_default();
    if width(line, size) <= room && line.len() == text.len() {
        return line.to_owned();
    }
    let mut used = letter('m') * size;
    let mut out = String::new();
    for c in line.chars() {
        used += letter(c) * size;
        if used > room {
            break;
        }
        out.push(c);
    }
    out.push('…');
    out
}

/// The same kind has the same colour in every picture.
pub(super) fn hue(category: &str) -> usize {
    let sum = category.bytes().fold(5_381usize, |sum, byte| {
        sum.wrapping_mul(33) ^ usize::from(byte)
    });
    sum % HUES
}

pub(super) fn flow_class(flow: DataFlowType) -> &'static str {
    match flow {
        DataFlowType::String => "f-text",
        DataFlowType::Integer => "f-int",
        DataFlowType::Float => "f-float",
        DataFlowType::Boolean => "f-bool",
        DataFlowType::Object => "f-obj",
        DataFlowType::Array => "f-list",
        DataFlowType::Binary => "f-bin",
        DataFlowType::Wildcard | DataFlowType::ConvertibleAny => "f-any",
    }
}

/// Light, and dark for those who like it so. No variables: not every viewer knows them.
pub(super) const CSS: &str = "\
text{font-family:Inter,ui-sans-serif,system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','Noto Sans SC','PingFang SC','Microsoft YaHei',sans-serif}
.page{fill:#f8fafc}.grid{fill:#dbe3ee}
.name{font-size:18px;font-weight:650;fill:#0f172a}.sub{font-size:11px;fill:#64748b}
.node{fill:#ffffff;stroke:#cbd5e1;stroke-width:1}
.title{font-size:13px;font-weight:600;fill:#0f172a}.type{font-size:10px;fill:#64748b}
.slot{font-size:11px;fill:#334155}.value{font-size:11px;fill:#94a3b8;font-style:italic}
.frame{fill:#e2e8f0;fill-opacity:.45;stroke:#94a3b8;stroke-width:1}
.loop{fill:#ede9fe;fill-opacity:.55;stroke:#8b5cf6;stroke-width:1.5;stroke-dasharray:7 5}
.group{fill:#e0f2fe;fill-opacity:.5;stroke:#0ea5e9;stroke-width:1.5}
.off{opacity:.5}.bad{stroke:#dc2626;stroke-width:1.5;stroke-dasharray:4 3}
.wire{fill:none;stroke-width:1.8;stroke-opacity:.85}
.back{fill:none;stroke:#f8fafc;stroke-width:5;stroke-opacity:.8}
.flow{stroke-width:2.6;stroke-dasharray:9 5;animation:flow 1.2s linear infinite}
@keyframes flow{to{stroke-dashoffset:-28}}
.dot{stroke:#ffffff;stroke-width:1.5}
.h0{fill:#3b82f6}.h1{fill:#10b981}.h2{fill:#f59e0b}.h3{fill:#8b5cf6}.h4{fill:#ec4899}.h5{fill:#14b8a6}.h6{fill:#6366f1}.h7{fill:#f97316}.hx{fill:#64748b}
.f-text{stroke:#16a34a}.f-int{stroke:#2563eb}.f-float{stroke:#0891b2}.f-bool{stroke:#dc2626}.f-obj{stroke:#d97706}.f-list{stroke:#9333ea}.f-bin{stroke:#78716c}.f-any{stroke:#64748b}
.d-f-text{fill:#16a34a}.d-f-int{fill:#2563eb}.d-f-float{fill:#0891b2}.d-f-bool{fill:#dc2626}.d-f-obj{fill:#d97706}.d-f-list{fill:#9333ea}.d-f-bin{fill:#78716c}.d-f-any{fill:#64748b}
@media (prefers-reduced-motion:reduce){.flow{animation:none}}
@media (prefers-color-scheme:dark){
.page{fill:#0b1120}.grid{fill:#1c2740}
.name{fill:#f1f5f9}.sub{fill:#94a3b8}
.node{fill:#172033;stroke:#334155}
.title{fill:#f1f5f9}.type{fill:#94a3b8}
.slot{fill:#cbd5e1}.value{fill:#64748b}
.frame{fill:#1e293b;stroke:#475569}
.loop{fill:#2e1065;fill-opacity:.35}
.group{fill:#082f49;fill-opacity:.45}
.bad{stroke:#f87171}.back{stroke:#0b1120}.dot{stroke:#172033}
.f-text{stroke:#4ade80}.f-int{stroke:#60a5fa}.f-float{stroke:#22d3ee}.f-bool{stroke:#f87171}.f-obj{stroke:#fbbf24}.f-list{stroke:#c084fc}.f-bin{stroke:#a8a29e}.f-any{stroke:#94a3b8}
.d-f-text{fill:#4ade80}.d-f-int{fill:#60a5fa}.d-f-float{fill:#22d3ee}.d-f-bool{fill:#f87171}.d-f-obj{fill:#fbbf24}.d-f-list{fill:#c084fc}.d-f-bin{fill:#a8a29e}.d-f-any{fill:#94a3b8}
}";

use std::sync::Arc;
use std::time::Duration;

use minijinja::Environment;
use proptest::prelude::*;
use serde_json::{Map, Value as Json, json};
use tokio_util::sync::CancellationToken;

use super::purse::Purse;
use super::{Expression, Template, explained, filled};

fn variables() -> Json {
    json!({
        "name": "Owl", "n": 3, "x": 1.5, "yes": true, "nothing": null,
        "list": [3, 1, 2], "words": ["a", "b"],
        "deep": {"a": {"b": [10, 20]}, "key with space": 1},
        "people": [{"name": "Ann", "age": 5}, {"name": "Bob", "age": 7}],
    })
}

fn map(json: Json) -> Arc<Map<String, Json>> {
    match json {
        Json::Object(map) => Arc::new(map),
        other => panic!("{other}"),
    }
}

/// A slow machine changes nothing.
const PATIENT: Purse = Purse {
    time: Duration::MAX,
    ..Purse::TEMPLATE
};

fn render(template: &str) -> Result<String, String> {
    render_with(PATIENT, template)
}

fn render_with(purse: Purse, template: &str) -> Result<String, String> {
    let template = Template::parse(template).map_err(|error| error.to_string())?;
    purse.open(None);
    let rendered = filled(&template.environment, map(variables()));
    rendered.map_err(|error| explained(&error, "template").to_string())
}

/// What Jinja itself makes of it.
fn plain(template: &str) -> String {
    let mut environment = Environment::new();
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    let values = minijinja::Value::from(minijinja::value::Serde(variables()));
    environment.render_str(template, values).unwrap()
}

fn any_expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "n",
        "x",
        "name",
        "list",
        "words",
        "missing",
        "deep",
        "1",
        "2.5",
        "-1",
        "'a'",
        "\"q'\\n\"",
        "true",
        "none",
        "[]",
        "(1, 'b')",
        "{'k': 1}",
        "range(3)",
        "deep.a.b[0]",
        "[n, deep.a.b[0]]",
        "list[1:]",
        "people[0].name",
    ]);
    leaf.prop_map(str::to_owned)
        .prop_recursive(4, 20, 3, |inner| {
            let sign = prop::sample::select(vec![
                "+", "-", "~", "/", "//", "%", "==", "!=", "<", ">=", "in", "not in", "and", "or",
                "< 3 <",
            ]);
            let filter = prop::sample::select(vec![
                "upper",
                "length",
                "list",
                "join('-')",
                "default('d')",
                "first",
                "string",
                "int",
                "abs",
                "sort",
                "reverse",
                "tojson",
                "replace('a', 'b')",
                "map('string')|join",
                "round(1)",
            ]);
            let test = prop::sample::select(vec![
                "defined",
                "string",
                "not number",
                "eq(1)",
                "divisibleby 2",
                "sequence",
            ]);
            prop_oneof![
                (inner.clone(), sign, inner.clone())
                    .prop_map(|(a, sign, b)| format!("{a} {sign} {b}")),
                inner.clone().prop_map(|a| format!("({a})")),
                inner.clone().prop_map(|a| format!("not {a}")),
                inner.clone().prop_map(|a| format!("-({a})")),
                (inner.clone(), filter).prop_map(|(a, filter)| format!("{a}|{filter}")),
                (inner.clone(), test).prop_map(|(a, test)| format!("({a} is {test})")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("[{a}, {b}]")),
                (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a})[{b}]")),
                (inner.clone(), inner.clone(), inner)
                    .prop_map(|(a, b, c)| format!("({a} if {b} else {c})")),
            ]
        })
}

proptest! {
    #[test]
    fn any_expression_means_what_it_means_in_jinja(expression in any_expression()) {
        let template = format!("<{{{{ {expression} }}}}>");
        let mut environment = Environment::new();
        environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
        let values = minijinja::Value::from(minijinja::value::Serde(variables()));
        let theirs = environment.render_str(&template, values);
        let ours = render(&template);
        prop_assert_eq!(ours.clone().ok(), theirs.ok(), "{} {:?}", expression, ours);
    }
}

/// Jinja takes it for the name of a variable, which nobody means.
#[test]
fn not_after_a_comparison_is_refused() {
    for template in ["{{ n == not -(n) }}", "{{ 1 + not - 1 }}", "{{ n < not }}"] {
        let refused = render(template).unwrap_err();
        assert!(
            refused.to_string().contains("put brackets around it"),
            "{template}: {refused}"
        );
    }
    assert_eq!(render("{{ n == (not -(n)) }}").unwrap(), "False");
}

#[test]
fn templates_mean_what_they_mean_in_jinja() {
    for template in [
        "",
        "plain \"text\" with \\ and 你好 and 😀\nlines\r\n",
        "{{ name }} {{ missing }}.{{ nothing }}",
        "{{ 1 + 2 * 3 - 4 / 2 // 1 % 5 ** 2 }} {{ -n ** 2 }} {{ (1 + 2) * 3 }} {{ 1 - 2 - 3 }} {{ 2 ** 3 ** 2 }}",
        "{{ 'a' ~ 1 ~ name ~ list }} {{ 'a' + 'b' }} {{ list + [4] }}",
        "{{ n > 2 }} {{ 1 < n < 5 }} {{ 1 in list }} {{ 9 not in list }} {{ not yes }} {{ yes and n }} {{ false or name }}",
        "{{ n == 3 and name != 'x' or missing }} {{ 'yes' if n > 5 else 'no' }}{{ 'only' if false }}",
        "{{ 'a' if n > 5 else 'b' if n > 4 else 'c' }}",
        "{{ deep.a.b[1] }} {{ deep['key with space'] }} {{ deep.a.b.0 }} {{ list[0:2] }} {{ list[::-1] }} {{ name[1:] }}",
        "{{ list|sort|join(', ') }} {{ words|map('upper')|list }} {{ name|upper|lower }} {{ list|length }}",
        "{{ people|map(attribute='name')|join(d) }} {{ people|selectattr('age', '>', 5)|list|length }}",
        "{{ x|round }} {{ 3.14159|round(2) }} {{ 1e10 }} {{ 1.0 }} {{ 12345678901234567890 }} {{ true }} {{ none }}",
        "{{ name|replace('O', 'H') }} {{ 'a\nb'|indent(2) }} {{ '%s-%03d'|format(name, n) }} {{ 'a,b'|split(',') }}",
        "{{ [1, 'two', [3]] }} {{ {'a': 1, 'b': [2]} }} {{ (1, 2) }} {{ () }} {{ [1,2,3,4,5]|batch(2)|list }}",
        "{{ deep|tojson }} {{ list|tojson(indent=2) }} {{ '<b>'|e }} {{ '\\n\\t\\\"' }}",
        "{% if n > 5 %}a{% elif n > 2 %}b{% else %}c{% endif %}{% if yes %}{% else %}x{% endif %}",
        "{% if false %}a{% else %}{% if yes %}b{% endif %}c{% endif %}",
        "{% for p in people %}{{ loop.index }}:{{ p.name }}{% if not loop.last %}, {% endif %}{% else %}none{% endfor %}",
        "{% for x in [] %}a{% else %}none{% endfor %}{% for x in list if x > 1 %}{{ x }}{% endfor %}",
        "{% for k, v in deep.a|items %}{{ k }}={{ v }}{% endfor %}{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}",
        "{% set a = 1 %}{% set b, c = [2, 3] %}{{ a + b + c }}{% set t %}in {{ name }}{% endset %}{{ t|upper }}",
        "{% set t | upper | replace('A', 'x') %}a b{% endset %}{{ t }}{% filter upper %}shout{% endfilter %}",
        "{% set ns = namespace(n=0) %}{% for x in list %}{% set ns.n = ns.n + x %}{% endfor %}{{ ns.n }}",
        "{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{% raw %}{{ raw }}{% endraw %}{# comment #}",
        "a  {%- if yes -%}  b  {%- endif %}  c\n{{- name -}}\n d",
        "{{ name is string }} {{ n is divisibleby(3) }} {{ missing is not defined }} {{ n is odd and yes }}",
        "{{ range(3) }} {{ range(3) is sequence }} {{ range(3) == [0, 1, 2] }} {{ range(3)|list }} {{ dict(a=1).a }} {{ range(1, 10, 4)|join('-') }} {{ [1, 2]|sum }} {{ list|min }}",
        "{% autoescape true %}{{ '<' }}{% endautoescape %}{{ '<' }}",
        "{{ True }}{{ none is none }}{{ name|default('x') }}{{ missing|default('x', true) }}",
    ] {
        assert_eq!(render(template), Ok(plain(template)), "{template}");
    }
}

#[test]
fn errors_name_the_line() {
    for (template, line) in [
        ("a\nb\n{{ 1 / 0 }}", 3),
        ("{% if true %}\n\n{{ 1\n / 0 }}{% endif %}", 3),
        (
            "\n{% for x in list %}\n{% set y = 1 // 0 %}\n{% endfor %}",
            3,
        ),
        ("a\n{{ broken", 2),
    ] {
        let error = render(template).unwrap_err();
        assert!(
            error.contains(&format!("line {line}")),
            "{template}: {error}"
        );
    }
}

#[test]
fn nothing_grows_without_bound() {
    let doubling = "{% set x = x ~ x %}".repeat(60);
    let lists = "{% set x = [x, x] %}".repeat(60);
    let nested_loops = format!(
        "{}{}",
        (0..40).fold(String::new(), |all, n| all
            + &format!("{{% for v{} in [v{n} ~ v{n}] %}}", n + 1)),
        "{% endfor %}".repeat(40),
    );
    let captures = "{% set x %}{{ x }}{{ x }}{% endset %}".repeat(60);
    let long = "y".repeat(1_000);
    let rows = [
        "{{ 'x' * 1000000000 }}".to_owned(),
        "{{ 'x' * 90000000 }}".to_owned(),
        "{{ 3 * 'x' }}".to_owned(),
        "{{ ([0] * 90000000)|list }}".to_owned(),
        format!("{{% set x = 'xxxxxxxx' %}}{doubling}"),
        format!("{{% set x = 'xxxxxxxx' %}}{captures}{{{{ x }}}}"),
        format!("{{% set x = ['{long}'] %}}{lists}{{{{ x }}}}"),
        format!("{{% set x = ['{long}'] %}}{lists}{{{{ x == x }}}}"),
        format!("{{% set v0 = 'xxxxxxxx' %}}{nested_loops}"),
        "{% set ns = namespace(x='xxxxxxxx') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}".to_owned(),
        "{% set ns = namespace(x='xxxxxxxx') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}".to_owned(),
        format!("{{% set ns = namespace(x=['{long}']) %}}{{% for i in range(60) %}}{{% set ns.x = ns.x + ns.x %}}{{% endfor %}}"),
        "{% set ns = namespace(x=[1]) %}{% for i in range(90000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}".to_owned(),
        format!("{{% set x %}}{{% for i in range(99999) %}}{long}{{% endfor %}}{{% endset %}}"),
        format!("{{% for i in range(99999) %}}{long}{{% endfor %}}"),
        format!("{{{{ range(99999)|join('{long}') }}}}"),
        format!("{{{{ 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'|replace('a', '{long}')|replace('y', '{long}') }}}}"),
        "{{ 'a'|indent(1000000000) }}".to_owned(),
        "{{ 'a'|indent(width=1000000000) }}".to_owned(),
        "{{ '%1000000000d'|format(1) }}".to_owned(),
        "{{ '%*d'|format(1000000000, 1) }}".to_owned(),
        "{{ []|slice(1000000000)|list }}".to_owned(),
        "{{ [1]|batch(1000000000, 0)|list }}".to_owned(),
        "{{ [[[1]]]|tojson(indent=1000000000) }}".to_owned(),
        "{{ range(1000000000) }}".to_owned(),
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}".to_owned(),
        "{% for x in list recursive %}{{ loop(list) }}{% endfor %}".to_owned(),
        format!("{{{{ 1{} }}}}", "+1".repeat(100_000)),
        format!("{{{{ x{} }}}}", ".a".repeat(100_000)),
        format!("{{{{ {}1{} }}}}", "(".repeat(100_000), ")".repeat(100_000)),
        format!("{{{{ {}1 }}}}", "not ".repeat(100_000)),
        "{% if true %}".repeat(50_000),
        "{% set x %}".repeat(50_000),
        elifs(50_000),
        "{% macro m() %}a{% endmacro %}".to_owned(),
        "{% include 'x' %}".to_owned(),
    ];
    for template in rows {
        let shown: String = template.chars().take(80).collect();
        let error = render(&template).expect_err(&shown);
        assert!(error.starts_with("the template"), "{shown}: {error}");
        assert!(
            !error.contains("I/O error") || error.contains("writes more than"),
            "{error}"
        );
        assert!(error.len() < 2_000, "{shown}: {}", error.len());
    }
}

#[test]
fn too_many_steps_are_named() {
    let template = "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}";
    let error = render(template).unwrap_err();
    assert!(error.contains("1000000 steps"), "{error}");
}

#[test]
fn many_values_together_are_bounded() {
    let large = "{% set x = 'xxxxxxxx' %}".to_owned() + &"{% set x = x ~ x %}".repeat(19);
    let copies = |count: usize| {
        (0..count).fold(large.clone(), |all, n| {
            all + &format!("{{% set copy{n} = x ~ {n} %}}")
        })
    };
    assert_eq!(render(&copies(2)).as_deref(), Ok(""));
    assert!(render(&copies(40)).unwrap_err().contains("on its way"));
}

#[test]
fn long_chains_within_the_limit_are_fine() {
    let sum = format!("1{}", "+1".repeat(490));
    let found = Expression::parse(&sum)
        .unwrap()
        .eval(map(json!({})))
        .unwrap();
    assert_eq!(found.as_json(), &json!(491));
    assert_eq!(render(&elifs(100)).as_deref(), Ok("3"));
    let words = format!("{{{{ name{} }}}}", " ~ name".repeat(490));
    assert_eq!(render(&words), Ok("Owl".repeat(491)));
    let filters = format!("{{{{ name{} }}}}", "|upper|lower".repeat(240));
    assert_eq!(render(&filters).as_deref(), Ok("owl"));
}

#[test]
fn lists_grow_one_by_one() {
    let template = "{% set ns = namespace(x=[]) %}{% for i in range(400) %}{% set ns.x = ns.x + [i] %}{% endfor %}{{ ns.x|length }} {{ ns.x[399] }}";
    assert_eq!(render(template).as_deref(), Ok("400 399"));
    let endless = template.replace("range(400)", "range(90000)");
    assert!(render(&endless).unwrap_err().contains("bytes"));
    assert_eq!(
        render("{{ (1,) + (2,) }} {{ [1] + [2] }}"),
        Ok(plain("{{ (1,) + (2,) }} {{ [1] + [2] }}"))
    );
}

fn elifs(count: usize) -> String {
    let all = (0..count).fold("{% if n == -1 %}".to_owned(), |all, n| {
        all + &format!("{{% elif n == {n} %}}{n}")
    });
    all + "{% endif %}"
}

#[test]
fn expressions() {
    for (expression, expected) in [
        ("n + 1", json!(4)),
        ("deep.a.b", json!([10, 20])),
        ("people[0]", json!({"name": "Ann", "age": 5})),
        ("name ~ '!'", json!("Owl!")),
        ("n > 2 and yes", json!(true)),
        ("missing", json!(null)),
    ] {
        let parsed = Expression::parse(expression).unwrap();
        let found = parsed.eval(map(variables())).unwrap();
        assert_eq!(found.as_json(), &expected, "{expression}");
    }
    for expression in [
        "'x' * 1000000000",
        "[[[0] * 1000] * 1000] * 1000",
        "range(99999)|join(name)|replace('O', range(99999)|join(name))",
        "",
        "1 +",
    ] {
        let found = Expression::parse(expression).and_then(|parsed| parsed.eval(map(variables())));
        assert!(found.is_err(), "{expression}");
    }
}

/// Rounds that were minutes of work each: what is looked at counts.
#[test]
fn nothing_is_looked_at_without_bound() {
    let long = "y".repeat(10_000);
    let small = Purse {
        looked: 16 << 20,
        ..PATIENT
    };
    for body in [
        "{% if a == a %}{% endif %}",
        "{% if a < a %}{% endif %}",
        "{% if 1.5 in a %}{% endif %}",
        "{% if 1.5 not in a %}{% endif %}",
        "{% if a|sum %}{% endif %}",
        "{% if a|max %}{% endif %}",
        "{% if a|min %}{% endif %}",
        "{% if a|reverse|first %}{% endif %}",
        "{% if a|sort %}{% endif %}",
        "{% if a|unique %}{% endif %}",
        "{% if a|select('in', a) %}{% endif %}",
        "{% if a|map('string')|first %}{% endif %}",
        "{% if a[::-1] %}{% endif %}",
        "{% if a[1:] %}{% endif %}",
        "{% set b = a %}",
        "{% set b = [a] %}",
        "{% if a is eq(a) %}{% endif %}",
        "{% if 1.5 is in(a) %}{% endif %}",
        "{% if s|length %}{% endif %}",
        "{% if s|upper %}{% endif %}",
        "{% if s|trim('x') %}{% endif %}",
        "{% if s is lower %}{% endif %}",
        "{% if 'z' in s %}{% endif %}",
        "{% if s[-1] %}{% endif %}",
        "{% if s[n:] %}{% endif %}",
        "{% if s|last %}{% endif %}",
        "{% if s ~ 1 %}{% endif %}",
        "{% if t|sum(start='') %}{% endif %}",
        "{% if a|sort(attribute=s) %}{% endif %}",
        "{% if a|map(attribute=s) %}{% endif %}",
    ] {
        let template = format!(
            "{{% set a = range(10000)|list %}}{{% set s = '{long}' %}}{{% set t = a|map('string')|list %}}{{% for i in range(60000) %}}{body}{{% endfor %}}"
        );
        let error = render_with(small, &template).expect_err(body);
        let is_bounded = error.contains("looks at more than") || error.contains("bytes of values");
        assert!(is_bounded, "{body}: {error}");
    }
    let long = "y".repeat(100_000);
    let copies = format!("{{{{ big{} }}}}", " ~ 'a'".repeat(400));
    let big = format!(
        "{{% set big = '{long}' %}}{{% set big = big ~ big ~ big ~ big ~ big ~ big ~ big ~ big %}}"
    );
    assert!(
        render(&(big + &copies))
            .unwrap_err()
            .contains("looks at more than")
    );
}

#[test]
fn what_is_little_work_is_done_in_place_and_the_rest_elsewhere() {
    for (template, expected) in [
        ("{{ name }}", Ok(Some("Owl"))),
        (
            "{% for p in people %}{{ p.name }}{% endfor %}",
            Ok(Some("AnnBob")),
        ),
        ("{% for i in range(30000) %}{% endfor %}", Ok(None)),
        ("{{ range(30000)|list|length }}", Ok(None)),
        ("{{ 1 / 0 }}", Err(())),
    ] {
        let parsed = Template::parse(template).unwrap();
        let found = parsed.render_in_place(map(variables())).map_err(drop);
        assert_eq!(
            found,
            expected.map(|text| text.map(str::to_owned)),
            "{template}"
        );
    }
}

#[test]
fn a_template_that_nobody_waits_for_ends() {
    let template = "{% set a = range(1000)|list %}{% for i in range(50) %}{% if a == a %}{% endif %}{% endfor %}";
    let parsed = Template::parse(template).unwrap();
    let stop = CancellationToken::new();
    assert!(parsed.render(map(json!({})), &stop).is_ok());
    stop.cancel();
    let error = parsed.render(map(json!({})), &stop).unwrap_err();
    assert!(error.to_string().contains("was stopped"), "{error}");
}

#[test]
fn a_condition_may_look_at_less_than_a_template() {
    let steps = "|reverse|list".repeat(4);
    let long = format!("range(100000)|list{steps}|length");
    let open = |looked| Purse { looked, ..PATIENT }.open(None);
    let parsed = Expression::parse(&long).unwrap();
    open(Purse::CONDITION.looked);
    assert_eq!(parsed.compiled.eval(()).unwrap().to_string(), "100000");
    open(Purse::CONDITION.looked / 8);
    let error = parsed.compiled.eval(()).unwrap_err();
    assert!(error.to_string().contains("looks at more than"), "{error}");
    const { assert!(Purse::CONDITION.looked < Purse::TEMPLATE.looked) };
}

#[test]
fn time_is_short() {
    let late = Purse {
        time: Duration::ZERO,
        ..PATIENT
    };
    assert_eq!(render_with(late, "{{ name }}").as_deref(), Ok("Owl"));
    let error = render_with(late, "{{ range(9000)|list|sort|length }}").unwrap_err();
    assert!(error.contains("takes longer than"), "{error}");
}

#[test]
fn a_namespace_never_holds_itself() {
    for template in [
        "{% set ns = namespace() %}{% set ns.a = ns %}",
        "{% set ns = namespace() %}{% set ns.a = [ns] %}",
        "{% set ns = namespace() %}{% set ns.a = {'b': ns} %}",
        "{% set ns = namespace() %}{% set ns.a = ns|default(1) %}",
        "{% set ns = namespace() %}{% set ns.a = ns|chain({}) %}",
        "{% set ns = namespace() %}{% set ns.a = dict(b=ns) %}",
        "{% set ns = namespace() %}{% set m = namespace(b=ns) %}{% set ns.a = m %}",
        "{% set ns = namespace() %}{% set ns.a, b = (ns, 1) %}",
        "{% set ns = namespace() %}{% with ns.a = ns %}{% endwith %}",
        "{% set ns = namespace() %}{% set ns.a = [1]|batch(2, ns)|list %}",
        "{% set ns = namespace() %}{% set ns.a = [1]|map('default', ns)|list %}",
    ] {
        let error = render(template).expect_err(template);
        assert!(
            error.contains("namespace") || error.contains("syntax"),
            "{template}: {error}"
        );
    }
    let fine = "{% set ns = namespace(n=1) %}{% set m = ns %}{% set m.n = 2 %}{{ ns.n }}";
    assert_eq!(render(fine).as_deref(), Ok("2"));
}

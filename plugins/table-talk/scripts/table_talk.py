"""Describes and queries small tables. Standard library only.

Arguments come as a JSON object on stdin; the answer is the envelope {success, outputData | error} on stdout.
"""

import csv
import io
import json
import math
import os
import re
import statistics
import sys
from collections import Counter

MAX_ROWS = 200_000
MAX_COLUMNS = 500
NUMBER = re.compile(r"[+-]?(\d{1,3}(,\d{3})+|\d+)?(\.\d+)?([eE][+-]?\d{1,3})?")


class Bad(Exception):
    """What the caller asked for makes no sense; the message says why and what to do."""


# Reading.


def read_table(arguments):
    text, file = arguments.get("text"), arguments.get("file")
    if (text is None) == (file is None):
        raise Bad("give the table either as 'text' or as 'file'")
    if file is not None:
        text = file.get("text")
        if text is None:
            raise Bad(f"{file.get('uri')} is no text")
    text = text.lstrip("\ufeff")
    form = arguments.get("format", "auto")
    if form == "auto":
        form = guess_format(text)
    columns, rows = read_json(text) if form == "json" else read_lines(text, form)
    if len(columns) > MAX_COLUMNS:
        raise Bad(f"the table has {len(columns)} columns; at most {MAX_COLUMNS} can be read")
    return columns, rows


def guess_format(text):
    if text.lstrip()[:1] in ("[", "{"):
        return "json"
    head = text.lstrip("\r\n").split("\n", 1)[0]
    return "tsv" if head.count("\t") > max(head.count(","), head.count(";")) else "csv"


def read_json(text):
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Bad(f"the table is no JSON: {error}") from None
    if isinstance(data, dict):
        lists = [value for value in data.values() if isinstance(value, list)]
        data = lists[0] if len(lists) == 1 else [data]
    if not isinstance(data, list) or not all(isinstance(row, dict) for row in data):
        raise Bad("a table in JSON is a list of objects")
    check_length(len(data))
    columns = list(dict.fromkeys(key for row in data for key in row))
    return columns, [{key: plain(row.get(key)) for key in columns} for row in data]


def plain(value):
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return None if value == "" else value


def read_lines(text, form):
    head = text.lstrip("\r\n").split("\n", 1)[0]
    mark = "\t" if form == "tsv" else ";" if head.count(";") > head.count(",") else ","
    csv.field_size_limit(10_000_000)
    try:
        lines = [line for line in csv.reader(io.StringIO(text, newline=""), delimiter=mark) if any(cell.strip() for cell in line)]
    except csv.Error as error:
        raise Bad(f"the table cannot be read: {error}") from None
    if not lines:
        raise Bad("the table is empty; its first line must name the columns")
    check_length(len(lines) - 1)
    columns = []
    for number, name in enumerate((cell.strip() for cell in lines[0]), 1):
        name = name or f"column {number}"
        columns.append(name if name not in columns else f"{name} ({number})")
    rows = []
    for number, line in enumerate(lines[1:], 1):
        if len(line) > len(columns):
            raise Bad(f"row {number} has {len(line)} cells, the head has {len(columns)}; put cells with '{mark}' in quotes")
        line = [cell.strip() for cell in line] + [""] * (len(columns) - len(line))
        rows.append(dict(zip(columns, line)))
    for column in columns:
        cells = [row[column] for row in rows]
        # One type for the whole column: a postcode with a leading zero keeps it, and its neighbours are texts too.
        numeric = all(is_number(cell) for cell in cells if cell)
        for row in rows:
            cell = row[column]
            row[column] = None if cell == "" else number_of(cell) if numeric else cell
    return columns, rows


def check_length(rows):
    if rows > MAX_ROWS:
        raise Bad(f"the table has {rows} rows; at most {MAX_ROWS} can be read")


def is_number(text):
    digits = text.lstrip("+-")
    leading_zero = len(digits) > 1 and digits[0] == "0" and digits[1] not in ".eE"
    if leading_zero or not re.search(r"\d", text.split("e")[0].split("E")[0]):
        return False
    return NUMBER.fullmatch(text) is not None and math.isfinite(float(text.replace(",", "")))


def number_of(text):
    text = text.replace(",", "")
    return int(text) if re.fullmatch(r"[+-]?\d{1,300}", text) else float(text)


def is_numeric(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def tidy(number):
    """12.0 is 12, and 0.30000000000000004 is 0.3."""
    if isinstance(number, float):
        number = float(f"{number:.12g}")
        if not math.isfinite(number):
            return None
        return int(number) if number.is_integer() and abs(number) < 1e15 else number
    return number


# Describing.


def describe(arguments):
    columns, rows = read_table(arguments)
    return {"rows": len(rows), "columns": [describe_column(name, [row[name] for row in rows]) for name in columns]}


def describe_column(name, cells):
    present = [cell for cell in cells if cell is not None]
    numbers = [cell for cell in present if is_numeric(cell)]
    about = {"name": name, "missing": len(cells) - len(present), "distinct": len(set(map(str, present)))}
    if present and len(numbers) == len(present):
        about["type"] = "number"
        about.update({kind: measure_numbers(kind, numbers) for kind in ("min", "max", "mean", "median", "sum")})
        if len(numbers) > 1:
            about["stdev"] = tidy(statistics.stdev(map(float, numbers)))
    elif present:
        about["type"] = "boolean" if all(isinstance(cell, bool) for cell in present) else "text"
        about["top"] = [{"value": str(value)[:80], "count": count} for value, count in Counter(map(str, present)).most_common(5)]
    else:
        about["type"] = "empty"
    return about


# Querying.


def find_column(columns, name):
    name = name.strip().strip("`").strip()
    if name in columns:
        return name
    alike = [column for column in columns if column.casefold() == name.casefold()]
    if len(alike) == 1:
        return alike[0]
    raise Bad(f"there is no column '{name}'; there are: {', '.join(columns)}")


CONDITION = re.compile(
    r"\s*(?:`(?P<quoted>[^`]+)`|(?P<bare>.+?))\s*"
    r"(?:(?P<sign>>=|<=|!=|<>|==|=|>|<)\s*(?P<value>.*)"
    r"|\s(?P<word>contains|starts with|ends with)\s+(?P<text>.+)"
    r"|\s(?P<state>is\s+(?:not\s+)?empty))\s*",
    re.IGNORECASE | re.DOTALL,
)


def read_condition(text, columns):
    # `column` in backquotes leaves no space before a word; one is put there.
    match = CONDITION.fullmatch(re.sub(r"^(\s*`[^`]+`)\s*", r"\1  ", text))
    if not match:
        raise Bad(f"'{text}' is no condition; write 'price > 5', 'tea contains ssa' or 'price is empty'")
    column = find_column(columns, match["quoted"] or match["bare"])
    if match["state"]:
        wanted_empty = "not" not in match["state"].lower().split()
        return lambda row: (row[column] is None) == wanted_empty
    if match["word"]:
        needle, word = unquote(match["text"]).casefold(), match["word"].lower()
        test = {"contains": str.__contains__, "starts with": str.startswith, "ends with": str.endswith}[word]
        return lambda row: row[column] is not None and test(shown(row[column]).casefold(), needle)
    return compare(column, match["sign"], unquote(match["value"]))


def unquote(text):
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text


def shown(value):
    return json.dumps(value) if isinstance(value, bool) else str(value)


def compare(column, sign, wanted):
    number = number_of(wanted) if is_number(wanted) else None

    def test(row):
        cell = row[column]
        if cell is None:
            return sign in ("!=", "<>")
        if is_numeric(cell) and number is not None:
            have, want = cell, number
        else:
            have, want = shown(cell).casefold(), wanted.casefold()
        if sign in ("=", "=="):
            return have == want
        if sign in ("!=", "<>"):
            return have != want
        return have > want if sign == ">" else have < want if sign == "<" else have >= want if sign == ">=" else have <= want

    return test


def read_measure(text, columns):
    kind, _, column = text.strip().partition(" ")
    kind = {"avg": "mean", "average": "mean", "minimum": "min", "maximum": "max", "total": "sum"}.get(kind.lower(), kind.lower())
    if kind == "count" and not column.strip(" *"):
        return "count", lambda rows: len(rows)
    if kind not in ("count", "distinct", "sum", "mean", "median", "min", "max") or not column.strip():
        raise Bad(f"'{text}' is no measure; write 'count', 'distinct tea', 'sum price', 'mean price', 'median price', 'min price' or 'max price'")
    column = find_column(columns, column)

    def measure(rows):
        cells = [row[column] for row in rows if row[column] is not None]
        if kind == "count":
            return len(cells)
        if kind == "distinct":
            return len(set(map(str, cells)))
        if not all(is_numeric(cell) for cell in cells):
            if kind in ("min", "max"):
                return (min if kind == "min" else max)(map(shown, cells))
            raise Bad(f"'{text.strip()}': '{column}' has values that are no numbers")
        return measure_numbers(kind, cells)

    return f"{kind} {column}", measure


def measure_numbers(kind, numbers):
    if not numbers:
        return 0 if kind == "sum" else None
    if kind == "sum":
        whole = all(isinstance(number, int) for number in numbers)
        return sum(numbers) if whole else tidy(math.fsum(map(float, numbers)))
    measure = {"mean": statistics.fmean, "median": statistics.median, "min": min, "max": max}[kind]
    return tidy(measure(numbers))


def sort_rows(rows, sort):
    backwards = sort.strip().startswith("-")
    names = list(rows[0]) if rows else []
    column = find_column(names, sort.strip().lstrip("-+")) if rows else None

    def key(row):
        value = row[column]
        return (0, value, "") if is_numeric(value) else (1, 0, shown(value).casefold())

    # Rows without a value come last, whichever way the rest is sorted.
    present = sorted((row for row in rows if row[column] is not None), key=key, reverse=backwards)
    return present + [row for row in rows if row[column] is None]


def query(arguments):
    columns, rows = read_table(arguments)
    for text in arguments.get("where") or []:
        holds = read_condition(text, columns)
        rows = [row for row in rows if holds(row)]
    matching = len(rows)
    keys = [find_column(columns, name) for name in arguments.get("group_by") or []]
    measures = [read_measure(text, columns) for text in arguments.get("measures") or []]
    if keys and not measures:
        measures = [read_measure("count", columns)]
    if measures:
        groups = {}
        for row in rows:
            groups.setdefault(tuple(row[key] for key in keys), []).append(row)
        if not keys:
            groups = {(): rows}
        rows = [{**dict(zip(keys, values)), **{name: measure(group) for name, measure in measures}} for values, group in groups.items()]
        columns = keys + [name for name, _ in measures]
    if arguments.get("sort"):
        rows = sort_rows(rows, arguments["sort"])
    if arguments.get("columns"):
        wanted = [find_column(columns, name) for name in arguments["columns"]]
        rows = [{name: row[name] for name in wanted} for row in rows]
    limit = min(int(arguments.get("limit") or 50), int(float(os.environ.get("MAX_ROWS", "200"))))
    answer = {"matching": matching, "rows": rows[:limit]}
    if len(rows) > limit:
        answer["more"] = len(rows) - limit
    return answer


def main():
    try:
        arguments = json.load(sys.stdin)
        if not isinstance(arguments, dict):
            raise Bad("expected a JSON object on stdin")
        answer = {"success": True, "outputData": {"describe": describe, "query": query}[sys.argv[1]](arguments)}
    except Bad as error:
        answer = {"success": False, "error": {"type": "ParameterValidationError", "message": str(error)}}
    except (ArithmeticError, ValueError, KeyError, IndexError) as error:
        answer = {"success": False, "error": {"type": "ScriptError", "message": f"{type(error).__name__}: {error}"}}
    json.dump(answer, sys.stdout, ensure_ascii=False, allow_nan=False)
    return 0 if answer["success"] else 1


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: MIT
"""rows.py FORMAT FLAG VALUE FILE: prints "good" if FILE is FORMAT and obeys FLAG VALUE, else why not."""
import csv
import json
import re
import sys


def main():
    form, flag, value, name = sys.argv[1:]
    with open(name, encoding="utf-8") as f:
        text = f.read()
    if not text.strip():
        return "nothing printed"
    chosen = value.split(",") if flag == "--columns" else []
    if form == "csv":
        rows = list(csv.reader(text.splitlines()))
        if len(rows) < 2 or len({len(r) for r in rows}) > 1:
            return "rows of different length"
        return "good"
    if form == "jsonl":
        for line in text.splitlines():
            json.loads(line)
        return "good"
    if form == "json":
        try:
            json.loads(text)
        except ValueError:
            for line in text.splitlines():
                json.loads(line)
        return "good"
    if form == "markdown":
        table = [line for line in text.splitlines() if line.startswith("|")]
        cells = {len(re.findall(r"(?<!\\)\|", line)) for line in table}
        if len(table) < 3 or len(cells) != 1:
            return "no table of equal rows"
        if not re.fullmatch(r"\|(:?-+:?\|)+", table[1]):
            return "no line under the head"
        if chosen and cells != {len(chosen) + 1}:
            return f"{cells} columns"
        return "good"
    width = max(len(line) for line in text.splitlines())
    if flag == "--width" and width > int(value):
        return f"{width} characters wide"
    return "good"


print(main())

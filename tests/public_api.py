#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""public_api.py - the functions that include/pmc/*.h declare, one a line: KIND, NAME, PROTOTYPE.

KIND is "extern" for those that libpmc has, "inline" for those that the header itself defines.
Names that end in an underscore are the headers' own. Fields are separated by tabs.
"""
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "include")


def unit():
    """What the preprocessor leaves of our own headers: no comments, no macros, C only."""
    text = "".join(f"#include <pmc/{h.name}>\n" for h in sorted(root.glob("pmc/*.h")))
    done = subprocess.run(["gcc", "-std=gnu11", "-E", f"-I{root}", "-xc", "-"], input=text,
                          capture_output=True, text=True, check=True)
    ours = False
    for line in done.stdout.splitlines():
        mark = re.match(r'# \d+ "([^"]*)"', line)
        if mark:
            ours = str(root) + "/pmc/" in mark.group(1)
        elif ours and not line.startswith("#"):
            yield line


def without_attributes(text):
    while True:
        at = re.search(r"__attribute__\s*\(", text)
        if not at:
            return text
        depth, end = 1, at.end()
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        text = text[:at.start()] + text[end:]


def declarations(text):
    """Everything at file scope, without bodies; (declaration, whether a body follows)."""
    start = depth = 0
    for i, c in enumerate(text):
        if c == "{":
            if depth == 0:
                yield text[start:i], True
            depth += 1
        elif c == "}":
            depth -= 1
            if depth == 0:
                start = i + 1
        elif c == ";" and depth == 0:
            yield text[start:i], False
            start = i + 1


seen = {}
for text, body in declarations(without_attributes("\n".join(unit()))):
    text = " ".join(text.split())
    name = re.match(r"[\w *]*?\b(\w+) ?\((.*)\)$", text)
    if not name or text.startswith(("typedef", "_Static_assert")):
        continue
    kind = "inline" if body or text.startswith("static") else "extern"
    text = text.replace("_Bool", "bool")
    text = re.sub(r"\b(static|extern|inline|__inline__|__inline) ", "", text)
    seen[name.group(1)] = (kind, re.sub(r"\* (?=\w)", "*", text))
for name, (kind, text) in sorted(seen.items()):
    print(kind, name, text, sep="\t")

"""The cases as a page of the documentation: title, story and arithmetic of each, from the files themselves."""

import tomllib
from pathlib import Path

HEAD = """\
# Scenarios

{count} loans, each a test case in the folder `scenarios`. Every number in them is calculated twice: by Daybook,
and by a separate Python program in `scenarios/oracle`, which was written from the rules and shares no code with it. The
same files are the data of `daybook serve --demo`.

This page is generated from the files: `python3 scenarios/oracle/oracle.py --pages scenarios >docs/scenarios/README.md`.

| case | title |
|---|---|
{list}
"""


def story(text):
    """The comment at the top of a file. Lines that are indented further are a table of numbers."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        lines.append(line[2:])
    parts, is_table = [], False
    for line in lines:
        if line.startswith("  ") != is_table:
            is_table = not is_table
            parts += ["", "```text"] if is_table else ["```", ""]
        parts.append(line)
    return "\n".join(parts + ["```"] if is_table else parts).strip()


def page(folder):
    files = sorted(Path(folder).glob("*.toml"), key=lambda file: int(file.stem.split("-")[0]))
    listed, told = [], []
    for file in files:
        text = file.read_text(encoding="utf-8")
        title = tomllib.loads(text)["title"]
        listed.append(f"| [{file.stem}](#{file.stem}) | {title} |")
        link = f"[{file.name}](../../scenarios/{file.name})"
        told.append(f"## {file.stem}\n\n**{title}.** File: {link}\n\n{story(text)}\n")
    return HEAD.format(count=len(files), list="\n".join(listed)) + "\n" + "\n".join(told)

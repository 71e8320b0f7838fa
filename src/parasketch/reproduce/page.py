"""A report as one HTML page that needs nothing else: figures are inside of it.

It reads the Markdown that reports are made of (headings, tables, lists, images, emphasis), and no more than that.
"""

import html
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 72rem; margin: 2rem auto;
  padding: 0 1rem }
table { border-collapse: collapse; font-size: 0.85rem; display: block; overflow-x: auto; margin: 1rem 0 }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top }
th { border-bottom: 2px solid #999 }
.right { text-align: right; font-variant-numeric: tabular-nums }
svg { max-width: 100%; height: auto }
code { font-size: 0.85em; overflow-wrap: anywhere }
"""


def page(markdown: str, directory: Path, *, title: str) -> str:
    """The whole page; images are looked for in a directory."""
    body = "\n".join(_blocks(markdown, directory))
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{html.escape(title)}</title>'
    )
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n<body>\n{body}\n</body></html>\n'
    )


def _blocks(markdown: str, directory: Path) -> Iterator[str]:
    for kind, group in groupby(markdown.split("\n"), key=_kind):
        lines = list(group)
        if kind == "table":
            yield _table(lines)
        elif kind == "list":
            yield "<ul>" + "".join(f"<li>{_inline(line[2:])}</li>" for line in lines) + "</ul>"
        elif kind == "heading":
            for line in lines:
                marks, _, text = line.partition(" ")
                yield f"<h{len(marks)}>{_inline(text)}</h{len(marks)}>"
        elif kind == "image":
            yield from (_image(line, directory) for line in lines)
        elif kind == "text":
            yield f"<p>{_inline(' '.join(lines))}</p>"


def _kind(line: str) -> str:
    if not line.strip():
        return "empty"
    starts = {"|": "table", "- ": "list", "#": "heading", "![": "image"}
    return next((kind for start, kind in starts.items() if line.startswith(start)), "text")


def _table(lines: list[str]) -> str:
    header, rule, *rows = ([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines)
    right = [cell.endswith(":") for cell in rule]

    def row(cells: list[str], tag: str) -> str:
        marked = zip(cells, right, strict=True)
        return "".join(
            f"<{tag}{' class=right' if at_right else ''}>{_inline(cell)}</{tag}>" for cell, at_right in marked
        )

    body = "".join(f"<tr>{row(cells, 'td')}</tr>" for cells in rows)
    return f"<table><thead><tr>{row(header, 'th')}</tr></thead><tbody>{body}</tbody></table>"


def _image(line: str, directory: Path) -> str:
    found = re.fullmatch(r"!\[(.*)\]\((.*)\)", line)
    assert found is not None  # it begins as an image, and we wrote it
    svg = (directory / found[2]).read_text("utf-8")
    return f'<figure role="img" aria-label="{html.escape(found[1])}">{svg[svg.index("<svg") :]}</figure>'


def _inline(text: str) -> str:
    escaped = html.escape(text.replace(r"\|", "|"), quote=False).replace("&lt;br&gt;", "<br>")
    escaped = re.sub(r"`([^`]+)`", r"<code>\1</code>", escaped)
    escaped = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", escaped)
    return re.sub(r"^\*(.+)\*$", r"<em>\1</em>", escaped)

"""Names for the codes of a model: a short description and typical sentences of each, kept beside its weights.

`codes.json` in the directory of a model is what `parasketch sketches --explain` tells, and its card has the same as a
section.
"""

import json
import re
from dataclasses import asdict
from pathlib import Path

from parasketch.analyse.codes import SIGNIFICANT, CodeReport
from parasketch.errors import DataError
from parasketch.files import write_text
from parasketch.model.directory import CARD

CODES = "codes.json"
_BEGIN, _END = "<!-- codes: begin -->", "<!-- codes: end -->"


def name_codes(directory: Path, report: CodeReport, *, data: str, typical: str) -> None:
    """Write down what the codes of a model mean: as a file beside it, and in its card.

    `data` and `typical` say where the sentences that were counted, and those that are shown, come from.
    """
    known = asdict(report)
    del known["crossings"]  # the tables behind the statements are large, and belong to an analysis
    with write_text(directory / CODES) as stream:
        json.dump(known | {"data": data}, stream, indent=1, ensure_ascii=False)
        stream.write("\n")
    card = directory / CARD
    text = card.read_text("utf-8") if card.is_file() else f"# {report.model}\n"
    with write_text(card) as stream:
        stream.write(with_section(text, card_section(report, data=data, typical=typical)))


def read_names(directory: Path) -> CodeReport | None:
    """What was written down for a model; None if nothing was."""
    path = directory / CODES
    if not path.is_file():
        return None
    try:
        values = json.loads(path.read_text("utf-8"))
        values.pop("data")
        return CodeReport.from_dict(values | {"crossings": []})
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"is damaged: {error!r}", path=path, expected="what `parasketch analyse codes` wrote"
        ) from error


def card_section(report: CodeReport, *, data: str, typical: str) -> str:
    """The codes as a section of a model card."""
    named = sum(code.least_p < SIGNIFICANT for code in report.codes)
    lines = [
        "## What the codes mean",
        "",
        f"From {report.sentences:,} sentences of {data}. A code is described by the values of properties that its "
        f"sentences have significantly more often than all sentences (exact permutation test, corrected for "
        f"{report.tests:,} tests by Holm's method); {named} of the {len(report.codes)} codes have one with p < "
        f"{SIGNIFICANT:g}. Typical sentences are the nearest ones of {typical}.",
        "",
        "| level | code | share % | description | p | typical sentences |",
        "|---:|---:|---:|---|---:|---|",
    ]
    for code in report.codes:
        cells = [code.level, code.code, f"{100 * code.share:.1f}", code.name, format_p(code.least_p)]
        cells.append(" <br> ".join(code.sentences))
        lines.append(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join([*lines, ""])


def with_section(card: str, section: str) -> str:
    """A card with the section in the place of an older one, or at the end."""
    marked = f"{_BEGIN}\n{section}{_END}\n"
    old = re.compile(f"{re.escape(_BEGIN)}.*{re.escape(_END)}\n", re.DOTALL)
    return old.sub(lambda _: marked, card) if old.search(card) else f"{card.rstrip()}\n\n{marked}"


def format_p(p: float) -> str:
    """A p-value that may be too small to write out."""
    return "< 1e-99" if p < 1e-99 else f"{p:.0e}" if p < SIGNIFICANT else f"{p:.3f}"

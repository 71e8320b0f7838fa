"""docs/results.md and docs/figures are what the committed numbers say; `reproduce --publish docs` writes them."""

from pathlib import Path

import pytest

from parasketch.analyse.figures import ENDINGS, shows
from parasketch.reproduce.report import Drawing, Found, drawings, markdown

DOCS = Path(__file__).parents[1] / "docs"
FOUND = Found.read(DOCS / "results")
AGAIN = "write it again: parasketch reproduce --publish docs"


def test_the_document_says_what_the_numbers_say() -> None:
    assert (DOCS / "results.md").read_text("utf-8") == markdown(FOUND), AGAIN


@pytest.mark.parametrize("drawing", drawings(FOUND), ids=lambda drawing: drawing.name)
def test_every_figure_shows_the_numbers(drawing: Drawing) -> None:
    for ending in ENDINGS:
        assert shows(DOCS / "figures" / f"{drawing.name}{ending}", drawing.values), AGAIN


def test_there_is_no_figure_beside() -> None:
    known = {f"{drawing.name}{ending}" for drawing in drawings(FOUND) for ending in ENDINGS}
    assert {path.name for path in (DOCS / "figures").iterdir()} == known, AGAIN

"""Figures are written in both formats, the same way every time, and know what they show."""

from pathlib import Path

import pytest

from parasketch.analyse.figures import digest, draw_alpha, draw_curves, draw_differences, draw_map, save, shows
from parasketch.analyse.forms import Forms
from parasketch.analyse.tsne import Map, lay_out
from parasketch.errors import UsageError

pytest.importorskip("matplotlib")

ALPHA = {"alpha": 0.8, "lines": [["copy", "toy/test", 30.0, 100.0, False], ["hrqvae", "toy/test", 25.0, 20.0, False]]}


def test_both_formats_and_the_hash_of_the_values(tmp_path: Path) -> None:
    save(draw_alpha(ALPHA), tmp_path / "figures" / "alpha", ALPHA)
    svg, png = (tmp_path / "figures" / f"alpha.{ending}" for ending in ("svg", "png"))
    assert svg.read_bytes().startswith(b"<?xml")
    assert png.read_bytes().startswith(b"\x89PNG")
    assert all(shows(path, ALPHA) and not shows(path, {**ALPHA, "alpha": 0.7}) for path in (svg, png))
    assert ">hrqvae<" in svg.read_text(), "labels stay text"
    before = svg.read_bytes()
    save(draw_alpha(ALPHA), svg, ALPHA)
    assert svg.read_bytes() == before


def test_another_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"as \.png or \.svg, not as \.gif"):
        save(draw_alpha(ALPHA), tmp_path / "alpha.gif", ALPHA)


def test_differences_and_curves_are_drawn(tmp_path: Path) -> None:
    rows = [("vae", "qqp/test", -1.0, -2.0, 0.5), ("ae", "mscoco/test", 1.0, 0.5, 2.0)]
    save(draw_differences(rows, title="change"), tmp_path / "a.svg", rows)
    curves = {"ae": [(1.0, 2.0), (2.0, 3.0)]}
    save(draw_curves(curves, ylabel="dev iBLEU"), tmp_path / "b.svg", curves)
    assert digest(rows) != digest(curves)


def test_a_map_zooms_in_along_the_largest_groups(tmp_path: Path) -> None:
    np = pytest.importorskip("numpy")
    pytest.importorskip("sklearn")
    codes = np.array([[0, place % 2] for place in range(24)] + [[1, 0]] * 6)
    vectors = np.random.default_rng(0).normal(size=(30, 5)).astype(np.float32)
    forms = Forms([str(place) for place in range(30)], vectors, codes, np.zeros((2, 2, 5), np.float32))
    found = lay_out(forms, model="toy")
    assert [panel.prefix for panel in found.panels] == [[], [0]]
    assert [len(panel.points) for panel in found.panels] == [30, 24]
    assert isinstance(found, Map)
    save(draw_map(found), tmp_path / "map.svg", "values")
    with pytest.raises(UsageError, match="at least 8"):
        lay_out(Forms(["a"], vectors[:1], codes[:1], forms.codebooks), model="toy")

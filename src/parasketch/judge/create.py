"""A study from results directories of `parasketch evaluate`: the first output of each system for the same items."""

from collections.abc import Sequence
from pathlib import Path

from parasketch.errors import UsageError
from parasketch.evaluate.outputs import read_outputs
from parasketch.evaluate.results import OUTPUTS, EvalData, Results
from parasketch.judge.design import Source, design
from parasketch.judge.study import Study


def create_study(
    directories: Sequence[Path],
    data: Path,
    out: Path,
    *,
    items: int,
    ratings: int,
    raters: int,
    check_every: int = 10,
    seed: int = 0,
) -> Study:
    """Write a study; all systems must have been evaluated on the first items of `data`, equally many."""
    if len(directories) < 2:
        raise UsageError("a comparison needs at least two systems (expected two or more results directories)")
    results = [Results.load(directory) for directory in directories]
    names = [one.system for one in results]
    if len(set(names)) < len(names):
        raise UsageError(f"two of the systems have one name: {', '.join(names)}")
    known = EvalData.read(data, results[0].items)
    for one, directory in zip(results, directories, strict=True):
        if one.data_sha256 != known.sha256:
            raise UsageError(f"{directory} was evaluated on other items than the first {len(known.items)} of {data}")
    outputs = {
        name: [candidates[0] for candidates in read_outputs(directory / OUTPUTS, known.items)]
        for name, directory in zip(names, directories, strict=True)
    }
    # Without a reference the input itself is the faithful text of a check: fluent, and the meaning is kept.
    sources = [
        Source(text=item.input, rewording=item.references[0] if item.references else item.input) for item in known.items
    ]
    made = design(sources, outputs, items=items, ratings=ratings, raters=raters, check_every=check_every, seed=seed)
    return Study.create(out, names, made.comparisons, made.plan)

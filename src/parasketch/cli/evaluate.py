"""`parasketch evaluate | compare | systems`: signed scores for any system, and who is really better."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.markup import escape

from parasketch.console import console
from parasketch.errors import UsageError
from parasketch.extras import needs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from parasketch.evaluate.outputs import Outputs
    from parasketch.evaluate.results import EvalData, Results
    from parasketch.evaluate.run import Run
    from parasketch.evaluate.scoring import Scorer
    from parasketch.systems.base import System


def register(app: typer.Typer) -> None:
    """Add this module's subcommands to the command line."""
    app.command("evaluate", rich_help_panel="Evaluate")(evaluate_command)
    app.command("compare", rich_help_panel="Evaluate")(compare_command)
    app.command("systems", rich_help_panel="Evaluate")(systems_command)


def evaluate_command(
    data: Annotated[
        Path, typer.Option("--data", help='Evaluation items: JSON lines {"input", "references"}, plain or .gz.')
    ],
    model: Annotated[str | None, typer.Option("--model", "-m", help="A model: its name or directory.")] = None,
    system: Annotated[
        str | None, typer.Option("--system", help="A comparison system: copy, tfidf, or a saved one's directory.")
    ] = None,
    outputs: Annotated[
        Path | None,
        typer.Option("--outputs", help='What another system wrote: lines, JSON lists, or {"outputs": [...]}.'),
    ] = None,
    train: Annotated[Path | None, typer.Option("--train", help="Clusters on which --system learns first.")] = None,
    save: Annotated[Path | None, typer.Option("--save", help="Keep the fitted --system in this directory.")] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Candidates per item; from 2 on P-BLEU is scored.")] = 1,
    oracle: Annotated[bool, typer.Option("--oracle", help="Also with sketches of the first references.")] = False,
    depths: Annotated[bool, typer.Option("--depths", help="Also with oracle sketches cut to 0, 1, ... codes.")] = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="Also without reranking, as in the paper, and so the oracle.")
    ] = False,
    own: Annotated[bool, typer.Option("--own", help="Also with the sketch of the input itself.")] = False,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Only the first so many items.")] = None,
    alpha: Annotated[float, typer.Option("--alpha", min=0, max=1, help="Weight of BLEU in iBLEU.")] = 0.8,
    templates: Annotated[
        Literal["chunk", "pos"], typer.Option("--templates", help="For template change: pos suits captions.")
    ] = "chunk",
    semantic: Annotated[
        str | None,
        typer.Option(
            "--semantic", metavar="MODEL", help="Judge meaning with minilm or another sentence-transformers model."
        ),
    ] = None,
    bootstrap: Annotated[
        int, typer.Option("--bootstrap", min=0, help="Resamples for 95 % confidence intervals; 0 for none.")
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", help="For generation and bootstrap.")] = 0,
    batch_size: Annotated[int, typer.Option("--batch-size", min=1, help="Sentences a model works on at once.")] = 64,
    name: Annotated[str | None, typer.Option("--name", help="The system's name in tables.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where results directories are written.")] = Path("results"),
) -> None:
    """Score a model, a comparison system, or the outputs of any other system.

    BLEU, Self-BLEU and iBLEU (lower-cased sacreBLEU), P-BLEU of several candidates, and what they hide:
    copies, templates, numbers, names, meaning. Scores, signatures, outputs and counts go to a directory under
    --out, for [bold]parasketch compare[/bold].

    Example: [bold]parasketch evaluate --model questions --data test.jsonl.gz --top 3 --oracle[/bold]

    Example: [bold]parasketch evaluate --system tfidf --train train.jsonl.gz --data test.jsonl.gz[/bold]

    Example: [bold]parasketch evaluate --outputs theirs.txt --data test.jsonl.gz --bootstrap 10000[/bold]
    """
    if sum(source is not None for source in (model, system, outputs)) != 1:
        raise UsageError("give exactly one of --model, --system and --outputs")
    if model is None and (oracle or depths or plain or own):
        raise UsageError("--oracle, --depths, --plain and --own need a --model")
    if system is None and (train is not None or save is not None):
        raise UsageError("--train and --save belong to --system")

    with needs("eval", "evaluation"):
        from parasketch.evaluate.outputs import read_outputs
        from parasketch.evaluate.results import EvalData
        from parasketch.evaluate.run import Run, evaluate_outputs, model_runs
    from parasketch.systems.trained import Trained

    items = EvalData.read(data, limit)
    scorer = _scorer(alpha, templates, semantic, bootstrap, seed)
    if outputs is not None:
        found = read_outputs(outputs, items.items)
        label = name or outputs.name.partition(".")[0]
        results = evaluate_outputs(found, items, scorer, name=label, command=_command(), seed=seed)
        _finish(results, items, found, out)
    elif model is not None:
        predicted = Trained.from_pretrained(model, seed=seed, batch_size=batch_size)
        label = name or _model_label(model)
        _evaluate(
            model_runs(predicted, name=label, top=top, plain=plain, own=own, oracle=oracle, depths=depths),
            items,
            scorer,
            seed,
            out,
        )
    elif system is not None:
        fitted = _system(system, train, save)
        _evaluate([Run(name=name or fitted.name, system=fitted, candidates=top)], items, scorer, seed, out)


def compare_command(
    results: Annotated[
        list[Path],
        typer.Argument(help="Results directories of [bold]parasketch evaluate[/bold].", metavar="RESULTS..."),
    ],
    against: Annotated[
        str | None, typer.Option("--against", help="Test this system against every other one (paired bootstrap).")
    ] = None,
    format: Annotated[
        Literal["table", "markdown", "latex", "csv"], typer.Option("--format", help="How the tables are written.")
    ] = "table",
    plot: Annotated[
        Path | None, typer.Option("--plot", help="Write iBLEU over alpha to this .png or .svg file.")
    ] = None,
    resamples: Annotated[int, typer.Option("--resamples", min=1, help="Of the paired bootstrap.")] = 10_000,
    seed: Annotated[int, typer.Option("--seed", help="Of the paired bootstrap.")] = 0,
) -> None:
    """Put results side by side: BLEU, Self-BLEU and iBLEU, the top-k table, the other scores, p-values.

    The best of a column stands out (systems that saw a reference do not take part). With --against, p is the
    share of resamples in which that system was not better than the other one.

    Example: [bold]parasketch compare results/* --against questions --plot alpha.svg[/bold]

    Example: [bold]parasketch compare results/* --format markdown > results.md[/bold]
    """
    with needs("eval", "comparison"):
        from parasketch.analyse.figures import alpha_values, draw_alpha, save
        from parasketch.evaluate.compare import data_without, paired_tests, tables
        from parasketch.evaluate.report import render, to_rich
        from parasketch.evaluate.results import Results

    loaded = [Results.load(path) for path in results]
    tests = paired_tests(loaded, against, resamples=resamples, seed=seed) if against is not None else []
    for data in data_without(loaded, against) if against is not None else []:
        console.print(f"{escape(data)}: there are no results of {escape(str(against))}: nothing is tested there")
    found = tables(loaded, tests)
    if format == "table":
        for table in found:
            Console().print(to_rich(table))
    else:
        typer.echo(render(format, found, loaded), nl=False)
    if plot is not None:
        values = alpha_values(loaded)
        save(draw_alpha(values), plot, values)
        console.print(f"iBLEU over alpha: {escape(str(plot))}")


def systems_command() -> None:
    """List the systems that can be trained, those that can be evaluated, and the ways to use a trained one.

    Example: [bold]parasketch systems[/bold]
    """
    from parasketch.systems.kinds import KINDS
    from parasketch.systems.registry import SYSTEMS

    for name, kind in KINDS.items():
        typer.echo(f"{name:14}train: {kind.description}")
    for name, system in SYSTEMS.items():
        typer.echo(f"{name:14}evaluate: {system.description}")


def _model_label(model: str) -> str:
    """What a model is called in tables: the best of a run after the run, for every run has one."""
    path = Path(model)
    resolved = path.resolve() if path.is_dir() else path
    return f"{resolved.parent.name} {resolved.name}" if resolved.name in ("best", "last") else path.name


def _scorer(
    alpha: float, templates: Literal["chunk", "pos"], semantic: str | None, bootstrap: int, seed: int
) -> "Scorer":
    from parasketch.evaluate.scoring import Scorer
    from parasketch.evaluate.semantic import SentenceEncoder
    from parasketch.text.tagger import load_tagger

    return Scorer(
        alpha=alpha,
        tagger=load_tagger("crf"),
        templates=templates,
        encoder=None if semantic is None else SentenceEncoder(semantic),
        resamples=bootstrap,
        seed=seed,
    )


def _system(name: str, train: Path | None, save: Path | None) -> "System":
    from parasketch.data.corpora import read_clusters
    from parasketch.systems.registry import SYSTEMS, load_system, new_system

    # A name that is known means the system, even if a directory happens to have it too.
    system = load_system(Path(name)) if name not in SYSTEMS and Path(name).is_dir() else new_system(name)
    if train is not None:
        system.fit(read_clusters(train))
    if save is not None:
        system.save(save)
    return system


def _evaluate(runs: "Sequence[Run]", data: "EvalData", scorer: "Scorer", seed: int, out: Path) -> None:
    from parasketch.evaluate.results import check_place
    from parasketch.evaluate.run import evaluate_run

    for run in runs:  # before the work, not after it
        check_place(out, run.name, data.name, run.system.fingerprint())
    for run in runs:
        results, outputs = evaluate_run(run, data, scorer, command=_command(), seed=seed)
        _finish(results, data, outputs, out)


def _finish(results: "Results", data: "EvalData", outputs: "Outputs", out: Path) -> None:
    from parasketch.evaluate.report import score_table

    directory = results.save(out, data.items, outputs)
    Console().print(score_table(results))
    typer.echo(f"iBLEU {results.scores['ibleu'].signature}")
    if results.empty_outputs:
        console.print(f"{results.empty_outputs:,} outputs are empty; they were scored as they are")
    console.print(f"results: {escape(str(directory))}")


def _command() -> str:
    return shlex.join(["parasketch", *sys.argv[1:]])

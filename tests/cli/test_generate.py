import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import typer

import parasketch.cli
from parasketch.cli import generate
from parasketch.generate import acceptance
from parasketch.generate.paraphraser import Paraphraser
from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.generate.settings import GenerateConfig
from parasketch.systems.hrqvae.config import ModelConfig
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.text.tokenizer import Tokenizer

TEXT, EXEMPLAR = "How heavy is a moose?", "where do whales live?"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The directory of a tiny model with random weights."""
    tokenizer = Tokenizer.train(
        [f"{how} is a {what}?" for how in ("how", "why") for what in ("moose", "whale")], vocab_size=290
    )
    config = ModelConfig(
        vocab_size=tokenizer.vocab_size, width=16, heads=2, ff=16, encoder_layers=1, decoder_layers=1, meaning_width=8,
        form_width=8, form_heads=2, codes=4, predictor_width=8, predictor_heads=2, predictor_hidden=8, copy_width=8,
        max_length=32,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = HRQVAE(config, mask_id=tokenizer.mask_id)
    directory = tmp_path_factory.mktemp("models") / "tiny"
    paraphraser = Paraphraser.from_model(network, tokenizer, config=GenerateConfig(max_tokens=8, sketches=4))
    paraphraser.save_pretrained(directory)
    return str(directory)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> "Run":
    return Run(monkeypatch, capsys)


class Run:
    """Runs the command line in this process; gives exit code, standard output and standard error."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capsys = monkeypatch, capsys
        app = typer.Typer(pretty_exceptions_enable=False)
        generate.register(app)
        monkeypatch.setattr(parasketch.cli, "app", app)
        monkeypatch.setenv("COLUMNS", "200")

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        self._monkeypatch.setattr(sys, "argv", ["parasketch", *arguments])
        try:
            parasketch.cli.main()
            code: object = 0
        except SystemExit as leaving:
            code = leaving.code
        captured = self._capsys.readouterr()
        assert "Traceback" not in captured.err
        assert isinstance(code, int)
        return code, captured.out, captured.err


def test_a_text_gives_a_table_on_a_terminal(run: Run, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    code, out, _ = run("paraphrase", TEXT, "-n", "3", "--model", model)
    assert code == 0
    assert all(heading in out for heading in ("paraphrase", "sketch", "different", "faithful"))
    expected = Paraphraser.from_pretrained(model)(TEXT, n=3)
    assert all(str(each.sketch) in out and f"{each.difference:.0%}" in out for each in expected)


def test_other_programs_get_one_plain_line_each(run: Run, model: str) -> None:
    code, out, _ = run("paraphrase", TEXT, "-n", "3", "--model", model)
    assert code == 0
    assert out.splitlines() == [each.text for each in Paraphraser.from_pretrained(model)(TEXT, n=3)]


def as_json(out: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in out.splitlines()]


def test_control_over_the_form(run: Run, model: str) -> None:
    sketch = list(Paraphraser.from_pretrained(model).sketch(EXEMPLAR))
    _, out, _ = run("paraphrase", TEXT, "--model", model, "--json", "--like", EXEMPLAR)
    assert [each["sketch"] for each in as_json(out)] == [sketch]
    _, out, _ = run("paraphrase", TEXT, "--model", model, "--json", "--like", EXEMPLAR, "--depth", "1")
    assert [each["sketch"] for each in as_json(out)] == [sketch[:1]]
    _, out, _ = run("paraphrase", TEXT, "--model", model, "--json", "--sketch", "3,1", "-n", "2", "--plain")
    assert [each["sketch"][:2] for each in as_json(out)] == [[3, 1], [3, 1]]  # type: ignore[index]


def test_seeds(run: Run, model: str) -> None:
    arguments = ("paraphrase", TEXT, "--model", model, "--json", "--temperature", "1", "--seed")
    first, again, other = (run(*arguments, seed)[1] for seed in ("1", "1", "2"))
    assert first == again != other


def test_a_file_is_continued(run: Run, model: str, tmp_path: Path) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.jsonl"
    source.write_text("id,question\n" + "".join(f"{i},how is moose {i}?\n" for i in range(6)) + "6,\n")
    arguments = ("paraphrase", str(source), "--column", "question", "-n", "2", "--model", model, "--out", str(out))
    code, _, err = run(*arguments)
    assert code == 0
    assert "7 rows written, 1 of them without a text" in err
    assert "12 paraphrases: " in err
    whole = out.read_text()
    rows = as_json(whole)
    assert [row["id"] for row in rows] == list("0123456")
    assert [len(row["paraphrases"]) for row in rows] == [2] * 6 + [0]  # type: ignore[arg-type]
    assert rows[6]["problem"] == "is empty: there is nothing to paraphrase"

    out.write_text(whole[: len(whole) // 2])
    code, _, err = run(*arguments, "--resume")
    assert code == 0
    assert "7 rows written" in err  # of one batch
    assert out.read_text() == whole

    code, _, err = run(*arguments)
    assert (code, "exists: continue it with --resume" in err) == (2, True)
    code, _, err = run(*arguments, "--resume", "--depth", "1")
    assert (code, "made with other settings (depth: None, now 1)" in err) == (2, True)


def test_standard_input_to_standard_output(run: Run, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO("how heavy?\n\xff".encode("latin-1"))))
    written = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(written))
    code, _, err = run("paraphrase", "-", "--model", model)
    [row] = as_json(written.getvalue().decode())
    assert (code, row["text"]) == (0, "how heavy?")
    assert "1 rows could not be read and were left out" in err
    assert "invalid UTF-8" in err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("paraphrase", ""), 2, "the text is empty: there is nothing to paraphrase"),
        (("paraphrase", TEXT, "--sketch", "99"), 2, "code 99 at level 1 of the sketch is out of range"),
        (("paraphrase", TEXT, "--sketch", "1,1,1,1"), 2, "is too long"),
        (("paraphrase", TEXT, "--sketch", "x"), 2, "'x' is no sketch"),
        (("paraphrase", TEXT, "--depth", "9"), 2, "depth 9"),
        (("paraphrase", TEXT, "-n", "0"), 2, "n is 0"),
        (("paraphrase", TEXT, "--out", "out.jsonl"), 2, "are for files, and this is a text"),
        (("paraphrase", TEXT, "--device", "toaster"), 2, "device 'toaster' cannot be used"),
        (("paraphrase", "missing.csv"), 1, "missing.csv: cannot be read"),
        (("paraphrase", "."), 2, ". is a directory"),
        (("paraphrase", TEXT, "-n", "1001"), 2, "n is 1001"),
    ],
)
def test_mistakes_are_one_message(run: Run, model: str, arguments: tuple[str, ...], code: int, message: str) -> None:
    found, out, err = run(*arguments, "--model", model)
    assert (found, out) == (code, "")
    assert message in err


def test_a_missing_column_and_a_foreign_model(run: Run, model: str, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("id,question\n1,so?\n")
    code, _, err = run("paraphrase", str(source), "--column", "text", "--model", model)
    assert (code, "no column 'text' (expected one of id, question)" in err) == (1, True)
    code, _, err = run("paraphrase", TEXT, "--model", str(tmp_path))
    assert (code, "not a model directory: config.json, model.safetensors, tokenizer.json missing" in err) == (1, True)


@pytest.mark.parametrize("text", ["word " * 10_000, "a\x00\x1bb", "😀", "なぜ？", "lone \udce4 byte"])
def test_odd_texts_give_a_result(run: Run, model: str, text: str) -> None:
    code, out, err = run("paraphrase", text, "--model", model, "--json")
    assert code == 0
    assert as_json(out)[0]["text"]
    assert not err


def test_the_tree_of_sketches(run: Run, model: str) -> None:
    code, out, _ = run("sketches", TEXT, "-n", "6", "--model", model)
    assert code == 0
    plain = Paraphraser.from_pretrained(model)(TEXT, n=6, rerank=False)
    assert out.count("── ") == 6 + len({each.sketch[:2] for each in plain}) + len({each.sketch[:1] for each in plain})


def test_an_exemplars_sketch_code_by_code(run: Run, model: str) -> None:
    code, out, _ = run("sketches", TEXT, "--like", EXEMPLAR, "--model", model)
    sketch = Paraphraser.from_pretrained(model).sketch(EXEMPLAR)
    assert code == 0
    for depth in range(1, 4):
        assert f"│ {','.join(map(str, sketch[:depth]))} " in out
    assert "│ none" in out


def test_the_demo(run: Run, model: str) -> None:
    code, out, _ = run("demo", "--model", model)
    assert code == 0
    assert "Please send me the signed contract by Friday." in out
    assert "How do I become a good writer?  in the form of  What are the benefits of green tea?" in out
    assert "none" in out


def questions(count: int) -> str:
    return "id,question\n" + "".join(f"{i},{'how ' * (i % 5)}is moose {i}?\n" for i in range(count))


def test_a_resumed_file_is_equal_to_an_uninterrupted_one(run: Run, model: str, tmp_path: Path) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.jsonl"
    source.write_text(questions(20))
    arguments = ("paraphrase", str(source), "--column", "question", "--model", model, "--out", str(out))
    assert run(*arguments, "--batch-size", "6")[0] == 0
    whole, record = out.read_bytes(), (tmp_path / "out.jsonl.record.jsonl").read_bytes()
    lines, entries = whole.splitlines(keepends=True), record.splitlines(keepends=True)
    out.write_bytes(b"".join(lines[:15]) + lines[15][:20])
    (tmp_path / "out.jsonl.record.jsonl").write_bytes(b"".join(entries[:3]))  # two batches
    code, _, err = run(*arguments, "--batch-size", "6", "--resume")
    assert (code, "8 rows written, after 12 that were there" in err) == (0, True)
    assert out.read_bytes() == whole


def test_stopping_keeps_what_is_done_and_says_how_to_go_on(
    run: Run, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text(questions(9))
    arguments = ("paraphrase", str(source), "--column", "question", "--model", model, "--out", str(out))
    original, calls = Paraphraser.__call__, []

    def stopped(self: Paraphraser, texts: list[str], **options: object) -> object:
        calls.append(len(texts))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(self, texts, **options)  # type: ignore[call-overload]

    with monkeypatch.context() as patch:
        patch.setattr(Paraphraser, "__call__", stopped)
        code, _, err = run(*arguments, "--batch-size", "4")
    assert code == 130
    assert "8 rows written" in err
    assert "stopped: the same command with --resume goes on from here" in err
    code, _, err = run(*arguments, "--batch-size", "4", "--resume")
    assert (code, "1 rows written, after 8 that were there" in err) == (0, True)
    assert len(out.read_text().splitlines()) == 10


def test_bad_files_are_exit_one(run: Run, model: str, tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("id,text\n1\n")
    code, out, err = run("paraphrase", str(source), "--model", model)
    assert (code, out) == (1, "")
    assert "1 rows could not be read and were left out" in err
    assert "has not a single row that can be read" in err
    source.write_bytes("text\nhow heavy is it?\n".encode("utf-16"))
    code, out, err = run("paraphrase", str(source), "--model", model)
    assert (code, "is UTF-16 text" in err) == (1, True)
    rows = tmp_path / "in.jsonl"
    rows.write_text('{"text": 3}\n{"text": " "}\n')
    code, _, err = run("paraphrase", str(rows), "--model", model, "--out", str(tmp_path / "out.jsonl"))
    assert (code, "not a single row had a text" in err) == (1, True)


def test_strict_gives_nothing_where_nothing_is_accepted(
    run: Run, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acceptance, "installed_verifier", lambda: None)  # it would reject what a tiny model says
    code, out, _ = run("paraphrase", TEXT, "--model", model, "--strict")
    assert (code, len(out.splitlines())) == (0, 1)
    nothing = Paraphrase(text=TEXT, sketch=Sketch(), score=0.0, difference=0.0, accepted=False)
    monkeypatch.setattr(Paraphraser, "__call__", lambda _, texts, **__: [[nothing] for _ in texts])
    code, out, err = run("paraphrase", TEXT, "--model", model, "--strict")
    assert (code, out, "no acceptable paraphrase was found" in err) == (1, "", True)
    assert run("paraphrase", TEXT, "--model", model)[:2] == (0, f"{TEXT}\n")
    source = tmp_path / "in.txt"
    source.write_text(f"{TEXT}\n")
    code, _, err = run("paraphrase", str(source), "--model", model, "--strict", "--out", str(tmp_path / "out.jsonl"))
    [row] = as_json((tmp_path / "out.jsonl").read_text())
    assert (row["paraphrases"], row["problem"]) == ([], "no acceptable paraphrase was found")
    assert "1 rows written, 1 of them without an acceptable paraphrase" in err


def test_sentences_one_by_one(run: Run, model: str) -> None:
    text = "How is a moose?  Why is a whale?"
    _, out, _ = run("paraphrase", text, "--model", model, "-n", "2", "--json", "--split-sentences")
    parts = [Paraphraser.from_pretrained(model)(each, n=2) for each in text.split("  ")]
    assert [each["text"] for each in as_json(out)] == [
        f"{one.text}  {two.text}" for one, two in zip(*parts, strict=True)
    ]


def test_a_reader_that_has_seen_enough_is_no_error(model: str, tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("how is a moose?\n" * 40)
    command = f"{sys.executable} -c 'from parasketch.cli import main; main()' paraphrase {source} --model {model}"
    process = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command} --plain --batch-size 1 | head -1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    assert len(process.stdout.splitlines()) == 1
    assert "Traceback" not in process.stderr
    assert "Broken" not in process.stderr


def test_many_files_go_to_ray(run: Run, model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="Ray is not installed (parasketch[ray])")
    from parasketch.bulk import ray_engine
    from parasketch.bulk.answers import answer

    class Here(ray_engine.RayEngine):
        """Answers where it is called: clusters are started in tests/bulk/test_ray.py."""

        def __call__(self, tasks):  # type: ignore[no-untyped-def]
            load = self.job.load(device=self.device, batch_size=self.batch_size)
            for task in tasks:
                yield task.number, answer(load, task.texts, strict=self.strict)

    monkeypatch.setattr(ray_engine, "RayEngine", Here)
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows" / "one.txt").write_text("how heavy?\nwhy?\nwhere?\n")
    (tmp_path / "two.csv").write_text("id,text\n1,how is moose?\n")
    out = tmp_path / "out"
    files = (str(tmp_path / "rows"), str(tmp_path / "two.csv"))
    arguments = ("paraphrase", *files, "--engine", "ray", "--model", model, "--batch-size", "2", "--shard-rows", "1")
    code, _, err = run(*arguments, "--out", str(out))
    assert (code, "4 rows written" in err) == (0, True)
    shards = json.loads((out / "manifest.json").read_text())["shards"]
    assert [shard["rows"] for shard in shards] == [2, 1, 1]  # whole batches
    run("paraphrase", files[1], "--model", model, "--batch-size", "2", "--out", str(tmp_path / "single.jsonl"))
    assert (out / "part-000002.jsonl").read_text() == (tmp_path / "single.jsonl").read_text()
    code, _, err = run(*arguments, "--out", str(out), "--resume")
    assert (code, "after 4 that were there" in err) == (0, True)
    code, _, err = run(*arguments)
    assert (code, "name it with --out" in err) == (2, True)
    code, _, err = run("paraphrase", *files, "--model", model)
    assert (code, "several files: --engine ray" in err) == (2, True)

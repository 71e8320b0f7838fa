"""The language-model kind is trained, cut, resumed, saved and loaded like every other."""

import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from safetensors.numpy import load_file, save_file
from tiny_language_model import PAIRS, SHAPE, tiny_network, write_pairs

from parasketch.data.records import EvalItem
from parasketch.errors import DataError, ModelError, UsageError
from parasketch.generate.paraphraser import Paraphraser
from parasketch.model.directory import ModelDirectory, open_directory
from parasketch.model.storage import open_model
from parasketch.systems.kinds import load_model
from parasketch.systems.sketchlm import ready
from parasketch.systems.sketchlm.base import base_tokenizer
from parasketch.systems.sketchlm.config import SketchLMConfig, SketchLMShape, SketchLMTrainConfig
from parasketch.systems.sketchlm.decoding import Decoding
from parasketch.systems.sketchlm.examples import Pair, PairExamples, by_source, read_pairs
from parasketch.systems.sketchlm.ids import SketchIds
from parasketch.systems.sketchlm.network import Example, Losses, Rows, SketchLM, Target
from parasketch.systems.sketchlm.ready import ready_model
from parasketch.systems.sketchlm.task import SketchLMTask
from parasketch.train.loop import train
from parasketch.train.task import Sources

CONFIG = SketchLMConfig(
    model=SketchLMShape(base=SHAPE, rank=4, form_width=4, levels=2, codes=4),
    train=SketchLMTrainConfig(steps=12, batch_size=8, learning_rate=1e-2, evaluations=2, checkpoint_minutes=0.0),
)
ITEMS = [EvalItem(source, (target,)) for source, target in PAIRS[:6]]


def make_task(config: SketchLMConfig = CONFIG) -> SketchLMTask:
    return SketchLMTask(config, [Pair(*pair) for pair in PAIRS], ITEMS)


def run(task: SketchLMTask, path: Path, *, resume: bool = False) -> SketchLMTask:
    train(task, path, fabric=Fabric(accelerator="cpu", devices=1), resume=resume)
    return task


@pytest.mark.usefixtures("tiny_base")
def test_a_run_that_is_cut_goes_on_bit_for_bit(tmp_path: Path) -> None:
    config = replace(CONFIG, train=replace(CONFIG.train, keep_checkpoints=100))
    whole = run(make_task(config), tmp_path)
    for checkpoint in (tmp_path / "checkpoints").glob("step-*"):
        if int(checkpoint.name.removeprefix("step-")) > 5:  # as if it had been killed then
            shutil.rmtree(checkpoint)
    resumed = run(make_task(config), tmp_path, resume=True)
    for name, value in whole.tensors().items():
        assert torch.equal(resumed.tensors()[name], value), name


@pytest.mark.usefixtures("tiny_base")
def test_checkpoints_and_models_hold_what_was_trained_and_not_the_base(tmp_path: Path) -> None:
    task = run(make_task(), tmp_path)
    task.save(tmp_path / "model", {"nll": 1.0})
    names = set(open_model(tmp_path / "model").read_weights())
    assert not any(name.endswith(".weight") or name == "language_model.embedding" for name in names)
    assert {"code_embedding", "code_output", "form.projection"} <= names
    loaded = load_model(tmp_path / "model")
    assert isinstance(loaded.model, SketchLM)
    assert loaded.kind == "sketchlm"
    for name, value in task.network.state_dict().items():
        torch.testing.assert_close(loaded.model.state_dict()[name], value, atol=2e-3, rtol=2e-3)


@pytest.mark.usefixtures("tiny_base")
def test_training_lowers_the_loss_and_sketches_help(tmp_path: Path) -> None:
    config = replace(CONFIG, train=replace(CONFIG.train, steps=120, evaluations=1))
    task = make_task(config)
    run(task, tmp_path)
    with torch.inference_mode():
        result = task.evaluate()
    assert result is not None
    assert result.metrics["nll"] < 3.0  # the logarithm of the vocabulary is 5.7
    assert result.metrics["nll"] < result.metrics["nll_other_sketch"]


@pytest.mark.usefixtures("tiny_base")
def test_a_run_can_go_on_from_a_model(tmp_path: Path) -> None:
    first = run(make_task(), tmp_path / "first")
    first.save(tmp_path / "model", {})
    config = replace(CONFIG, train=replace(CONFIG.train, start=str(tmp_path / "model"), steps=1, learning_rate=0.0))
    second = make_task(config)
    second.build()
    torch.testing.assert_close(second.network.code_output, first.network.code_output, atol=1e-3, rtol=1e-3)
    assert torch.equal(second.network.form.projection.half(), first.network.form.projection.half())


def test_the_base_has_to_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARASKETCH_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match="parasketch get everyday"):
        make_task().build()


def test_data_has_to_be_named_and_whole(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--data"):
        SketchLMTask.set_up(CONFIG, Sources(data=None, dev=None, run=tmp_path))
    path = write_pairs(tmp_path / "pairs.jsonl")
    assert read_pairs(path)[0] == Pair(*PAIRS[0])
    with path.open("a", encoding="utf-8") as stream:
        stream.write('{"source": "A line without a target."}\n')
    with pytest.raises(DataError, match=f"pairs.jsonl:{len(PAIRS) + 1}: not a pair"):
        read_pairs(path)
    path.write_text('{"source": "a", "target": "b", "grade": 0}\n')
    assert read_pairs(path) == [Pair("a", "b", 0)]
    path.write_text('{"source": "a", "target": "b", "grade": 3}\n')
    with pytest.raises(DataError, match='with a "grade" of 0, 1 or 2'):
        read_pairs(path)
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(DataError, match="holds no pairs"):
        read_pairs(tmp_path / "empty.jsonl")


def test_targets_that_share_a_row_are_learnt_as_if_each_were_alone() -> None:
    network = tiny_network()
    source, other = [5, 6, 7, 8], [9, 5]
    targets = [
        Target([10, 11, 12], (0, 1, 2), 3),
        Target([13, 14], (3, 3, 0), 1),
        Target([15, 16, 17, 18], (2, 0, 1), 0),
    ]
    last = Target([20, 21], (1, 1, 1), 2)

    def losses(*examples: Example) -> Losses:
        result: Losses = network(Rows.from_examples(list(examples), network.ids))
        return result

    together = losses(Example(source, targets), Example(other, [last]))
    apart = losses(*[Example(source, [target]) for target in targets], Example(other, [last]))
    torch.testing.assert_close(together.target, apart.target)
    torch.testing.assert_close(together.codes, apart.codes)


def test_only_good_targets_are_learnt_and_they_are_told_from_others_of_their_source() -> None:
    network = tiny_network()
    good, weak, wrong = Target([10, 11], (0, 1, 2), 3), Target([12], (3, 3, 0), 3, 1), Target([13, 14], (2, 0, 1), 3, 0)

    def losses(*examples: Example) -> Losses:
        result: Losses = network(Rows.from_examples(list(examples), network.ids))
        return result

    alone = losses(Example([5, 6], [good]))
    together = losses(Example([5, 6], [good, weak, wrong]), Example([7], [replace(wrong, tokens=[15])]))
    torch.testing.assert_close(together.target, alone.target)
    torch.testing.assert_close(together.codes, alone.codes)
    assert alone.contrast == 0  # nothing to tell it from; and nothing is told from targets of another source

    means = [-losses(Example([5, 6], [replace(target, grade=2)])).target for target in (good, weak, wrong)]
    gaps = [(1, means[0] - means[1]), (1, means[1] - means[2]), (2, means[0] - means[2])]
    expected = sum(steps * torch.log1p(torch.exp(0.5 * steps - 4 * gap)) for steps, gap in gaps) / 4
    torch.testing.assert_close(together.contrast, expected)

    with torch.no_grad():
        network.grade_output[:, -1] = torch.tensor([1.0, -2.0])  # log-odds of at least weak and of good, for all
    at_least = torch.tensor([[1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    chances = torch.sigmoid(torch.tensor([1.0, -2.0]))
    expected = -(at_least * chances.log() + (1 - at_least) * (1 - chances).log()).mean()
    torch.testing.assert_close(losses(Example([5, 6], [good, weak, wrong])).grades, expected)


def test_targets_are_grouped_by_source_in_order() -> None:
    pairs = [Pair("a", "1"), Pair("b", "2"), Pair("a", "3", 0), Pair("a", "4")]
    assert by_source(pairs, 2) == [[pairs[0], pairs[2]], [pairs[1]], [pairs[3]]]


def test_batches_are_pure_functions_of_seed_and_epoch_and_of_like_length() -> None:
    ids = SketchIds(60, 3, 4)
    lengths = [3 + place % 17 for place in range(400)]
    sources = [[5] * length for length in lengths]

    def examples() -> PairExamples:
        rows = [Example(source, [Target(source, (1, 2, 3), 3)]) for source in sources]
        return PairExamples(rows, ids=ids, seed=3, batch_size=10, depth_dropout=0.3)

    first, second = examples(), examples()
    order = first.order(1)
    assert sorted(order) == list(range(400))
    assert (order == second.order(1)).all()
    assert (order != first.order(2)).any()
    spread = [
        max(lengths[i] for i in order[at : at + 10]) - min(lengths[i] for i in order[at : at + 10])
        for at in range(0, 400, 10)
    ]
    assert max(spread) <= 1
    one, other = first.batch(1, order[:10]), second.batch(1, order[:10])
    assert torch.equal(one.ids, other.ids)
    depths = {int((row[row >= 60] % 1 == 0).sum()) for row in one.ids}
    assert depths == {4}  # <sketch> and three codes, "none" among them


def test_a_model_is_merged_once_and_then_read_from_the_cache(tiny_base: Path, tmp_path: Path) -> None:
    run(make_task(), tmp_path / "run").save(tmp_path / "model", {})
    stored = open_directory(tmp_path / "model", ModelDirectory)
    first = ready_model(stored)
    [kept] = tiny_base.glob("ready-*/weights.safetensors")
    written = kept.stat().st_mtime_ns
    again = ready_model(stored)
    assert kept.stat().st_mtime_ns == written
    source = base_tokenizer().encode_batch(["Anna bought a letter."])
    states = [Decoding(model).read(source)[1] for model in (first, again)]
    assert (states[0] == states[1]).all()
    for name in ("weights.safetensors", "body.onnx"):
        (kept.parent / name).write_bytes(b"damaged")
        assert (Decoding(ready_model(stored)).read(source)[1] == states[0]).all()


@pytest.mark.usefixtures("tiny_base")
def test_without_a_cache_to_write_to_a_model_works_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(make_task(), tmp_path / "run").save(tmp_path / "model", {})

    def refuse(path: Path) -> None:
        raise DataError("cannot be written: Read-only file system", path=path)

    monkeypatch.setattr(ready, "write_directory", refuse)
    model = ready_model(open_directory(tmp_path / "model", ModelDirectory))
    assert np.isfinite(Decoding(model).read([[5, 6]])[1]).all()


@pytest.mark.usefixtures("tiny_base")
def test_a_model_that_does_not_fit_its_configuration_is_refused(tmp_path: Path) -> None:
    run(make_task(), tmp_path / "run").save(tmp_path / "model", {})
    path = tmp_path / "model" / "model.safetensors"
    weights = load_file(path)
    for change, message in (
        ({"code_output": weights["code_output"][:1]}, "code_output is .*, expected"),
        ({"code_output": np.full_like(weights["code_output"], np.nan)}, "values that are no numbers"),
        ({}, "damaged, or not the file that config.json was written with"),
    ):
        save_file({**weights, "form_embedding": weights["form_embedding"] + 1, **change}, path)
        with pytest.raises(ModelError, match=message):
            ready_model(open_directory(tmp_path / "model", ModelDirectory))


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # importing it is an error
import parasketch.model.gguf, parasketch.systems.sketchlm.base
from parasketch.cli import main
sys.argv = ["parasketch", "paraphrase", "Anna bought a letter.", "-n", "2", "--json", "--model", sys.argv[1]]
main()
"""


@pytest.mark.usefixtures("tiny_base")
def test_a_model_works_where_there_is_no_torch(tmp_path: Path) -> None:
    run(make_task(), tmp_path / "run").save(tmp_path / "model", {})
    command = [sys.executable, "-c", WITHOUT_TORCH, str(tmp_path / "model")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line)["text"] for line in done.stdout.splitlines()]
    known = Paraphraser.from_pretrained(tmp_path / "model")("Anna bought a letter.", n=2)
    assert found == [one.text for one in known]
    with pytest.raises(UsageError, match="runs on light alone"):
        Paraphraser.from_pretrained(tmp_path / "model", backend="torch")

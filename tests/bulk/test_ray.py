"""A Ray cluster of two nodes on this machine: the rows of the single-machine command, whoever is killed meanwhile."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from bulk.shouting import ShoutingJob, shout
from parasketch.bulk.answers import Answer, BulkReport
from parasketch.bulk.job import Job
from parasketch.bulk.shards import MANIFEST, RECORD, Task, paraphrase_shards
from parasketch.bulk.work import paraphrase_file
from parasketch.data.records import BadRows
from parasketch.errors import ModelError
from parasketch.generate.paraphraser import Paraphraser
from parasketch.generate.settings import GenerateConfig
from parasketch.ray import Paraphrase
from parasketch.systems.hrqvae.config import ModelConfig
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.text.tokenizer import Tokenizer

ray = pytest.importorskip("ray", reason="Ray is not installed (parasketch[ray])")
cluster_utils = pytest.importorskip("ray.cluster_utils", reason="Ray is not installed (parasketch[ray])")

from parasketch.bulk.ray_engine import RayEngine  # noqa: E402  # needs Ray

BATCH, ROWS = 4, 40
DRIVER = f"""
import sys
from pathlib import Path
from bulk.shouting import ShoutingJob
from parasketch.bulk.answers import BulkReport
from parasketch.bulk.ray_engine import RayEngine
from parasketch.bulk.shards import paraphrase_shards

address, source, out = sys.argv[1:]
paraphrase_shards(
    RayEngine(ShoutingJob(n=2, seconds=0.5), {BATCH}, workers=2, address=address), [source], Path(out), format="jsonl",
    column=None, n=2, settings={{}}, resume=False, on_bad=print, report=BulkReport(), shard_rows={BATCH},
)
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes with a core each; workers find the package and the tests as this process does."""
    tests = str(Path(__file__).parents[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join([*filter(None, [os.environ.get("PYTHONPATH")]), tests]))
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("OMP_NUM_THREADS", "1")
        small = {"num_cpus": 1, "object_store_memory": 80 << 20}
        try:
            made = cluster_utils.Cluster(initialize_head=True, head_node_args={**small, "include_dashboard": False})
            made.second = made.add_node(**small)
        except Exception as error:
            if "timed out during startup" not in str(error):
                raise
            pytest.skip("Ray gives a node 30 seconds to start, and this machine is too busy for that")
        ray.init(made.address, log_to_driver=False, logging_level="ERROR")
        yield made
        ray.shutdown()
        made.shutdown()


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The directory of a tiny model with random weights."""
    tokenizer = Tokenizer.train([f"how heavy is a {what}?" for what in ("moose", "whale")], vocab_size=290)
    config = ModelConfig(
        vocab_size=tokenizer.vocab_size, width=16, heads=2, ff=16, encoder_layers=1, decoder_layers=1, meaning_width=8,
        form_width=8, form_heads=2, codes=4, predictor_width=8, predictor_heads=2, predictor_hidden=8, copy_width=8,
        max_length=32,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = HRQVAE(config, mask_id=tokenizer.mask_id)
    directory = tmp_path_factory.mktemp("models") / "tiny"
    Paraphraser.from_model(network, tokenizer, config=GenerateConfig(max_tokens=8, sketches=4)).save_pretrained(
        directory
    )
    return str(directory)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows") / "in.csv"
    path.write_text("id,text\n" + "".join(f"{i},how heavy is moose {i}?\n" for i in range(ROWS - 1)) + f"{ROWS},\n")
    return path


def single(paraphrase: Any, source: Path, out: Path) -> bytes:
    """What one machine writes."""
    settings: dict[str, Any] = {"column": None, "n": 2, "settings": {}, "resume": False, "on_bad": BadRows()}
    paraphrase_file(paraphrase, str(source), str(out), report=BulkReport(), batch_size=BATCH, **settings)
    return out.read_bytes()


def on_ray(engine: Any, source: Path, out: Path) -> bytes:
    """What the shards hold, end to end."""
    report = BulkReport()
    settings: dict[str, Any] = {"format": "jsonl", "column": None, "n": 2, "settings": {}, "resume": True}
    paraphrase_shards(engine, [str(source)], out, on_bad=BadRows(), report=report, shard_rows=BATCH, **settings)
    assert report.done + report.skipped == ROWS
    return together(out)


def together(out: Path) -> bytes:
    manifest = json.loads((out / MANIFEST).read_text())
    assert [each["first_row"] for each in manifest["shards"]] == list(range(0, ROWS, BATCH))
    assert len((out / RECORD).read_text().splitlines()) == 1 + len(manifest["shards"]), "no shard was written twice"
    return b"".join((out / each["file"]).read_bytes() for each in manifest["shards"])


class Disturbed:
    """An engine during whose work something happens, after the second shard."""

    def __init__(self, engine: RayEngine, event: Any) -> None:
        self.engine, self._event = engine, event

    def __call__(self, tasks: Iterator[Task], /) -> Iterator[tuple[int, list[Answer]]]:
        for count, result in enumerate(self.engine(tasks)):
            yield result
            if count == 1:
                self._event(self.engine)


@pytest.mark.usefixtures("cluster")
def test_two_nodes_with_a_model_and_a_worker_that_is_killed(source: Path, model: str, tmp_path: Path) -> None:
    job = Job(model=model, n=2)
    engine = RayEngine(job, BATCH, workers=2)
    disturbed = Disturbed(engine, lambda it: os.kill(it.pids[0], signal.SIGKILL))
    found = on_ray(disturbed, source, tmp_path / "out")
    assert found == single(job.load(device=None, batch_size=BATCH), source, tmp_path / "single.jsonl")


def test_a_driver_that_is_killed_loses_and_doubles_nothing(cluster: Any, source: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-c", DRIVER, cluster.address, str(source), str(out)]
    with subprocess.Popen(command) as driver:
        while driver.poll() is None and _records(out) < 3:
            time.sleep(0.05)
        driver.kill()
    done = {path.name: path.stat().st_mtime_ns for path in out.glob("part-*")}
    assert 2 <= len(done) < ROWS / BATCH
    recorded = [json.loads(line)["file"] for line in (out / RECORD).read_text().splitlines()[1:]]
    assert on_ray(RayEngine(ShoutingJob(n=2), BATCH, workers=2), source, out) == single(
        shout, source, tmp_path / "single.jsonl"
    )
    assert all((out / name).stat().st_mtime_ns == done[name] for name in recorded), "what is done is not done again"


def _records(out: Path) -> int:
    return len((out / RECORD).read_text().splitlines()) if (out / RECORD).exists() else 0


def test_a_node_that_goes_away_takes_nothing_with_it(cluster: Any, source: Path, tmp_path: Path) -> None:
    engine = RayEngine(ShoutingJob(n=2, seconds=0.2), BATCH, workers=2)
    disturbed = Disturbed(engine, lambda _: cluster.remove_node(cluster.second, allow_graceful=False))
    try:
        assert on_ray(disturbed, source, tmp_path / "out") == single(shout, source, tmp_path / "single.jsonl")
    finally:
        cluster.second = cluster.add_node(num_cpus=1, object_store_memory=80 << 20)


@pytest.mark.usefixtures("cluster")
def test_a_worker_with_another_model_is_refused(source: Path, tmp_path: Path) -> None:
    class Other(ShoutingJob):
        def check(self, weights: str) -> None:
            super().check(f"not {weights}")

    with pytest.raises(ModelError, match="is another one on this worker"):
        on_ray(RayEngine(Other(n=2), BATCH, workers=1), source, tmp_path / "out")


@pytest.mark.usefixtures("cluster")
def test_the_class_for_pipelines_gives_the_same(source: Path, model: str, tmp_path: Path) -> None:
    job = Job(model=model, n=2)
    lines = single(job.load(device=None, batch_size=BATCH), source, tmp_path / "single.jsonl").splitlines()
    expected = {row["id"]: row["paraphrases"] for row in map(json.loads, lines)}
    data = ray.data.read_csv(str(source))
    options = {"fn_constructor_kwargs": {"model": model, "n": 2}, "concurrency": 1, "batch_size": BATCH}
    found = {str(row["id"]): list(row["paraphrases"]) for row in data.map_batches(Paraphrase, **options).take_all()}
    texts = {key: [each["text"] for each in value] for key, value in found.items()}
    assert texts == {key: [each["text"] for each in value] for key, value in expected.items()}

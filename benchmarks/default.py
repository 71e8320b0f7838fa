"""Before and after: the generation of an earlier commit and that of this checkout, side by side in one run.

    python benchmarks/default.py MODEL ITEMS.jsonl RESULT.json

runs one side, with whatever version of the package is on the path; `generate.py default` starts both. The earlier
sources come out of the repository's own history, so what is compared with is exactly what it was.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from former import unpack_former

BEFORE = "d42616ad26468ebe9aefb2e5875741176312d8d8"
"""The last commit before generation was made fast."""
HERE = Path(__file__).resolve().parents[1]
OUTPUTS = 3


def one_side(model: str, items: Path, result: Path) -> None:
    from parasketch import Paraphraser

    texts = [json.loads(line)["input"] for line in items.read_text("utf-8").splitlines()]
    paraphraser = Paraphraser.from_pretrained(model)
    paraphraser(texts[:2], n=OUTPUTS)  # warms up, and loads the verifier
    wall, cpu = time.perf_counter(), time.process_time()
    found = paraphraser(texts, n=OUTPUTS)
    seconds = {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
    outputs = [[one.text for one in each] for each in found]
    accepted = [one.accepted for each in found for one in each]
    result.write_text(json.dumps({"seconds": seconds, "outputs": outputs, "accepted": accepted}))


def compare(model: str, data: Path, count: int, skip: int) -> None:
    """Print sentences/s of both sides, their ratio, and the quality of both."""
    from parasketch.data.corpora import read_eval
    from parasketch.evaluate.scoring import Scorer
    from parasketch.evaluate.semantic import SentenceEncoder

    items = list(read_eval(data))[skip : skip + count]
    scorer = Scorer(encoder=SentenceEncoder())
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        unpack_former(BEFORE, folder / "before")
        given = folder / "items.jsonl"
        given.write_text("".join(json.dumps({"input": item.input}) + "\n" for item in items), "utf-8")
        rates = {}
        print(f"{model}: {len(items)} inputs of {data.parent.name}, {OUTPUTS} outputs each")
        print("        sentences/s   per CPU s   iBLEU  mean iBLEU  P-BLEU  cosine  accepted")
        for side, checkout in (("before", folder / "before"), ("now", HERE)):
            result = folder / f"{side}.json"
            environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
            command = [sys.executable, __file__, model, str(given), str(result)]
            subprocess.run(command, check=True, env=environment)
            found = json.loads(result.read_text())
            scores = {key: each.value for key, each in scorer.evaluate(items, found["outputs"]).scores.items()}
            rates[side] = {kind: len(items) / seconds for kind, seconds in found["seconds"].items()}
            shown = [scores[key] for key in ("ibleu", "mean_ibleu", "p_bleu", "cosine_input")]
            accepted = sum(found["accepted"]) / len(found["accepted"])
            print(
                f"{side:8}{rates[side]['wall']:11.2f}{rates[side]['cpu']:12.2f}"
                f"{shown[0]:8.2f}{shown[1]:12.2f}{shown[2]:8.2f}{shown[3]:8.3f}{accepted:10.1%}",
                flush=True,
            )
        ratios = {kind: rates["now"][kind] / rates["before"][kind] for kind in ("wall", "cpu")}
        print(f"ratio   {ratios['wall']:10.2f}x{ratios['cpu']:11.2f}x", flush=True)


if __name__ == "__main__":
    one_side(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))

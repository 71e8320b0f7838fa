"""Speed and memory of generation, against a plain implementation that works the way the reference does.

    python benchmarks/generate.py speed              sentences/s, n = 1 and 5, batch 1 and 64, sizes `small` and `paper`
    python benchmarks/generate.py start              time and memory to a first paraphrase, and sizes, by backend
    python benchmarks/generate.py lines              memory of a short file and of one with 100,000 lines
    python benchmarks/generate.py profile --data D   the share of every step, shipped models, on D/qqp and D/mscoco
    python benchmarks/generate.py default --data D   sentences/s and quality of the shipped models, before and now
    python benchmarks/generate.py effort --data D    the same for every `effort`

In `speed` weights are random and lengths are fixed, those of questions (an output is as long as its source) or all
alike. Both sides find the best of a beam of 4 for each of the n best sketches. The plain side encodes for each sketch
and beam row, runs the whole prefix of every hypothesis through decoder and output layer at each step until the last
one of the batch has ended, works in batches of 16, and searches sketches with a beam of 6 in a Python loop. It is
granted what this package's model brings: no padding, the form as one vector, and no copy head. `last only` also
grants it an output layer that looks at the last position alone.
"""

import argparse
import itertools
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import metadata
from pathlib import Path

import numpy as np
import torch
from default import OUTPUTS, compare
from steps import timed_steps
from torch import Tensor

from parasketch.data.corpora import read_eval
from parasketch.evaluate.scoring import Scorer
from parasketch.evaluate.semantic import SentenceEncoder
from parasketch.generate.backend import BACKENDS
from parasketch.generate.paraphraser import Paraphraser
from parasketch.generate.plan import MOST_ROWS
from parasketch.generate.pretrained import shipped_models
from parasketch.generate.requests import LEAST_EFFORT, MOST_EFFORT
from parasketch.generate.settings import GenerateConfig
from parasketch.generate.sketches import best_sketches
from parasketch.generate.tokens import SpecialTokens, TokenSearch
from parasketch.generate.torch_backend import TorchPredictions, TransformerDecoding
from parasketch.model.inputs import Sentences
from parasketch.model.ragged import Layout
from parasketch.systems.hrqvae.config import ModelConfig, load_preset
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.text.tokenizer import Tokenizer

PAD, BEGIN, END = 0, 1, 2
NEVER = (PAD, BEGIN, END, 3, 4)  # random weights know no end: it comes where the length says
BEAM, CODE_BEAM, PLAIN_BATCH = 4, 6, 16
VOCABULARY = {"small": 8000, "paper": 30522}
# Words and marks of the 2,000 inputs of QQP dev, in 16 quantiles (`split_words`); begin and end come on top.
QUESTION_LENGTHS = (10, 5, 17, 8, 11, 7, 22, 9, 12, 8, 13, 7, 10, 15, 9, 11)
DATA = {"questions": "qqp", "captions": "mscoco"}
_BASE = ("numpy", "onnxruntime", "tokenizers", "safetensors", "typer", "rich", "PyYAML", "python-crfsuite", "gguf")
LIBRARIES = {"light": _BASE, "torch": (*_BASE, "torch")}
"""What `pip install parasketch` and `pip install 'parasketch[torch]'` bring."""
LENGTHS = {"questions": QUESTION_LENGTHS, "all 12": (12,)}


def random_model(size: str) -> HRQVAE:
    torch.manual_seed(0)
    config = replace(load_preset(size).model, vocab_size=VOCABULARY[size])
    return HRQVAE(config, mask_id=4).eval()


def random_sources(model: HRQVAE, count: int, lengths: tuple[int, ...]) -> list[list[int]]:
    words = np.random.default_rng(0)
    return [
        [BEGIN, *words.integers(5, model.config.vocab_size, lengths[place % len(lengths)]).tolist(), END]
        for place in range(count)
    ]


def fast(model: HRQVAE, sources: list[list[int]], n: int) -> list[tuple[int, ...]]:
    """Sorted by length, encoded once, all sketches at once, cached decoding; blocks as in the engine."""
    search = TokenSearch(SpecialTokens(PAD, BEGIN, END, NEVER), GenerateConfig())
    size = max(1, MOST_ROWS // (n * BEAM))
    ordered = sorted(sources, key=len)
    found = []
    for start in range(0, len(sources), size):
        encoding = model.encode(Sentences.from_lists(ordered[start : start + size]))
        pooled, own = model.pooled_meaning(encoding), model.quantizer.encode(encoding.form)
        ranked = best_sketches(
            TorchPredictions(model, pooled), k=n, depth=model.config.levels, own=own.numpy(), own_penalty=0.2
        )
        form = model.quantizer.decode(torch.from_numpy(ranked.codes).flatten(0, 1))
        groups = torch.arange(len(own)).repeat_interleave(n)
        limits = encoding.sentences.layout.lengths[groups.numpy()]
        decoding = TransformerDecoding(model, model.start(encoding, groups, form))
        found += [each[0].tokens for each in search(decoding, limits, width=BEAM)]
    return found


def plain(model: HRQVAE, sources: list[list[int]], n: int, *, last_only: bool) -> list[tuple[int, ...]]:
    found = []
    for start in range(0, len(sources), PLAIN_BATCH):
        batch = sources[start : start + PLAIN_BATCH]
        sketches = plain_sketches(model, batch, n)
        for rank in range(n):
            codes = torch.tensor([paths[rank] for paths in sketches])
            found += plain_beam(model, batch, model.quantizer.decode(codes), last_only=last_only)
    return found


def plain_sketches(model: HRQVAE, sources: list[list[int]], n: int) -> list[list[tuple[int, ...]]]:
    """A beam over codes, input by input and prefix by prefix."""
    encoding = model.encode(Sentences.from_lists(sources))
    pooled, own = model.pooled_meaning(encoding), model.quantizer.encode(encoding.form)
    result = []
    for row in range(len(sources)):
        beam: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
        for level in range(model.config.levels):
            longer = []
            for score, path in beam:
                prefix = torch.tensor([path], dtype=torch.int64)
                logits = model.predictor.logits(pooled[row : row + 1], prefix, model.quantizer.codebooks)
                probs = torch.softmax(logits[0], dim=-1)
                probs[own[row, level]] *= 0.8
                longer += [(score + float(p.log()), (*path, code)) for code, p in enumerate(probs)]
            beam = sorted(longer, reverse=True)[: max(CODE_BEAM, n)]
        result.append([path for _, path in beam])
    return result


def plain_beam(model: HRQVAE, sources: list[list[int]], form: Tensor, *, last_only: bool) -> list[tuple[int, ...]]:
    count = len(sources)
    tiled = Sentences.from_lists([source for source in sources for _ in range(BEAM)])
    encoding, forms = model.encode(tiled), form.repeat_interleave(BEAM, dim=0)
    limits = torch.tensor([len(source) for source in sources])
    tokens, scores = torch.full((count, BEAM, 1), BEGIN), torch.zeros(count, BEAM)
    for length in range(2, int(limits.max()) + 1):
        log_probs = plain_step(model, encoding.meaning, tiled.layout, forms, tokens.flatten(0, 1), last_only)
        log_probs = log_probs.view(count, BEAM, -1)
        at_end = log_probs[..., END].clone()
        log_probs[..., NEVER] = -torch.inf
        log_probs[limits <= length] = -torch.inf
        log_probs[..., END] = torch.where((limits == length)[:, None], at_end, log_probs[..., END])
        log_probs[..., PAD] = torch.where((limits < length)[:, None], 0.0, log_probs[..., PAD])
        expansion = BEAM if length == 2 else 2
        top = log_probs.topk(expansion)
        if length == 2:
            scores, ids, parents = top.values[:, 0], top.indices[:, 0], torch.zeros(count, BEAM, dtype=torch.int64)
        else:
            sums = (scores[..., None] + top.values).flatten(1)
            chosen = (sums / ((5 + limits.clamp_max(length)[:, None]) / 6)).topk(BEAM).indices
            scores, parents = sums.gather(1, chosen), chosen // expansion
            ids = top.indices.flatten(1).gather(1, chosen)
        kept = tokens.gather(1, parents[..., None].expand(-1, -1, tokens.shape[2]))
        tokens = torch.cat([kept, ids[..., None]], dim=2)
    return [tuple(row[1 : limit - 1]) for row, limit in zip(tokens[:, 0].tolist(), limits.tolist(), strict=True)]


def plain_step(model: HRQVAE, meaning: Tensor, source: Layout, form: Tensor, tokens: Tensor, last_only: bool) -> Tensor:
    """log p of the next token from the whole prefixes (R, t), (R, V); a copy head is left out on this side."""
    rows, length = tokens.shape
    layout = Layout(np.full(rows, length))
    embedded = model.embedding(tokens.flatten(), layout.positions)
    hidden = model.decoder(embedded, layout, meaning, source, form).view(rows, length, -1)
    logits = (hidden[:, -1:] if last_only else hidden) @ model.embedding.weight.T
    return torch.log_softmax(logits[:, -1], dim=-1)


def seconds(work: Callable[[], object], repeats: int) -> float:
    """The best of some runs."""
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return min(times)


def speed(sizes: list[str], repeats: int) -> None:
    print(f"sentences/s, beam {BEAM}, {torch.get_num_threads()} threads")
    print("size    lengths     n  batch  parasketch    plain  last only   ratio  (last only)")
    for size in sizes:
        model = random_model(size)
        for (name, lengths), n, batch in itertools.product(LENGTHS.items(), (1, 5), (1, 64)):
            sources = random_sources(model, batch, lengths)
            some = sources[:PLAIN_BATCH]  # it works in such batches: more only take longer
            with torch.inference_mode():
                fast(model, sources[:1], n), plain(model, sources[:1], 1, last_only=True)  # warms up
                ours = batch / seconds(partial(fast, model, sources, n), repeats)
                theirs, kinder = (
                    len(some) / seconds(partial(plain, model, some, n, last_only=last_only), max(1, repeats // 3))
                    for last_only in (False, True)
                )
            numbers = f"{ours:10.1f} {theirs:8.2f} {kinder:10.2f} {ours / theirs:6.1f}x {ours / kinder:11.1f}x"
            print(f"{size:7} {name:10} {n:2}  {batch:5}  {numbers}", flush=True)


def run_measured(arguments: list[str]) -> tuple[float, float]:
    """Seconds and peak memory in MB of a command."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-c", "from parasketch.cli import main; main()", *arguments], stdout=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"parasketch {' '.join(arguments)} failed")
    return time.perf_counter() - begin, usage.ru_maxrss / 1024


def saved_model(directory: Path, config: ModelConfig, vocab_size: int) -> str:
    letters = np.random.default_rng(0).integers(0, 26, (20_000, 6)) + ord("a")
    tokenizer = Tokenizer.train(
        ("".join(map(chr, word)) for word in letters.tolist() for _ in range(2)), vocab_size=vocab_size
    )
    model = HRQVAE(replace(config, vocab_size=tokenizer.vocab_size), mask_id=tokenizer.mask_id)
    Paraphraser.from_model(model, tokenizer, config=GenerateConfig(max_tokens=16)).save_pretrained(directory)
    return str(directory)


def start(repeats: int) -> None:
    """From the command line to five paraphrases by a shipped model, and what each backend weighs when installed."""
    arguments = ["paraphrase", "How heavy is a moose?", "-n", "5", "--model", "questions", "--backend"]
    package = Path(next(iter(shipped_models().values()))).parents[1]
    print(f"start to first paraphrase, shipped model `questions`, median of {repeats}")
    for backend in BACKENDS:
        runs = [run_measured([*arguments, backend]) for _ in range(repeats + 1)][1:]  # the first one fills caches
        taken, memory = (float(np.median(column)) for column in zip(*runs, strict=True))
        libraries = size_of_libraries(LIBRARIES[backend])
        print(
            f"{backend:6} {taken:6.2f} s {memory:6.0f} MB of memory; installed: libraries {libraries:.0f} MB, "
            f"package with models {size_of(package):.0f} MB",
            flush=True,
        )


def size_of(path: Path) -> float:
    """MB of all files below a path but Python's caches."""
    files = [each for each in path.rglob("*") if each.is_file() and "__pycache__" not in each.parts]
    return sum(each.stat().st_size for each in files) / 1e6


def size_of_libraries(names: tuple[str, ...]) -> float:
    """MB of some distributions and all that they need, as they are installed here."""
    seen: set[str] = set()
    wanted = list(names)
    while wanted:
        name = wanted.pop()
        if name in seen:
            continue
        try:
            needed = metadata.requires(name) or []
        except metadata.PackageNotFoundError:  # needed on other systems only
            continue
        seen.add(name)
        wanted += [re.split(r"[^\w.-]", each)[0] for each in needed if "extra ==" not in each]
    files = [file for name in seen for file in metadata.files(name) or [] if "__pycache__" not in file.parts]
    return sum(Path(file.locate()).stat().st_size for file in files if Path(file.locate()).is_file()) / 1e6


def profile(data: Path, count: int) -> None:
    """The share of every step."""
    for model, folder in DATA.items():
        texts = [item.input for item in read_eval(data / folder / "dev.jsonl.gz")][:count]
        paraphraser = Paraphraser.from_pretrained(model)
        paraphraser(texts[:2], n=OUTPUTS)
        with timed_steps(paraphraser._engines.first()) as times:
            paraphraser(texts, n=OUTPUTS)
        total = sum(times.seconds.values())
        print(f"{model}: {len(texts)} inputs, n = {OUTPUTS}, {1000 * total / len(texts):.1f} ms of CPU time each")
        for step, seconds in sorted(times.seconds.items(), key=lambda pair: -pair[1]):
            print(f"  {step:24}{1000 * seconds / len(texts):8.2f} ms {seconds / total:7.1%}", flush=True)


def efforts(data: Path, count: int, skip: int) -> None:
    """Quality against speed."""
    scorer = Scorer(encoder=SentenceEncoder())
    print("model      effort  sentences per CPU s   iBLEU  mean iBLEU  P-BLEU  cosine  accepted")
    for model, folder in DATA.items():
        items = list(read_eval(data / folder / "dev.jsonl.gz"))[skip : skip + count]
        paraphraser = Paraphraser.from_pretrained(model)
        for effort in range(LEAST_EFFORT, MOST_EFFORT + 1):
            paraphraser(items[0].input, n=OUTPUTS, effort=effort)
            begin = time.process_time()
            found = paraphraser([item.input for item in items], n=OUTPUTS, effort=effort)
            rate = len(items) / (time.process_time() - begin)
            scores = scorer.evaluate(items, [[one.text for one in each] for each in found]).scores
            values = [scores[key].value for key in ("ibleu", "mean_ibleu", "p_bleu", "cosine_input")]
            accepted = sum(one.accepted for each in found for one in each) / (OUTPUTS * len(items))
            numbers = f"{values[0]:8.2f}{values[1]:12.2f}{values[2]:8.2f}{values[3]:8.3f}{accepted:10.1%}"
            print(f"{model:10}{effort:7}{rate:21.2f}{numbers}", flush=True)


def lines(directory: Path, most: int) -> None:
    tiny = ModelConfig(
        width=16, heads=2, ff=16, encoder_layers=1, decoder_layers=1, meaning_width=16, form_width=8, form_heads=2,
        codes=4, predictor_width=16, predictor_heads=2, predictor_hidden=16, copy_head=False,
    )  # fmt: skip
    model = saved_model(directory / "tiny", tiny, 300)
    for count in (most // 100, most):
        path = directory / f"{count}.txt"
        with path.open("w") as stream:
            stream.writelines(f"how heavy is moose number {number}?\n" for number in range(count))
        arguments = ["paraphrase", str(path), "--plain", "--model", model, "--out", str(path) + ".jsonl"]
        taken, memory = run_measured(arguments)
        print(f"{count:,} lines: peak memory {memory:.0f} MB, {count / taken:.0f} lines/s (a tiny model)", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    everywhere, with_data = ["speed", "start", "lines"], ["profile", "default", "effort"]
    parser.add_argument("what", nargs="*", choices=[*everywhere, *with_data], default=everywhere)
    parser.add_argument("--sizes", nargs="+", choices=list(VOCABULARY), default=list(VOCABULARY))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--data", type=Path, help="the directory with qqp/dev.jsonl.gz and mscoco/dev.jsonl.gz")
    parser.add_argument("--items", type=int, default=500, help="inputs of each")
    parser.add_argument("--skip", type=int, default=0, help="inputs at the beginning that are left out")
    options = parser.parse_args()
    if options.data is None and set(with_data) & set(options.what):
        parser.error("profile, default and effort need --data")
    with tempfile.TemporaryDirectory() as directory:
        if "speed" in options.what:
            speed(options.sizes, options.repeats)
        if "start" in options.what:
            start(options.repeats)
        if "lines" in options.what:
            lines(Path(directory), options.lines)
        if "profile" in options.what:
            profile(options.data, options.items)
        if "default" in options.what:
            for model, folder in DATA.items():
                compare(model, options.data / folder / "dev.jsonl.gz", options.items, options.skip)
        if "effort" in options.what:
            efforts(options.data, options.items, options.skip)


if __name__ == "__main__":
    main()

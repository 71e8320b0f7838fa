"""Faults on purpose, as many as are asked for: odd texts, damaged models, killed and starved writers.

Every function does its work so many times and returns how often what happened; anything that must not happen is an
AssertionError. `test_short.py` asks for little, `python -m stress` (`make stress`) for much.
"""

import json
import multiprocessing
import os
import random
import resource
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import torch
from grammar import Language, prepare_language
from reproduction import kill_reproduction, numbers, start_reproduction
from run_tiny import run_tiny
from tiny import MODEL

from parasketch.bulk.output import record_path
from parasketch.bulk.work import BulkReport, paraphrase_file
from parasketch.errors import DataError, ModelError, ParasketchError
from parasketch.files import raise_error
from parasketch.generate.paraphraser import Paraphraser
from parasketch.generate.paraphrases import Paraphrase, Sketch
from parasketch.generate.requests import problem_with
from parasketch.generate.settings import GenerateConfig
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.text.casing import restore_case
from parasketch.text.facts import compare, facts_of, required_spans
from parasketch.text.sentences import split_sentences
from parasketch.text.suitability import unsuitable
from parasketch.text.tokenizer import Tokenizer, kept_text

_WORDS = """
how heavy is a moose not never $1,299.99 4:30 pm 4th New York anna@example.com http://a.b/c?d=e v1.2.3 `x` “open” don't
I'm (two) 20% 5km … ?! ; { } é İ ß 漢字 Москва 🦌 , . -- #tag @you /usr/bin a_b f()
"""
WORDS = [*_WORDS.split(), "\x00", "\ud800", "\u202e", "\t", "\n"]
REFUSED = 3
FORK = multiprocessing.get_context("fork")
SERVER = multiprocessing.get_context("forkserver")
SERVER.set_forkserver_preload(["run_tiny", "sklearn.cluster"])  # imports torch once, and has computed nothing


def odd_text(draw: random.Random) -> str:
    """Words that are hard to read, in any order, sometimes without spaces, sometimes of any characters."""
    kind = draw.random()
    if kind < 0.2:
        return "".join(chr(draw.choice([draw.randrange(1, 0x250), draw.randrange(0x11_0000)])) for _ in range(20))
    if kind < 0.25:
        return draw.choice(WORDS) * draw.randrange(1, 400)
    return draw.choice(["", " ", "  "]).join(draw.choices(WORDS, k=draw.randrange(1, 20)))


def tiny_paraphraser() -> Paraphraser:
    """A model of random weights."""
    tokenizer = Tokenizer.train([f"how heavy is a {animal}?" for animal in ("moose", "whale", "camel")], vocab_size=300)
    torch.manual_seed(1)
    model = HRQVAE(replace(MODEL, vocab_size=tokenizer.vocab_size), mask_id=tokenizer.mask_id)
    config = GenerateConfig(max_tokens=10, sketches=2, beam=2)
    return Paraphraser.from_model(model.eval(), tokenizer, config=config)


def read_texts(times: int, seed: int = 0) -> Counter[str]:
    """Texts through everything that reads them before a model does."""
    draw, tokenizer = random.Random(seed), Tokenizer.train(["how heavy is a moose?"], vocab_size=300)
    counts: Counter[str] = Counter()
    for _ in range(times):
        text = odd_text(draw)
        assert tokenizer.decode(tokenizer.encode(text)) == kept_text(text), repr(text)
        pieces = split_sentences(text)
        assert pieces.join(pieces.sentences) == text, repr(text)
        facts = facts_of(text)
        assert not compare(facts, facts), repr(text)
        assert all(0 <= start < end <= len(text) for start, end in required_spans(facts)), repr(text)
        restore_case(text.lower(), text)
        counts["unsuitable" if unsuitable(text) else "suitable"] += 1
    return counts


def paraphrase_texts(times: int, seed: int = 0) -> Counter[str]:
    """Texts through the whole of a tiny model."""
    draw, paraphraser = random.Random(seed), tiny_paraphraser()
    counts: Counter[str] = Counter()
    texts = [odd_text(draw) for _ in range(times)]
    usable = [text for text in texts if problem_with(text) is None]
    counts["refused"] = len(texts) - len(usable)
    for text, results in zip(usable, paraphraser(usable, n=2), strict=True):
        assert len(results) == 2, repr(text)
        for each in results:
            assert each.text, repr(text)
            assert not (each.accepted and each.lost), repr(text)
            counts["accepted" if each.accepted else "not accepted"] += 1
    return counts


def damage_models(times: int, directory: Path, seed: int = 0) -> Counter[str]:
    """A changed byte somewhere in a model directory: an error, or the same outputs.

    A changed digit in config.json is another configuration; then there only has to be a result.
    """
    draw, text = random.Random(seed), "how heavy is a moose?"
    whole = directory / "whole"
    tiny_paraphraser().save_pretrained(whole)
    expected = [each.text for each in Paraphraser.from_pretrained(str(whole))(text, n=2)]
    files = sorted(whole.iterdir())
    counts: Counter[str] = Counter()
    for number in range(times):
        damaged = directory / f"damaged-{number}"
        shutil.copytree(whole, damaged)
        name = draw.choice(files).name
        content = bytearray((damaged / name).read_bytes())
        content[draw.randrange(len(content))] ^= draw.randrange(1, 256)
        (damaged / name).write_bytes(content)
        try:
            found = [each.text for each in Paraphraser.from_pretrained(str(damaged))(text, n=2)]
        except ParasketchError:
            counts["refused"] += 1
        else:
            assert found == expected or name == "config.json", name
            counts["the same" if found == expected else "another configuration"] += 1
        shutil.rmtree(damaged)
    return counts


def starve_models(directory: Path) -> Counter[str]:
    """Saving a model on a full disk: an error, and no directory."""
    paraphraser = tiny_paraphraser()
    assert _ends_in_error(lambda: paraphraser.save_pretrained(directory / "model"), most=20_000)
    assert not list(directory.iterdir())
    return Counter({"refused": 1})


class Slow:
    """Paraphrases by shouting, slowly enough to be killed."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __call__(self, texts: list[str], /) -> list[list[Paraphrase]]:
        time.sleep(self._seconds)
        return [[Paraphrase(text=text.upper(), sketch=Sketch(), score=0.0, difference=1.0)] for text in texts]


def bulk(source: Path, out: Path, *, seconds: float = 0.0) -> None:
    """Paraphrase a file, or go on with it."""
    resume = out.exists()
    settings = {"n": 1}
    paraphrase_file(
        Slow(seconds), str(source), str(out), column=None, n=1, settings=settings, resume=resume,
        on_bad=raise_error, report=BulkReport(), batch_size=2,
    )  # fmt: skip


def kill_bulk(times: int, directory: Path, seed: int = 0) -> Counter[str]:
    """A bulk job killed at random moments and continued until it is done, again and again: the bytes are the same."""
    draw, source = random.Random(seed), directory / "in.txt"
    source.write_text("".join(f"line {number}\n" for number in range(40)))
    bulk(source, directory / "straight.jsonl")
    expected = (directory / "straight.jsonl").read_bytes()
    counts: Counter[str] = Counter()
    while counts["killed"] < times:
        out = directory / f"out-{counts['finished']}.jsonl"
        for _ in range(1000):
            process = FORK.Process(target=bulk, args=(source, out), kwargs={"seconds": 0.005})
            process.start()
            process.join(draw.random() * 0.15)
            if process.is_alive():
                os.kill(process.pid or 0, signal.SIGKILL)
                process.join()
                counts["killed"] += 1
                continue
            if process.exitcode == 0:
                break
            # Killed before its first row was whole: nothing that could be continued, and nothing of anybody's.
            assert not out.exists() or not out.read_bytes().strip(), out
            out.unlink(missing_ok=True)
            record_path(str(out)).unlink(missing_ok=True)
        assert out.read_bytes() == expected
        counts["finished"] += 1
    return counts


def starve_bulk(times: int, directory: Path, seed: int = 0) -> Counter[str]:
    """A bulk job whose disk is full after some bytes, continued with room: the bytes are the same."""
    draw, source = random.Random(seed), directory / "in.txt"
    source.write_text("".join(f"line {number}\n" for number in range(40)))
    bulk(source, directory / "straight.jsonl")
    expected = (directory / "straight.jsonl").read_bytes()
    counts: Counter[str] = Counter()
    for number in range(times):
        out = directory / f"out-{number}.jsonl"
        assert _ends_in_error(partial(bulk, source, out), most=draw.randrange(1000, len(expected)))
        bulk(source, out)
        assert out.read_bytes() == expected
        counts["continued"] += 1
    return counts


def _ends_in_error(work: Callable[[], None], *, most: int) -> bool:
    """Whether the work, in a process whose files cannot grow beyond so many bytes, ends in an error for people."""
    process = FORK.Process(target=_with_quota, args=(work, most))
    process.start()
    process.join()
    return process.exitcode == REFUSED


def _with_quota(work: Callable[[], None], most: int) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    try:
        work()
    except DataError:
        os._exit(REFUSED)


def hostile_configs(times: int, directory: Path, seed: int = 0) -> Counter[str]:
    """Settings of absurd sizes and kinds: an error, or a model that still loads."""
    draw, whole = random.Random(seed), directory / "hostile"
    tiny_paraphraser().save_pretrained(whole)
    content = json.loads((whole / "config.json").read_text())
    absurd = [0, -1, 10**6, 10**18, 10**400, 1e308, float("nan"), float("inf"), "1", None, [], {}, True]
    counts: Counter[str] = Counter()
    for _ in range(times):
        section = draw.choice(["model", "generate"])
        key = draw.choice(sorted(content[section]))
        changed = {**content, section: {**content[section], key: draw.choice(absurd)}}
        (whole / "config.json").write_text(json.dumps(changed))
        try:
            Paraphraser.from_pretrained(str(whole))
        except ModelError:
            counts["refused"] += 1
        else:
            counts["loaded"] += 1
    return counts


def kill_training(times: int, directory: Path, seed: int = 0) -> Counter[str]:
    """A training killed at random moments and continued until it is done, again and again: the weights are the same."""
    draw = random.Random(seed)
    prepared = prepare_language(directory, Language.sample(meanings=20, forms=4), vocab_size=300)

    def start(run: Path) -> ForkServerProcess:
        process = SERVER.Process(target=run_tiny, args=(str(prepared.path), str(run)))
        process.start()
        return process

    for name in ("first", "straight"):  # the first waits for the server to start
        begun = time.monotonic()
        start(directory / name).join()
        whole = time.monotonic() - begun
    expected = (directory / "straight" / "final-0.safetensors").read_bytes()
    counts: Counter[str] = Counter()
    while counts["killed"] < times:
        run = directory / f"run-{counts['finished']}"
        for _ in range(1000):
            process = start(run)
            process.join(draw.random() * whole)
            if process.exitcode is None:
                process.kill()
                counts["killed"] += 1
            process.join()
            if process.exitcode == 0:
                break
            assert process.exitcode == -signal.SIGKILL, process.exitcode
        assert (run / "final-0.safetensors").read_bytes() == expected
        counts["finished"] += 1
        shutil.rmtree(run)
    return counts


def kill_reproductions(times: int, place: Path) -> Counter[str]:
    """Kill a whole reproduction at random moments; in the end it has the numbers of one that was left alone."""
    counts = kill_reproduction(times, place / "killed")
    assert start_reproduction(place / "straight", None).wait() == 0
    assert numbers(place / "killed") == numbers(place / "straight")
    return counts

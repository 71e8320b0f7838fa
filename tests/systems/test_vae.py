"""Several paraphrases by the VAE are samples of its vector, each text's own."""

import pytest
import torch
from tiny import tiny_task

from parasketch.data.prepared import Prepared
from parasketch.generate.paraphrases import Sketch
from parasketch.generate.requests import Options, Request
from parasketch.generate.settings import GenerateConfig
from parasketch.systems.vae.engine import VaeEngine

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def engine(language_corpus: Prepared) -> VaeEngine:
    torch.manual_seed(0)
    task = tiny_task("vae", language_corpus)
    return VaeEngine(task.build().eval(), task.tokenizer, GenerateConfig(), device=CPU)


@torch.inference_mode()
def vectors(engine: VaeEngine, texts: list[str], n: int, seed: int = 0) -> list[torch.Tensor]:
    requests = [Request(text=text, prefix=Sketch()) for text in engine.prepare(texts)]
    latent = engine.network.encode(engine.sentences([request.text for request in requests]))
    found = engine.variants(latent, requests, Options(n=n, seed=seed))
    return [torch.stack([variant.vector for variant in each]) for each in found]


def test_one_output_is_the_means(engine: VaeEngine) -> None:
    [[mean]] = vectors(engine, ["anna sees the dogs"], 1)
    [samples] = vectors(engine, ["anna sees the dogs"], 1000)
    assert len(samples.unique(dim=0)) == 1000
    with torch.inference_mode():
        latent = engine.network.encode(engine.sentences(engine.prepare(["anna sees the dogs"])))
    assert latent.deviation is not None
    torch.testing.assert_close(samples.mean(dim=0), mean, rtol=0, atol=0.15)
    torch.testing.assert_close(samples.std(dim=0), latent.deviation[0], rtol=0.1, atol=0)


def test_samples_depend_on_text_and_seed_alone(engine: VaeEngine) -> None:
    texts = ["anna sees the dogs", "ben hears the cats now"]
    first, second = vectors(engine, texts, 3)
    torch.testing.assert_close(vectors(engine, texts[1:], 3)[0], second, rtol=0, atol=1e-5)
    assert not torch.allclose(vectors(engine, texts[1:], 3, seed=1)[0], second, atol=1e-2)
    assert first.shape == second.shape == (3, 16)

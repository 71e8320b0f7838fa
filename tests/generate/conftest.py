"""Tiny models with random weights and a tokeniser of a few dozen sentences."""

from collections.abc import Callable

import pytest
import torch

from parasketch.generate.paraphraser import Paraphraser
from parasketch.generate.settings import GenerateConfig
from parasketch.model.inputs import Sentences
from parasketch.model.outputs import Encoding
from parasketch.systems.hrqvae.config import ModelConfig
from parasketch.systems.hrqvae.network import HRQVAE
from parasketch.text.tokenizer import Tokenizer

ANIMALS = ("moose", "parrot", "whale", "horse", "spider", "camel")
TEMPLATES = (
    "how heavy is a {}?",
    "what is the weight of a {}?",
    "where do {}s live?",
    "what country does the {} live in?",
    "how long does a {} sleep at night?",
    "a {} is standing in the snow.",
)
SENTENCES = [template.format(animal) for template in TEMPLATES for animal in ANIMALS]

ModelMaker = Callable[..., HRQVAE]


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(SENTENCES, vocab_size=340)


@pytest.fixture(scope="session")
def make_model(tokenizer: Tokenizer) -> ModelMaker:
    def make(seed: int = 0, **changes: object) -> HRQVAE:
        sizes = {
            "vocab_size": tokenizer.vocab_size,
            "max_length": 40,
            "width": 16,
            "heads": 2,
            "ff": 32,
            "encoder_layers": 1,
            "decoder_layers": 2,
            "meaning_width": 16,
            "form_width": 8,
            "form_heads": 2,
            "levels": 3,
            "codes": 4,
            "predictor_width": 16,
            "predictor_heads": 2,
            "predictor_hidden": 16,
            "copy_width": 8,
        }
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            model = HRQVAE(ModelConfig(**{**sizes, **changes}), mask_id=tokenizer.mask_id)  # type: ignore[arg-type]
            with torch.no_grad():  # random weights hardly differ in what they predict: make them more decided
                for mlp in model.predictor.mlps:
                    mlp[-1].weight.mul_(8)
                model.embedding.weight.mul_(2)
                # The end is as likely as other tokens, more in some places than in others.
                model.decoder.norm.bias[0] = 1
                model.embedding.weight[tokenizer.eos_id, 0] = 3
                for layer in model.decoder.layers:
                    layer.form_value.weight.mul_(3)
        return model.eval()

    return make


@pytest.fixture(scope="session")
def model(make_model: ModelMaker) -> HRQVAE:
    return make_model()


@pytest.fixture(scope="session")
def config() -> GenerateConfig:
    return GenerateConfig(max_tokens=12, sketches=3)


@pytest.fixture(scope="session", params=["torch", "light"])
def paraphraser(
    request: pytest.FixtureRequest,
    model: HRQVAE,
    tokenizer: Tokenizer,
    config: GenerateConfig,
    tmp_path_factory: pytest.TempPathFactory,
) -> Paraphraser:
    """The same model on both backends: whatever is tested of it holds for both."""
    in_memory = Paraphraser.from_model(model, tokenizer, config=config)
    if request.param == "torch":
        return in_memory
    pytest.importorskip("onnx")
    from parasketch.light.export import export_model

    folder = tmp_path_factory.mktemp("exported")
    in_memory.save_pretrained(folder / "model")
    export_model(folder / "model", folder / "light")
    return Paraphraser.from_pretrained(folder / "light", backend="light")


@pytest.fixture(scope="session")
def encode(tokenizer: Tokenizer) -> Callable[[HRQVAE, list[str]], Encoding]:
    def encode_texts(model: HRQVAE, texts: list[str]) -> Encoding:
        framed = [[tokenizer.bos_id, *tokenizer.encode(text), tokenizer.eos_id] for text in texts]
        with torch.inference_mode():
            return model.encode(Sentences.from_lists(framed))

    return encode_texts

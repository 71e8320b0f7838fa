"""A verifier so small that it learns a toy task in seconds: are both sentences about the same animal?"""

from pathlib import Path

import pytest
import tokenizers
import torch

from parasketch.model.cross_encoder import CrossEncoder, CrossEncoderConfig
from parasketch.verify.inputs import PairTokenizer

WORDS = ["a", "the", "moose", "whale", "otter", "sleeps", "swims", "runs", "here", "there", "."]


@pytest.fixture(scope="session")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> PairTokenizer:
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS]
    model = tokenizers.models.WordPiece({name: number for number, name in enumerate(names)}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    tokenizer.save(str(path))
    return PairTokenizer(path, max_length=32)


@pytest.fixture
def model(tokenizer: PairTokenizer) -> CrossEncoder:
    torch.manual_seed(1)
    config = CrossEncoderConfig(vocab_size=tokenizer.vocab_size, max_length=32, width=32, layers=2, heads=4, ff=64)
    return CrossEncoder(config)


@pytest.fixture
def somewhere(tmp_path: Path) -> Path:
    return tmp_path / "verifier"

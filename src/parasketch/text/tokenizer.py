"""Text to ids and back, behind one small facade over the `tokenizers` library.

Two kinds share it. The subword model that `Tokenizer.train` makes is byte-level and keeps the spaces, so that
`decode(encode(text)) == kept_text(text)` for every text, whatever it was trained on. BERT's WordPiece
(`Tokenizer.from_bert_vocab`) forgets the spaces and the accents; the spaces are put back by rule. Neither
adds special tokens, and neither reads "[MASK]" in a text as anything but six characters.
"""

import hashlib
import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

import tokenizers
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, trainers

from parasketch.errors import ModelError, UsageError
from parasketch.files import write_text
from parasketch.text.bert import detokenise

# The library's threads do not survive a fork, and data loaders fork: it would warn, or hang. One thread
# encodes tens of thousands of sentences a second; whoever wants more sets the variable.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

# For padding, beginning, end, unknown and masked, in this order.
_SPECIALS = ("[PAD]", "[BOS]", "[EOS]", "[UNK]", "[MASK]")
_BERT_SPECIALS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")

# What str.isspace calls a space, spelled out because regular-expression engines differ about it.
_SPACES = "[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_NORMALISER = normalizers.Sequence(
    [
        normalizers.NFC(),
        normalizers.Replace(Regex(_SPACES), " "),
        normalizers.Strip(),
        normalizers.Prepend(" "),  # so that a word has one form, first in its sentence or not
    ]
)

_SPACE = "Ġ"  # how the library writes the byte of a space

# No token crosses from one of these to the next: words, cut as in the Penn Treebank (do|n't, it|'s, can|not),
# digits in pairs, and every other sign alone; each with the space before it.
_WORD_END = r"(?![\p{L}\p{M}\p{N}])"
_WORDS = (
    rf"(?<=\p{{L}})(?:['’](?:s|re|ve|ll|d|m)|n['’]t){_WORD_END}"
    rf"| ?can(?=not{_WORD_END})"
    rf"| ?[\p{{L}}\p{{M}}]+(?!(?<=n)['’]t{_WORD_END})"
    r"| ?\p{N}{1,2}"
    r"| ?[^ ]"
)


def kept_text(text: str) -> str:
    """The text as the subword model keeps it: lower-case, NFC, single spaces between words, none around."""
    return str(_NORMALISER.normalize_str(_lower(text))).removeprefix(" ")


def _lower(text: str) -> str:
    """Lower-cased by Python (the library forgets the final sigma); half a surrogate pair becomes U+FFFD."""
    return text.lower() if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text).lower()


class Tokenizer:
    """Encodes text into ids, without special tokens and without case; decodes ids into lower-case text.

    `pad_id`, `bos_id`, `eos_id`, `unk_id` and `mask_id` are the ids of the special tokens.
    """

    def __init__(self, core: tokenizers.Tokenizer) -> None:
        self._core = core
        self._core.encode_special_tokens = True  # that is: as text, when a text contains them
        self._is_bert = isinstance(core.model, models.WordPiece)
        names = _BERT_SPECIALS if self._is_bert else _SPECIALS
        vocab = core.get_vocab()
        if missing := [name for name in names if name not in vocab]:
            raise ModelError(f"the vocabulary has no {', '.join(missing)}")
        self.pad_id, self.bos_id, self.eos_id, self.unk_id, self.mask_id = (vocab[name] for name in names)

    @classmethod
    def train(cls, sentences: Iterable[str], *, vocab_size: int = 8000) -> Self:
        """Learn byte-level BPE with at most `vocab_size` entries; equal sentences give equal tokenisers."""
        alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
        smallest = len(_SPECIALS) + len(alphabet)
        if vocab_size < smallest:
            raise UsageError(f"a vocabulary of {vocab_size} is too small: the bytes alone need {smallest}")
        core = tokenizers.Tokenizer(models.BPE())
        core.normalizer = _NORMALISER
        core.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(_WORDS), behavior="isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
        core.decoder = decoders.Sequence([decoders.ByteLevel(), decoders.Strip(" ", 1, 0)])
        trainer = trainers.BpeTrainer(
            vocab_size=vocab_size,
            min_frequency=2,
            special_tokens=list(_SPECIALS),
            initial_alphabet=alphabet,
            show_progress=False,
        )
        core.train_from_iterator((_lower(sentence) for sentence in sentences), trainer)
        return cls(core)

    @classmethod
    def from_bert_vocab(cls, path: Path) -> Self:
        """BERT's uncased WordPiece, from its `vocab.txt`: one token a line, numbered from 0."""
        try:
            tokens = Path(path).read_text(encoding="utf-8").removesuffix("\n").split("\n")
            core = tokenizers.Tokenizer(models.WordPiece({token: i for i, token in enumerate(tokens)}))
            core.normalizer = normalizers.BertNormalizer(lowercase=True)
            core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
            core.add_special_tokens([name for name in _BERT_SPECIALS if name in tokens])
            return cls(core)
        except (OSError, UnicodeDecodeError, ModelError) as error:
            raise ModelError(f"{path}: not a BERT vocabulary: {error}") from error

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the JSON file that `save` wrote."""
        try:
            return cls(tokenizers.Tokenizer.from_str(Path(path).read_text(encoding="utf-8")))
        except Exception as error:  # the library raises nothing more special
            raise ModelError(f"{path}: not a tokeniser, or damaged: {error}") from error

    def save(self, path: Path) -> None:
        """Write everything into one JSON file."""
        with write_text(path) as stream:
            stream.write(self._core.to_str(pretty=True) + "\n")

    @property
    def is_bert(self) -> bool:
        """Whether it is BERT's WordPiece."""
        return self._is_bert

    @property
    def vocab_size(self) -> int:
        """How many ids there are, the special ones included."""
        return int(self._core.get_vocab_size())

    @property
    def fingerprint(self) -> str:
        """A hash of all that decides the ids: equal for equal tokenisers."""
        return hashlib.sha256(self._core.to_str().encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tokenizer) and self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __reduce__(self) -> tuple[object, ...]:
        return _from_json, (self._core.to_str(),)  # a copied library object forgets `encode_special_tokens`

    def continuing_ids(self) -> tuple[int, ...]:
        """The tokens that go on with the word, or the number, before them."""
        ordinary = self._core.get_vocab(with_added_tokens=False).items()
        if self._is_bert:
            return tuple(sorted(number for token, number in ordinary if token.startswith("##")))
        special = {self.pad_id, self.bos_id, self.eos_id, self.unk_id, self.mask_id}
        # Bytes are written as characters: the space as one of its own, those of other alphabets as others beyond ASCII.
        return tuple(
            sorted(
                number
                for token, number in ordinary
                if number not in special and token[0] != _SPACE and (token[0].isalnum() or not token[0].isascii())
            )
        )

    def encode(self, text: str) -> list[int]:
        """The ids of one text, without special tokens."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text, without special tokens."""
        batch = self._core.encode_batch_fast([_lower(text) for text in texts], add_special_tokens=False)
        return [encoding.ids for encoding in batch]

    def encode_with_offsets(self, texts: Sequence[str]) -> list[tuple[list[int], list[tuple[int, int]]]]:
        """For each text its ids, and for each id the characters [start, end) of the text as given.

        The space before a word is not counted; a token that is nothing but that space has an empty range.
        Bytes of one character all have that character's range.
        """
        batch = self._core.encode_batch([_lower(text) for text in texts], add_special_tokens=False)
        return [
            (encoding.ids, _in_original(text, encoding.offsets)) for text, encoding in zip(texts, batch, strict=True)
        ]

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids; special tokens are dropped."""
        return self.decode_batch([ids])[0]

    def decode_batch(self, batch: Sequence[Sequence[int]]) -> list[str]:
        """The text of each list of ids; special tokens are dropped."""
        texts = self._core.decode_batch([list(ids) for ids in batch], skip_special_tokens=True)
        return [detokenise(text) if self._is_bert else text for text in texts]


def _from_json(text: str) -> Tokenizer:
    return Tokenizer(tokenizers.Tokenizer.from_str(text))


def _in_original(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans of the lower-cased text as spans of the text itself, without the space before and with all marks."""
    if len(text) != len(_lower(text)):  # "İ" becomes two characters
        origin = [position for position, letter in enumerate(text) for _ in letter.lower()]
        spans = [(origin[start], origin[end - 1] + 1) if start < end else (start, end) for start, end in spans]
    starts = sorted({len(text), *(start for start, _ in spans)})
    result = []
    for start, end in spans:
        limit = starts[bisect_left(starts, end)]
        while end < limit and not text[end].isspace():  # the library gives a composed letter one place only
            end += 1
        result.append((end - len(text[start:end].lstrip()), end))
    return result

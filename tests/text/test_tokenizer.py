import copy
import json
import pickle
import random
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from parasketch.errors import ModelError, UsageError
from parasketch.text.tokenizer import Tokenizer, kept_text
from parasketch.text.words import split_words

BERT_VOCAB = Path(__file__).parents[1] / "fixtures" / "bert-mini-vocab.txt"
CORPUS = [
    "How do I learn C++ in 2017?",
    "What's the best way to learn e-commerce, and why can't I?",
    "A man isn't riding a horse; he's standing next to it.",
    "Is $10,000 (or 50%) enough to live in the U.S.?",
    "Two dogs' owners cannot agree.",
] * 4

WORDS = (
    "the cat don't can't cannot it's we'll we've I'd I'm dogs' o'clock U.S. e.g. C++ $10,000 50% 3.5 2017 "
    "e-commerce and/or (yes) \"no\" rock'n'roll what?! end... ’tis can’t I’m Café naïve 日本"
)
ENGLISH = st.lists(st.sampled_from(WORDS.split())).map(" ".join)


@pytest.fixture(scope="module")
def subword() -> Tokenizer:
    return Tokenizer.train(CORPUS, vocab_size=500)


@pytest.fixture(scope="module")
def bert() -> Tokenizer:
    return Tokenizer.from_bert_vocab(BERT_VOCAB)


class TestSubword:
    @settings(deadline=None, max_examples=300)
    @given(text=st.text())
    @example(text="")
    @example(text=" \t two   spaces\n")
    @example(text="[MASK] [PAD] <s> \u2581 Ġ ##x")
    @example(text="ΟΔΟΣ İstanbul STRASSE e\u0301 \x1c 日本 👩‍👩‍👧")
    def test_decoding_is_exact_but_for_the_documented_normalisation(self, subword: Tokenizer, text: str) -> None:
        decoded = subword.decode(subword.encode(text))
        assert decoded == kept_text(text)
        assert decoded == " ".join(unicodedata.normalize("NFC", text.lower()).split())

    @pytest.mark.parametrize("text", ["How's It?", "…wait", "(a) 'b'", "ÇA VA ?", "1,000.50 € – ok"])
    def test_single_spaces_and_composed_letters_give_the_lower_case_text(self, subword: Tokenizer, text: str) -> None:
        assert subword.decode(subword.encode(text)) == text.lower()

    def test_half_a_surrogate_pair_becomes_the_replacement_character(self, subword: Tokenizer) -> None:
        assert subword.decode(subword.encode("a \ud83d b")) == "a \ufffd b"

    @settings(deadline=None)
    @given(text=st.text())
    def test_nothing_is_unknown_and_text_is_never_special(self, subword: Tokenizer, text: str) -> None:
        assert all(index > subword.mask_id for index in subword.encode(f"[MASK]{text}[UNK]"))

    def test_special_ids_come_first_and_are_dropped_by_decoding(self, subword: Tokenizer) -> None:
        specials = [subword.pad_id, subword.bos_id, subword.eos_id, subword.unk_id, subword.mask_id]
        assert specials == [0, 1, 2, 3, 4]
        ids = subword.encode("the horse")
        assert subword.decode([1, *ids, 4, 3, 2, 0, 0]) == "the horse"

    def test_a_word_has_the_same_ids_first_and_later(self, subword: Tokenizer) -> None:
        assert subword.encode("horse horse") == 2 * subword.encode("horse")
        assert subword.encode("Horse") == subword.encode("horse")

    def test_digits_come_in_pairs(self) -> None:
        numbers = Tokenizer.train(["20 17 12345 2017"] * 9)
        assert [numbers.decode([index]) for index in numbers.encode("2017 12345")] == ["20", "17", "12", "34", "5"]

    @settings(deadline=None)
    @given(text=ENGLISH)
    @example(text="I CAN'T, you cannot; Don't!")
    def test_no_token_crosses_a_word_boundary(self, subword: Tokenizer, text: str) -> None:
        words = [(word.start, word.end) for word in split_words(text)]
        [(_, offsets)] = subword.encode_with_offsets([text])
        for start, end in offsets:
            assert any(first <= start and end <= last for first, last in words), text[start:end]

    @settings(deadline=None)
    @given(text=st.text())
    @example(text="  İİ  don't\u00a0 e\u0301!")
    def test_offsets_cover_the_text_in_order(self, subword: Tokenizer, text: str) -> None:
        [(ids, offsets)] = subword.encode_with_offsets([text])
        assert ids == subword.encode(text)
        covered = {position for start, end in offsets for position in range(start, end)}
        assert covered == {position for position, letter in enumerate(text) if not letter.isspace()}
        assert offsets == sorted(offsets)

    def test_offsets_point_at_the_characters(self, subword: Tokenizer) -> None:
        text = "  Isn't   İt  BEST?"
        [(ids, offsets)] = subword.encode_with_offsets([text])
        for index, (start, end) in zip(ids, offsets, strict=True):
            if "İ" not in text[start:end]:
                assert subword.decode([index]) == text[start:end].lower()
        assert (2, 4) in offsets  # "Is" without the spaces before it
        assert (4, 7) in offsets  # "n't"
        assert (14, 18) in offsets  # "BEST": one word seen in training

    def test_a_batch_is_its_texts_one_by_one(self, subword: Tokenizer) -> None:
        texts = [*CORPUS[:5], ""]
        batch = subword.encode_batch(texts)
        assert batch == [subword.encode(text) for text in texts]
        assert batch == [ids for ids, _ in subword.encode_with_offsets(texts)]
        assert subword.decode_batch(batch) == [subword.decode(ids) for ids in batch]
        assert subword.encode_batch([]) == []


class TestTraining:
    def test_the_vocabulary_is_as_large_as_asked_if_the_text_allows(self) -> None:
        assert Tokenizer.train(CORPUS, vocab_size=300).vocab_size == 300
        assert Tokenizer.train([]).vocab_size == 5 + 256
        assert 261 < Tokenizer.train(CORPUS).vocab_size < 8000

    def test_the_same_sentences_give_the_same_file_in_any_order(self, tmp_path: Path) -> None:
        shuffled = random.Random(1).sample(CORPUS, len(CORPUS))
        for name, sentences in [("a", CORPUS), ("b", iter(CORPUS)), ("c", shuffled)]:
            Tokenizer.train(sentences, vocab_size=400).save(tmp_path / name)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes() == (tmp_path / "c").read_bytes()

    def test_case_is_not_learned(self) -> None:
        assert Tokenizer.train([text.upper() for text in CORPUS]) == Tokenizer.train(CORPUS)

    def test_a_vocabulary_without_room_for_the_bytes_is_refused(self) -> None:
        with pytest.raises(UsageError, match="260 is too small: the bytes alone need 261"):
            Tokenizer.train(CORPUS, vocab_size=260)


class TestFiles:
    @pytest.mark.parametrize("kind", ["subword", "bert"])
    def test_saved_and_loaded_is_equal_and_does_the_same(
        self, kind: str, request: pytest.FixtureRequest, tmp_path: Path
    ) -> None:
        tokenizer: Tokenizer = request.getfixturevalue(kind)
        tokenizer.save(tmp_path / "tokenizer.json")
        for again in [
            Tokenizer.load(tmp_path / "tokenizer.json"),
            copy.deepcopy(tokenizer),
            pickle.loads(pickle.dumps(tokenizer)),
        ]:
            assert again == tokenizer
            assert (again.fingerprint, hash(again)) == (tokenizer.fingerprint, hash(tokenizer))
            assert again.vocab_size == tokenizer.vocab_size
            assert again.mask_id == tokenizer.mask_id
            for text in ["[MASK] don't e-commerce", *CORPUS[:5]]:
                assert again.encode(text) == tokenizer.encode(text)
                assert again.decode(again.encode(text)) == tokenizer.decode(tokenizer.encode(text))

    def test_other_training_text_gives_another_fingerprint(self, subword: Tokenizer) -> None:
        other = Tokenizer.train(["something else"] * 5)
        assert other != subword
        assert other.fingerprint != subword.fingerprint
        assert subword != "subword"

    @pytest.mark.parametrize("content", ["", "{", "[]", '{"version": "1.0"}', "ÿ"])
    def test_a_damaged_file_is_named(self, content: str, tmp_path: Path) -> None:
        path = tmp_path / "tokenizer.json"
        path.write_text(content, encoding="latin-1")
        with pytest.raises(ModelError, match=r"tokenizer\.json: not a tokeniser, or damaged"):
            Tokenizer.load(path)

    def test_a_file_cut_short_is_damaged(self, subword: Tokenizer, tmp_path: Path) -> None:
        path = tmp_path / "tokenizer.json"
        subword.save(path)
        path.write_bytes(path.read_bytes()[:-200])
        with pytest.raises(ModelError, match="damaged"):
            Tokenizer.load(path)

    def test_a_tokeniser_without_our_special_tokens_is_refused(self, subword: Tokenizer, tmp_path: Path) -> None:
        path = tmp_path / "tokenizer.json"
        subword.save(path)
        path.write_text(path.read_text(encoding="utf-8").replace("[EOS]", "[end]"), encoding="utf-8")
        with pytest.raises(ModelError, match=r"the vocabulary has no \[EOS\]"):
            Tokenizer.load(path)

    def test_a_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match=r"nowhere\.json"):
            Tokenizer.load(tmp_path / "nowhere.json")

    def test_the_file_is_json_for_any_reader_of_the_library(self, subword: Tokenizer, tmp_path: Path) -> None:
        subword.save(tmp_path / "tokenizer.json")
        content = json.loads((tmp_path / "tokenizer.json").read_text(encoding="utf-8"))
        assert content["model"]["type"] == "BPE"


class TestBert:
    def test_special_ids_come_from_the_vocabulary(self, bert: Tokenizer) -> None:
        lines = BERT_VOCAB.read_text(encoding="utf-8").splitlines()
        assert bert.vocab_size == len(lines)
        names = [lines[index] for index in (bert.pad_id, bert.bos_id, bert.eos_id, bert.unk_id, bert.mask_id)]
        assert names == ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]

    def test_words_are_cut_into_the_longest_pieces(self, bert: Tokenizer) -> None:
        lines = BERT_VOCAB.read_text(encoding="utf-8").splitlines()
        assert [lines[index] for index in bert.encode("Unbelievable cats")] == [
            "un", "##believ", "##able", "cat", "##s",
        ]  # fmt: skip

    def test_specials_are_dropped_by_decoding_and_are_text_when_encoding(self, bert: Tokenizer) -> None:
        ids = bert.encode("the cat")
        assert bert.decode([bert.bos_id, *ids, bert.mask_id, bert.eos_id, bert.pad_id]) == "the cat"
        assert bert.mask_id not in bert.encode("[MASK]")
        assert bert.decode(bert.encode("a [MASK]")) == "a [mask]"

    def test_offsets_point_at_the_characters(self, bert: Tokenizer) -> None:
        text = "The  CAFÉ's İ"
        [(_, offsets)] = bert.encode_with_offsets([text])
        assert [text[start:end] for start, end in offsets] == ["The", "CAFÉ", "'", "s", "İ"]

    @pytest.mark.parametrize(
        "text",
        [
            "how do i learn c++?",
            "c# or c++",
            "i'm tall, you're not",
            "we've said i'd say he'll do it",
            "don't say it isn't",
            "what's the cost of e-commerce?",
            "is a 5'10\" man tall?",
            "5'10 is tall",
            "the u.s. and the u.k.",
            "u.s",
            'say "yes" or "no" to the "best" book',
            "say 'yes' to the cat's room",
            "“yes” is the best",
            "a dog (and a cat) in the room.",
            "[a] {b}",
            "the book(s) in the room",
            "$5 or 50%",
            "£5, €10 and ₹2016",
            "3.5 costs $10,000.50",
            "yes, 10 books",
            "at 10:30 a.m. in 2016",
            "and/or",
            "http://www.cat.com/book",
            "node.js or cat.com?",
            "the girls' room is best",
            "the girl’s room, the girls’ room",
            "10 o'clock",
            "at&t and q&a",
            "the cat & the dog",
            "say what... yes!",
            "what?!",
            "well-to-do man-made",
            "the b.tech book",
            "is 10 + 10 = 20?",
            "50+?",
            "#yes",
            "man@cat.com",
            "日本",
            "x_1",
            "x^2",
            "yes; no: yes",
        ],
    )
    def test_spaces_come_back(self, bert: Tokenizer, text: str) -> None:
        assert bert.decode(bert.encode(text)) == text

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Café", "cafe"),  # uncased BERT knows no accents
            ("the  CAT ,the dog", "the cat, the dog"),
            ("and / or", "and/or"),
            ("the cat 😀 is", "the cat is"),  # not in the vocabulary
            ("", ""),
        ],
    )
    def test_what_cannot_come_back(self, bert: Tokenizer, text: str, expected: str) -> None:
        assert bert.decode(bert.encode(text)) == expected

    @settings(deadline=None)
    @given(text=st.text(alphabet="ab1 .,'\"-()&+#$%/?!’“”"))
    def test_only_spaces_differ_and_a_second_round_trip_changes_nothing(self, bert: Tokenizer, text: str) -> None:
        decoded = bert.decode(bert.encode(text))
        assert decoded.replace(" ", "") == text.replace(" ", "")
        assert bert.encode(decoded) == bert.encode(text)

    @pytest.mark.parametrize("content", ["", "the\ncat\n", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n"])
    def test_a_vocabulary_without_special_tokens_is_refused(self, content: str, tmp_path: Path) -> None:
        path = tmp_path / "vocab.txt"
        path.write_text(content, encoding="utf-8")
        with pytest.raises(ModelError, match=r"vocab.txt: not a BERT vocabulary: the vocabulary has no .*\[MASK\]"):
            Tokenizer.from_bert_vocab(path)

    def test_a_missing_vocabulary_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(ModelError, match=r"nowhere\.txt"):
            Tokenizer.from_bert_vocab(tmp_path / "nowhere.txt")

import copy
import json
import pickle
from dataclasses import asdict

import pytest

from parasketch.errors import UsageError
from parasketch.generate.paraphrases import Paraphrase, Sketch


def test_a_sketch_is_a_tuple_of_codes() -> None:
    sketch = Sketch(13, 5, 7)
    assert sketch == (13, 5, 7) == Sketch([13, 5, 7])
    assert repr(sketch) == "Sketch(13, 5, 7)"
    assert str(sketch) == "13,5,7"
    assert Sketch.parse(" 13, 5,7") == sketch
    assert Sketch.parse("") == ()
    for copied in (pickle.loads(pickle.dumps(sketch)), copy.deepcopy(sketch)):
        assert copied == sketch
        assert type(copied) is Sketch


def test_what_is_no_sketch_is_refused() -> None:
    with pytest.raises(UsageError, match="'13;5' is no sketch"):
        Sketch.parse("13;5")


def test_a_paraphrase_becomes_json() -> None:
    paraphrase = Paraphrase(text="so?", sketch=Sketch(1, 2), score=-1.5, difference=0.25, lost=("7",))
    assert json.loads(json.dumps(paraphrase.to_dict())) == {
        "text": "so?", "sketch": [1, 2], "score": -1.5, "difference": 0.25, "faithfulness": None,
        "lost": ["7"], "accepted": True, "warnings": [],
    }  # fmt: skip
    assert str(paraphrase) == "so?"
    assert asdict(paraphrase)["sketch"] == Sketch(1, 2)

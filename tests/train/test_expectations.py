from parasketch.config import TrainConfig
from parasketch.train.expectations import doubt_after, doubts_before


def test_too_little_is_said_before() -> None:
    assert doubts_before(100_000, TrainConfig(steps=20_000)) == []
    assert doubts_before(100_000, TrainConfig(minutes=60)) == []
    [few] = doubts_before(300, TrainConfig(minutes=60))
    assert few.startswith("300 examples are few")
    [short] = doubts_before(100_000, TrainConfig(minutes=0.5))
    assert short.startswith("0.5 minutes are little")
    [steps] = doubts_before(100_000, TrainConfig(steps=24))
    assert steps.startswith("24 steps are few")


def test_too_little_is_said_after() -> None:
    assert doubt_after(24) == "24 steps: this model has learnt nothing yet; train longer, or on a faster machine"
    assert "has learnt little yet" in str(doubt_after(500))
    assert doubt_after(5_000) is None

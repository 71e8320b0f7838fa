import pytest

from parasketch.config import from_dict, to_dict
from parasketch.errors import ConfigError
from parasketch.generate.candidates import FEATURES
from parasketch.generate.choice import COSTLY, weight_vector
from parasketch.generate.settings import GenerateConfig, RerankWeights, stored_settings


def test_settings_survive_being_stored() -> None:
    config = GenerateConfig(beam=2, weights=RerankWeights(cycle=0.25))
    assert from_dict(GenerateConfig, to_dict(config)) == config


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"beam": 0}, r"generate\.beam: expected 1 to 256"),
        ({"beam": 10**9}, r"generate\.beam: expected 1 to 256"),
        ({"sketches": 10**9}, r"generate\.sketches: expected 1 to 4096"),
        ({"max_ratio": float("nan")}, r"max_ratio: nan \(expected float\)"),
        ({"weights": {"cycle": float("nan")}}, r"weights\.cycle: nan \(expected float\)"),
        ({"no_repeat": 3}, r"unknown key no_repeat"),
        ({"own_code_penalty": 1.0}, r"generate\.own_code_penalty: expected at least 0 and less than 1"),
        ({"weights": {"luck": 1}}, r"unknown key weights\.luck"),
    ],
)
def test_settings_that_cannot_be(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        from_dict(GenerateConfig, values)


def test_stored_settings_may_have_what_is_no_longer_there() -> None:
    assert stored_settings({"beam": 3, "no_repeat": 0}) == GenerateConfig(beam=3)
    with pytest.raises(ConfigError, match=r"unknown key generate\.no_repeat"):
        stored_settings({"no_repeat": 2})
    with pytest.raises(ConfigError, match=r"generate: expected a mapping of settings"):
        stored_settings([1])


def test_there_is_a_weight_for_every_feature() -> None:
    assert set(to_dict(RerankWeights())) == set(FEATURES)
    weights = RerankWeights(**{name: float(place) for place, name in enumerate(FEATURES, 1)})
    assert weight_vector(weights).tolist() == list(range(1, len(FEATURES) + 1))
    without = weight_vector(weights, without=COSTLY)
    assert [name for name, weight in zip(FEATURES, without, strict=True) if not weight] == list(COSTLY)

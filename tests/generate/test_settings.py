import pytest

from parasketch.config import from_dict, to_dict
from parasketch.errors import ConfigError
from parasketch.generate.candidates import FEATURES
from parasketch.generate.rerank import COSTLY, weight_vector
from parasketch.generate.settings import GenerateConfig, RerankWeights


def test_settings_survive_being_stored() -> None:
    config = GenerateConfig(beam=2, weights=RerankWeights(cycle=0.25))
    assert from_dict(GenerateConfig, to_dict(config)) == config


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"beam": 0}, r"generate\.beam: expected at least 1"),
        ({"own_code_penalty": 1.0}, r"generate\.own_code_penalty: expected at least 0 and less than 1"),
        ({"weights": {"luck": 1}}, r"unknown key weights\.luck"),
    ],
)
def test_settings_that_cannot_be(values: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        from_dict(GenerateConfig, values)


def test_there_is_a_weight_for_every_feature() -> None:
    assert set(to_dict(RerankWeights())) == set(FEATURES)
    weights = RerankWeights(**{name: float(place) for place, name in enumerate(FEATURES, 1)})
    assert weight_vector(weights).tolist() == list(range(1, len(FEATURES) + 1))
    without = weight_vector(weights, without=COSTLY)
    assert [name for name, weight in zip(FEATURES, without, strict=True) if not weight] == list(COSTLY)

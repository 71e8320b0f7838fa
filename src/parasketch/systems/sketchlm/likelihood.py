"""How likely a sentence is given another, token by token: what a paraphrase leaves out makes its source a surprise."""

from collections.abc import Sequence

import torch

from parasketch.systems.sketchlm.network import Example, Rows, SketchLM

_BATCH = 16


@torch.inference_mode()
def token_log_probs(network: SketchLM, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> list[list[float]]:
    """For pairs (source, target) of ids: log p of every target token and of the end, given the source and no sketch."""
    order = sorted(range(len(pairs)), key=lambda place: len(pairs[place][0]) + len(pairs[place][1]))
    nothing = (0,) * network.ids.levels
    result: list[list[float]] = [[] for _ in pairs]
    for start in range(0, len(order), _BATCH):
        places = order[start : start + _BATCH]
        examples = [Example(list(pairs[place][0]), list(pairs[place][1]), nothing, 0) for place in places]
        rows = Rows.from_examples(examples, network.ids)
        states = network.states(rows)[rows.target_at]
        chances = network.language_model.logits(states).log_softmax(-1).gather(-1, rows.targets[:, None]).squeeze(-1)
        parts = torch.split(chances, [len(pairs[place][1]) + 1 for place in places])
        for place, part in zip(places, parts, strict=True):
            result[place] = part.tolist()
    return result

"""A job without a model, for tests of what is around it; workers on Ray find it here."""

import time
from dataclasses import dataclass

from parasketch.bulk.answers import ParaphraseTexts
from parasketch.bulk.job import Job
from parasketch.generate.paraphrases import Paraphrase, Sketch


def shout(texts: list[str], /) -> list[list[Paraphrase]]:
    return [
        [
            Paraphrase(text=f"{text.upper()} {rank}", sketch=Sketch(rank), score=1 / 3, difference=1.0)
            for rank in (1, 2)
        ]
        for text in texts
    ]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class ShoutingJob(Job):
    """Shouts; slowly enough to be killed, if it is told so."""

    seconds: float = 0.0

    @property
    def weights(self) -> str:
        return "none"

    def load(self, *, device: str | None, batch_size: int) -> ParaphraseTexts:
        del device, batch_size

        def slowly(texts: list[str], /) -> list[list[Paraphrase]]:
            time.sleep(self.seconds)
            return shout(texts)

        return slowly

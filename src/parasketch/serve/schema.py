"""What may be asked of the REST service, and what it answers: the schema at /openapi.json is made of it."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StrictInt

Codes = list[Annotated[StrictInt, Field(ge=0, lt=1 << 31)]]
MOST_SEEDS = (1 << 63) - 1


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")
    model: str | None = Field(None, description="A name of /v1/models; the first one if none is given.")


class ParaphraseBody(_Body):
    """What to paraphrase, and how."""

    text: str | list[str] = Field(description="A text, or several.", examples=["How heavy is a moose?"])
    n: StrictInt = Field(1, description="Paraphrases of each text.")
    like: str | list[str] | None = Field(None, description="Say it in the form of this sentence (one, or one a text).")
    sketch: Codes | list[Codes] | None = Field(None, description="The first codes of the form (one, or one a text).")
    depth: StrictInt | None = Field(None, ge=0, description="How many codes are used; 0 for none.")
    temperature: float | None = Field(None, gt=0, le=100, description="Sample instead of searching.")
    seed: StrictInt = Field(0, ge=0, le=MOST_SEEDS, description="Which samples are drawn.")


class SketchBody(_Body):
    """Whose sketches to find."""

    text: str | list[str] = Field(description="A text, or several.")


class TreeBody(_Body):
    """Whose likeliest sketches to find."""

    text: str
    n: StrictInt = Field(14, description="How many sketches.")


class ParaphraseAnswer(BaseModel):
    """One paraphrase."""

    text: str
    sketch: list[int]
    score: float | None
    difference: float | None
    faithfulness: float | None
    lost: list[str]
    accepted: bool
    warnings: list[str]


class Paraphrased(BaseModel):
    """A text with its paraphrases, best first."""

    text: str
    paraphrases: list[ParaphraseAnswer]


class ParaphrasesAnswer(BaseModel):
    """In the order of the texts."""

    model: str
    results: list[Paraphrased]


class ParaphrasesLine(ParaphrasesAnswer):
    """A line of a streamed answer; the last one, which is `done`, is the whole answer, instead of those before it."""

    done: bool


class SketchesAnswer(BaseModel):
    """In the order of the texts."""

    model: str
    sketches: list[list[int]]


class Branch(BaseModel):
    """A whole sketch with its probability and what is said in it."""

    sketch: list[int]
    probability: float
    text: str


class TreeAnswer(BaseModel):
    """The likeliest sketches, and the one that the text itself has."""

    model: str
    own: list[int]
    branches: list[Branch]

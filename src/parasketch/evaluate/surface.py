"""What can be read off the words: copies, empty outputs, variety, form, and numbers and names that survive.

These say what BLEU hides: a system can please iBLEU with generic sentences, or by dropping the very name that
the question was about. All judge the first candidate of each item, but `empty`, which counts all candidates.
"""

from collections.abc import Callable, Sequence

from sacrebleu.metrics.bleu import BLEU

from parasketch.evaluate.statistics import Measure, Score, share
from parasketch.text.facts import Facts, compare, facts_of
from parasketch.text.normalise import normalise

TemplateOf = Callable[[Sequence[str]], list[str]]
"""Sentences to the texts of their templates."""


def surface_measures(inputs: Sequence[str], outputs: Sequence[Sequence[str]]) -> list[Measure]:
    """Shares of copies and empty outputs; numbers and names kept (absent where no input has any)."""
    firsts = [candidates[0] for candidates in outputs]
    whole = [1.0] * len(inputs)
    measures = [
        share(
            "copies",
            [float(normalise(text) == normalise(first)) for text, first in zip(inputs, firsts, strict=True)],
            whole,
            "equal to the input when normalised",
        ),
        share(
            "empty",
            [float(sum(not text.strip() for text in candidates)) for candidates in outputs],
            [float(len(candidates)) for candidates in outputs],
            f"of all candidates|k:{len(outputs[0])}",
        ),
        _kept("numbers_kept", inputs, firsts, _numbers, "numbers of the input that the output says, in any spelling"),
        _kept("names_kept", inputs, firsts, _names, "parts of names of the input found in the output|case:lc"),
    ]
    return [measure for measure in measures if measure.statistics[:, 1].any()]


def _kept(
    name: str,
    inputs: Sequence[str],
    firsts: Sequence[str],
    mentions: Callable[[Facts], set[str]],
    signature: str,
) -> Measure:
    facts = [facts_of(text) for text in inputs]
    found = [mentions(each) for each in facts]
    lost = [set(compare(each, facts_of(first)).lost) for each, first in zip(facts, firsts, strict=True)]
    kept = [float(len(all_ - gone)) for all_, gone in zip(found, lost, strict=True)]
    return share(name, kept, [float(len(each)) for each in found], signature)


def _numbers(facts: Facts) -> set[str]:
    """The firm numbers, as they are written."""
    return {facts.text[number.start : number.end] for number in facts.numbers if number.firm}


def _names(facts: Facts) -> set[str]:
    """The parts of names, as they are written."""
    return {facts.text[name.start : name.end] for name in facts.names.parts}


def template_change(
    inputs: Sequence[str], outputs: Sequence[Sequence[str]], template_of: TemplateOf, how: str
) -> Measure:
    """The share of items whose output has another template than the input; `how` names tagger and kind."""
    before, after = template_of(inputs), template_of([candidates[0] for candidates in outputs])
    changed = [float(one != other) for one, other in zip(before, after, strict=True)]
    return share("template_change", changed, [1.0] * len(inputs), how)


def distinct(outputs: Sequence[Sequence[str]], order: int) -> Score:
    """distinct-n: different n-grams in percent of all n-grams of the first candidates; 0 if there is none.

    Types do not add up over sentences, so this one has no bootstrap interval.
    """
    tokenize = BLEU(tokenize="13a").tokenizer
    sentences = [tokenize(candidates[0].lower().rstrip()).split() for candidates in outputs]
    grams = [gram for words in sentences for gram in zip(*(words[n:] for n in range(order)), strict=False)]
    value = 100.0 * len(set(grams)) / len(grams) if grams else 0.0
    return Score(name=f"distinct_{order}", value=value, signature=f"n:{order}|case:lc|tok:13a")

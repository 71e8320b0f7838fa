"""Facts of a text that a paraphrase has to keep, and how two texts differ in them: from the text alone, and fast.

Names, numbers, addresses, quoted phrases, code, negation, opposites, persons. What is found is meant to be sure: a
paraphrase by people is seldom flagged. Tense, modality and roles are left to checks that learn.
"""

from parasketch.text.facts.changes import Changes, Facts, compare, facts_of, required_spans

__all__ = ["Changes", "Facts", "compare", "facts_of", "required_spans"]

"""The one way in which two sentences are compared: `normalise(a) == normalise(b)` means "the same sentence".

Corpora spell one sentence in many ways ("what 's Ohm’s law ?", "What's Ohm's law?"), and a split that
compares raw strings leaks. What counts are the letters and digits (accents included), the words they form, and
punctuation inside the sentence. What does not: case, compatibility forms (NFKC: full-width letters, ligatures),
the amount and kind of white space, typographic or plain quotes and dashes, white space beside punctuation, and
punctuation that ends the sentence.
"""

import re
import string
import unicodedata

_PLAIN = str.maketrans("‘’‚“”„–—−", "'''" + '"""' + "---")
# Listed and not "anything but letters": the vowel signs of many scripts are no letters, yet end a word.
_PUNCTUATION = re.compile(rf" ?([{re.escape(string.punctuation)}¿¡«»‹›、。·،؛؟।]) ?")
_TREEBANK_QUOTES = re.compile("``|''")
_ENDING = ".?!,;:。、؟،؛।"


def normalise(text: str) -> str:
    """The form of `text` that is equal for sentences that count as the same; idempotent.

    >>> normalise("What 's Ohm’s   LAW ?")
    "what's ohm's law"
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", text).casefold()).translate(_PLAIN)
    text = _PUNCTUATION.sub(r"\1", " ".join(text.lower().split()))
    text = _TREEBANK_QUOTES.sub('"', text)
    # A sentence of nothing but punctuation keeps it: "?" and "!" are not the same.
    return text.rstrip(_ENDING) or text

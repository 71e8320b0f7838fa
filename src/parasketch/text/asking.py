"""Whether a text asks: a question that became a statement, or the other way round, says something else.

A request may be either ("Please close it.", "Could you close it?"), and people who write carelessly leave question
marks out.
"""

import re

_OPENING = re.compile(
    r"(?:so |and |but |hey |hi |ok )?(?:who|whom|whose|what|what's|which|when|where|why|how|how's|is|are|am|was|were|do"
    r"|does|did|has|have|had|can|could|would|will|should|shall|may|might|must|any(?:body|one)?|isn't|aren't|don't"
    r"|doesn't)\b"
)
_REQUEST = re.compile(
    r"\b(?:could|can|would|will|won't|can't) (?:you|u|we|somebody|someone|everyone|all|the)\b"
    r"|\b(?:may|could|can|might|shall) (?:i|we)\b|\bmind\b|\bplease\b|\bpls\b|\bplz\b|\blet's\b|\bhow about\b"
    r"|\bwhy (?:don't|not)\b|\bdo you want\b|\bdid you know\b"
)
_TAG = re.compile(r", ?\w+(?:n't)? (?:it|he|she|they|you|we|i|there)\?$")
"""It's late, isn't it?"""


def changed_asking(source: str, output: str) -> tuple[bool, bool]:
    """Whether a question of the source (in lower case) is one no more in the output, and whether one is new."""
    return _asks(source) and not _may_ask(output), _asks(output) and not _may_ask(source)


def _asks(text: str) -> bool:
    """Whether it ends with a question that wants an answer, not an action."""
    return text.endswith("?") and not _REQUEST.search(text) and not _TAG.search(text)


def _may_ask(text: str) -> bool:
    return "?" in text or _OPENING.match(text.lstrip("\"'( ")) is not None or "wonder" in text or "tell me" in text

"""Text from BERT's word pieces, which do not record where the spaces were.

WordPiece cuts "e-commerce" into "e", "-", "commerce" and forgets whether they touched, so the spaces have to
be guessed from context. The pieces are joined by spaces first; then a table of rules takes away the spaces
that English would not write; what people write both ways ("and / or") takes the commoner way.
`scripts/check_round_trip.py` prints how much text comes back unchanged.
"""

import re

_PREFIX = "##"
_IDEOGRAPH = "\u3400-\u9fff\uf900-\ufaff"
_KANA = "\u3040-\u30ff"
_ENDINGS = "com|org|net|edu|gov|io|co|uk|js|py|tv|exe|pdf|txt|html?|php|jpg|png|xml"

# (pattern, replacement), in this order. A rule that could share a character with its own next match looks at
# it without taking it.
_RULES = [
    (re.compile(pattern), replacement)
    for pattern, replacement in [
        # Signs that belong together.
        (r"(?<=([^\w\s])) (?=\1(?: |$))", ""),  # . . .  ->  ...
        (rf"(?<=[{_IDEOGRAPH}]) (?=[{_IDEOGRAPH}{_KANA}])", ""),  # 日 本  ->  日本
        (rf"(?<=[{_KANA}]) (?=[{_IDEOGRAPH}])", ""),
        # Apostrophes, before what is left of them can only be quotation marks.
        (r"(\w) (['’]) (?=(?:s|t|m|d|re|ve|ll)\b)", r"\1\2"),  # don ' t  ->  don't
        (r"(?<!' )\b(o|d|l|y|ma|qur|baha) (['’]) (?=\w)", r"\1\2"),  # o ' clock  ->  o'clock
        (r"(\d) ' (\d+) \"(?! \w[^\"]*\")", r"\1'\2" + '"'),  # 5 ' 10 "  ->  5'10"
        (r"(\d) ' (?=\d)", r"\1'"),  # 5 ' 10  ->  5'10
        # Quotations.
        (r'(^| )("+) ([^"]+) \2(?= |$)', r"\1\2\3\2"),  # say " yes " twice  ->  say "yes" twice
        (r"(^| )' ((?:[^']|\b'\b)+) '(?= |$)", r"\1'\2'"),
        (r"(\ws) (['’])(?= |$)", r"\1\2"),  # the girls ' room  ->  the girls' room
        (r"([“‘]) ", r"\1"),
        (r" ([”’])", r"\1"),
        (r'^(") ', r"\1"),  # a quotation that never ends
        (r" (\"|'+)(?=(?: [^\w\s])*$)", r"\1"),  # or never began
        # Brackets.
        (r"(\w) \( (s|es|ies|ren) \)", r"\1(\2)"),  # book ( s )  ->  book(s)
        (r"([(\[{]) ", r"\1"),
        (r" ([)\]}])", r"\1"),
        # Marks that end something.
        (r" ([.,;:?!…？])", r"\1"),
        (r"(\d) %", r"\1%"),
        # Points, commas and colons inside something.
        (r"(?<=\d)([.:]) (?=\d)", r"\1"),  # 3. 5, 10: 30
        (r"(?<=\d), (?=\d{3}(?!\d))", ","),  # 10, 000
        (r"\b(\w)\. (?=[b-hj-z]\b|[ai]\.)", r"\1."),  # u. s.
        (r"\b([bm])\. (?=(?:tech|sc|com|ed|pharm|des|phil|arch)\b)", r"\1."),  # b. tech
        (rf"(\w)\. (?=(?:{_ENDINGS})\b)", r"\1."),  # quora. com
        (rf"\b(an?|the|in|for|of|and|or|with)\.(?=(?:{_ENDINGS})\b)", r"\1 ."),  # in.net  ->  in .net
        (r"\bwww\. ", "www."),
        (r": // ", "://"),
        # Signs inside and around words.
        (r" ?([-‐‑–/\\_^]) ?", r"\1"),  # e - commerce, and / or
        (r"\b([a-z]) (#|\+\+)(?!\w)", r"\1\2"),  # c + +, c #
        (r"\b([a-z]{1,2}) & (?=[a-z]\b)", r"\1&"),  # at & t
        (r"(\w) @ (?=\w+\.\w)", r"\1@"),
        (r"(\w) \+(?=[.,?!)]|$)", r"\1+"),  # 50 +?  ->  50+?
        (r"(?<!\w)([$#]) (?=\w)", r"\1"),  # $ 5
        (r"(\d) \$(?!\w)", r"\1$"),  # 5 $
    ]
]


def detokenise(pieces: str) -> str:
    """Word pieces, separated by spaces, as text with the spaces that English would have."""
    text = pieces.replace(f" {_PREFIX}", "")
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text

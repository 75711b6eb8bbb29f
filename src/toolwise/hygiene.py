"""Text that a person does not see, and text that talks to the agent instead of describing the tool.

Both ride into an agent's prompt inside a tool description.  The spans found
here and in :mod:`toolwise.concealed` are cut from the searchable text of a tool
and reported by the audit.  All functions take time linear in the length of the
text.

The code points are those of the Unicode character database, the emoji tag
sequences and joiner sequences those of Unicode Technical Standard 51.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator

from toolwise.concealed import Span, concealed_spans, encoded

_SUSPECT = re.compile(
    "["
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # control characters other than tab and line breaks
    "\U000e0000-\U000e007f"  # tags
    "\u202a-\u202e\u2066-\u2069"  # bidirectional embeddings, overrides, isolates
    "\u200b-\u200d\ufeff\u180e"  # zero-width space, joiners, byte order mark, Mongolian vowel separator
    "\u2060-\u2064\u206a-\u206f"  # word joiner, invisible operators, deprecated format controls
    "\ufe00-\ufe0f\U000e0100-\U000e01ef"  # variation selectors
    "]+"
)
_FLAG_TAGS = re.compile(
    "[\U000e0061-\U000e007a]{2}[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,4}\U000e007f"
)
_BLACK_FLAG = "\U0001f3f4"
_ZWSP, _ZWNJ, _ZWJ = "\u200b", "\u200c", "\u200d"

# Scripts whose letters change shape by joiners, and scripts written without blanks between words.
_JOINING = re.compile(
    "[\u0600-\u08ff\ufb50-\ufdff\ufe70-\ufefc\u0900-\u0dff\u0f00-\u0fff\u1000-\u109f\u1780-\u18af\ua840-\ua9ff]"
)
_UNSPACED = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff]")
_IDEOGRAPH = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U000323af]")


def _is_emoji(char: str) -> bool:
    return char in "\ufe0f\u20e3\U000e007f" or unicodedata.category(char) in ("So", "Sk")


def _joins(before: str, after: str) -> bool:
    """Whether a zero-width joiner does its work between these two characters."""
    if before in (_ZWJ, _ZWNJ):
        return False
    return bool(_JOINING.match(before)) or (_is_emoji(before) and _is_emoji(after))


def _parts(before: str, after: str) -> bool:
    """Whether a zero-width non-joiner does its work here: inside a word of a joining script."""
    if before in (_ZWJ, _ZWNJ) or not (_JOINING.match(before) or _JOINING.match(after)):
        return False
    return all(unicodedata.category(char)[0] in "LMN" for char in (before, after))


def _selects(before: str, selector: str) -> bool:
    """Whether a variation selector has a character to vary."""
    if selector in "\ufe0e\ufe0f":
        return before in "#*0123456789" or unicodedata.category(before)[0] in "SP"
    if selector >= "\U000e0100" or selector <= "\ufe02":
        return bool(_IDEOGRAPH.match(before)) or unicodedata.category(before) == "Sm"
    return False


def _honest(before: str, char: str, after: str) -> bool:
    """Whether an invisible ``char`` has a reason to stand between two characters ("" = the end)."""
    if not before:
        return False
    if "\ufe00" <= char <= "\ufe0f" or char >= "\U000e0100":
        return _selects(before, char)
    if not after:
        return char == _ZWJ and bool(_JOINING.match(before))
    if char == _ZWJ:
        return _joins(before, after)
    if char == _ZWNJ:
        return _parts(before, after)
    return char == _ZWSP and bool(_UNSPACED.match(before) and _UNSPACED.match(after))


def hidden_spans(text: str) -> list[Span]:
    """Spans of invisible characters that have no honest work to do, in order, apart from one another.

    Control characters (C0 and C1, those of terminal escapes) are among them, tab and line breaks are not.

    Emoji sequences, joiners of Arabic and Indic scripts, word breaks of
    South-East Asian scripts and ideographic variants are left alone.
    """
    spans: list[Span] = []
    for run in _SUSPECT.finditer(text):
        start, end = run.span()
        before, after = text[max(start - 1, 0) : start], text[end : end + 1]
        if before == _BLACK_FLAG and (tags := _FLAG_TAGS.match(text, start)):
            start, before = tags.end(), "\U000e007f"
        for i in range(start, end):
            if _honest(before, text[i], after):
                before = text[i]
            elif spans and spans[-1][1] == i:
                spans[-1] = (spans[-1][0], i + 1)
            else:
                spans.append((i, i + 1))
    return spans


_BREAKS = re.compile("[\t\n\r\u2028\u2029\ud800-\udfff]")
_STRAY = re.compile("\r(?!\n)|[\u2028\u2029\ud800-\udfff]")
"""Of these, what does not break lines as text files do."""


def sound(text: str) -> str:
    """``text`` with lone surrogates replaced by U+FFFD, so that UTF-8 can hold it."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def as_in_python(text: str) -> str:
    r"""``text`` as escapes of Python: ``\x1b``, ``\u200b``, ``\U000e0041``."""
    return text.encode("unicode_escape").decode("ascii")


def as_in_json(text: str) -> str:
    r"""``text`` as escapes of JSON: ``\u001b``, ``\u200b``, ``\udb40\udc41``."""
    raw = text.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{raw[i : i + 2].hex()}" for i in range(0, len(raw), 2))


def escaped(
    text: str, most: int | None = None, *, lines: bool = False, escape: Callable[[str], str] = as_in_python
) -> str:
    """``text`` fit to be printed: what is hidden, obeyed by a terminal or half a character is escaped.

    So are tabs and line breaks, unless ``lines``.  At most ``most`` characters.
    """
    breaks = _STRAY if lines else _BREAKS
    text = text[:most]
    parts: list[str] = []
    position = 0
    for start, end in [*hidden_spans(text), (len(text), len(text))]:
        seen = text[position:start]
        parts += breaks.sub(lambda match: escape(match[0]), seen), escape(text[start:end])
        position = end
    return "".join(parts)[:most]


# Pseudo-tags that mimic a chat's own machinery.  They count in pairs, for a lone <system> may be a
# placeholder; <important> and its like have no honest use and count alone too.
_TAG = re.compile(
    r"<(/?)\s{0,3}((?:very[_ -]?)?important|system|secret|hidden|admin|override|sidenote"
    r"|system[_ -]?(?:prompt|message|note|instructions?)|hidden[_ -]?instructions?)\s{0,3}>",
    re.IGNORECASE,
)
_ALONE = ("important", "secret", "hidden")

# Gaps are bounded and stay within a sentence, so that every search is linear.
_GAP = r"[^.!?\n]"
_NOT = r"\b(?:do not|don'?t|don’t|never|must not|should not|shouldn'?t)"
_PERSON = r"(?:the |your )?(?:user|human|operator)s?\b"
_USER = rf"(?:to |with )?{_PERSON}"
_FILE = (
    r"(?:(?:~|\$HOME|%USERPROFILE%)?[/\\]?\.(?:ssh|aws|gnupg|kube|cursor|netrc)\b|\bid_(?:rsa|ed25519|ecdsa)\b"
    r"|/etc/(?:passwd|shadow)\b|(?<![\w.])\.env\b|\bmcp\.json\b)"
)
_HAND_ON = r"(?:pass|send|include|provide|append|put|place|attach|encode|upload|paste|submit|forward|embed)\b"
_CALL = r"(?:using|calling|invoking|running|executing|use|call|invoke|run|execute)"
_TOOLS = r"(?:of the )?(?:other |available )*tools?\b"
_PATTERNS = (
    # Instructions are to be dropped.
    rf"\b(?:ignore|disregard|forget|override|bypass) {_GAP}{{0,30}}"
    rf"\b(?:previous|prior|earlier|above|preceding|existing|other|all|safety|system)\b{_GAP}{{0,30}}"
    r"\b(?:instructions?|prompts?|directives?|guidelines|guardrails)\b",
    r"\bforget everything (?:above|before|you)\b",
    r"\bignor(?:a|e|ez|iere) (?:\w+ ){0,3}(?:instrucciones|instruções|instructions|anweisungen)\b",
    r"忽略(?:之前|以上|前面|先前|上述)?的?(?:所有|一切)?(?:之前|以上|前面|先前|上述)?的?(?:指令|指示|提示|说明)",
    r"(?:以前|上記|これまで)の(?:すべての)?(?:指示|命令)を無視",
    # The user is to be kept in the dark.
    rf"{_NOT} (?:\w+ ){{0,2}}?(?:tell|mention|inform|reveal|disclose)\b{_GAP}{{0,60}}?\b{_USER}",
    rf"{_NOT} (?:\w+ ){{0,2}}?(?:say|show|explain)\b{_GAP}{{0,60}}? to {_PERSON}",
    rf"\bwithout (?:telling|informing|asking|mentioning{_GAP}{{0,20}}?) {_USER}",
    rf"{_NOT} let {_USER} (?:know|see|notice)\b",
    rf"\b(?:keep|hide|conceal) (?:this|it|that|these){_GAP}{{0,30}}? from {_USER}",
    r"不要(?:告诉|告知|透露给|向)用户",
    # The agent is to turn here first, or only.
    rf"\b(?:before|prior to) (?:you )?{_CALL} (?:any|every|all) {_TOOLS}",
    rf"\bmust (?:always )?be (?:called|used|invoked|run|executed) (?:first,? )?"
    rf"before (?:any|every|all) {_TOOLS}",
    rf"\b(?:you|agents?|assistants?) must always {_CALL} this(?: tool| function)?,? first\b",
    rf"{_NOT} (?:use|call|invoke|trust) (?:any|the) {_TOOLS}{_GAP}{{0,40}}\b(?:this one|this tool|instead)\b",
    # Secrets are to be fetched and handed on.
    rf"\b(?:read|open|cat|load|access|fetch|get|retrieve|find)\b{_GAP}{{0,60}}{_FILE}.{{0,100}}?\b{_HAND_ON}",
    rf"\b{_HAND_ON}{_GAP}{{0,40}}\bcontents?\b{_GAP}{{0,40}}{_FILE}",
    rf"\b{_HAND_ON}{_GAP}{{0,40}}\b(?:your|the) (?:own )?(?:system prompt|hidden instructions)\b",
    r"\b(?:bcc|forward|copy) (?:all|every|each)\b[^!?\n]{0,60}?[\w.+-]{1,60}@[\w-]{1,60}\.\w",
    # A chat's own machinery is mimicked.
    r"<\|(?:im_start|im_end|system|endoftext)\|>|\[/?INST\]|<</?SYS>>",
    r"\b(?:system|admin(?:istrator)?|developer) (?:override|mode (?:enabled|activated))\b",
    r"\byou are now (?:in|a|an|the)\b",
)
_ORDER = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n|[。！？]")
_REACH = 300
_ROUNDS = 6


def _tagged(text: str) -> Iterator[Span]:
    opened: dict[str, Span] = {}
    for tag in _TAG.finditer(text):
        name = tag[2].lower()
        if not tag[1]:
            opened.setdefault(name, tag.span())
        elif name in opened:
            yield opened.pop(name)[0], tag.end()
    for name, (start, end) in opened.items():
        if name.endswith(_ALONE):
            yield start, _sentence(text, end, end + 1)[1]


def _sentence(text: str, start: int, end: int) -> Span:
    """The sentence around ``text[start:end]``, at most ``_REACH`` characters to either side."""
    low = max(start - _REACH, 0)
    before = list(_SENTENCE_END.finditer(text, low, start))
    after = _SENTENCE_END.search(text, end, min(end + _REACH, len(text)))
    first = before[-1].end() if before else low
    last = after.end() if after else min(end + _REACH, len(text))
    return first, max(last, min(end, len(text)))


def _merged(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _orders(text: str) -> list[Span]:
    sentences = [_sentence(text, *match.span()) for match in _ORDER.finditer(text)]
    return _merged([*_tagged(text), *sentences])


def instruction_spans(text: str) -> list[Span]:
    """Sentences and pseudo-tags that address the agent, in order, apart from one another.

    Looks through hidden characters: a word broken up by them is still read.
    """
    hidden = hidden_spans(text)
    if not hidden:
        return _orders(text)
    kept: list[int] = []
    position = 0
    for start, end in [*hidden, (len(text), len(text))]:
        kept.extend(range(position, start))
        position = end
    visible = "".join(text[i] for i in kept)
    return [(kept[start], kept[end - 1] + 1) for start, end in _orders(visible)]


def encoded_spans(text: str) -> list[Span]:
    """Base64 or hexadecimal of a sentence that gives no orders."""
    return [span for span, sentence in encoded(text) if not instruction_spans(sentence)]


def encoded_orders(text: str) -> list[Span]:
    """Base64 or hexadecimal of a sentence that gives the agent orders."""
    return [span for span, sentence in encoded(text) if instruction_spans(sentence)]


def _without(text: str, spans: list[Span]) -> str:
    parts: list[str] = []
    position = 0
    for start, end in spans:
        parts.append(text[position:start])
        position = end
    return "".join([*parts, text[position:]])


def _cut(text: str, spans: list[Span]) -> str:
    """``text`` without whole sentences: one blank, or one line break, where they stood."""
    parts: list[str] = []
    position = last = 0
    for start, end in [*spans, (len(text), len(text))]:
        piece = text[position:start]
        if kept := piece.strip():
            first = start - len(piece.lstrip())
            if parts:
                parts.append("\n" if "\n" in text[last:first] else " ")
            parts.append(kept)
            last = first + len(kept)
        position = end
    return "".join(parts)


def clean(text: str) -> str:
    """``text`` without hidden characters, concealed text and instructions to the agent.

    Cutting can bring new ones together, so it is repeated.  A text that is
    still not clean after a few rounds is built to get past them: nothing of it
    is kept.  A text with nothing of the kind in it keeps its whitespace.
    """
    for _ in range(_ROUNDS):
        visible = _without(text, hidden_spans(text))
        spans = _merged([*_orders(visible), *concealed_spans(visible)])
        if not spans:
            return visible
        text = _cut(visible, spans)
    return ""

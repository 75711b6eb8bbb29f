"""Deletion in languages other than English.

The word lists read English.  A tool that speaks another language counts as
unknown (level 3), which is too little for one that says it deletes: this
annotator looks for that alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from toolwise.records import Evidence, Level, Permission, Tool, Verdict

_SPACED = (
    r"borr(?:ar?|e|ado)|elimin(?:ar?|e|a|ieren|er)|suprim(?:ir|e)|(?:ent|aus)?l(?:ö|oe)sch(?:en|e|t)"
    r"|supprim(?:er|e)|effac(?:er|e)|exclu(?:ir|i)|apag(?:ar|a)|cancell(?:are|a)|verwijder(?:en|t)?|usuń|usuwa"
    r"|удал(?:ить|яет|ение)|стер(?:еть|ет)|видал(?:ити|яє)|sil(?:mek|er|me)|hapus|menghapus|xóa"
)
_UNSPACED = r"删除|刪除|清空|清除|抹除|削除|消去|삭제|지웁니다|지우기|ลบ|हटा(?:एँ|ना|ता|ओ)|حذف|מחיקה"
_DELETES = re.compile(rf"(?<!\w)(?:{_SPACED})(?!\w)|{_UNSPACED}", re.IGNORECASE)
_LEAD = re.compile(r"\W*\w+(?:[ \t]+\w+)?")
"""The first two words, or the first clause of a script without blanks: what the tool does."""


class LanguageAnnotator:
    """Level 4 and a write for tools whose name or first words say, in another language, that they delete."""

    name = "languages"

    def annotate(self, tools: Sequence[Tool]) -> list[Verdict]:
        """One verdict per tool, in order; ``level`` None where nothing is said."""
        return [judge(tool) for tool in tools]


def judge(tool: Tool) -> Verdict:
    """The verdict on one tool."""
    lead = _LEAD.match(tool.description)
    found = _DELETES.search(tool.name.replace("_", " ")) or _DELETES.search(lead[0] if lead else "")
    if found is None:
        return Verdict()
    because = f'says that it deletes: "{found[0]}"'
    return Verdict(
        Level.HIGH,
        permissions=frozenset({Permission.WRITE}),
        evidence=(
            Evidence(f"level>={int(Level.HIGH)}", "languages", because),
            Evidence(f"permission:{Permission.WRITE}", "languages", because),
        ),
    )

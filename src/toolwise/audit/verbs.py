"""The verbs the rules know, by what they do to the world, and the stems they are compared by."""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import Final

import Stemmer

_STEMMER: Final = Stemmer.Stemmer("english")


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of one lower-case word."""
    return word if word in _KEPT else str(_STEMMER.stemWord(word))


_KEPT: Final = frozenset(
    {
        *("executive", "universal", "secretary", "organic", "postal", "news", "general"),
        *("computer", "computers", "agentic", "active", "activity", "activities", "actor", "production"),
    }
)
"""Words whose stem is that of quite another word (computer and compute, product and production)."""


def stems(words: str) -> frozenset[str]:
    """The stems of words written with blanks between them."""
    return frozenset(map(stem, words.split()))


class Action(IntEnum):
    """What a tool does to the world, mildest first."""

    READ = 0
    """Looks something up."""
    COMPUTE = 1
    """Makes something out of its arguments, and keeps nothing."""
    MINOR = 2
    """Changes little: easily undone, or local to a session."""
    WRITE = 3
    """Leaves something behind that lasts."""
    SEND = 4
    """Speaks to people in the user's name."""
    DELETE = 5
    """Takes something away."""
    PAY = 6
    """Moves money or other goods of value."""
    EXECUTE = 7
    """Runs what it is given."""


VERBS: Final[dict[str, Action]] = {
    stem(word): action
    for action, words in {
        Action.READ: """
            get list search find fetch read view show check describe query lookup retrieve browse count
            inspect explain compare summarize status ls stat head tail cat whois display preview discover
            watch monitor scrape crawl ask analyze review diagnose audit explore identify suggest recommend
            resolve poll peek grep scan finder lookup visit observe collect research hello ping version
            greet search look locate distance direction geo guard facet hit track
            """,
        Action.COMPUTE: """
            generate convert calculate compute translate validate extract transform parse format encode
            decode evaluate estimate think plan draw render simulate predict solve verify classify detect
            optimize diff measure visualize compose lint sort hover wait screenshot profile encrypt decrypt
            hash multiply divide subtract sum average round plot echo split upscale decompile
            disassemble decompose aggregate transcribe guess roll flip filter load equip
            """,
        Action.MINOR: """
            mark unmark rename move star unstar like unlike follow unfollow label tag favorite favourite
            unfavorite unfavourite bookmark play pause stop resume skip toggle archive unarchive pin unpin
            select open close switch start save store remember copy duplicate clone download export join
            leave assign unassign navigate scroll zoom mute unmute press snooze connect disconnect checkout
            log drag resize rate vote focus fork logout go launch subscribe unsubscribe resubscribe
            lock unlock unset revise expand confirm advance resync fly jump unmerge deny contribute
            """,
        Action.WRITE: """
            create update add edit set insert upload write modify append put patch import upsert change
            replace configure manage register link attach commit push merge complete submit initialize
            initialise init enable schedule sync synchronize restore delegate ingest make build activate
            book reserve record rewrite overwrite mkdir migrate provision scale upgrade pull
            reopen rotate apply install trigger type fill click tap act answer approve reject block unblock
            enforce restrict prevent allow promote demote undo rollout expose drain patch rebase revert
            login authenticate accept increment pack serve grant require tunnel manager writer author
            perform modify assume relay cordon taint cherry place rollback
            adjust correct
            """,
        Action.SEND: """
            send post reply publish share invite email tweet message notify broadcast comment forward sms
            fax repost retweet announce
            """,
        Action.DELETE: """
            delete remove rm drop purge destroy clear truncate erase uninstall cancel reset wipe revoke
            terminate unregister detach disable kill prune unlink flush undeploy deprovision reboot restart
            shutdown clean cleanup quit evict
            """,
        Action.PAY: """
            pay transfer withdraw swap buy sell trade purchase refund deposit stake unstake mint burn
            bridge lend borrow repay order payout airdrop charge
            """,
        Action.EXECUTE: "execute exec eval run invoke deploy call use proxy",
    }.items()
    for word in words.split()
}
"""Stem of a verb -> what it does."""

NOUNS_TOO: Final = stems(
    """
    order post message email comment report play test log review share record schedule block filter set
    form plan map run build label tag star trade status stat head stake call scan link track format profile
    store mint bridge head tail watch count monitor query label rate vote sort bookmark comment audit
    extract type book pull start display screenshot draw answer burn invite process diff trigger change act
    swap tweet focus press clone import export commit merge match deposit transfer move distance direction
    version hash guard hit facet hello round average sum use proxy go look lock load confirm use writer
    connect disconnect average split open close guess pick login author increment research select proxy
    like update charge payout correct
    """
)
"""Verbs that are as often nouns: the action only at the front of a name, or where nothing else is."""

TAKING_OUT: Final = stems("export download copy duplicate clone")
"""Verbs that hand out what they copy, and so read it."""

PASSING: Final = stems(
    """
    play pause stop resume skip open close switch select navigate scroll zoom press hover go launch focus
    connect click type fill tap drag login authenticate act mute unmute jump fly advance look disconnect
    vote perform use logout scrape answer move checkout
    """
)
"""Verbs that change the state of a session and leave nothing behind."""

FOREIGN: Final[dict[str, Action]] = {
    "删除": Action.DELETE,
    "刪除": Action.DELETE,
    "削除": Action.DELETE,
    "삭제": Action.DELETE,
    "移除": Action.DELETE,
    "创建": Action.WRITE,
    "建立": Action.WRITE,
    "新增": Action.WRITE,
    "作成": Action.WRITE,
    "생성": Action.WRITE,
    "更新": Action.WRITE,
    "修改": Action.WRITE,
    "수정": Action.WRITE,
    "发送": Action.SEND,
    "發送": Action.SEND,
    "送信": Action.SEND,
    "전송": Action.SEND,
    "执行": Action.EXECUTE,
    "実行": Action.EXECUTE,
    "실행": Action.EXECUTE,
    "支付": Action.PAY,
    "获取": Action.READ,
    "查询": Action.READ,
    "查詢": Action.READ,
    "取得": Action.READ,
    "検索": Action.READ,
    "조회": Action.READ,
}
"""Verbs of languages written without blanks, looked for at the start of a description."""

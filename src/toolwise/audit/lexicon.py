"""The words the rules go by, as data: verbs by what they do, nouns by what they touch.

Every word is compared by its stem (Snowball English) and never as a part of
another word, so "retrieval" is no "eval" and "prescription" no "script".  To
teach the rules a word, add it to a list here.
"""

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
        *("computer", "computers", "agentic", "activity", "activities", "actor"),
    }
)
"""Words whose stem is that of quite another word (computer and compute, activity and activate)."""


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
            greet search look locate distance direction geo guard facet hit
""",
        Action.COMPUTE: """
            generate convert calculate compute translate validate extract transform parse format encode
            decode evaluate estimate think plan draw render simulate predict solve verify classify detect
            optimize diff measure visualize compose lint sort hover wait screenshot profile encrypt decrypt
            hash multiply divide subtract sum average round plot echo split  upscale decompile
            disassemble decompose aggregate transcribe guess roll flip filter load equip
""",
        Action.MINOR: """
            mark unmark rename move star unstar like unlike follow unfollow label tag favorite favourite
            unfavorite unfavourite bookmark play pause stop resume skip toggle archive unarchive pin unpin
            select open close switch start save store remember copy duplicate clone download export join
            leave assign unassign navigate scroll zoom mute unmute press snooze connect disconnect checkout
            log track drag resize rate vote focus fork logout go launch subscribe unsubscribe resubscribe
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
            perform modify assume relay cordon taint cherry place
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
            bridge lend borrow repay order payout airdrop
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
    like update
    """
)
"""Verbs that are as often nouns: the action only at the front of a name, or where nothing else is."""

# -- what a tool touches ------------------------------------------------------------------------------------

STORES: Final = stems(
    """
    redis firestore mongodb postgres postgresql mysql sqlite supabase dynamodb clickhouse bigquery sql
    elasticsearch
    """
)
"""Data stores: reading their records is a level 3, reading their shape is not."""

SHAPE: Final = stems(
    """
    schema table collection database index stat info describe list status explain size type name
    """
)
"""Words of reading the shape of a store rather than its records."""

SECRETS: Final = stems("secret password credential passphrase mnemonic keychain cookie passcode env")
"""Reading these is a level 4."""

COINS: Final = stems(
    "crypto erc nft mint swap wallet blockchain coin bitcoin contract balance price brc rune"
)
"""Words beside which a token is a coin, not a credential."""

SENSITIVE: Final = stems(
    """
    message email mail inbox patient medical diagnosis prescription medication wellness sleep readiness
    transaction spend expense dispute sale holding clipboard booking submission sip margin position chat
    keystroke face camera traffic salary payroll invoice payment contact customer conversation sms imessage
    whatsapp employee candidate order payout tax paypal credit identity passport biometric crm lead
    calendar log audit proxy traffic billing dm voicemail meeting transcript bill insurance
    """
)
"""Reading these is a level 3 where they are somebody's own."""

PRIVATE: Final[dict[str, float]] = {
    stem(word): weight
    for weight, words in {
        2.0: """
            account my your workspace folder subscription inbox mailbox calendar tenant billing bill
            invoice payroll member client customer todo budget vault patient crm notification assigned
            assignee organization organisation employee dashboard email contact payment kubernetes pod
            namespace datasource meeting expense
            """,
        1.5: "team alert log proxy instance blob object analytics environment",
        1.0: """
            user project schedule usage note file group recent app playlist ticket device local storage
            history node participant notebook setting credit role conversation board issue activity sql
            database entity workload sender card agent queue cluster table label metadata monitor incident
            channel thread message zotero purchase order filter pending knowledge vector bookmark saved
            connected task event request record path deployment authenticated own permission goal health
            transcript script terminal interaction column row smart
            """,
        0.5: """
            list all id retrieve limit offset pagination cursor status read uuid key detail statistics
            stats memory configuration collection report workflow scan directory graph page balance site
            service share structured against extract cell
            """,
        0.25: "get contain search not single across",
        -0.25: "text number type name keyword component library framework available daily image dictionary",
        -0.5: """
            url code input region amount address version global test common standard check best top latest
            model official function connect book movie submission activities
            """,
        -1.0: """
            year rank ranking trend trending compare difference public want latitude longitude coordinate
            distance area country city game player score article topic language website recommend dataset
            rate ratio web lookup exchange animal indicator region video person character username hash
            film release legal law court album artist song documentation docs package guide icon genre
            historical research threat
            """,
        -2.0: """
            price news weather symbol market stock currency forecast pubmed ticker youtube cryptocurrency
            crypto bitcoin ethereum blockchain coin arxiv doi paper citation dividend flight hotel airport
            trial translate nasa wikipedia inscription anime manga quran bible verse recipe pokemon
            congress gas onchain contract scholar geocode route restaurant earthquake satellite species
            protein gene compound horoscope joke quote trivia holiday timezone hacker subreddit reddit
            google earnings calculator chess lottery pubchem patent imdb steam tvl dex nft hadith
            """,
    }.items()
    for word in words.split()
}
"""Stem -> how much it speaks for data that belongs to somebody (above 0) or to everybody (below)."""

SMALL: Final = stems(
    """
    task todo note label tag folder list comment playlist card bookmark memory favorite favourite reminder
    column bullet highlight annotation draft section watchlist observation cell checklist habit subtask
    graph tab window thought entry chart slide shape text style image color font frame
    reaction emoji layer element node notification session cache item workout collection snapshot
    pseudocode branch track board prompt template diagram label priority title view filter canvas worklog
    material scene actor object3d journal thread step entity relation
    """
)
"""Things whose making, changing or losing weighs little."""

CACHE: Final = stems(
    """
    cache cart filter selection screen highlight console favorite favourite cell tensor
    """
)
"""Things that are made again when lost."""

MASS: Final = stems("bulk batch all truncate everything entire mass multiple purge wipe")
"""Words that make one deletion many."""

SECURITY: Final = stems(
    """
    permission role policy firewall mfa iam acl whitelist allowlist blacklist admin administrator consent
    oauth sso authentication authorization privilege certificate security secret credential password dns
    vpn ssh proxy phishing encryption intune azuread principal rbac tunnel dlp pam privileged access_key
    apikey
    """
)
"""Controls of security and of access."""

FINANCE: Final = stems(
    """
    order trade position futures wallet crypto token margin leverage stock payment coin invoice
    """
)
"""Objects that make a verb like "place" or "create" move money."""

PLACING: Final = stems("place create submit post open close cancel amend market limit")
"""Verbs and order kinds that move money together with the word "order"."""

SHELLS: Final = stems("shell bash powershell terminal zsh subprocess dyno iterm tty")
"""What a command line is called."""

COMMANDS: Final = stems("command cmd commandline")
"""What is typed there; in a description alone it may be any instruction to a device."""

CODE: Final = stems(
    """
    code script python javascript sql cypher notebook cell macro lambda program snippet sandbox node repl
    """
)
"""What running code is called."""

AGENTS: Final = stems("computer autonomous agentic autonomously")
"""Tools that act by themselves on a whole machine or browser."""

ATTACKS: Final = stems("xss injection exploit bruteforce brute fuzz pentest sqli")
"""Words of attacking a system, were it only to test it."""

REQUESTS: Final = stems("http graphql raw rest webhook arbitrary")
"""Words that make a "request" one of any kind to any place."""

CLUSTERS: Final = stems("kubernetes kubectl helm k8s terraform ansible")
"""Tools that steer a whole installation."""

NUMERIC: Final = stems("matrix tensor number vector integer fraction sum digit scalar")
"""Objects that make "add" or "scale" arithmetic."""

CHECKS: Final = stems(
    """
    audit test report analysis search benchmark backtest check diagnostic simulation mode review
    """
)
"""What is run without running anything of the caller's."""

BROWSER: Final = stems(
    """
    click type fill press navigate tap drag hover element selector browser page keyboard mouse
    """
)
"""Driving a browser or a desktop."""

MAIL: Final = stems("email mail sms whatsapp imessage fax campaign newsletter")
"""Ways to reach people that cannot be called back."""

UNTRUSTED: Final = stems(
    """
    news web website webpage scrape crawl reddit subreddit tweet twitter comment review youtube transcript
    browse feed rss forum hacker instagram tiktok html reply podcast mastodon bluesky cast issue pull
    article paper arxiv trending huggingface story internet google bing duckduckgo email message mailbox
    submission airbnb
    """
)
"""Places where anybody can leave text."""

FORMAL: Final = stems(
    """
    schema status permission setting id count source location volume like latency seed source label tag
    connection documentation type metric stat statistic citation cite score state report analytics url
    template
    """
)
"""Words of what is read about such a place rather than in it."""

OUTWARD: Final = stems(
    """
    upload publish click type fill navigate message post email invite webhook push comment reply instagram
    linkedin
    """
)
"""Verbs and objects of changes that others, or other machines, get to see."""

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

FINAL: Final = (
    "cannot be undone",
    "can't be undone",
    "can not be undone",
    "permanently",
    "irreversib",
    "irrevocabl",
    "不可撤销",
    "不可恢复",
    "元に戻せ",
)
"""Phrases (case folded) that say there is no way back."""

# -- parameter names, as tuples of stems --------------------------------------------------------------------

KEY_PARAMETERS: Final = stems("password passwd secret credential mnemonic passphrase cookie apikey")
"""A parameter with one of these words takes a credential."""

TOKEN_QUALIFIERS: Final = stems("access auth api bearer bot session refresh custom user secret github id jwt")
"""Words that make "token" a credential rather than a page marker or a coin."""

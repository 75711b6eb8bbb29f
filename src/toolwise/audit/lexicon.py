"""The nouns and phrases the rules go by, as data: what a tool touches, and how much that weighs.

Every word is compared by its stem (Snowball English) and never as a part of
another word, so "retrieval" is no "eval" and "prescription" no "script".  To
teach the rules a word, add it to a list here; verbs are in
:mod:`toolwise.audit.verbs`.
"""

from __future__ import annotations

from typing import Final

from toolwise.audit.verbs import stem, stems

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

SECRETS: Final = stems(
    """
    secret password credential passphrase mnemonic keychain cookie passcode env
    """
)
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
    vpn ssh proxy phishing encryption intune azuread principal rbac tunnel dlp pam privileged fa totp
    forward apikey
    """
)
"""Controls of security and of access."""

FINANCE: Final = stems(
    "order trade wallet crypto token stock payment coin invoice eth btc sol usdc transaction"
)
"""Sending one of these moves money, or asks for it."""

STAKES: Final = stems("withdraw payout leverage margin liquidity allowance futures sip")
"""Changing one of these risks money."""

WHOLES: Final = stems("database instance cluster tenant site server bucket volume vm table")
"""Deleting one of these is deleting everything in it."""

PEOPLE: Final = stems("user member collaborator participant guest")
"""Who may be let in."""

CIRCLES: Final = stems(
    "group workspace team organization organisation project repository channel tenant role"
)
"""What people are let into."""

LIVE: Final = stems("migration deploy backup production maintenance live staging firmware")
"""Signs of a system others depend on."""

CONTROLS: Final = stems("mouse keyboard key screen application desktop")
"""What one works a machine by."""

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

ATTACKS: Final = stems("nmap xss injection exploit bruteforce brute fuzz pentest sqli")
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

KEY_PARAMETERS: Final = stems("password passwd secret credential mnemonic passphrase cookie apikey")
"""A parameter with one of these words takes a credential."""

TOKEN_QUALIFIERS: Final = stems("access auth api bearer bot session refresh custom user secret github id jwt")
"""Words that make "token" a credential rather than a page marker or a coin."""

"""
Hides what looks like a secret in a recorded command line: values whose name says so, passwords in addresses,
signatures of presigned ones, and keys that their form gives away. The rules are those of src/base/secrets.ts; one table
tests both.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

HIDDEN = "***"

_NAME = (
    r"(?:token|passwd|password|passphrase|secret|api[-_]?key|access[-_]?key|secret[-_]?key|private[-_]?key"
    r"|credentials?|signature)"
)
# In models a token is no secret: --pad-token, --max-tokens.
_HARMLESS = re.compile(
    r"(?:^|[-_.])(?:pad|eos|bos|sep|cls|unk|mask|special|image|stop|end|start|max|min|per|num|n|of)[-_.]?token$", re.I
)
_NAMED = rf"(?<![A-Za-z0-9])((?:[A-Za-z0-9]{{1,40}}[-_.]){{0,8}}{_NAME})"
_ASSIGNED = re.compile(rf"{_NAMED}([\"']?[=:][ ]?[\"']?|[ ]=[ ][\"']?)([^\s\"'&,;)]+)", re.I)
_AFTER_FLAG = re.compile(rf"(--?){_NAMED}([ ]+)(?!-)([^\s\"'&,;)]+)", re.I)
_FLAG = re.compile(rf"--?{_NAMED}", re.I)
_IN_QUERY = re.compile(
    r"([?&](?:x-amz-(?:credential|security-token|signature)|x-goog-(?:credential|signature)|sig|key|code)=)[^&#\s\"']+",
    re.I,
)
_LOGIN = re.compile(r"\b([a-z][a-z0-9+.-]{0,20}://)([^/?#@\s\"':]{0,200})(:[^/?#@\s\"']{0,500})?@", re.I)
_BEARER = re.compile(r"\b(Bearer|Basic)([ ]+)[\w.~+/=-]{8,}", re.A)
_KNOWN_FORMS = re.compile(
    r"\b(?:hf_[A-Za-z0-9]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|sk-[\w-]{16,}"
    r"|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|eyJ[\w-]{10,}\.[\w-]{5,}\.[\w-]{5,})",
    re.A,
)


def without_secrets(text: str) -> str:
    text = _LOGIN.sub(lambda m: f"{m[1]}{HIDDEN}@" if m[3] is None else f"{m[1]}{m[2]}:{HIDDEN}@", text)
    text = _IN_QUERY.sub(rf"\g<1>{HIDDEN}", text)
    text = _BEARER.sub(rf"\g<1>\g<2>{HIDDEN}", text)
    text = _ASSIGNED.sub(lambda m: m[0] if _HARMLESS.search(m[1]) else f"{m[1]}{m[2]}{HIDDEN}", text)
    text = _AFTER_FLAG.sub(lambda m: m[0] if _HARMLESS.search(m[2]) else f"{m[1]}{m[2]}{m[3]}{HIDDEN}", text)
    return _KNOWN_FORMS.sub(HIDDEN, text)


def command_without_secrets(words: Sequence[str]) -> list[str]:
    """Also without the word after a flag whose name says that it is secret."""
    before = ["", *words]
    return [
        HIDDEN if _is_secret_flag(flag) and not word.startswith("-") else without_secrets(word)
        for flag, word in zip(before, words, strict=False)
    ]


def _is_secret_flag(word: str) -> bool:
    return _FLAG.fullmatch(word) is not None and not _HARMLESS.search(word)

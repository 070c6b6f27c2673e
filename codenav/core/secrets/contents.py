"""Secrets by content: private keys, service accounts, and tokens whose form is known.

Configuration, data and files of unknown types are judged. Source code never is, since a program needs all of it, and
prose only where the file begins with a key, since documentation shows examples.
"""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterator

MOST_BYTES = 1 << 16
"""Bytes read of a file. Files made for secrets are far smaller; what is larger is data."""
_NEVER = re.compile(
    r"py[iwxco]?|pxd|pxi|ipynb|[mc]?[jt]s|[jt]sx|vue|svelte|go|java|kt|scala|rs|[chm]|cc|cpp|cxx|hh|hpp|hxx|ipp|inl|tpp|"
    r"cuh?|cs|mm|swift|rb|rake|php|pl|pm|lua|r|jl|exs?|erl|hs|ml|clj|dart|sh|bash|zsh|fish|ps1|bat|cmd|sql|html?|s?css|"
    r"less|svg|jinja|j2|pot?|f90|proto|cmake|so|dll|[ao]|png|jpe?g|gif|ico|webp|pdf|zip|gz|bz2|xz|zst|whl|jar|tar|np[yz]|"
    r"parquet|mo|woff2?|ttf|eot|mp[34]|pub|crt|cer",
    re.IGNORECASE,
)
"""Endings of files that are not judged: source code, media, public keys."""
_PROSE = frozenset((".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".org", ".tex"))
_PROSE_NAMES = re.compile(r"readme|changelog|changes|license|copying|metadata|pkg-info|notice|authors", re.IGNORECASE)
_KEY_BEGINNINGS = (b"-----BEGIN ", b"---- BEGIN ", b"PuTTY-User-Key-File-", b"AGE-SECRET-KEY-")

_KEY = re.compile(rb"-{4,5} ?BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_KEY_HEAD = re.compile(rb"""(?:\\+[nr]|[\s"',#|>+]|[A-Za-z-]+: [^\n\\]*)*""")
"""What may stand before the body of a key: line ends, also escaped, quotes, and headers such as `Proc-Type: 4`."""
_KEY_BODY = re.compile(rb"[A-Za-z0-9+/=_-]{8}")
_ENCODED_KEY = re.compile(rb"LS0tLS1CRUdJTi[A-Za-z0-9+/]{30}")
"""Base64 of `-----BEGIN` and what follows, in which Kubernetes keeps keys."""
_BREAKS = bytes.maketrans(b"\"',:;<>()[]{}|@", b" " * 15)
"""Characters that end a word. A token is a long word; the short ones, nearly all of a text, are passed over."""
_LEAST_WORD = 20
_TOKEN = re.compile(
    # As their services write them: https://github.com/gitleaks/gitleaks, config/gitleaks.toml.
    rb"(?<![A-Za-z0-9_-])(?<!sha256=)(?:"
    rb"(?:gh[pousr]_|npm_|hf_|gsk_|r8_|[sr]k_live_|whsec_|do[op]_v1_|shp(?:at|ca|pa|ss)_|dapi|lin_api_|sbp_|figd_|glsa_"
    rb"|rubygems_|AGE-SECRET-KEY-|sk-[\w-]{0,80}?)(?=[A-Za-z]*[0-9])([A-Za-z0-9]{20,})"
    rb"|(?:github_pat_|gl(?:pat|ptt|dt|rt|ft|soat|cbt|oas)-|xox[abeoprs]-|xapp-|pypi-AgE|AIza|GOCSPX-|ya29\.|SG\.|hvs\."
    rb"|dckr_pat_|xai-|pplx-|PMAK-|NRAK-|sntrys_|tskey-auth-)([\w.-]{20,})"
    rb"|(?:AKIA|ASIA)[A-Z2-7]{16}\b.{0,300}?(?<![\w/+])([\w/+]{40})(?![\w/+])"
    rb"|//hooks\.slack\.com/services/(T\w{6,}/B\w{6,}/\w{16,}))"
)
_NAMED = re.compile(
    rb"""(?:secret[ _-]?access[ _-]?key|client[_-]?secret|AccountKey|_authToken)["']?\s*[:=]\s*["']?"""
    rb"""(?=[^\s0-9]*[0-9])([\w/+~.=-]{16,})""",
    re.IGNORECASE,
)
"""Secrets without a form of their own, by the name of the field: AWS, OAuth clients, Azure storage, npm."""
_NAMED_BY = (b"ecret", b"ECRET", b"AccountKey", b"_authToken")
_SECRET_NAME = re.compile(r"credential|secret|service[-_ ]?account|passw|api[-_]?key|(?<![a-z])tokens?(?![a-z])")
"""Names of files in which a field with the name of a password or a token counts, whatever its form."""
_FIELD = re.compile(
    rb"""(?:passw(?:or)?d|secret|token|api[_-]?key|private[_-]?key|access[_-]?key)\w*["']?\s*[:=]\s*["']?"""
    rb"""([^\s"'{}<>$,]{6,})""",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    rb"example|xxxx|your|placeholder|dummy|redacted|change.?me|insert|\.\.\.|\*\*\*|\xe2\x80\xa6|^[<\[]", re.IGNORECASE
)
_LEAST_DISTINCT = 6
"""Fewest different characters of a secret: `sk-0000000000` stands for one."""


def may_hold_secret(name: str) -> bool:
    """True if a file of that name is judged by its content."""
    return not _NEVER.fullmatch(os.path.splitext(name)[1][1:])


def holds_secret(data: bytes, name: str) -> bool:
    """True if the beginning of a file of that name holds a secret. Placeholders do not count."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        data = data[2:].replace(b"\0", b"")
    if b"\0" in data or data.startswith(b"#!"):
        return False
    prose = os.path.splitext(name)[1].lower() in _PROSE or _PROSE_NAMES.match(name)
    if prose and not data.lstrip().startswith(_KEY_BEGINNINGS):
        return False
    return _holds_key(data) or any(_is_real(one) for one in _values(data, name))


def _holds_key(data: bytes) -> bool:
    if b"PuTTY-User-Key-File-" in data:
        return True
    for match in _KEY.finditer(data) if b"PRIVATE KEY" in data else ():
        head = _KEY_HEAD.match(data, match.end())
        start = head.end() if head else match.end()
        if _KEY_BODY.match(data, start) and not _PLACEHOLDER.search(data[start : start + 40]):
            return True
    encoded = _ENCODED_KEY.findall(data) if b"LS0tLS1CRUdJTi" in data else ()
    return any(b"PRIVATE" in base64.b64decode(text) for text in encoded)


def _values(data: bytes, name: str) -> Iterator[bytes]:
    """Yield what may be a secret."""
    words = b" ".join(word for word in data.translate(_BREAKS).split() if len(word) >= _LEAST_WORD)
    yield from (b"".join(filter(None, match.groups())) for match in _TOKEN.finditer(words))
    if any(mark in data for mark in _NAMED_BY):
        yield from (match[1] for match in _NAMED.finditer(data))
    if b'"kty"' in data:
        yield from re.findall(rb'"[dk]"\s*:\s*"([\w-]{20,})"', data)
    if _SECRET_NAME.search(name.lower()):
        yield from (match[1] for match in _FIELD.finditer(data))


def _is_real(value: bytes) -> bool:
    return len(set(value)) >= _LEAST_DISTINCT and not _PLACEHOLDER.search(value)

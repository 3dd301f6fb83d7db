"""A page fetched as a browser does: the token in its address becomes a cookie, then it is shown."""

from __future__ import annotations

import urllib.request


def fetch(url: str) -> bytes:
    """The page at an address that marsyard printed; an HTTPError if it is refused."""
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
    with opener.open(url, timeout=20) as answer:
        assert "token" not in answer.url
        return answer.read()

"""Check a built site: links and anchors lead somewhere, nothing is loaded from another host.

    python docs/check_site.py build/site

A page may link to another host, but must not load anything from one: styles, scripts, fonts and
pictures are part of the site, so that it can be read without a network.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: attributes that make a browser load something, by element; `link` only with these relations
LOADS = {
    "img": ("src", "srcset"), "script": ("src",), "iframe": ("src",), "source": ("src", "srcset"),
    "video": ("src", "poster"), "audio": ("src",), "object": ("data",), "embed": ("src",),
    "link": ("href",),
}  # fmt: skip
RELATIONS = ("stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch")
IN_STYLE = re.compile(r"""url\(\s*['"]?([^'")]+)|@import\s+['"]([^'"]+)""")


class Page(HTMLParser):
    """Links, what is loaded, and the anchors of one page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = {name: value or "" for name, value in attrs}
        self.anchors |= {said[name] for name in ("id", "name") if name in said}
        if tag == "a" and "href" in said:
            self.links.append(said["href"])
        for name in LOADS.get(tag, ()):
            wanted = tag != "link" or any(r in said.get("rel", "").split() for r in RELATIONS)
            if name in said and wanted:
                self.loads += re.split(r"\s+[\d.]+[wx],\s*|\s+[\d.]+[wx]$", said[name])[:1]
        self.loads += [a or b for a, b in IN_STYLE.findall(said.get("style", ""))]


def elsewhere(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "ftp")


def dead_links(site: Path, pages: dict[Path, Page]) -> Iterator[str]:
    for path, page in pages.items():
        for link in dict.fromkeys(page.links + page.loads):
            parts = urlsplit(link)
            if elsewhere(link) or parts.scheme:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            name = path.relative_to(site)
            if not there.is_relative_to(site) or not there.is_file():
                yield f"{name} leads to {link}, which is not there"
            elif parts.fragment and there in pages:
                if unquote(parts.fragment) not in pages[there].anchors:
                    yield f"{name} leads to {link}: no such anchor"


def foreign(site: Path, pages: dict[Path, Page]) -> Iterator[str]:
    for path, page in pages.items():
        for load in page.loads:
            if elsewhere(load):
                yield f"{path.relative_to(site)} loads {load} from another host"
    for path in sorted(site.rglob("*.css")):
        for first, second in IN_STYLE.findall(path.read_text(encoding="utf-8")):
            if elsewhere(first or second):
                yield f"{path.relative_to(site)} loads {first or second} from another host"


def problems(site: Path) -> list[str]:
    """A sentence for each thing that is wrong."""
    site = site.resolve()
    pages = {p: Page(p.read_text(encoding="utf-8")) for p in sorted(site.rglob("*.html"))}
    if not pages:
        return [f"{site} has no pages"]
    return [*dead_links(site, pages), *foreign(site, pages)]


def main() -> None:
    found = problems(Path(sys.argv[1]))
    print("\n".join(found) or "all links lead somewhere, nothing is loaded from another host")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()

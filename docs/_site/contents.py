"""The site's navigation is the list of docs/index.md: every page linked there, group by group.

A line of plain text before a list is the group's caption. The lists become hidden tables of
contents, so that docs/index.md stays ordinary Markdown. A page that is linked nowhere in it belongs
to no table of contents, which Sphinx reports and which fails the build. Pages in a folder named
like another page (docs/api/ and docs/api.md) are listed there and stand below it.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

INDEX = "docs/index"
PAGE = re.compile(r"\[[^\]]+\]\(([^)#:\s]+\.md)\)")


def groups(text: str) -> dict[str, list[str]]:
    """Caption and pages (as linked) of each list; pages linked in prose belong to the last."""
    found: dict[str, list[str]] = {}
    caption, seen = "Start", set()
    for line in text.splitlines():
        if re.fullmatch(r"(#+ )?\w[\w ]*", line) and not line.startswith("# "):
            caption = line.lstrip("# ")
        for page in PAGE.findall(line):
            if page not in seen:
                seen.add(page)
                found.setdefault(caption, []).append(page)
    return found


def tables(text: str) -> str:
    """The hidden tables of contents of an index page, as MyST directives."""
    out = []
    for caption, pages in groups(text).items():
        lines = "\n".join(page.removesuffix(".md") for page in pages)
        out.append(f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}\n```\n")
    return "\n" + "\n".join(out)


def children(page: Path) -> str:
    """The table of the pages in the folder named like a page: docs/api/*.md below docs/api.md."""
    below = sorted(page.with_suffix("").glob("*.md"))
    linked = PAGE.findall(page.read_text(encoding="utf-8"))
    names = [f"{page.stem}/{p.stem}" for p in below]
    names = [n for n in dict.fromkeys(link.removesuffix(".md") for link in linked) if n in names]
    lines = "\n".join(names)
    return f"\n```{{toctree}}\n:hidden:\n\n{lines}\n```\n" if names else ""


def add_tables(app: Any, name: str, content: list[str]) -> None:
    if name == "README" or name.startswith("examples/"):
        content[0] = "---\norphan: true\n---\n\n" + content[0]  # reached by links alone
    elif name == INDEX:
        content[0] += tables(content[0])
    else:
        content[0] += children(Path(app.srcdir, f"{name}.md"))


def setup(app: Any) -> dict[str, Any]:
    app.connect("source-read", add_tables)
    return {"parallel_read_safe": True}

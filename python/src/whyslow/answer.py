"""What reports and comparisons have in common."""

from __future__ import annotations

import html
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .ask import ask


@dataclass(frozen=True)
class Made:
    """What the command line gave: `printed` on its standard output, `parts` by the name of the file."""

    arguments: tuple[str, ...]
    printed: str
    parts: dict[str, str]
    # None: not asked for yet.
    page: str | None
    title: str | None

    @cached_property
    def data(self) -> dict[str, Any]:
        parsed: dict[str, Any] = json.loads(self.parts.get("report.json", self.printed))
        return parsed


class Answer:
    _made: Made

    def to_dict(self) -> dict[str, Any]:
        """The same as `--json` prints. Each call returns a new copy."""
        copied: dict[str, Any] = json.loads(json.dumps(self._made.data))
        return copied

    def html(self) -> str:
        """The page with everything, as one HTML file. Reads the files again, except in a notebook."""
        return self._page

    @cached_property
    def _page(self) -> str:
        if self._made.page is not None:
            return self._made.page
        page = make(self._made.arguments, with_page=True, title=self._made.title).page
        return page or ""

    def _folded_page(self) -> str:
        """The page in a frame that opens with a click. It has no access to the notebook. Empty outside notebooks."""
        if self._made.page is None:
            return ""
        return (
            '<details><summary style="cursor:pointer">Full page</summary>'
            '<iframe sandbox="allow-scripts allow-popups allow-downloads" '
            'style="width:100%;height:80vh;min-height:600px;border:1px solid rgba(128,128,128,.35)" '
            f'srcdoc="{html.escape(self._made.page)}"></iframe></details>'
        )


def make(
    arguments: Sequence[str],
    *,
    parts: Sequence[str] = (),
    with_page: bool | None = None,
    title: str | None = None,
    timeout: float | None = None,
) -> Made:
    """
    Runs the command line once. `parts`: files that `--parts` writes. `with_page`: None for notebooks only, where the
    page should be one click away without reading everything again.
    """
    if with_page is None:
        with_page = in_notebook()
    with TemporaryDirectory(prefix="whyslow-") as folder:
        page = Path(folder) / "page.html"
        asked = [*arguments, *(["--parts", folder] if parts else [])]
        if with_page:
            asked += ["--html", str(page), *([] if title is None else ["--title", title])]
        printed = ask(asked, timeout=timeout)
        return Made(
            arguments=tuple(arguments),
            printed=printed,
            parts={name: (Path(folder) / name).read_text("utf-8") for name in parts},
            page=page.read_text("utf-8") if with_page else None,
            title=title,
        )


def in_notebook() -> bool:
    """In Jupyter and Colab."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None

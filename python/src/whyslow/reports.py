"""`whyslow.diagnose`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from .answer import Answer, Made, make
from .ask import Paths, paths_of
from .decode import values_of
from .schema import ReportFields


@dataclass(frozen=True, repr=False)
class Report(Answer, ReportFields):
    """
    Why a run is slow. The fields are those of `whyslow diagnose --json`; `print(report)` shows what the command prints,
    and in a notebook a report shows itself.
    """

    _made: Made = field(compare=False)

    def __str__(self) -> str:
        return self._made.printed

    def __repr__(self) -> str:
        return f"<whyslow.Report {self.verdict.sentence}>"

    def _repr_html_(self) -> str:
        return self._made.parts["card.html"] + self._folded_page()


def diagnose(
    path: Paths,
    *,
    steps: str | None = None,
    ranks: str | int | Iterable[int] | None = None,
    run: str | None = None,
    title: str | None = None,
    timeout: float | None = None,
    with_page: bool | None = None,
) -> Report:
    """
    Why is this run slow? `path` is what `whyslow diagnose` takes: a folder, a file, a pattern or an address; a list for
    several. `steps="3-6"`, `ranks=[0, 2]` or `"0,2-5"`, and `run="id"` select a part of it. `timeout` is in seconds.
    `with_page` makes the page in the same reading, for `report.html()`, as in notebooks. `title` is the page's title.

    Raises InputError if there is nothing to read, with the sentence that the command line prints. If the evidence does
    not decide, `report.verdict.bottleneck` is "unknown", and `report.verdict.next` says what to record.
    """
    arguments = ["diagnose", *paths_of(path)]
    if steps is not None:
        arguments += ["--steps", steps]
    if ranks is not None:
        several = [ranks] if isinstance(ranks, str | int) else ranks
        arguments += ["--ranks", ",".join(map(str, several))]
    if run is not None:
        arguments += ["--run", run]
    made = make(arguments, parts=["report.json", "card.html"], with_page=with_page, title=title, timeout=timeout)
    return Report(**values_of(ReportFields, made.data), _made=made)

"""`whyslow.compare`."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from .answer import Answer, Made, make
from .ask import Paths, paths_of
from .decode import values_of
from .schema import ComparisonFields


@dataclass(frozen=True, repr=False)
class Comparison(Answer, ComparisonFields):
    """Did it get faster, where, and is it more than noise? The fields are those of `whyslow compare --json`."""

    _made: Made = field(compare=False)

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"<whyslow.Comparison {self.sentence}>"

    def _repr_html_(self) -> str:
        answer = f'<div style="font-size:1.25em;font-weight:600">{escape(self.sentence)}</div>'
        steps = f"<div>step {self.step.before_ms:.3g} ms → {self.step.after_ms:.3g} ms</div>"
        notes = "".join(f"<div>{escape(note)}</div>" for note in self.notes)
        return f"<div>{answer}{steps}{notes}</div>{self._folded_page()}"


def compare(before: Paths, after: Paths, *, timeout: float | None = None) -> Comparison:
    """
    Did training get faster? Each side is a run (a trace, an event log, a folder of `whyslow run`, a report as JSON), or
    a list of runs. Raises InputError if a side cannot be read. If the runs do not decide, `verdict` is "cannot-tell".
    """
    arguments = ["compare", "--before", *paths_of(before), "--after", *paths_of(after), "--json"]
    made = make(arguments, timeout=timeout)
    return Comparison(**values_of(ComparisonFields, made.data), _made=made)

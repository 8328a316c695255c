"""What a fix can do. It undoes nothing: the process ends with the trial."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn

    from ..remedies import TrialId
    from ..trial import Trial


class Fix:
    name: TrialId
    """Its id in the catalog of fixes."""
    acts_on_modules = False

    def __init__(self, **settings: Any) -> None:
        self.settings = settings

    def before_torch(self, trial: Trial) -> None:
        """Before torch is imported: the environment."""

    def install(self, trial: Trial) -> None:
        """After torch was imported, before the job's own code goes on."""

    def found_module(self, trial: Trial, module: nn.Module) -> None:
        """The first call of an outermost module begins."""

    def compiled(self, trial: Trial, module: nn.Module, call: Callable[..., Any]) -> Callable[..., Any]:
        """What to call instead, from the second call of an outermost module on."""
        return call

    def call_begins(
        self, trial: Trial, args: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Every call of an outermost module while gradients are recorded. Returns its arguments."""
        return args, options


def change_arguments(owner: Any, name: str, change: Callable[[Any, dict[str, Any]], None]) -> None:
    """Lets `change(self, arguments)` edit the arguments of a method, defaults included, before it runs."""
    original = getattr(owner, name)
    signature = inspect.signature(original)

    @functools.wraps(original)
    def call(self: Any, *args: Any, **options: Any) -> Any:
        try:
            bound = signature.bind(self, *args, **options)
        except TypeError:
            return original(self, *args, **options)  # raises the job's own error
        bound.apply_defaults()
        change(self, bound.arguments)
        return original(*bound.args, **bound.kwargs)

    setattr(owner, name, call)

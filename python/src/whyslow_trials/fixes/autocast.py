"""bf16 autocast around the forward pass and the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base import Fix

if TYPE_CHECKING:
    from ..trial import Trial


class Bf16Autocast(Fix):
    """From the call of an outermost module to the backward pass, so that the loss is computed under it too."""

    name = "bf16-autocast"
    acts_on_modules = True
    _context: Any = None

    def install(self, trial: Trial) -> None:
        trial.at_backward.append(self._leave)
        trial.at_step_end.append(lambda _: self._leave())

    def call_begins(
        self, trial: Trial, args: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        import torch

        if self._context is None:
            device = _device_of((*args, *options.values()))
            if torch.is_autocast_enabled(device):
                trial.refuse(self.name, "the job has autocast on already")
            elif device == "cuda" and not torch.cuda.is_bf16_supported(including_emulation=False):
                trial.refuse(self.name, "this GPU has no bf16")
            else:
                self._context = torch.autocast(device, dtype=torch.bfloat16)
                self._context.__enter__()
                trial.apply(self.name, f"autocast({device!r}, dtype=torch.bfloat16)")
        return args, options

    def _leave(self) -> None:
        context, self._context = self._context, None
        if context is not None:
            context.__exit__(None, None, None)


def _device_of(values: tuple[Any, ...]) -> str:
    import torch

    found = next((value.device.type for value in values if isinstance(value, torch.Tensor)), None)
    return found or ("cuda" if torch.cuda.is_available() else "cpu")

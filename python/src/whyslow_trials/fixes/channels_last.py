"""The channels_last layout for convolutional networks and their inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base import Fix

if TYPE_CHECKING:
    from torch import nn

    from ..trial import Trial


class ChannelsLast(Fix):
    name = "channels-last"
    acts_on_modules = True

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._formats: dict[int, Any] = {}
        """By the number of dimensions of an input."""

    def found_module(self, trial: Trial, module: nn.Module) -> None:
        import torch

        layouts = {torch.nn.Conv2d: (4, torch.channels_last), torch.nn.Conv3d: (5, torch.channels_last_3d)}
        for kind, (dimensions, layout) in layouts.items():
            if not any(isinstance(part, kind) for part in module.modules()):
                continue
            self._formats[dimensions] = layout
            # Parameters stay the same objects, so the optimizer keeps them. It has no state yet. Module.to() would
            # fail on parameters of another number of dimensions.
            for parameter in module.parameters():
                if parameter.dim() == dimensions:
                    parameter.data = parameter.data.to(memory_format=layout)
            trial.apply(self.name, f"{type(module).__name__} in {str(layout).removeprefix('torch.')}")
        if not self._formats:
            trial.refuse(self.name, "the model has no 2-d or 3-d convolution")

    def call_begins(
        self, trial: Trial, args: tuple[Any, ...], options: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return tuple(map(self._converted, args)), {name: self._converted(v) for name, v in options.items()}

    def _converted(self, value: Any) -> Any:
        import torch

        layout = self._formats.get(value.dim()) if isinstance(value, torch.Tensor) else None
        return value if layout is None else value.to(memory_format=layout)

"""Copies to the GPU from pinned memory that the host does not wait for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .loaders import _LoaderFix

if TYPE_CHECKING:
    from ..trial import Trial

# The driver takes a smaller one over at once, from either memory.
LEAST_BYTES = 64 * 1024


class PinnedCopies(_LoaderFix):
    name = "pinned-copies"

    def install(self, trial: Trial) -> None:
        import torch

        if not torch.cuda.is_available():
            return trial.refuse(self.name, "the job has no CUDA device")
        super().install(trial)
        self._replace_copies(trial)
        return None

    def change(self, trial: Trial, arguments: dict[str, Any]) -> None:
        if not arguments["pin_memory"]:
            arguments["pin_memory"] = True
            trial.apply(self.name, "pin_memory on")

    def _replace_copies(self, trial: Trial) -> None:
        import torch
        from torch.utils.weak import WeakTensorKeyDictionary

        from whyslow_capture.hooks.dynamo import is_compiling, not_compiled

        pinned = WeakTensorKeyDictionary()

        def source(tensor: Any) -> Any:
            """The tensor itself if it is pinned or small; of tensors that the job keeps, a pinned copy made once."""
            small = tensor.numel() * tensor.element_size() < LEAST_BYTES
            if small or tensor.requires_grad or tensor.is_pinned():
                return tensor
            version, copy = pinned.get(tensor, (None, None))
            if version != tensor._version:
                copy = tensor.pin_memory()
                pinned[tensor] = (tensor._version, copy)
                trial.apply(self.name, "tensor pinned before its copy")
            return copy

        def wrap(name: str) -> None:
            original = getattr(torch.Tensor, name)

            def copy(tensor: Any, /, *args: Any, **options: Any) -> Any:
                if (
                    is_compiling()
                    or type(tensor) is not torch.Tensor
                    or tensor.device.type != "cpu"
                    or tensor.layout is not torch.strided
                    or options.get("non_blocking")
                    or not _to_cuda(name, args, options)
                    or any(isinstance(arg, bool) for arg in args)  # non_blocking or copy, by position
                ):
                    return original(tensor, *args, **options)
                trial.apply(self.name, "copies without waiting")
                return original(source(tensor), *args, **{**options, "non_blocking": True})

            copy.__name__ = copy.__qualname__ = name
            setattr(torch.Tensor, name, not_compiled(copy))

        wrap("to")
        wrap("cuda")


def _to_cuda(name: str, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    import torch

    if name == "cuda":
        return True
    target = options.get("device", args[0] if args else None)
    if isinstance(target, torch.Tensor):
        return False
    if isinstance(target, bool):
        return False
    if isinstance(target, int):
        return True
    return isinstance(target, (str, torch.device)) and str(target).startswith("cuda")

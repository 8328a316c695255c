"""Fused attention: all backends of scaled_dot_product_attention, and `sdpa` instead of `eager` in transformers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .base import Fix

if TYPE_CHECKING:
    from torch import nn

    from ..trial import Trial

_BACKENDS = ("flash", "mem_efficient", "cudnn")


class FusedAttention(Fix):
    name = "fused-attention"
    acts_on_modules = True

    def install(self, trial: Trial) -> None:
        trial.refuse(self.name, "no attention was found that a setting could change")
        self._allow_all_backends(trial)
        self._replace_contexts(trial)

    def _allow_all_backends(self, trial: Trial) -> None:
        import torch

        switched = False

        def switch() -> None:
            nonlocal switched
            if switched:
                return
            switched = True
            for name in _BACKENDS:
                enabled = getattr(torch.backends.cuda, f"{name}_sdp_enabled", None)
                if enabled is not None and not enabled():
                    getattr(torch.backends.cuda, f"enable_{name}_sdp")(True)
                    trial.apply(self.name, f"{name} backend of scaled_dot_product_attention allowed")

        trial.at_backward.append(switch)

    def _replace_contexts(self, trial: Trial) -> None:
        """A job may choose the slow backend itself, with a context manager."""
        import torch.nn.attention as attention

        original = attention.sdpa_kernel
        fused = [b for n, b in attention.SDPBackend.__members__.items() if n.endswith("ATTENTION") or n == "MATH"]

        @contextlib.contextmanager
        def sdpa_kernel(*args: Any, **options: Any) -> Iterator[Any]:
            trial.apply(self.name, "sdpa_kernel(…) allows all backends")
            with original(fused):
                yield

        attention.sdpa_kernel = sdpa_kernel

    def found_module(self, trial: Trial, module: nn.Module) -> None:
        for part in module.modules():
            choose = getattr(part, "set_attn_implementation", None)
            if choose is None:
                continue
            before = getattr(part.config, "_attn_implementation", None)
            if before in (None, "sdpa") or "flash" in str(before):
                trial.refuse(self.name, f"attn_implementation is {before} already")
            elif getattr(part, "_supports_sdpa", False):
                choose("sdpa")
                trial.apply(self.name, f'attn_implementation "{before}" → "sdpa"')
            return

"""Arguments of DistributedDataParallel, wherever the script or a framework makes one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .base import Fix, change_arguments

if TYPE_CHECKING:
    from ..trial import Trial


class _DdpFix(Fix):
    argument = ""
    value: Any = True

    def install(self, trial: Trial) -> None:
        from torch.nn.parallel import DistributedDataParallel

        trial.refuse(self.name, "the job has no DistributedDataParallel")
        change_arguments(DistributedDataParallel, "__init__", lambda _, arguments: self.change(trial, arguments))

    def change(self, trial: Trial, arguments: dict[str, Any]) -> None:
        before = arguments.get(self.argument)
        value = self.settings.get("value", self.value)
        if before == value:
            trial.refused[self.name] = f"{self.argument} is {before} already"
            return
        arguments[self.argument] = value
        trial.apply(self.name, f"{self.argument} {before} → {value}")


class BucketView(_DdpFix):
    name = "ddp-bucket-view"
    argument = "gradient_as_bucket_view"


class BucketSize(_DdpFix):
    name = "ddp-bucket-size"
    argument = "bucket_cap_mb"
    value = 100


class StaticGraph(_DdpFix):
    """Also makes find_unused_parameters needless, which walks the graph in every step."""

    name = "ddp-static-graph"
    argument = "static_graph"

    def change(self, trial: Trial, arguments: dict[str, Any]) -> None:
        super().change(trial, arguments)
        if arguments.get("find_unused_parameters"):
            arguments["find_unused_parameters"] = False
            trial.apply(self.name, "find_unused_parameters True → False")

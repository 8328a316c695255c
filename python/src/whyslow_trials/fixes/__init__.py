"""How a trial applies the fixes of the catalog. `remedies.py`, which is generated, has their ids; a test compares."""

from __future__ import annotations

from ..spec import TrialSpec
from .allocator import ExpandableSegments, KeepCache
from .attention import FusedAttention
from .autocast import Bf16Autocast
from .base import Fix
from .channels_last import ChannelsLast
from .compile import Compile, CompileGraphs
from .ddp import BucketSize, BucketView, StaticGraph
from .flags import AnomalyOff, CudnnBenchmark, Tf32
from .fsdp import FsdpPrefetch
from .garbage import GcFrozen
from .loaders import LoaderPersistent, LoaderPrefetch, LoaderWorkers
from .micro_batch import LargerMicroBatch
from .optimizers import FusedOptimizer
from .pinned import PinnedCopies
from .threads import NumaBinding, OmpThreads

FIXES: tuple[type[Fix], ...] = (
    Tf32,
    CudnnBenchmark,
    AnomalyOff,
    LoaderWorkers,
    LoaderPersistent,
    LoaderPrefetch,
    PinnedCopies,
    FusedOptimizer,
    ChannelsLast,
    Bf16Autocast,
    Compile,
    CompileGraphs,
    FusedAttention,
    GcFrozen,
    KeepCache,
    ExpandableSegments,
    OmpThreads,
    NumaBinding,
    BucketView,
    BucketSize,
    StaticGraph,
    FsdpPrefetch,
    LargerMicroBatch,
)


def chosen(spec: TrialSpec) -> tuple[Fix, ...]:
    known = {fix.name: fix for fix in FIXES}
    return tuple(known[given["name"]](**{k: v for k, v in given.items() if k != "name"}) for given in spec.fixes)

"""Coordinates from a DeviceMesh, a mapping, or d9d's context."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from gloo_ranks import run_ranks
from trace_support import files_in, make_tier, train

from whyslow_capture.trace.mesh import mesh_of


def test_a_mapping() -> None:
    assert mesh_of({"dp": (4, 3), "tp": [2, 0]}) == {"dp": (4, 3), "tp": (2, 0)}
    assert mesh_of(None) == {}
    for wrong in ({"dp": (4, 4)}, {"dp": 3}, {"dp": (4, -1)}, 17, "dp"):
        with pytest.raises(ValueError):
            mesh_of(wrong)


def test_d9d_uses_its_finest_mesh() -> None:
    asked: list[str] = []
    mesh = SimpleNamespace(shape=(1, 4), mesh_dim_names=("pp", "dp_shard"), get_coordinate=lambda: [0, 3])

    def mesh_for(domain: str) -> Any:
        asked.append(domain)
        return mesh

    context = SimpleNamespace(mesh_for=mesh_for, mesh_params=SimpleNamespace(is_distributed=True))
    assert mesh_of(context) == {"pp": (1, 0), "dp_shard": (4, 3)}
    assert asked == ["regular"]
    alone = SimpleNamespace(mesh_for=mesh_for, mesh_params=SimpleNamespace(is_distributed=False))
    assert mesh_of(alone) == {}


def _rank_in_mesh(rank: int, out: str) -> Any:
    from torch.distributed.device_mesh import init_device_mesh

    named = mesh_of(init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp")))
    unnamed = mesh_of(init_device_mesh("cpu", (4,)))
    coordinates = tuple(c for _, c in named.values())
    tier = make_tier(
        Path(out), rank=rank, world=4, period=3, active=1, ranks=None, tier={"coordinates": lambda: coordinates}
    )
    train(tier, range(4))
    tier.close()
    return named, unnamed


def test_device_meshes_of_four_ranks_name_the_traces(tmp_path: Path) -> None:
    found = run_ranks(_rank_in_mesh, 4, str(tmp_path))
    assert [named for named, _ in found] == [
        {"dp": (2, dp), "tp": (2, tp)} for dp, tp in [(0, 0), (0, 1), (1, 0), (1, 1)]
    ]
    assert [unnamed for _, unnamed in found] == [{"axis0": (4, rank)} for rank in range(4)]
    assert files_in(tmp_path) == [
        f"traces/step_2/rank-{rank}-coord-{rank // 2}-{rank % 2}-trace.json.gz" for rank in range(4)
    ]

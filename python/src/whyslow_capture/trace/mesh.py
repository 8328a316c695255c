"""This rank's coordinates in the device mesh, read from the types that frameworks use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# axis name -> (size, coordinate of this rank)
Mesh = dict[str, tuple[int, int]]

# d9d's finest mesh: each kind of parallelism has its own axis.
D9D_DOMAIN = "regular"


def mesh_of(mesh: object) -> Mesh:
    """
    Takes a torch DeviceMesh, a mapping {axis: (size, coordinate)} or d9d's DistributedContext. Returns an empty mesh if
    the rank is not in the mesh or the job has none. Raises ValueError for anything else.
    """
    if mesh is None:
        return {}
    if isinstance(mesh, Mapping):
        return {str(axis): _pair(axis, value) for axis, value in mesh.items()}
    if hasattr(mesh, "get_coordinate"):
        return _from_device_mesh(mesh)
    if hasattr(mesh, "mesh_for"):
        parameters = getattr(mesh, "mesh_params", None)
        if not getattr(parameters, "is_distributed", True):
            return {}
        return _from_device_mesh(mesh.mesh_for(D9D_DOMAIN))
    raise ValueError(f"a mesh must be a DeviceMesh or {{axis: (size, coordinate)}}, not {type(mesh).__name__}")


def coordinates_of(mesh: Mesh | None) -> tuple[int, ...]:
    return tuple(coordinate for _, coordinate in (mesh or {}).values())


def _from_device_mesh(mesh: Any) -> Mesh:
    coordinates = mesh.get_coordinate()
    if coordinates is None:
        return {}
    sizes = tuple(mesh.shape)
    names = mesh.mesh_dim_names or tuple(f"axis{i}" for i in range(len(sizes)))
    return {
        str(name): (int(size), int(coordinate))
        for name, size, coordinate in zip(names, sizes, coordinates, strict=True)
    }


def _pair(axis: object, value: object) -> tuple[int, int]:
    if isinstance(value, (tuple, list)) and len(value) == 2 and all(isinstance(n, int) for n in value):
        size, coordinate = value
        if 0 <= coordinate < size:
            return size, coordinate
    raise ValueError(f"axis {axis!r} must be (size, coordinate) with coordinate < size, not {value!r}")

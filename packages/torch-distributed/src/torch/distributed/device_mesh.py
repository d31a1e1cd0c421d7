"""Ranks in a grid, with a group of processes along each of its dims."""

from __future__ import annotations

import math
import weakref

import torch

from . import _world as world

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """Ranks arranged in the shape of ``mesh``; all ranks make the same one.

    Along each dim, the ranks that differ only in it form a process group.

    >>> import torch.distributed as dist
    >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    >>> mesh = dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("replicate", "shard"))
    >>> mesh["shard"].size(), mesh.get_local_rank("replicate"), mesh
    (1, 0, DeviceMesh('cpu', [[0]], mesh_dim_names=('replicate', 'shard')))
    >>> dist.destroy_process_group()
    """

    mesh: torch.Tensor | None = None  # the ranks, in their shape

    def __init__(
        self,
        device_type: Any,
        mesh: Any = None,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
        backend_override: Any = None,
        _init_backend: bool = True,
        **_: Any,
    ) -> None:
        if device_type != "cpu":
            raise ValueError(f"DeviceMesh: device_type must be 'cpu', got {device_type!r}")
        self.device_type = device_type
        default = world.default_group()
        self.mesh = torch.arange(default.size()) if mesh is None else torch.as_tensor(mesh, dtype=torch.int64)
        ranks = self.mesh.flatten().tolist()
        if len(set(ranks)) != len(ranks) or not all(0 <= r < default.size() for r in ranks):
            raise ValueError(f"DeviceMesh: mesh must hold different ranks from 0 to {default.size() - 1}, got {ranks}")
        if mesh_dim_names is not None and (
            len(mesh_dim_names) != self.mesh.dim() or len(set(mesh_dim_names)) != self.mesh.dim()
        ):
            raise RuntimeError(f"DeviceMesh: {self.mesh.dim()} dims need as many different names, got {mesh_dim_names}")
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        place = (self.mesh == default.rank()).nonzero()
        self._coordinate = tuple(place[0].tolist()) if len(place) else None
        self._groups = [self._along(dim) for dim in range(self.mesh.dim())]
        self._parent, self._dims = None, list(range(self.mesh.dim()))
        self._flat: dict = {}
        _known[self._name()] = self

    def _along(self, dim):
        if (
            self.mesh.numel() == world.get_world_size()
            and self.mesh.dim() == 1
            and self.mesh.tolist() == sorted(self.mesh.tolist())
        ):
            return world.default_group()
        lines = self.mesh.transpose(dim, -1).reshape(-1, self.mesh.shape[dim]).tolist()
        mine, _ = world.new_subgroups_by_enumeration(lines)
        return mine

    @property
    def ndim(self) -> int:
        """How many dims there are."""
        return self.mesh.dim()

    @property
    def shape(self) -> tuple:
        """The sizes of the dims."""
        return tuple(self.mesh.shape)

    def size(self, mesh_dim: Any = None) -> int:
        """The number of ranks, or of those along a dim."""
        return self.mesh.numel() if mesh_dim is None else self.mesh.shape[self._dim(mesh_dim)]

    def _dim(self, name) -> int:
        if isinstance(name, int):
            return name
        if self.mesh_dim_names is None or name not in self.mesh_dim_names:
            raise KeyError(f"DeviceMesh: no dim is called {name!r}; there are {self.mesh_dim_names}")
        return self.mesh_dim_names.index(name)

    def get_group(self, mesh_dim: Any = None) -> Any:
        """The process group along a dim, which is needed where there are several."""
        if mesh_dim is None and self.ndim > 1:
            raise RuntimeError(f"DeviceMesh.get_group: of {self.ndim} dims, which? Give mesh_dim")
        group = self._groups[self._dim(0 if mesh_dim is None else mesh_dim)]
        if group is None:
            raise RuntimeError("DeviceMesh.get_group: this rank is not in the mesh")
        return group

    def get_all_groups(self) -> list:
        """The groups along all dims."""
        return [self.get_group(dim) for dim in range(self.ndim)]

    def get_rank(self) -> int:
        """Our global rank."""
        return world.get_rank()

    def get_local_rank(self, mesh_dim: Any = None) -> int:
        """Our place along a dim."""
        return world.get_rank(self.get_group(mesh_dim))

    def get_coordinate(self) -> Any:
        """Our place in the mesh, or None."""
        return self._coordinate

    def __getitem__(self, names: Any) -> Any:
        """The part of the mesh that we are in along some of its dims, or a line that :meth:`_flatten` has made of it."""
        if isinstance(names, str) and names in self._flat:
            return self._flat[names]
        dims = [self._dim(name) for name in ((names,) if isinstance(names, str) else names)]
        if self._coordinate is None:
            raise RuntimeError("DeviceMesh: this rank is not in the mesh")
        part = object.__new__(DeviceMesh)
        index = tuple(slice(None) if d in dims else self._coordinate[d] for d in range(self.ndim))
        kept = sorted(dims)
        part.device_type = self.device_type
        part.mesh = self.mesh[index].permute([kept.index(d) for d in dims])
        part.mesh_dim_names = tuple(self.mesh_dim_names[d] for d in dims)
        part._coordinate = tuple(self._coordinate[d] for d in dims)
        part._groups = [self._groups[d] for d in dims]
        part._parent, part._dims, part._flat = self, dims, {}
        _known.setdefault(part._name(), part)
        return part

    def _flatten(self, mesh_dim_name: str | None = None) -> DeviceMesh:
        """The same ranks in one line, which the mesh that this is a part of then knows by a name; all its ranks call it.

        >>> import torch.distributed as dist
        >>> dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
        >>> mesh = dist.init_device_mesh("cpu", (1, 1, 1), mesh_dim_names=("dp", "cp", "tp"))
        >>> mesh["dp", "cp"]._flatten("both").size(), mesh["both"].ndim
        (1, 1)
        >>> dist.destroy_process_group()
        """
        root = self if self._parent is None else self._parent
        if root._parent is not None:
            raise NotImplementedError("DeviceMesh._flatten: of a part of a part; take it from the whole mesh")
        name = "_".join(self.mesh_dim_names or ()) if mesh_dim_name is None else mesh_dim_name
        if name in (root.mesh_dim_names or ()):
            raise RuntimeError(f"DeviceMesh._flatten: {root} has a dim called {name!r}")
        if name not in root._flat:
            others = [dim for dim in range(root.ndim) if dim not in self._dims]
            lines = root.mesh.permute([*others, *self._dims]).reshape(-1, self.mesh.numel()).tolist()
            group, _ = world.new_subgroups_by_enumeration(lines)
            flat = DeviceMesh.from_group(group, self.device_type, self.mesh.flatten(), mesh_dim_names=(name,))
            root._flat[name] = flat
        return root._flat[name]

    def _beside(self, other: DeviceMesh) -> DeviceMesh:
        """The mesh of our dims and those of another part of the same mesh."""
        root = self._get_root_mesh()
        names = (*(self.mesh_dim_names or ()), *(other.mesh_dim_names or ()))
        if other._get_root_mesh() is not root or self is root or len(set(names)) < len(names):
            raise ValueError(
                f"DeviceMesh: {self} and {other} are not parts of one mesh with dims of their own; make one of all ranks, "
                'as init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp")), and take mesh["dp"] and mesh["tp"]'
            )
        return root[names]

    def _get_root_mesh(self):
        return self if self._parent is None else self._parent._get_root_mesh()

    @staticmethod
    def from_group(
        group: Any, device_type: str = "cpu", mesh: Any = None, *, mesh_dim_names: tuple[str, ...] | None = None
    ) -> Any:
        """The mesh of existing groups: of one dim, or with a list of one group for each dim of ``mesh``, the ranks."""
        groups = list(group) if isinstance(group, (list, tuple)) else [group]
        own = [world.get_process_group_ranks(one) for one in groups]
        if mesh is None:
            if len(groups) != 1:
                raise ValueError("DeviceMesh.from_group: several groups need mesh=, the ranks of all of them")
            mesh = own[0]
        mesh = torch.as_tensor(mesh, dtype=torch.int64)
        if mesh.dim() != len(groups):
            raise ValueError(f"DeviceMesh.from_group: {len(groups)} groups do not fit a mesh of {mesh.dim()} dims")
        coordinate = (mesh == world.get_rank()).nonzero()
        if len(coordinate) != 1:
            raise ValueError(
                f"DeviceMesh.from_group: rank {world.get_rank()} is {len(coordinate)} times in {mesh.tolist()}"
            )
        coordinate = tuple(coordinate[0].tolist())
        for dim, ranks in enumerate(own):
            at = tuple(slice(None) if i == dim else c for i, c in enumerate(coordinate))
            if mesh[at].tolist() != ranks:
                raise ValueError(
                    f"DeviceMesh.from_group: along dim {dim} the mesh has the ranks {mesh[at].tolist()}, the group has {ranks}"
                )
        made = object.__new__(DeviceMesh)
        made.device_type, made.mesh = device_type, mesh
        made.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        made._coordinate, made._groups, made._parent = coordinate, groups, None
        made._dims, made._flat = list(range(mesh.dim())), {}
        _known.setdefault(made._name(), made)
        return made

    def _name(self):
        return self.device_type, str(self.mesh.tolist()), self.mesh_dim_names

    def __reduce__(self) -> Any:
        return _again, (self.device_type, self.mesh.tolist(), self.mesh_dim_names)

    def __enter__(self) -> Any:
        _current.append(self)
        return self

    def __exit__(self, *error: Any) -> Any:
        _current.pop()

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, DeviceMesh) and (self.mesh.tolist(), self.mesh_dim_names) == (
            other.mesh.tolist(),
            other.mesh_dim_names,
        )

    def __hash__(self) -> int:
        return hash((tuple(self.mesh.flatten().tolist()), self.shape, self.mesh_dim_names))

    def __repr__(self) -> str:
        names = "" if self.mesh_dim_names is None else f", mesh_dim_names={self.mesh_dim_names}"
        return f"DeviceMesh({self.device_type!r}, {self.mesh.tolist()}{names})"


_current: list = []
_known: weakref.WeakValueDictionary[tuple, DeviceMesh] = weakref.WeakValueDictionary()


def _again(device_type, ranks, names):
    """The mesh that was pickled: one of this job that is like it, else a new one, which all ranks then make."""
    found = _known.get((device_type, str(ranks), names))
    alive = found is not None and world.is_initialized() and all(g is None or world.knows(g) for g in found._groups)
    return found if alive else DeviceMesh(device_type, ranks, mesh_dim_names=names)


def current_mesh() -> DeviceMesh:
    """The mesh of the innermost ``with mesh:`` block."""
    if not _current:
        raise RuntimeError("No device mesh is currently active, please provide the device_mesh argument")
    return _current[-1]


def init_device_mesh(
    device_type: Any, mesh_shape: Any, *, mesh_dim_names: tuple[str, ...] | None = None, backend_override: Any = None
) -> DeviceMesh:
    """All ranks in a grid of a shape; the default group is set up if it is not yet."""
    if not world.is_initialized():
        world.init_process_group()
    if math.prod(mesh_shape) != world.get_world_size():
        raise RuntimeError(
            f"init_device_mesh: a mesh of {tuple(mesh_shape)} needs {math.prod(mesh_shape)} ranks, there are {world.get_world_size()}"
        )
    ranks = torch.arange(world.get_world_size()).view(tuple(mesh_shape))
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names)

"""What a module is given, and what it returns, moved to where it is wanted."""

from .._dtensor import DTensor
from .styles import ParallelStyle

__all__ = ["PrepareModuleInput", "PrepareModuleInputOutput", "PrepareModuleOutput"]


def _several(value):
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def _moved(value, layout, wanted, mesh, use_local):
    """A piece that lies by ``layout``, as a DTensor or a piece that lies as is wanted."""
    if layout is None:
        return value
    result = DTensor.from_local(value, mesh, [layout]) if not isinstance(value, DTensor) else value
    result = result.redistribute(mesh, [layout if wanted is None else wanted])
    return result.to_local() if use_local else result


def _all_moved(values, layouts, desired, mesh, use_local, what):
    layouts, desired = _several(layouts), _several(desired)
    if not len(values) == len(layouts) == len(desired):
        raise ValueError(
            f"module {what} and {what[:-1]}_layouts should have same length! {len(values)}, {len(layouts)} and as desired "
            f"{len(desired)}"
        )
    return tuple(_moved(*one, mesh, use_local) for one in zip(values, layouts, desired, strict=True))


class PrepareModuleInput(ParallelStyle):
    """Tensors that a module is given lie by ``input_layouts`` and reach it by ``desired_input_layouts``.

    ``input_kwarg_layouts`` and ``desired_input_kwarg_layouts`` are the same of arguments by name.
    """

    def __init__(self, *, input_layouts=None, desired_input_layouts=None, input_kwarg_layouts=None,
                 desired_input_kwarg_layouts=None, use_local_output=False):  # fmt: skip
        self.layouts, self.desired = input_layouts, desired_input_layouts
        self.named, self.named_desired = input_kwarg_layouts or {}, desired_input_kwarg_layouts or {}
        if set(self.named) != set(self.named_desired):
            raise ValueError(
                f"input kwarg layouts are of {sorted(self.named)}, as desired {sorted(self.named_desired)}"
            )
        self.use_local = use_local_output

    def _apply(self, module, device_mesh):
        def prepare(module, inputs, named):
            if self.layouts is not None:
                inputs = _all_moved(inputs, self.layouts, self.desired, device_mesh, self.use_local, "inputs")
            for name, layout in self.named.items():
                if name in named:
                    named[name] = _moved(named[name], layout, self.named_desired[name], device_mesh, self.use_local)
            return inputs, named

        module.register_forward_pre_hook(prepare, with_kwargs=True)
        return module


class PrepareModuleOutput(ParallelStyle):
    """Tensors that a module returns lie by ``output_layouts`` and leave it by ``desired_output_layouts``."""

    def __init__(self, *, output_layouts, desired_output_layouts, use_local_output=True):
        self.layouts, self.desired, self.use_local = output_layouts, desired_output_layouts, use_local_output

    def _apply(self, module, device_mesh):
        def prepare(module, inputs, outputs):
            moved = _all_moved(_several(outputs), self.layouts, self.desired, device_mesh, self.use_local, "outputs")
            return moved if isinstance(outputs, tuple) else moved[0]

        module.register_forward_hook(prepare)
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """:class:`PrepareModuleInput` and :class:`PrepareModuleOutput` of one module."""

    def __init__(self, *, input_layouts=None, desired_input_layouts=None, input_kwarg_layouts=None,
                 desired_input_kwarg_layouts=None, use_local_input=False, output_layouts, desired_output_layouts,
                 use_local_output=True):  # fmt: skip
        self.input = PrepareModuleInput(
            input_layouts=input_layouts,
            desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )
        self.output = PrepareModuleOutput(
            output_layouts=output_layouts,
            desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )

    def _apply(self, module, device_mesh):
        return self.output._apply(self.input._apply(module, device_mesh), device_mesh)

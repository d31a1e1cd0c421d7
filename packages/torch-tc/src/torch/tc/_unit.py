"""A definition as a callable, as ``tc.define`` of 2018 returned it."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch.tc import _arguments, _cache, _halide, _source, _text, _tuner
from torch.tc._check import check
from torch.tc._options import MappingOptions
from torch.tc._parser import parse as parse_source
from torch.tc._program import Program
from torch.tc._source import CompilationError, Source
from torch.tc._syntax import Definition

PROGRAMS = 256  #: compiled programs that a definition keeps


def parse(lang: str, file: str | None = None) -> dict[str, Definition]:
    """The definitions of a text, by name, or CompilationError; needs no compiler.

    >>> import torch.tc
    >>> list(torch.tc.parse("def copy(float(N) A) -> (o) { o(i) = A(i) }"))
    ['copy']
    """
    source = Source(text_of(lang), file) if file else _source.of_caller(text_of(lang))
    return definitions(source)


def text_of(lang: Any) -> str:
    if not isinstance(lang, str):
        raise TypeError(f"tc: expected a text, got {type(lang).__name__}")
    return lang


def definitions(source: Source) -> dict[str, Definition]:
    found = {one.name: one for one in parse_source(source)}
    for one in found.values():
        check(source, one)
    return found


def formatted(lang: str, constants: dict[str, Any]) -> str:
    """The text with ``{name}`` replaced; braces of the language itself are written twice."""
    try:
        return lang.format(**constants)
    except (KeyError, IndexError, ValueError) as error:
        raise ValueError(
            f"tc: constants do not fit the text ({error!r}): {{name}} stands for a constant, and the braces around statements are "
            "written twice, {{ and }}"
        ) from None


class Compiled:
    """One definition, with the programs that were compiled for sizes and options."""

    def __init__(self, source: Source, one: Definition):
        _halide.load()
        self.source, self.one = source, one
        self.programs: dict[Any, Program] = {}
        self.chosen: dict[Any, MappingOptions] = {}  #: by shapes, of the tuner

    def program(self, shapes: tuple[tuple[int, ...], ...], options: MappingOptions | None) -> Program:
        options = options or self.chosen.get(shapes) or MappingOptions("auto")
        key = shapes, options.key, torch.get_num_threads()
        if key not in self.programs:
            while len(self.programs) >= PROGRAMS:
                del self.programs[next(iter(self.programs))]
            self.programs[key] = Program(self.source, self.one, shapes, options)
        return self.programs[key]

    def remember(self, file: str, shapes: tuple[tuple[int, ...], ...]) -> None:
        """Use what a cache file holds for these sizes."""
        if shapes not in self.chosen:
            found = _cache.load(file, self.source.text, self.one.name, shapes, 1)
            if found:
                self.chosen[shapes] = found[0]

    def __call__(self, inputs: Sequence[Any], options: MappingOptions | None = None, outputs: Any = None) -> list[Any]:
        found = _arguments.tensors(self.source, self.one, inputs)
        program = self.program(_arguments.shapes(found), options)
        return _arguments.execute(self.one.name, program, found, outputs)


class TcUnit:
    """What ``define`` returns: called with tensors, tuned with ``autotune``.

    >>> import torch, torch.tc
    >>> add = torch.tc.define("def add(float(N) A, float(N) B) -> (C) { C(i) = A(i) + B(i) }", name="add")
    >>> add(torch.ones(3), torch.arange(3.0))
    tensor([1., 2., 3.])
    """

    def __init__(
        self,
        lang: str,
        name: str | None = None,
        constants: dict[str, Any] | None = None,
        training: bool = False,
        backward: str | None = None,
        options: Any = None,
        cache: Any = None,
        inject_kernel: Any = None,
        cuda_code: Any = None,
    ):
        if inject_kernel is not None or cuda_code is not None:
            raise NotImplementedError("tc: kernels written in CUDA are not run; programs run on the CPU")
        text = text_of(lang)
        source = _source.of_caller(text, formatted(text, constants) if constants else None)
        found = definitions(source)
        if name is None:
            if len(found) - (backward in found) != 1:
                raise ValueError(f"tc: name= has to say which of {', '.join(found)} to define")
            name = next(n for n in found if n != backward)
        for wanted in (name, *([backward] if backward else [])):
            if wanted not in found:
                raise ValueError(f"tc: no definition {wanted!r}; there are {', '.join(found)}")
        if training and not backward:
            raise ValueError("tc: training=True needs backward=, the name of the definition of the gradients")
        self.name, self.lang, self.options, self.cache = name, source.text, options, _cache.file_of(cache, name)
        self.forward = Compiled(source, found[name])
        self.backward = Compiled(source, found[backward]) if backward else None
        if self.backward:
            from torch.tc import _gradient

            self.order = _gradient.order(source, self.forward.one, self.backward.one)
        self.__name__ = name
        self.__signature__ = inspect.Signature(
            [inspect.Parameter(p.name, inspect.Parameter.POSITIONAL_ONLY) for p in found[name].parameters]
        )

    def __repr__(self) -> str:
        return f"<tc.TcUnit {self.name}{self.__signature__}>"

    def pair(self, options: Any) -> tuple[MappingOptions | None, MappingOptions | None]:
        """Options of the forward and the backward definition, from one or two of them, or names."""
        if options is None:
            options = self.options
        both = tuple(options) if isinstance(options, list | tuple) else (options, options)
        if len(both) != 2:
            raise ValueError(f"{self.name}: options expected one or two, got {len(both)}")
        return tuple(MappingOptions(o) if isinstance(o, str) else o for o in both)

    def __call__(self, *inputs: Any, outputs: Any = None, options: Any = None, cache: Any = None) -> Any:
        """The result, or a tuple of them; ``outputs`` are tensors to write to, ``cache`` a file of ``autotune``."""
        pair = self.pair(options)
        if file := _cache.file_of(cache, self.name) or self.cache:
            self.forward.remember(file, _arguments.shapes([torch.as_tensor(t) for t in inputs]))
        needs = any(isinstance(t, torch.Tensor) and t.requires_grad for t in inputs) and torch.is_grad_enabled()
        if needs and self.backward is None:
            raise RuntimeError(
                f"{self.name}: an argument needs gradients, and there is no definition of them: pass training=True and backward= "
                "to define, or call it under torch.no_grad()"
            )
        if needs:
            from torch.tc import _gradient

            if outputs is not None:
                raise RuntimeError(
                    f"{self.name}: outputs= gives no gradients; call it without, or under torch.no_grad()"
                )
            found = _gradient.apply(self, inputs, pair, file)
        else:
            found = self.forward(inputs, pair[0], outputs)
        return found[0] if len(found) == 1 else tuple(found)

    def autotune(
        self, *inputs: Any, cache: Any = None, options: Any = None, type: str | None = None, **settings: Any
    ) -> Any:
        """Search for options on these arguments; see ``torch.tc.tune``. Later calls of these sizes use what was found.

        Arguments are tensors, or shapes as tuples. Several sizes tune together when every argument is a list of such arguments.
        ``type`` picks only ``"forward"`` or ``"backward"``, whose own arguments come then; without it a unit for training tunes both and
        returns both options.
        """
        if type not in (None, "forward", "backward"):
            raise ValueError(f"{self.name}: type expected 'forward' or 'backward', got {type!r}")
        if type == "backward" and self.backward is None:
            raise ValueError(f"{self.name}: there is no backward definition to tune")
        file = _cache.file_of(cache, self.name)
        pair = self.pair(options)
        if type == "backward":
            return _tuner.tune(self.backward, _tuner.cases(self.backward, inputs), pair[1], file, **settings)
        cases = _tuner.cases(self.forward, inputs)
        best = _tuner.tune(self.forward, cases, pair[0], file, **settings)
        if type == "forward" or self.backward is None:
            return best
        from torch.tc import _gradient

        cases = [_gradient.arguments(self, case, self.forward(case), None) for case in cases]
        return best, _tuner.tune(self.backward, cases, pair[1], file, **settings)

    def ptx(self, *inputs: Any, options: Any = None, capability: int = 80) -> str:
        """The program for an NVIDIA GPU, as PTX text; no GPU is needed."""
        return self.code("cuda", *inputs, options=options, capability=capability)

    def code(self, kind: str, *inputs: Any, options: Any = None, capability: int = 80) -> str:
        """Text of the program: ``"cuda"`` (PTX), ``"opencl"``, ``"assembly"``, ``"llvm"``, ``"c"`` or ``"loops"``."""
        shapes = tuple(tuple(t) if isinstance(t, list | tuple) else tuple(torch.as_tensor(t).shape) for t in inputs)
        if len(shapes) != len(self.forward.one.parameters):
            raise TypeError(f"{self.name}: expected {len(self.forward.one.parameters)} arguments, got {len(shapes)}")
        chosen = self.pair(options)[0] or MappingOptions("auto")
        return _text.text(self.forward.source, self.forward.one, shapes, chosen, kind, capability)


def define(
    lang: str,
    name: Any = None,
    constants: dict[str, Any] | None = None,
    training: bool = False,
    backward: str | None = None,
    **more: Any,
) -> Any:
    """Make a comprehension callable.

    ``constants`` replace ``{name}`` in the text. With ``training=True``, ``backward`` names the definition of the gradients: its parameters are those of
    the forward definition, then (if it asks for them) the results, then the gradients of the results; it returns gradients of the
    parameters, from the first, or under names such as ``A_grad``.

    In place of a name, a factory of options (``make_naive_options_factory()``) gives the interface of late 2018: an object with
    all definitions of the text as methods.

    >>> import torch, torch.tc as tc
    >>> text = '''
    ... def fc(float(B, M) I, float(N, M) W, float(N) b) -> (O) {
    ...     O(i, n) +=! I(i, m) * W(n, m)
    ...     O(i, n) = fmax(O(i, n) + b(n), 0)
    ... }'''
    >>> fc = tc.define(text, name="fc")
    >>> fc(torch.ones(1, 2), torch.tensor([[1.0, 2.0], [-1.0, 0.0]]), torch.zeros(2))
    tensor([[3., 0.]])
    """
    _halide.load()
    if callable(name):
        from torch.tc import _late

        return _late.TC(lang, name)
    return TcUnit(lang, name=name, constants=constants, training=training, backward=backward, **more)


__all__ = ["CompilationError", "TcUnit", "define", "parse"]

"""Context managers that are decorators, too."""

import functools
import inspect

__all__ = ["context_decorator"]


def context_decorator(ctx, func):
    """The function, or generator function, that runs within a context.

    ``ctx`` is a context manager that can be entered again and again, or a function that makes one. A generator is within
    while it runs, not while its user does. TypeError for a class, whose body has run already.

    >>> import contextlib, io
    >>> def hello():
    ...     print("hello")
    >>> context_decorator(lambda: contextlib.redirect_stdout(io.StringIO()), hello)()
    """
    if hasattr(ctx, "__enter__") and callable(ctx) and not inspect.isclass(ctx):
        raise AssertionError(f"the context is a context manager and a function in one, which is ambiguous: {ctx!r:.80}")
    make = ctx if callable(ctx) else lambda: ctx
    if inspect.isclass(func):
        raise RuntimeError(f"cannot decorate the class {func.__name__}: decorate its methods")
    if inspect.isgeneratorfunction(func):
        return _within_generator(make, func)

    @functools.wraps(func)
    def run(*args, **kwargs):
        with make():
            return func(*args, **kwargs)

    return run


def _within_generator(make, func):
    @functools.wraps(func)
    def run(*args, **kwargs):
        generator = func(*args, **kwargs)
        step = functools.partial(next, generator)
        while True:
            try:
                with make():
                    value = step()
            except StopIteration as end:
                return end.value
            try:
                sent = yield value
            except GeneratorExit:
                with make():
                    generator.close()
                raise
            except BaseException as error:
                step = functools.partial(generator.throw, error)
            else:
                step = functools.partial(generator.send, sent)

    return run


class _DecoratorContextManager:
    """A context manager that decorates functions: derived classes define ``__enter__``, ``__exit__`` and, when they take
    arguments, ``clone``.
    """

    def __call__(self, orig_func):
        """The function within this context."""
        return context_decorator(self.clone, orig_func)

    def __enter__(self):
        raise NotImplementedError(f"{type(self).__name__} does not define __enter__")

    def __exit__(self, exc_type, exc_value, traceback):
        raise NotImplementedError(f"{type(self).__name__} does not define __exit__")

    def clone(self):
        """A fresh context like this one."""
        return type(self)()


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One without arguments, which decorates without parentheses as well."""

    def __new__(cls, orig_func=None):
        return super().__new__(cls) if orig_func is None else cls()(orig_func)

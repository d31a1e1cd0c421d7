"""Texts that a test expects: in files beside it, or written in the test."""

from __future__ import annotations

import os
import re
import sys
import unittest
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class ExpectedTexts(unittest.TestCase):
    """Adds ``assertExpected`` and what belongs to it to a test case."""

    def _expected_file(self, subname: str | None) -> Path:
        module = type(self).__module__
        source = getattr(sys.modules.get(module), "__file__", None)
        if source is None:
            raise RuntimeError(f"assertExpected: {module} has no file, so nothing can lie beside it")
        name = self.id().removeprefix(module + ".")
        if subname:
            name += "-" + subname
        return Path(os.path.realpath(source)).parent / "expect" / (name + ".expect")

    def assertExpected(self, s: Any, subname: str | None = None) -> None:
        """The text must be that of ``expect/TestClass.test_name[-subname].expect`` beside the test.

        With EXPECTTEST_ACCEPT=1 in the environment, or ``--accept`` on the command line of ``run_tests``, it is written.
        """
        if not (isinstance(s, str) or (isinstance(s, tuple) and all(isinstance(part, str) for part in s))):
            raise TypeError(f"assertExpected: expected a text or a tuple of texts, got {type(s).__name__}")
        text = s if isinstance(s, str) else "".join(f"{part}\n" for part in s)
        file = self._expected_file(subname)
        if os.environ.get("EXPECTTEST_ACCEPT", "0") not in ("", "0"):
            file.parent.mkdir(exist_ok=True)
            file.write_text(text)
            return
        if not file.exists():
            raise RuntimeError(
                f"assertExpected: there is no file {file}; EXPECTTEST_ACCEPT=1 in the environment writes what came:\n{text}"
            )
        self.assertMultiLineEqual(file.read_text().replace("\r\n", "\n"), text)

    def assertExpectedStripMangled(self, s: str, subname: str | None = None) -> None:
        """``assertExpected`` of the text without the names of compiled classes (``__torch__.package.Name``)."""
        self.assertExpected(re.sub(r"__torch__[^ ]+", "", s), subname)

    def assertExpectedRaises(self, exc_type: Any, callable: Any, *args: Any, **kwargs: Any) -> None:
        """``assertExpected`` of the message of the error that the call raises; ``subname`` names the file."""
        subname = kwargs.pop("subname", None)
        with self.assertRaises(exc_type) as caught:
            callable(*args, **kwargs)
        self.assertExpected(str(caught.exception), subname)

    def assertExpectedInline(self, actual: Any, expect: str, skip: int = 0) -> None:
        """The text must be the one given; no source is ever rewritten, so ``skip`` changes nothing."""
        self.assertMultiLineEqual(expect, actual if isinstance(actual, str) else str(actual))

    def assertExpectedRaisesInline(
        self, exc_type: Any, callable: Any, expect: str, *args: Any, skip: int = 0, **kwargs: Any
    ) -> None:
        """The message of the error that the call raises must be the one given."""
        with self.assertRaises(exc_type) as caught:
            callable(*args, **kwargs)
        self.assertExpectedInline(str(caught.exception), expect)

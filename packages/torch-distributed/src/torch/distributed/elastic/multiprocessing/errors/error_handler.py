"""What happens to an exception that ends a process."""

import faulthandler
import json
import os
import time
import traceback

__all__ = ["ErrorHandler"]


class ErrorHandler:
    """Writes exceptions into the file that ``torchrun`` reads, whose path is in ``TORCHELASTIC_ERROR_FILE``.

    A handler of one's own overrides ``initialize`` or ``record_exception``, and is given to ``record``.
    """

    def initialize(self) -> None:
        """Called before the main function: a crash of the interpreter prints its stacks."""
        try:
            faulthandler.enable(all_threads=True)
        except Exception:  # standard error may have no descriptor
            pass

    def record_exception(self, e: BaseException) -> None:
        """Write an exception; nothing where no file was named."""
        path = os.environ.get("TORCHELASTIC_ERROR_FILE")
        if not path:
            return
        text = "".join(traceback.format_exception(e))
        extra = {"py_callstack": text, "timestamp": str(int(time.time()))}
        with open(path, "w") as file:
            json.dump({"message": {"message": f"{type(e).__name__}: {e}\n{text}", "extraInfo": extra}}, file)

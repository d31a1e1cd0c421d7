"""What ranks print: to files, or to files and to where the agent prints, with the rank before each line."""

import subprocess
import threading


class Outputs:
    """Where a rank's output goes; ``redirects`` and ``tee`` are 1 for stdout, 2 for stderr, 3 for both."""

    def __init__(self, folder, role, rank, redirects, tee):
        self.folder, self.label = folder, f"[{role}{rank}]:"
        self.redirects, self.tee = redirects, tee
        self.files, self.copies = {}, []

    def arguments(self) -> dict:
        """For ``subprocess.Popen``."""
        found = {}
        for bit, name in ((1, "stdout"), (2, "stderr")):
            if self.tee & bit:
                found[name] = subprocess.PIPE
            elif self.redirects & bit:
                found[name] = self.files[name] = open(self.folder / f"{name}.log", "wb")  # noqa: SIM115
        return found

    def attach(self, process, streams) -> None:
        """Begin to copy what the process prints to ``streams``, by name."""
        for file in self.files.values():
            file.close()
        for name, target in streams.items():
            source = getattr(process, name)
            if source is not None:
                thread = threading.Thread(target=self._copy, args=(source, name, target), daemon=True)
                thread.start()
                self.copies.append(thread)

    def _copy(self, source, name, target):
        with open(self.folder / f"{name}.log", "wb") as file, source:
            for line in source:
                file.write(line)
                file.flush()
                target.write(f"{self.label}{line.decode(errors='replace')}")
                target.flush()

    def finish(self) -> None:
        """Wait until all that the process printed has been copied."""
        for thread in self.copies:
            thread.join(5)

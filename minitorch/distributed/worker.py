"""Stage 7 - One process of a job: runs a program as Python would, and marks every line that it prints with its rank.

`python -m minitorch.distributed.run` starts this file under mpiexec. It imports the library only if the program does.
"""

from __future__ import annotations

import io
import os
import runpy
import sys
from pathlib import Path
from typing import Any

RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")
"""Variables in which launchers tell a process its rank."""


INTERRUPTED = 8.0
"""Seconds from Ctrl-C in one process to the end of the others."""


class RankPrefix(io.TextIOBase):
    """A stream that writes whole lines, each with a prefix, so that the lines of several processes do not mix.

    Args:
        stream: The stream to write to.
        prefix: What every line begins with.
    """

    def __init__(self, stream: Any, prefix: str) -> None:
        self.stream, self.prefix, self._line = stream, prefix, ""

    def write(self, text: str) -> int:
        """Write the lines that are complete; keep the rest for later."""
        *lines, self._line = (self._line + text).split("\n")
        if lines:
            self.stream.write("".join(f"{self.prefix}{line}\n" for line in lines))
            self.stream.flush()
        return len(text)

    def writable(self) -> bool:
        """True."""
        return True

    def finish(self) -> None:
        """Write what follows the last line break."""
        if self._line:
            self.write("\n")

    def fileno(self) -> int:
        """The file descriptor of the stream."""
        return self.stream.fileno()

    def reconfigure(self, **options: Any) -> None:
        """Change the encoding of the stream, as of a TextIOWrapper."""
        self.stream.reconfigure(**options)

    @property
    def encoding(self) -> str:  # type: ignore[override]  # a field there
        """The encoding of the stream."""
        return self.stream.encoding


def main(script: str, *arguments: str) -> int:
    """Run a program with its arguments.

    Args:
        script: Path of the program.
        arguments: Its command line.

    Returns:
        Its exit status. With a status other than 0 the whole job ends.
    """
    rank = next((os.environ[name] for name in RANKS if name in os.environ), "0")
    # For the launcher, which does not print it. In one write: print makes two, between which another process may write.
    sys.stderr.write(f"= rank {rank} has PID {os.getpid()}\n")
    sys.stderr.flush()
    streams = [RankPrefix(stream, f"[rank {rank}] ") for stream in (sys.stdout, sys.stderr)]
    sys.stdout, sys.stderr = streams  # type: ignore[assignment]  # all that print needs
    sys.argv = [script, *arguments]
    sys.path[0] = str(Path(script).resolve().parent)
    status = 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except KeyboardInterrupt:  # all processes get it, and may still be saving a checkpoint
        status = 130
    except BaseException as error:  # printed as Python does, from the program's own first line on
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename in (__file__, runpy.__file__, "<frozen runpy>"):
            frames = frames.tb_next
        sys.excepthook(type(error), error.with_traceback(frames), frames)
        status = 1
    for stream in streams:
        stream.finish()
    group = sys.modules.get("minitorch.distributed.group")
    if status and group is not None:
        group.abort(status, INTERRUPTED if status == 130 else group.GRACE_PERIOD)
    return status


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))

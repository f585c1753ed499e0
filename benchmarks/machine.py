"""The name of the machine, for the first line of a table of times."""

import platform
from pathlib import Path


def processor() -> str:
    """Return the name of the processor, if the system provides it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":")[1].strip()
    return platform.processor() or platform.machine()

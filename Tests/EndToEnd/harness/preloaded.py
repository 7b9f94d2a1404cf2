"""Libraries in C that a server of a test is made to load before its own."""

import shutil
import subprocess
import sys
from pathlib import Path

# Swift's toolchain on Linux brings clang; any C compiler does.
COMPILER = next((found for name in ("clang", "cc", "gcc") if (found := shutil.which(name))), None)
IS_HERE = bool(COMPILER) and sys.platform == "linux"


def preloaded(source: Path, folder: Path) -> dict[str, str]:
    """Compiles a library into a folder; the environment of a server that loads it."""
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / f"{source.stem}.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, source], check=True)
    return {"LD_PRELOAD": str(library)}

"""C libraries that a test preloads into a server."""

import shutil
import subprocess
import sys
from pathlib import Path

# Swift's toolchain on Linux includes clang; any C compiler works.
COMPILER = next((found for name in ("clang", "cc", "gcc") if (found := shutil.which(name))), None)
IS_HERE = bool(COMPILER) and sys.platform == "linux"


def preloaded(source: Path, folder: Path) -> dict[str, str]:
    """Compiles a library into a folder; returns the environment variables that preload it."""
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / f"{source.stem}.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, source], check=True)
    return {"LD_PRELOAD": str(library)}

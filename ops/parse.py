"""usage: parse.py FILE… — reports the Python and YAML files that do not parse, and then exits with 1.

It writes no compiled files, and treats the compiler's warnings as errors.
"""

import sys
import warnings
from pathlib import Path

import yaml


def fault(path: Path) -> str | None:
    """Returns the error of a file, or `None` if it parses."""
    text = path.read_text(encoding="utf-8")
    try:
        if path.suffix == ".py":
            compile(text, str(path), "exec", dont_inherit=True)
        else:
            list(yaml.safe_load_all(text))
    except (SyntaxError, SyntaxWarning, yaml.YAMLError) as error:
        return f"{path}: {error}"
    return None


if __name__ == "__main__":
    warnings.simplefilter("error")
    faults = [found for name in sys.argv[1:] if (found := fault(Path(name)))]
    print(*faults, sep="\n", end="\n" if faults else "")
    sys.exit(1 if faults else 0)

"""usage: parse.py FILE… — says which Python and YAML files do not parse; ends with 1 if any.

Leaves no compiled files beside the sources, and takes a warning of the compiler for an error.
"""

import sys
import warnings
from pathlib import Path

import yaml


def fault(path: Path) -> str | None:
    """What is wrong with one file, nil when nothing is."""
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

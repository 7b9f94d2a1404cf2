"""usage: docc.py CATALOGUE.docc…

Converts documentation catalogues with `docc`. A warning is an error. If the target was built after the last
change of its sources, links to its symbols and the target's comments are checked against the symbol graph.
Otherwise only the pages and the links between them are checked.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path


def symbols_of(target: Path, folder: Path) -> bool:
    """Writes the symbol graph of a target into the folder.

    Returns false without a current build.
    """
    modules = Path(".build/debug/Modules")
    module = modules / f"{target.name}.swiftmodule"
    extract = shutil.which("swift-symbolgraph-extract")
    sources = [file.stat().st_mtime for file in target.rglob("*.swift")]
    if not (extract and module.exists() and module.stat().st_mtime > max(sources)):
        return False
    triple = json.loads(subprocess.check_output(["swiftc", "-print-target-info"]))["target"]["triple"]
    command = [extract, "-module-name", target.name, "-I", str(modules), "-target", triple]
    command += ["-minimum-access-level", "internal", "-skip-synthesized-members", "-skip-inherited-docs"]
    done = subprocess.run([*command, "-output-dir", str(folder)], capture_output=True)
    # The tool cannot read a module that needs C modules of other packages, because it lacks the build's settings. It also
    # leaves out types without saying so, such as protocols that refine one of another module.
    return done.returncode == 0 and any(folder.iterdir()) and declared_types(target) <= listed_types(folder)


def declared_types(target: Path) -> set[str]:
    """The names of the types that a target declares outside other types and that other files can use."""
    declaration = re.compile(r"^(?:(?:package|public|final|indirect) )*(?:struct|enum|class|protocol|actor) (\w+)", re.MULTILINE)
    return {name for file in target.rglob("*.swift") for name in declaration.findall(file.read_text())}


def listed_types(folder: Path) -> set[str]:
    """The names that are not members of others in the symbol graphs of a folder."""
    graphs = (json.loads(file.read_text()) for file in folder.glob("*.symbols.json"))
    paths = (symbol["pathComponents"] for graph in graphs for symbol in graph["symbols"])
    return {path[0] for path in paths if len(path) == 1}


def without_symbols(catalogue: Path, folder: Path) -> Path:
    """Copies the catalogue and replaces symbol links by code.

    Returns the copy.
    """
    copy = folder / catalogue.name
    shutil.copytree(catalogue, copy)
    for page in copy.rglob("*.md"):
        text = page.read_text()
        root = re.match(r"# ``(\w+)``\n", text)
        if root:
            text = f"# {root[1]}\n\n@Metadata {{\n    @TechnologyRoot\n}}\n" + text[root.end() :]
        # Sections that list only symbols are removed, because they would be empty.
        text = re.sub(r"^### [^\n]*\n\n(?:- ``[^`]*``\n)+\n?", "", text, flags=re.M)
        text = re.sub(r"^- ``[^`]*``\n", "", text, flags=re.M)
        text = re.sub(r"\n## Topics\s*\Z", "\n", text)
        page.write_text(re.sub(r"``([^`\n]+)``", r"`\1`", text))
    return copy


def converts(catalogue: Path) -> bool:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        graph = folder / "symbols"
        graph.mkdir()
        built = symbols_of(catalogue.parent, graph)
        pages = catalogue if built else without_symbols(catalogue, folder)
        name = catalogue.stem
        command = ["docc", "convert", str(pages), "--output-path", str(folder / "out"), "--warnings-as-errors"]
        command += ["--fallback-display-name", name, "--fallback-bundle-identifier", name]
        command += ["--additional-symbol-graph-dir", str(graph)] if built else []
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            print(done.stdout + done.stderr, end="")
        return done.returncode == 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    results = [converts(Path(argument)) for argument in sys.argv[1:]]
    sys.exit(not all(results))

"""usage: sbom.py GRAPH PROGRAMS VERSION DATE

Prints the bill of materials for `ops/sbom`. GRAPH is a file with the output of `swift package show-dependencies
--format json`, PROGRAMS the folder of the programs, and DATE the timestamp of the bill in RFC 3339.
"""

import json
import re
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

NAMES = ("pollerd", "pollerctl", "stripe-sandbox", "pollerd-bench")
# Libraries without a linked program. The notifier loads this one for its first mail.
LOADED_LATER = ("libcurl.so.4",)
# A pattern for each licence: the start or another unique part of its text.
LICENCES = {
    "Apache-2.0": r"Apache License\s+Version 2\.0",
    "MIT": r"Permission is hereby granted, free of charge",
    "BSD-3-Clause": r"Redistribution and use in source and binary forms[\s\S]*Neither the name",
}
# C code in packages, under the names that vulnerability scanners use.
VENDORED = {
    "CCryptoBoringSSL": ("boringssl", "swift-crypto"),
    "CNIOBoringSSL": ("boringssl", "swift-nio-ssl"),
    "CNIOExtrasZlib": ("zlib", "swift-nio-extras"),
    "CNIOLLHTTP": ("llhttp", "swift-nio"),
    "CXKCP": ("xkcp", "swift-crypto"),
    "CYaml": ("libyaml", "yams"),
}


def licence(folder: Path) -> list[dict]:
    """Returns a package's licence by its text, or an empty list if the text is unknown."""
    for path in sorted(folder.glob("LICENSE*")) + sorted(folder.glob("LICENCE*")):
        text = path.read_text(errors="replace")
        for name, pattern in LICENCES.items():
            if re.search(pattern, text):
                return [{"license": {"id": name}}]
    return []


def revision(folder: Path, target: str) -> str | None:
    """Returns the revision or version of vendored C code, or `None` if the package does not state it."""
    sources = folder / "Sources" / target
    for path in (sources / "hash.txt", *sorted(sources.glob("include/*.h"))):
        if path.exists():
            text = path.read_text(errors="replace")
            if found := re.search(r"revision ([0-9a-f]{40})|define \w*ZLIB_VERSION \"([\d.]+)", text):
                return found[1] or found[2]
            parts = re.findall(r"define LLHTTP_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text)
            if len(parts) == 3:
                return ".".join(parts)
    return None


class Bill:
    """The components and their dependencies, by reference."""

    def __init__(self, version: str):
        self.root = f"pkg:generic/poller@{version}"
        self.version = version
        self.components: dict[str, dict] = {}
        self.needs: dict[str, set[str]] = {self.root: set()}

    def add(self, component: dict, by: str) -> str:
        reference = component["purl"]
        if reference not in self.components:
            self.components[reference] = {"bom-ref": reference, "type": "library", **component}
            self.needs[reference] = set()
        self.needs[by].add(reference)
        return reference

    def swift(self, package: dict, by: str) -> None:
        """Adds a package of the graph with its dependencies."""
        address = re.sub(r"^https?://|\.git$", "", package["url"])
        folder = Path(package["path"])
        component = {
            "name": package["identity"],
            "version": package["version"],
            "purl": f"pkg:swift/{address}@{package['version']}",
            "externalReferences": [{"type": "vcs", "url": package["url"]}],
        }
        if licences := licence(folder):
            component["licenses"] = licences
        reference = self.add(component, by)
        for target, (name, home) in VENDORED.items():
            if package["identity"] == home and (folder / "Sources" / target).is_dir():
                part = {"name": name, "purl": f"pkg:generic/{name}?in={home}"}
                if state := revision(folder, target):
                    part |= {"version": state, "purl": f"pkg:generic/{name}@{state}?in={home}"}
                self.add(part, reference)
        for one in package["dependencies"]:
            self.swift(one, reference)

    def document(self, date: str) -> dict:
        components = [self.components[reference] for reference in sorted(self.components)]
        needs = [{"ref": ref, "dependsOn": sorted(of)} for ref, of in sorted(self.needs.items())]
        content = json.dumps([components, needs], sort_keys=True)
        return {
            "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, self.root + content)}",
            "version": 1,
            "metadata": {
                "timestamp": date,
                "tools": {"components": [{"type": "application", "name": "ops/sbom", "version": self.version}]},
                "component": {
                    "bom-ref": self.root, "type": "application", "name": "poller", "version": self.version,
                    "purl": self.root,
                },
            },
            "components": components,
            "dependencies": needs,
        }


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True).stdout


def libraries(programs: Path) -> set[str]:
    """Returns the shared libraries that the programs load."""
    files = {found for name in NAMES if (programs / name).exists() for found in loaded(str(programs / name))}
    cache = output("ldconfig", "-p") or output("/sbin/ldconfig", "-p")
    for name in LOADED_LATER:
        if found := re.search(rf"{re.escape(name)} .*=> (/\S+)", cache):
            files |= {found[1], *loaded(found[1])}
    return files


def loaded(file: str) -> list[str]:
    return re.findall(r"=> (/\S+) \(", output("ldd", file))


def debian(bill: Bill, files: set[str]) -> None:
    """Adds the Debian packages that contain the files."""
    system = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', Path("/etc/os-release").read_text(), re.MULTILINE))
    distribution = f"{system['ID']}-{system.get('VERSION_ID', 'unknown')}"
    # A package may list a library under /lib although it is in /usr/lib, or list the target of a link.
    owners = output("dpkg-query", "-S", *sorted({*files, *(str(Path(file).resolve()) for file in files)}))
    here = output("dpkg", "--print-architecture").strip()
    names = sorted({line.split(":")[0] for line in owners.splitlines()})
    for line in output("dpkg-query", "-W", "-f", "${Package} ${Version} ${Architecture}\n", *names).splitlines():
        name, version, architecture = line.split()
        if architecture in (here, "all"):
            quoted = version.replace("+", "%2B").replace(":", "%3A")
            where = f"?arch={architecture}&distro={distribution}"
            bill.add({"name": name, "version": version, "purl": f"pkg:deb/{system['ID']}/{name}@{quoted}{where}"}, bill.root)


def main() -> None:
    graph, programs, version, date = sys.argv[1:]
    bill = Bill(version)
    for package in json.loads(Path(graph).read_text())["dependencies"]:
        bill.swift(package, bill.root)
    swift = re.search(r"Swift version ([\d.]+)", output("swift", "--version"))
    release = swift[1] if swift else "unknown"
    part = {"name": "swift-runtime", "version": release, "licenses": [{"expression": "Apache-2.0 WITH Swift-exception"}]}
    bill.add(part | {"purl": f"pkg:generic/swift-runtime@{release}"}, bill.root)
    if shutil.which("dpkg-query"):
        # The programs of a debug build also load Swift's libraries.
        debian(bill, {file for file in libraries(Path(programs)) if "/swift/" not in file})
    else:
        print("no Debian here: the libraries of the system are not listed", file=sys.stderr)
    print(json.dumps(bill.document(date), indent=2, ensure_ascii=False))


main()

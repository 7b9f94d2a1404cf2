"""usage: copyright.py SBOM > COPYRIGHT

Prints Debian's copyright file, with the package's licences from the bill of materials of `ops/sbom`.
"""

import json
import sys
from pathlib import Path

HEAD = """\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: poller
Comment:
 The programs are linked with these packages, each under its own licence:
"""

REST = """
Files: *
Copyright: 2026 the maintainers of Poller
License: all-rights-reserved
 Its repository grants no licence: whoever has the package has it from its
 maintainers, on the terms they were told.

Files: usr/lib/poller/poller usr/lib/poller/pollerd-bench
Copyright: 2026 the maintainers of Poller
 2014-2026 Apple Inc. and the Swift project authors
 1991-2026 Unicode, Inc.
License: all-rights-reserved and Apache-2.0-with-Swift-exception and Unicode-3.0
Comment: They contain Swift's libraries, and Unicode's data in these.

License: Apache-2.0-with-Swift-exception
 Licensed under the Apache License, Version 2.0, with this exception: as an
 exception, if you use this software to compile your source code and portions
 of it are embedded into the binary product as a result, you may redistribute
 such product without providing attribution as would otherwise be required by
 sections 4(a), 4(b) and 4(d) of the licence.
 .
 On Debian systems the licence is in /usr/share/common-licenses/Apache-2.0.

License: Unicode-3.0
 Permission is hereby granted, free of charge, to any person obtaining a copy
 of data files and any associated documentation or software and any associated
 documentation to deal in them without restriction, provided that either the
 above copyright and this permission notice appear with all copies, or that
 they appear in associated documentation. They are provided "as is", without
 warranty of any kind.
"""


def main() -> None:
    bill = json.loads(Path(sys.argv[1]).read_text())
    print(HEAD, end="")
    for part in bill["components"]:
        if not part["purl"].startswith("pkg:deb/"):
            names = [one.get("expression") or one["license"]["id"] for one in part.get("licenses", [])]
            print(f" {part['name']} {part.get('version', '')}".rstrip() + (f", {', '.join(names)}" if names else ""))
    print(REST, end="")


main()

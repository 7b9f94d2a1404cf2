"""usage: tally.py REPORT.xml STATUS — prints `passed failed skipped` of one JUnit report.

Honest about what a report cannot show: a missing or broken report, a report without tests, and a
runner that ended with a failure although its report shows none each count as one failure.
"""

import sys
import xml.etree.ElementTree as ElementTree


def tally(path: str, status: int) -> tuple[int, int, int]:
    """Counts test cases, not assertions: a case with several failures failed once."""
    passed = failed = skipped = 0
    try:
        cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError) as error:
        print(f"no usable report of this run ({error}): counted as a failure", file=sys.stderr)
        return 0, 1, 0
    for case in cases:
        outcomes = {child.tag for child in case}
        if outcomes & {"failure", "error"}:
            failed += 1
        elif "skipped" in outcomes:
            skipped += 1
        else:
            passed += 1
    if status != 0 and failed == 0:
        print(f"the runner ended with status {status}: counted as a failure", file=sys.stderr)
        failed = 1
    if not cases:
        print("the run had no tests: counted as a failure", file=sys.stderr)
        failed = max(failed, 1)
    return passed, failed, skipped


if __name__ == "__main__":
    print(*tally(sys.argv[1], int(sys.argv[2])))

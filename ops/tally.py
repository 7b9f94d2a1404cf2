"""usage: tally.py REPORT.xml STATUS — prints `passed failed skipped` of one JUnit report.

A line for each failure follows: the test's name and what it failed with. Honest about what a report
cannot show: a missing or broken report, a report without tests, and a runner that ended with a
failure although its report shows none each count as one failure.
"""

import sys
import xml.etree.ElementTree as ElementTree


def tally(path: str, status: int) -> tuple[int, int, int, list[str]]:
    """Counts test cases, not assertions: a case with several failures failed once."""
    passed = failed = skipped = 0
    failures = []
    try:
        cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError) as error:
        return 0, 1, 0, [f"no usable report of this run ({error}): counted as a failure"]
    for case in cases:
        outcomes = {child.tag for child in case}
        if outcomes & {"failure", "error"}:
            failed += 1
            failures.append(told(case))
        elif "skipped" in outcomes:
            skipped += 1
        else:
            passed += 1
    if not failed and (status != 0 or not cases):
        what = f"the runner ended with status {status}" if status != 0 else "the run had no tests"
        failures.append(f"{what}: counted as a failure")
        failed = 1
    return passed, failed, skipped, failures


def told(case: ElementTree.Element) -> str:
    """The test's name and its first failure, one line of at most 300 characters."""
    name = ".".join(filter(None, [case.get("classname"), case.get("name")]))
    reason = next((c.get("message") or c.text or "" for c in case if c.tag in ("failure", "error")), "")
    return " ".join(f"{name}: {reason.strip() or 'no reason in the report'}".split())[:300]


if __name__ == "__main__":
    *counts, failures = tally(sys.argv[1], int(sys.argv[2]))
    print(*counts)
    for failure in failures:
        print(f"failed: {failure}")

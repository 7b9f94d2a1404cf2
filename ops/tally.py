"""usage: tally.py REPORT.xml STATUS — prints `passed failed skipped` of one JUnit report.

A line for each failure follows, with the test's name and its message. Each of these cases also counts as one failure: a
missing or broken report, a report without tests, and a runner that failed although its report shows no failure.

At the end are the slowest tests, as `took: SECONDS NAME`.
"""

import sys
import xml.etree.ElementTree as ElementTree


# The number of slowest tests that are listed per report.
SLOWEST = 20


def tally(path: str, status: int) -> tuple[int, int, int, list[str]]:
    """Counts the test cases of a report.

    A case with several failed assertions counts once.
    """
    passed = failed = skipped = 0
    lines = []
    try:
        cases = cases_of(path)
    except (OSError, ElementTree.ParseError) as error:
        return 0, 1, 0, [f"failed: no usable report of this run ({error}): counted as a failure"]
    for case in cases:
        if "skipped" in fate(case):
            skipped += 1
        elif fate(case):
            failed += 1
            lines.append(f"failed: {told(case)}")
        else:
            passed += 1
    if not failed and (status != 0 or not cases):
        what = f"the runner ended with status {status}" if status != 0 else "the run had no tests"
        lines.append(f"failed: {what}: counted as a failure")
        failed = 1
    return passed, failed, skipped, lines + slowest(cases)


def slowest(cases: list[ElementTree.Element]) -> list[str]:
    times = sorted(((float(case.get("time") or 0), name_of(case)) for case in cases), reverse=True)
    return [f"took: {seconds:.1f} {name}" for seconds, name in times[:SLOWEST] if seconds > 0]


def cases_of(path: str) -> list[ElementTree.Element]:
    return list(ElementTree.parse(path).getroot().iter("testcase"))


def fate(case: ElementTree.Element) -> set[str]:
    """Returns the outcomes of a case other than passing.

    The set is empty for a passed case.
    """
    return {child.tag for child in case} & {"failure", "error", "skipped"}


def name_of(case: ElementTree.Element) -> str:
    return ".".join(filter(None, [case.get("classname"), case.get("name")]))


def told(case: ElementTree.Element) -> str:
    """Returns the test's name and first failure, in one line of at most 300 characters."""
    reason = next((c.get("message") or c.text or "" for c in case if c.tag in ("failure", "error")), "")
    return " ".join(f"{name_of(case)}: {reason.strip() or 'no reason in the report'}".split())[:300]


if __name__ == "__main__":
    *counts, lines = tally(sys.argv[1], int(sys.argv[2]))
    print(*counts)
    for line in lines:
        print(line)

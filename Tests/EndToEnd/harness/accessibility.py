"""Checks of a page with axe-core, on a wide screen and a phone, in both colour schemes."""

import json
from pathlib import Path

import axe_core_python

from .browser import Browser

AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text()
WIDTHS = (1280, 390)
# Mail programs show a mail inside their own page, which has the landmarks.
LANDMARKS = ("region", "landmark-one-main")


def violations(browser: Browser, without: tuple[str, ...] = ()) -> list[str]:
    """Returns the violations of the open page with their elements; `without` names rules that do not apply.

    All rules are checked in the light scheme, only the contrast in the dark one, because only the colours differ.
    """
    rules = json.dumps({rule: {"enabled": False} for rule in without})
    _evaluate(browser, AXE + "; undefined")
    found = []
    try:
        for width in WIDTHS:
            browser.size(width, 900)
            for is_dark, only in ((False, ""), (True, ", runOnly: ['color-contrast']")):
                browser.dark(is_dark)
                told = _evaluate(browser, f"axe.run(document, {{resultTypes: ['violations'], rules: {rules}{only}}}).then((told) =>"
                                          " JSON.stringify(told.violations.map((one) => [one.id, one.nodes.map((node) => node.html)])))")
                scheme = "dark" if is_dark else "light"
                found += [f"{width} {scheme} {rule}: {nodes[:3]}" for rule, nodes in json.loads(told)]
    finally:
        browser.dark(False)
    return found


def _evaluate(browser: Browser, expression: str):
    answer = browser._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
    assert "exceptionDetails" not in answer, json.dumps(answer["exceptionDetails"])[:800]
    return answer["result"].get("value")

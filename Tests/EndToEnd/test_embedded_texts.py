"""Tests that the text files compiled into a program are those of the repository, byte for byte."""

from pathlib import Path

import requests

CONSOLE = Path(__file__).parents[2] / "Sources" / "PollerAPI" / "Console"


def test_each_module_of_the_console_is_served_unchanged(calm):
    files = sorted(CONSOLE.glob("*.js"))
    assert len(files) > 20
    for file in files:
        served = requests.get(f"{calm.api.url}/console/{file.name}", timeout=30)
        assert served.status_code == 200 and served.content == file.read_bytes(), file.name


def test_the_script_of_the_return_page_is_no_module_of_the_console(calm):
    assert requests.get(f"{calm.api.url}/console/return.js", timeout=30).status_code == 404

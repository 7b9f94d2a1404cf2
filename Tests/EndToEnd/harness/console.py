"""The console in a real browser, operated like a person does: with mouse, keyboard and access key."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from .accessibility import violations
from .browser import Browser
from .waiting import wait_until

# The visible buttons and button links of the page's main part.
BUTTONS = "[...document.querySelectorAll('#main button, #main a.button')].filter((one) => one.checkVisibility())"


class Console:
    """A browser that shows the console of one server."""

    def __init__(self, url: str, key: str | None = None):
        self.url = url
        self.browser = Browser()
        self.size(1280, 800)
        if key:
            self.browser.open(f"{url}/openapi.json")
            self.wait(lambda: self.js("location.href") == f"{url}/openapi.json", "the server answers")
            self.js(f"sessionStorage.setItem('poller.key', {json.dumps(key)})")

    def size(self, width: int, height: int) -> None:
        self._size = (width, height)
        self.browser.size(width, height)

    def js(self, expression: str):
        """Returns the value of an expression in the page, after a promise has resolved."""
        answer = self.browser._call("Runtime.evaluate", expression=expression, returnByValue=True,
                                    awaitPromise=True, userGesture=True)
        assert "exceptionDetails" not in answer, json.dumps(answer["exceptionDetails"])[:800]
        return answer["result"].get("value")

    def wait(self, true, what: str, timeout_s: float = 60):
        return wait_until(true, timeout_s, what)

    def open(self, fragment: str = "#/") -> "Console":
        """Opens a page of the console and waits until it is drawn."""
        # A blank document in between prevents the previous page from being mistaken for the new one.
        self.browser.open("about:blank")
        self.wait(lambda: self.js("location.href") == "about:blank", "the page before is gone")
        self.browser.open(f"{self.url}/{fragment}")
        self.ready()
        return self

    def ready(self) -> None:
        self.wait(lambda: self.js("Boolean(document.querySelector('#main h1')"
                                  " && !document.querySelector('#main[aria-busy]'))"), "the page is drawn")

    @property
    def text(self) -> str:
        return self.js("document.querySelector('#main').innerText")

    @property
    def whole(self) -> str:
        """All text that the page shows, including dialogs and notices."""
        return self.js("document.body?.innerText ?? ''")

    @property
    def place(self) -> str:
        return self.js("location.hash")

    def says(self, text: str, timeout_s: float = 60) -> None:
        """Waits until a text appears in the page, a dialog or a notice."""
        try:
            self.wait(lambda: text in self.whole, text, timeout_s)
        except AssertionError as error:
            raise AssertionError(f"the page does not say {text!r}:\n{self.whole}") from error

    def click(self, text: str, within: str = "#main", number: int = 0) -> None:
        """Waits for a button or link with this text, then clicks it."""
        found = (f"[...document.querySelectorAll({json.dumps(within + ' :is(button, a, summary)')})]"
                 f".filter((one) => !one.disabled && one.innerText.trim() === {json.dumps(text)})[{number}]")
        self.wait(lambda: self.js(f"Boolean({found})"), f"there is {text!r} to click")
        self.js(f"{found}.click()")

    def fill(self, **fields: str) -> None:
        """Fills the fields of the open dialog."""
        for name, value in fields.items():
            field = f"document.querySelector('dialog:last-of-type [name={name}]')"
            self.wait(lambda field=field: self.js(f"Boolean({field})"), f"there is a field {name}")
            self.js(f"{field}.value = {json.dumps(value)}")

    def answer(self, text: str) -> None:
        """Clicks a button of the open dialog."""
        self.click(text, within="dialog")

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Stops the page's clock meanwhile: no refresh is due, and keys are pressed without a pause between them."""
        self.js("window.realNow ??= Date.now; window.stillNow = Date.now(); Date.now = () => window.stillNow; 0")
        try:
            yield
        finally:
            # A page that was loaded meanwhile has a running clock.
            self.js("Date.now = window.realNow ?? Date.now; 0")

    def press(self, *keys: str) -> None:
        """Sends key presses to the page, as one shortcut."""
        codes = {"Enter": 13, "Escape": 27, "Tab": 9}
        with self.at_rest():
            for key in keys:
                text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
                for kind in ("keyDown", "keyUp"):
                    self.browser._call("Input.dispatchKeyEvent", type=kind, key=key, text=text if kind == "keyDown" else "",
                                       windowsVirtualKeyCode=codes.get(key, ord(key[0].upper())))

    def buttons(self) -> list[str]:
        return self.js(f"{BUTTONS}.map((one) => one.innerText.trim())")

    def violations(self) -> list[str]:
        """Returns axe-core's violations with their elements, in both widths and colour schemes."""
        try:
            return violations(self.browser)
        finally:
            self.size(*self._size)

    def overflow(self) -> int:
        """Returns the number of pixels by which the page is wider than its viewport."""
        return self.js("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def close(self) -> None:
        self.browser.close()

"""Pages of a real Chromium, driven over its DevTools protocol."""

import base64
import json
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

from websockets.sync.client import connect

from .process import Process
from .waiting import wait_until

NAMES = ("chromium", "chromium-browser", "google-chrome")


def chromium() -> str | None:
    """Returns the path of an installed Chromium, or `None`."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Chromium:
    """The browser process of all tests of a pytest process: starting one takes seconds of CPU time."""

    shared: "Chromium | None" = None

    def __init__(self):
        self._folder = tempfile.TemporaryDirectory(prefix="poller-browser-")
        folder = Path(self._folder.name)
        self._process = Process(
            "chromium",
            [
                chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
                # The page of a test is never the background of another one.
                "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
                "--disable-renderer-backgrounding",
                "--remote-debugging-port=0", f"--user-data-dir={folder / 'profile'}", "about:blank",
            ],
            folder,
        ).start()
        port_file = folder / "profile" / "DevToolsActivePort"
        try:
            port, path = wait_until(
                lambda: port_file.exists() and len(lines := port_file.read_text().split()) == 2 and lines,
                60, "the browser listens",
            )
        except BaseException:
            self._process.end()
            raise
        self.url = f"ws://127.0.0.1:{port}{path}"

    @classmethod
    def running(cls) -> "Chromium":
        """Returns the shared browser process, and starts it if there is none."""
        if cls.shared and not cls.shared._process.running:
            cls.end()
        cls.shared = cls.shared or Chromium()
        return cls.shared

    @classmethod
    def end(cls) -> None:
        """Ends the shared process, if there is one."""
        if cls.shared:
            cls.shared._process.end()
            cls.shared._folder.cleanup()
            cls.shared = None


class Browser:
    """A page with its own cookies and cache; collects errors, security reports and request URLs."""

    def __init__(self):
        self._open = ExitStack()
        self._socket = self._open.enter_context(connect(Chromium.running().url, max_size=None))
        self._last = 0
        self._session: str | None = None
        self.complaints: list[str] = []
        self.requests: list[str] = []
        context = self._call("Target.createBrowserContext", disposeOnDetach=True)["browserContextId"]
        target = self._call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        self._session = self._call(
            "Target.attachToTarget", targetId=target, flatten=True
        )["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            self._call(f"{domain}.enable")
        self.width(420)

    def _call(self, method: str, **params) -> dict:
        self._last += 1
        message = {"id": self._last, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv(timeout=60))
            if answer.get("id") == self._last:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self._note(answer)

    def _note(self, event: dict) -> None:
        params = event.get("params", {})
        match event.get("method"):
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(params["exceptionDetails"])[:500])
            case "Log.entryAdded" if params["entry"]["source"] in ("security", "violation"):
                self.complaints.append(params["entry"]["text"])
            case "Audits.issueAdded" if "contentSecurity" in json.dumps(params):
                self.complaints.append(json.dumps(params)[:500])
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])

    def allow_scripts(self, allowed: bool) -> None:
        self._call("Emulation.setScriptExecutionDisabled", value=not allowed)

    def dark(self, is_dark: bool) -> None:
        scheme = "dark" if is_dark else "light"
        self._call("Emulation.setEmulatedMedia",
                   features=[{"name": "prefers-color-scheme", "value": scheme}])

    def size(self, width: int, height: int) -> None:
        """Sets the viewport's size in pixels."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                   deviceScaleFactor=1, mobile=False)

    def width(self, width: int) -> None:
        """Sets the viewport's width in pixels."""
        self.size(width, 640)

    def languages(self, accept: str) -> None:
        self._call("Network.setExtraHTTPHeaders", headers={"Accept-Language": accept} if accept else {})

    def open(self, url: str) -> None:
        self._call("Page.navigate", url=url)

    def evaluate(self, expression: str):
        """Evaluates an expression in the page through the debugger, which works even if page scripts are disabled."""
        return self._call("Runtime.evaluate", expression=expression,
                          returnByValue=True)["result"].get("value")

    def press(self, selector: str, number: int = 0) -> None:
        """Clicks a button as a user gesture in a focused window, which some browser APIs require."""
        self._call("Emulation.setFocusEmulationEnabled", enabled=True)
        element = f"document.querySelectorAll({json.dumps(selector)})[{number}]"
        self._call("Runtime.evaluate", expression=f"{element}.click()", userGesture=True)

    def wait_state(self, state: str, timeout_s: float = 60) -> None:
        wait_until(
            lambda: self.evaluate("document.body && document.body.dataset.state") == state,
            timeout_s, f"the page shows {state}", pause_s=0.1,
        )

    @property
    def text(self) -> str:
        # During a navigation the document has no body.
        return self.evaluate("document.body?.innerText ?? ''")

    @property
    def address(self) -> str:
        return self.evaluate("location.href")

    def cookies_by_script(self) -> str:
        return self.evaluate("document.cookie")

    def forget(self) -> None:
        self._call("Network.clearBrowserCookies")

    def picture(self, path: Path) -> None:
        image = self._call("Page.captureScreenshot", format="png")["data"]
        path.write_bytes(base64.b64decode(image))

    def close(self) -> None:
        """Ends the connection, with which the browser closes the page."""
        self._open.close()

"""Chromium, driven as a user would: pointer, keys, files and screenshots over its debugging pipe.

The protocol is Chromium's DevTools protocol: JSON messages that end with a zero byte, on the
descriptors 3 (to the browser) and 4 (from it).
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PATIENCE_S = 60.0
"""Maximum time to wait for an answer or a condition; a busy machine needs seconds."""


class NavigatedError(AssertionError):
    """The page was replaced by another while it was asked."""


class Browser:
    """A headless Chromium with one page. Use it as a context manager."""

    def __init__(
        self, folder: Path, *, width: int = 1280, height: int = 900, dark: bool = False
    ) -> None:
        chromium = shutil.which("chromium")
        assert chromium is not None, (
            "no `chromium` on the PATH: on Debian, as root: apt-get install chromium"
        )
        self._to, self._from, browser = _pipes()
        self.downloads = folder / "downloads"
        self.console: list[str] = []
        """Errors and exceptions of the page."""
        self.requests: list[str] = []
        """Addresses that the page asked for."""
        self._numbers = itertools.count(1)
        self._rest = b""
        self._process = subprocess.Popen(
            [
                chromium,
                "--headless",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                *(["--no-sandbox"] if os.geteuid() == 0 else []),
                f"--user-data-dir={folder / 'profile'}",
                "--remote-debugging-pipe",
                "about:blank",
            ],
            pass_fds=(3, 4),
            preexec_fn=lambda: [
                os.dup2(end, place) for end, place in zip(browser, (3, 4), strict=True)
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in browser:
            os.close(end)
        targets = self._ask("Target.getTargets", session="")["targetInfos"]
        page = next(each["targetId"] for each in targets if each["type"] == "page")
        self._session = self._ask("Target.attachToTarget", session="", targetId=page, flatten=True)[
            "sessionId"
        ]
        for domain in ("Runtime", "Page", "Network", "Log", "DOM"):
            self._ask(f"{domain}.enable")
        self._ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = "dark" if dark else "light"
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._ask("Emulation.setEmulatedMedia", features=features)
        self._ask(
            "Browser.setDownloadBehavior",
            session="",
            behavior="allow",
            downloadPath=str(self.downloads),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE_S)
        os.close(self._to)
        os.close(self._from)

    def open(self, address: str) -> None:
        """Load a page."""
        self._ask("Page.navigate", url=address)

    def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page; a promise is awaited."""
        found = self._ask(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, f"{expression}: {found['exceptionDetails']}"
        return found["result"].get("value")

    def wait(self, expression: str) -> Any:
        """Wait until an expression is true, and return its value."""
        # While a page begins to load it has no elements.
        tried = f"(() => {{ try {{ return {expression}; }} catch {{ return false; }} }})()"
        end = time.monotonic() + PATIENCE_S
        while True:
            # A link that was clicked may replace the page before it has answered.
            with contextlib.suppress(NavigatedError):
                if found := self.value(tried):
                    return found
            assert time.monotonic() < end, f"`{expression}` does not become true: {self.console}"
            time.sleep(0.05)

    def place(self, expression: str) -> tuple[float, float]:
        """Return the middle of an element in the window, which is scrolled to it."""
        x, y = self.value(
            f"(() => {{ const part = {expression}; part.scrollIntoView({{block: 'center'}});"
            " const box = part.getBoundingClientRect();"
            " return [box.left + box.width / 2, box.top + box.height / 2]; })()"
        )
        return x, y

    def mouse(self, kind: str, x: float, y: float, *, buttons: int = 0) -> None:
        """Send an event of the pointer: ``mouseMoved``, ``mousePressed`` or ``mouseReleased``."""
        button = "none" if kind == "mouseMoved" and not buttons else "left"
        self._ask(
            "Input.dispatchMouseEvent",
            type=kind,
            x=x,
            y=y,
            button=button,
            buttons=buttons,
            clickCount=1,
        )

    def click(self, expression: str) -> None:
        """Click the middle of an element."""
        x, y = self.place(expression)
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, buttons=1)
        self.mouse("mouseReleased", x, y)

    def press(self, key: str) -> None:
        """Press and release a key, such as ``Tab``, ``Enter``, ``ArrowDown`` or ``+``."""
        codes = {"Tab": 9, "Enter": 13, "ArrowUp": 38, "ArrowDown": 40, "End": 35, "Home": 36}
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        for kind in ("keyDown", "keyUp"):
            self._ask(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=codes.get(key, 0),
                **({"text": text} if text and kind == "keyDown" else {}),
            )

    def choose(self, selector: str, file: Path) -> None:
        """Choose a file in an input."""
        root = self._ask("DOM.getDocument")["root"]["nodeId"]
        node = self._ask("DOM.querySelector", nodeId=root, selector=selector)["nodeId"]
        self._ask("DOM.setFileInputFiles", nodeId=node, files=[str(file)])

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Write an image of the window, or of the whole page, as PNG."""
        found = self._ask("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    def downloaded(self, name: str) -> Path:
        """Wait for a downloaded file."""
        path, end = self.downloads / name, time.monotonic() + PATIENCE_S
        while not path.exists() or not path.stat().st_size:
            assert time.monotonic() < end, f"`{name}` was not downloaded"
            self._read(0.05)
        return path

    def _ask(self, method: str, *, session: str | None = None, **parameters: Any) -> Any:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if session is None:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE_S
        while time.monotonic() < end:
            for answer in self._read(0.2):
                if answer.get("id") == number:
                    refused = answer.get("error")
                    if refused is not None and "navigated" in refused["message"]:
                        raise NavigatedError(f"{method}: {refused}")
                    assert refused is None, f"{method}: {refused}"
                    return answer["result"]
        raise AssertionError(f"{method}: no answer")

    def _read(self, wait_s: float) -> list[dict[str, Any]]:
        """Messages that have arrived; events are noted."""
        if select.select([self._from], [], [], wait_s)[0]:
            self._rest += os.read(self._from, 1 << 20)
        *whole, self._rest = self._rest.split(b"\0")
        found = [json.loads(each) for each in whole]
        for each in found:
            parameters = each.get("params", {})
            match each.get("method"):
                case "Runtime.exceptionThrown":
                    self.console.append(str(parameters["exceptionDetails"]))
                case "Log.entryAdded":
                    self.console.append(str(parameters["entry"]["text"]))
                case "Network.requestWillBeSent":
                    self.requests.append(str(parameters["request"]["url"]))
        return found


def _pipes() -> tuple[int, int, tuple[int, int]]:
    """Ends of two pipes: to write, to read, and those of the browser, above the descriptor 9."""
    import fcntl

    browser_in, to = os.pipe()
    back, browser_out = os.pipe()
    high = tuple(fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (browser_in, browser_out))
    for end in (browser_in, browser_out):
        os.close(end)
    return to, back, (high[0], high[1])

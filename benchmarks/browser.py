"""A real browser for tests, measurements and pictures: Chromium by way of its driver.

    with Browser(width=390, height=844) as browser:
        browser.open(Path("page.html"))
        browser.run("return document.title")

The driver speaks JSON over HTTP on this machine (W3C WebDriver), so that no library is needed.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
DRIVER = shutil.which("chromedriver")
# Why there is no browser to use; None where there is one.
MISSING = (
    None if CHROMIUM and DRIVER else "chromium and its driver (chromium-driver) are not installed"
)
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--hide-scrollbars",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# No proxy stands between this machine and itself.
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Browser:
    """One window of Chromium; files that pages save go into `downloads`."""

    def __init__(self, *, width: int = 1280, height: int = 900) -> None:
        assert CHROMIUM is not None, MISSING
        assert DRIVER is not None, MISSING
        self._folder = tempfile.TemporaryDirectory(prefix="untrue-browser-")
        self.downloads = Path(self._folder.name) / "downloads"
        self.downloads.mkdir()
        self._driver = subprocess.Popen(
            [DRIVER, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._driver.stdout is not None
        port = None
        while port is None:
            line = self._driver.stdout.readline()
            assert line, "the driver ended before it listened"
            port = re.search(r"successfully on port (\d+)", line)
        self._base = f"http://127.0.0.1:{port[1]}"
        options = {
            "binary": CHROMIUM,
            "args": [
                *FLAGS,
                f"--window-size={width},{height}",
                f"--user-data-dir={self._folder.name}/profile",
            ],
            "prefs": {"download.default_directory": str(self.downloads)},
        }
        wanted = {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}
        made = self._ask("POST", "/session", {"capabilities": wanted})
        self._base += f"/session/{made['sessionId']}"
        self.size(width, height)

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the browser and its driver."""
        try:
            self._ask("DELETE", "", None)
        finally:
            self._driver.terminate()
            self._driver.wait(timeout=20)
            assert self._driver.stdout is not None
            self._driver.stdout.close()
            self._folder.cleanup()

    def open(self, page: Path) -> None:
        """Open a page from disk, and wait until it is loaded."""
        self._ask("POST", "/url", {"url": page.resolve().as_uri()})

    def run(self, script: str, *given: Any) -> Any:
        """What the body of a function returns in the page; a promise is waited for."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(given)})

    def size(self, width: int, height: int) -> None:
        """Make the page as wide and high as this, in pixels; phones are narrower than windows."""
        self.command(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
        )

    def scheme(self, name: str) -> None:
        """Prefer "light" or "dark" pages."""
        features = [{"name": "prefers-color-scheme", "value": name}]
        self.command("Emulation.setEmulatedMedia", {"features": features})

    def type(self, keys: str) -> None:
        """Press keys one after the other, wherever the focus is; KEYS has the special ones."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._ask(
            "POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]}
        )

    def mouse(self, *steps: dict[str, Any]) -> None:
        """Move, press and release the mouse, as the WebDriver standard writes it."""
        pointer = {"type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"}}
        self._ask("POST", "/actions", {"actions": [{**pointer, "actions": list(steps)}]})

    def click(self, selector: str) -> None:
        """Click in the middle of an element, scrolled into view."""
        found = self._ask("POST", "/element", {"using": "css selector", "value": selector})
        self._ask("POST", f"/element/{found[ELEMENT]}/click", {})

    def picture(self, path: Path) -> Path:
        """The window as a PNG file."""
        found = self._ask("GET", "/screenshot", None)
        path.write_bytes(base64.b64decode(found))
        return path

    def command(self, name: str, given: dict[str, Any]) -> Any:
        """A command of the DevTools protocol."""
        return self._ask("POST", "/goog/cdp/execute", {"cmd": name, "params": given})

    def _ask(self, method: str, path: str, content: Any) -> Any:
        body = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(self._base + path, data=body, method=method)
        request.add_header("Content-Type", "application/json")
        try:
            with DIRECT.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            found = json.load(error)["value"]
            raise RuntimeError(f"{path}: {found['error']}: {found['message']}") from None


# Keys of the WebDriver standard.
KEYS = {
    "tab": "\ue004",
    "enter": "\ue007",
    "escape": "\ue00c",
    "left": "\ue012",
    "up": "\ue013",
    "right": "\ue014",
    "down": "\ue015",
    "home": "\ue011",
    "space": " ",
}

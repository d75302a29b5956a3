"""A headless Chromium that is spoken to over a pipe (DevTools protocol), without further packages."""

import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)


class Browser:
    def __init__(self):
        self.profile = tempfile.mkdtemp(prefix="impart-browser-")
        to_read, self.to = os.pipe()
        self.back, from_write = os.pipe()
        command = (f"exec {PROGRAM} --headless=new --no-sandbox --disable-gpu --hide-scrollbars "
                   f"--no-first-run --disable-background-networking --disable-component-update "
                   f"--disable-dev-shm-usage --remote-debugging-pipe "
                   f"--user-data-dir={self.profile} 3<&{to_read} 4>&{from_write}")
        self.process = subprocess.Popen(["bash", "-c", command], pass_fds=(to_read, from_write),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.buffer, self.number, self.events, self.session = b"", 0, [], None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Network", "Runtime", "Log"]:
            self.call(f"{domain}.enable")

    def close(self):
        os.close(self.to)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.back)
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self, deadline):
        while b"\0" not in self.buffer:
            ready = select.select([self.back], [], [], max(0, deadline - time.monotonic()))[0]
            data = os.read(self.back, 1 << 20) if ready else b""
            if not data:
                raise TimeoutError("the browser does not answer")
            self.buffer += data
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + 60
        while True:
            answer = self.receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path, width, height=900, dark=False):
        """Loads a file; `events` then holds everything that happened on the way."""
        self.look(width, height, dark)
        self.open_address(f"file://{path}")

    def open_address(self, address):
        self.events = []
        self.call("Page.navigate", url=address)
        deadline = time.monotonic() + 60
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive(deadline))

    def look(self, width, height=900, dark=False):
        """Shows the page in a window of that size, in light or dark surroundings."""
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def evaluate(self, expression, wait=False):
        """The value of an expression; of a promise what it comes to, if told to wait."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=wait)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{answer['exceptionDetails']}")
        return answer["result"].get("value")

    def screenshot(self, path, clip, scale=1):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                         clip={**clip, "scale": scale})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def requests(self):
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]

    def complaints(self):
        return [event["params"] for event in self.events
                if event.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown",
                                           "Log.entryAdded")]

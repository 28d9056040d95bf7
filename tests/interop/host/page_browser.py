#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""page_browser.py URL PICTURES [--qps N] [--captures CAPTURE...] [--packets N] [--within SECONDS]

Drives the page of rnicctl serve in headless Chromium, over a pipe and with nothing of a package but
the browser. Prints one line for each check, "ok" or "FAIL", and ends with 1 after a failure.
"""

import argparse
import base64
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

KEYS = {"ArrowDown": 40, "ArrowRight": 39, "End": 35, "Home": 36, "Enter": 13, "Tab": 9}


class Browser:
    """Chromium with one page. A call that it does not answer ends with the browser's end."""

    def __init__(self, folder):
        to_browser, self.write_fd = os.pipe()
        self.read_fd, from_browser = os.pipe()

        def place():  # as --remote-debugging-pipe wants: 3 to read, 4 to write
            high = [os.dup(fd) for fd in (to_browser, from_browser)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-dev-shm-usage", "--disable-background-networking",
             "--remote-debugging-pipe", f"--user-data-dir={folder}", "--window-size=1200,900",
             "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(3, 4), preexec_fn=place)
        os.close(to_browser)
        os.close(from_browser)
        self.rest, self.last_id, self.session, self.complaints = b"", 0, None, []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"],
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "DOM"):
            self.call(f"{domain}.enable")

    def message(self):
        while b"\0" not in self.rest:
            part = os.read(self.read_fd, 1 << 20)
            if not part:
                sys.exit("the browser has ended")
            self.rest += part
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.last_id += 1
        asked = {"id": self.last_id, "method": method, "params": parameters}
        if self.session:
            asked["sessionId"] = self.session
        os.write(self.write_fd, json.dumps(asked).encode() + b"\0")
        while True:
            heard = self.message()
            if heard.get("id") == self.last_id:
                if "error" in heard:
                    sys.exit(f"{method}: {heard['error']}")
                return heard["result"]
            self.note(heard)

    def note(self, heard):
        """Keeps what the page complains of: exceptions, and errors such as of its policy."""
        parameters = heard.get("params", {})
        if heard.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(str(parameters["exceptionDetails"]))
        if heard.get("method") == "Log.entryAdded" and parameters["entry"]["level"] == "error":
            self.complaints.append(parameters["entry"]["text"])

    def value(self, expression):
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                         awaitPromise=True)
        if "exceptionDetails" in done:
            sys.exit(f"{expression}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def press(self, key, modifiers=0):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, modifiers=modifiers,
                      windowsVirtualKeyCode=KEYS[key],
                      **({"text": "\r"} if key == "Enter" and kind == "keyDown" else {}))

    def wait(self, expression, seconds=10):
        end = time.monotonic() + seconds
        while not self.value(expression):
            if time.monotonic() > end:
                return False
            time.sleep(0.05)  # between two polls
        return True

    def picture(self, path):
        shot = self.call("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))

    def end(self):
        self.process.terminate()
        self.process.wait(20)


failures = 0


def spread(times):
    """The worst is only told: another process may have had the processor."""
    return f"median {statistics.median(times):.3f} s, at most {max(times):.3f} s"


def check(what, is_so):
    global failures
    failures += not is_so
    print("ok   " if is_so else "FAIL ", what, flush=True)


# How long the page takes from a click to the frame that shows the answer.
TIME_OF_CLICK = """(async () => {
  const begun = performance.now();
  document.querySelector(%s).click();
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return performance.now() - begun;
})()"""


def click_s(browser, selector):
    return browser.value(TIME_OF_CLICK % json.dumps(selector)) / 1000


def check_tables(browser, qps, within, pictures):
    check("the summary counts the queue pairs",
          browser.wait(f"document.getElementById('summary').textContent.includes("
                       f"'{qps} queue pairs')", 20))
    browser.picture(pictures / "map.png")
    times = [click_s(browser, "#tab-qps")]
    check("a table has its rows", browser.wait("document.querySelectorAll('.row').length > 10"))
    check("but those on the screen alone",
          browser.value("document.querySelectorAll('.row').length < 100"))
    check("and counts all", browser.value(
        f"document.getElementById('table').getAttribute('aria-rowcount') === '{qps}'"))
    for column in (1, 2, 6, 11, 12):
        times.append(click_s(browser, f"#table .head button:nth-child({column})"))
    times.append(click_s(browser, "#table .row"))
    check(f"with {qps} queue pairs a click is answered within {within} s ({spread(times)})",
          statistics.median(times) < within)
    browser.picture(pictures / "qps.png")


def check_keyboard(browser, pictures):
    """What a person does who has no mouse."""
    browser.value("document.getElementById('tab-map').click();"
                  "document.getElementById('tab-map').focus()")
    browser.press("ArrowRight")
    browser.press("ArrowRight")
    check("arrows go from tab to tab",
          browser.value("document.activeElement.id === 'tab-qps'"))
    browser.press("Tab")
    check("Tab goes on to the filter", browser.value("document.activeElement.id === 'filter'"))
    browser.press("Tab")
    check("and to the table", browser.value("document.activeElement.id === 'table'"))
    browser.press("End")
    check("End chooses the last row, and shows it", browser.wait(
        "document.querySelector('.row.chosen') !== null && "
        "document.getElementById('table').scrollTop > 100"))
    browser.press("Tab")
    browser.press("Enter")
    check("Enter on a heading sorts", browser.wait(
        "document.activeElement.textContent.includes('\\u25bc')"))
    browser.picture(pictures / "keyboard.png")
    check("and keeps the focus while the table goes on", not browser.wait(
        "document.activeElement.tagName !== 'BUTTON'", 2))


def check_ladder(browser, captures, within, pictures):
    browser.value("document.getElementById('tab-ladder').click()")
    document = browser.call("DOM.getDocument")["root"]["nodeId"]
    files = browser.call("DOM.querySelector", nodeId=document, selector="#files")["nodeId"]
    browser.call("DOM.setFileInputFiles", nodeId=files, files=captures)
    check("captures open as a ladder", browser.wait(
        "document.querySelectorAll('.step').length > 5", 30))
    check("with the first cause in a sentence", browser.value(
        "document.getElementById('cause').textContent.startsWith('First cause: ')"))
    print("     ", browser.value("document.getElementById('summary').textContent"))
    print("     ", browser.value("document.getElementById('conversation').selectedOptions[0].text"))
    print("     ", browser.value("document.getElementById('cause').textContent"))
    browser.value("document.getElementById('first').click()")
    check("which a button shows", browser.wait("document.querySelector('.step.first') !== null"))
    browser.picture(pictures / "ladder.png")
    count = browser.value("document.querySelector('#steps .spacer').clientHeight / 26")
    times = []
    for part in range(1, 11):
        times.append(browser.value("""(async () => {
          const box = document.getElementById('steps');
          const begun = performance.now();
          box.scrollTop = box.scrollHeight * %d / 10;
          await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
          return performance.now() - begun;
        })()""" % part) / 1000)
    check(f"a ladder of {count:.0f} packets scrolls within {within} s ({spread(times)})",
          statistics.median(times) < within and
          browser.value("document.querySelectorAll('.step').length > 5"))
    return count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("pictures", type=pathlib.Path)
    parser.add_argument("--qps", type=int, default=0)
    parser.add_argument("--packets", type=int, default=0)
    parser.add_argument("--within", type=float, default=1, help="an answer to a click comes")
    parser.add_argument("--captures", nargs="*", default=[])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(folder)
        browser.call("Page.navigate", url=options.url)
        check("the page opens", browser.wait(
            "document.querySelectorAll('[role=tab]').length === 7"))
        if options.qps:
            check_tables(browser, options.qps, options.within, options.pictures)
            check_keyboard(browser, options.pictures)
        if options.captures:
            count = check_ladder(browser, options.captures, options.within,
                                 options.pictures)
            check(f"all {options.packets} packets are there", count >= options.packets)
        check("the page has no complaint", browser.complaints == [])
        for complaint in browser.complaints:
            print("     ", complaint)
        browser.end()
    sys.exit(failures > 0)


main()

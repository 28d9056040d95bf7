#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""page_browser.py URL PICTURES [--peer ADDRESS] [--qps N] [--captures CAPTURE...] [--packets N]
    [--within SECONDS] [--is-open] [--records FOLDER...]

Drives the page of rnicctl serve in headless Chromium, over a pipe and with nothing of a package but
the browser. Prints one line for each check, "ok" or "FAIL", and ends with 1 after a failure.
A folder of --records has the files of `rnicctl record save` of both hosts, 0.record and 1.record,
and what `rnicctl explain --json` says of them, explained.
"""

import argparse
import base64
import itertools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import colour_sight

KEYS = {"ArrowDown": 40, "ArrowRight": 39, "End": 35, "Home": 36, "Enter": 13, "Tab": 9}

# What people have to tell apart in a ladder, and the least difference and contrast for any sight.
# Each also has a word or a line of its own.
COLOURS = ("--blue", "--orange", "--green")
LEAST_DIFFERENCE = 25
LEAST_CONTRAST = 4.5


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


def check_map(browser, peer, pictures):
    """Both devices, and a line to the peer of each with the rates of both directions."""
    check(f"the picture has the peer {peer} with its rates", browser.wait(
        "(() => { const words = document.querySelector('#picture svg')?.textContent ?? '';"
        f"return ['{peer}', 'rnic0 (1)', 'rnic0 (2)'].every((word) => words.includes(word)) && "
        "/[1-9][0-9]* \u2192 [1-9][0-9]* \u2190 Mbit/.test(words) && "
        "document.querySelectorAll('#picture line').length === 2; })()", 40))
    browser.picture(pictures / "map.png")


def check_tables(browser, qps, within, pictures):
    check("the summary counts the queue pairs",
          browser.wait(f"document.getElementById('summary').textContent.includes("
                       f"'{qps} queue pairs')", 20))
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


def colour_of(browser, name):
    text = browser.value(
        f"getComputedStyle(document.documentElement).getPropertyValue('{name}')").strip()
    digits = text[1:] if len(text) == 7 else "".join(2 * digit for digit in text[1:])
    return tuple(bytes.fromhex(digits))


def check_palette(browser):
    for scheme, sight in itertools.product(("light", "dark"), colour_sight.SIGHTS):
        browser.call("Emulation.setEmulatedMedia",
                     features=[{"name": "prefers-color-scheme", "value": scheme}])
        ground = colour_of(browser, "--ground")
        colours = [colour_of(browser, name) for name in COLOURS]
        apart = min(colour_sight.difference(one, other, sight)
                    for one, other in itertools.combinations(colours, 2))
        clear = min(colour_sight.contrast(colour, ground, sight)
                    for colour in [*colours, colour_of(browser, "--text"),
                                   colour_of(browser, "--quiet")])
        check(f"{scheme}, {sight}: colours are apart ({apart:.0f}) and clear ({clear:.1f})",
              apart >= LEAST_DIFFERENCE and clear >= LEAST_CONTRAST)
    browser.call("Emulation.setEmulatedMedia", features=[])


def open_files(browser, files):
    browser.value("document.getElementById('tab-ladder').click()")
    document = browser.call("DOM.getDocument")["root"]["nodeId"]
    chooser = browser.call("DOM.querySelector", nodeId=document, selector="#files")["nodeId"]
    browser.call("DOM.setFileInputFiles", nodeId=chooser, files=files)


def check_ladder_keys(browser):
    """Packets are chosen and told without a mouse, too."""
    browser.value("document.getElementById('conversation').focus()")
    browser.press("Tab")
    check("Tab goes on to the button", browser.value("document.activeElement.id === 'first'"))
    browser.press("Enter")
    check("which leads to the first cause", browser.wait(
        "document.activeElement.id === 'steps' && "
        "document.querySelector('.step.first.chosen') !== null"))
    browser.press("End")
    check("End chooses the last step", browser.wait(
        "document.querySelector('.step.chosen')?.id === "
        "document.getElementById('steps').getAttribute('aria-activedescendant') && "
        "document.querySelector('.step.chosen') === "
        "document.querySelector('#steps .spacer').lastChild"))
    check("and tells the step", browser.value(
        "document.querySelector('.step.chosen').title.startsWith("
        "document.getElementById('cause').textContent.split('. ')[0])"))


# The words beside steps that stand out by colour and are visible now.
NAMELESS = """[...document.querySelectorAll('.step')].filter((step) =>
  getComputedStyle(step).fontWeight > 400 && step.lastChild.textContent === '').length"""


def check_records(browser, folder, pictures):
    """A ladder of what two flight recorders have, with the first cause of rnicctl explain."""
    explained = json.loads((folder / "explained").read_text().splitlines()[0])
    wanted = [step["text"] for step in explained["chain"] if step["first_cause"]]
    names = [f"{explained[key]:#08x}" for key in ("qpn", "peer_qpn")] + ["0.record", "1.record"]
    open_files(browser, [str(folder / f"{side}.record") for side in (0, 1)])
    check(f"{folder.name}: both records are one ladder, the last failure first", browser.wait(
        "document.querySelectorAll('.entries .step').length > 3 && "
        "document.getElementById('summary').textContent.includes('flight recorders') && "
        f"{json.dumps(names)}.every((name) => "
        "document.getElementById('conversation').selectedOptions[0].text.includes(name))", 20))
    cause = browser.value("document.getElementById('cause').textContent")
    check(f"{folder.name}: the first cause is that of explain, {wanted}",
          wanted and all(text in cause for text in wanted))
    check("what stands out has a word", browser.value(NAMELESS) == 0)
    check_ladder_keys(browser)
    browser.picture(pictures / f"record-{folder.name}.png")
    print("     ", browser.value("document.getElementById('conversation').selectedOptions[0].text"))
    print("     ", cause)


def check_damaged(browser, folder, work):
    """A record that was cut, and one with a wrong number, are refused with a sentence."""
    whole = (folder / "0.record").read_text()
    cases = {"cut": (whole[:300], "damaged"),
             "wrong": (whole.replace('"qpn": ', '"qpn": -'), "damaged"),
             "later": (whole.replace('"version": 1', '"version": 2'), "later version")}
    for name, (text, words) in cases.items():
        file = pathlib.Path(work) / f"{name}.record"
        file.write_text(text)
        open_files(browser, [str(file)])
        check(f"a record that is {name} is refused in words", browser.wait(
            f"document.getElementById('summary').textContent.startsWith('{name}.record: ') && "
            f"document.getElementById('summary').textContent.includes('{words}') && "
            "document.querySelectorAll('.step').length === 0"))


def check_open(browser, pictures):
    """The files of the command line are open when the page is, and the recorders at a click."""
    check("the files of the command line are open", browser.wait(
        "document.querySelectorAll('.step').length > 3 && "
        "document.getElementById('cause').textContent.startsWith('First cause: ')", 20))
    browser.picture(pictures / "open.png")
    browser.value("document.getElementById('recorders').click()")
    check("what the recorders of both devices have opens, too, as one ladder", browser.wait(
        "['rnic0 (1)', 'rnic0 (2)'].every((name) => "
        "document.getElementById('conversation').selectedOptions[0].text.includes(name)) && "
        "document.querySelectorAll('.entries .step').length > 2 && "
        "document.getElementById('cause').textContent.startsWith('First cause: ')", 20))
    browser.picture(pictures / "recorders.png")
    browser.value("document.getElementById('tab-map').click()")


def check_ladder(browser, captures, within, pictures):
    open_files(browser, captures)
    # Until the captures are read, the page keeps the ladder that was open before.
    check("captures open as a ladder", browser.wait(
        "document.getElementById('conversation').selectedOptions[0]?.text.endsWith(' packets') && "
        "document.querySelectorAll('.step').length > 5", 30))
    check("with the first cause in a sentence", browser.value(
        "document.getElementById('cause').textContent.startsWith('First cause: ')"))
    print("     ", browser.value("document.getElementById('summary').textContent"))
    print("     ", browser.value("document.getElementById('conversation').selectedOptions[0].text"))
    print("     ", browser.value("document.getElementById('cause').textContent"))
    browser.value("document.getElementById('first').click()")
    check("which a button shows", browser.wait("document.querySelector('.step.first') !== null"))
    check("what stands out has a word", browser.value(NAMELESS) == 0)
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
    parser.add_argument("--peer", help="its address; a program exchanges data with it until told")
    parser.add_argument("--qps", type=int, default=0)
    parser.add_argument("--packets", type=int, default=0)
    parser.add_argument("--within", type=float, default=1, help="an answer to a click comes")
    parser.add_argument("--captures", nargs="*", default=[])
    parser.add_argument("--is-open", action="store_true", help="files are open at once")
    parser.add_argument("--records", nargs="*", type=pathlib.Path, default=[])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Browser(folder)
        browser.call("Page.navigate", url=options.url)
        check("the page opens", browser.wait(
            "document.querySelectorAll('[role=tab]').length === 7"))
        check_palette(browser)
        if options.is_open:
            check_open(browser, options.pictures)
        if options.peer:
            check_map(browser, options.peer, options.pictures)
        if options.qps:
            check_tables(browser, options.qps, options.within, options.pictures)
            check_keyboard(browser, options.pictures)
        for records in options.records:
            check_records(browser, records, options.pictures)
        if options.records:
            check_damaged(browser, options.records[0], folder)
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

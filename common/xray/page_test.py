#!/usr/bin/python3
"""Opens a filled X-ray page in headless Chromium and checks what a reader relies on.

    page_test.py PAGE.html [--screenshots DIR]

Expects nothing about the numbers in the report. Exit 0: all holds; exit 1: one sentence says what does not.
"""
import argparse
import base64
import contextlib
import json
import pathlib
import shutil
import sys
import tempfile

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

FLAGS = ("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run "
         "--disable-background-networking --disable-component-update --disable-sync").split()
SCHEMES = ("light", "dark")
DESKTOP = (1280, 900)
PHONE = (360, 740)
LEAST_CONTRAST = 4.5
LEAST_BUTTON_HEIGHT = 40
LOCAL_URLS = ("file://", "data:")
PATIENCE_SECONDS = 10

COLOURS = """
const style = (node) => getComputedStyle(node);
const channels = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
return {text: channels(style(document.querySelector('main p')).color),
        background: channels(style(document.body).backgroundColor)};
"""
BUTTON_HEIGHTS = """
return [...document.querySelectorAll('button')].map((button) => button.getBoundingClientRect())
  .filter((box) => box.height > 0).map((box) => box.height);
"""
PICTURES = """
return [...document.querySelectorAll('#view-0 svg')].filter((picture) => {
  const box = picture.getBoundingClientRect();
  return box.width > 0 && box.height > 0 && picture.childElementCount > 0;
}).length;
"""
SPANS = "return [...document.querySelectorAll('#view-0 .timeline svg [data-what]')].map((node) => node.dataset.what);"
STEP_PICTURE = "return document.querySelector('#view-0 .picture .step svg')?.outerHTML ?? '';"
WRONG_IN_PICTURE = """
const svg = document.querySelector('#view-0 .picture .step svg');
return {lanes: svg.querySelectorAll('.wrong-lane').length, bytes: svg.querySelectorAll('[data-wrong-lane]').length,
        banks: svg.querySelectorAll('[data-conflict]').length,
        texts: [...svg.querySelectorAll('text')].map((text) => text.firstChild.textContent)};
"""
TOPS = """
const top = (selector) => document.querySelector(selector).getBoundingClientRect().top + window.scrollY;
return {picture: top('.picture .step svg'), table: top('table')};
"""
SCROLLING = """
return [...document.querySelectorAll('.scroll')].map((box) => ({
  wider: box.scrollWidth > box.clientWidth + 2,
  says: box.parentNode.querySelector('.more').getBoundingClientRect().height > 0}));
"""
LEAST = """
return [...document.querySelectorAll('tbody tr')].map((row) => ({
  name: row.querySelector('th').textContent,
  least: [...row.querySelectorAll('td')].map((cell) => cell.classList.contains('least'))}));
"""
CURRENT_SITES = """
return [0, 1].map((side) => ({
  site: document.querySelector(`#view-${side} [aria-current]`)?.dataset.site,
  kernel: document.querySelector(`[data-side="${side}"] [aria-selected="true"]`)?.dataset.kernel,
  words: document.querySelector(`#view-${side} .sentence`)?.textContent}));
"""
ERROR_CARDS = """
return [...document.querySelectorAll('#view-0 .error')].map((card) => ({
  words: card.querySelector('p').textContent, height: card.getBoundingClientRect().height,
  drawn: [...card.querySelectorAll('svg text')].map((text) => text.firstChild.textContent)}));
"""


class Failed(Exception):
    """Something a reader relies on does not hold; the message is the sentence to print."""


def require(condition, sentence):
    if not condition:
        raise Failed(sentence)


@contextlib.contextmanager
def chromium():
    profile = tempfile.mkdtemp(prefix="xray_page_")
    options = webdriver.ChromeOptions()
    for flag in FLAGS + [f"--user-data-dir={profile}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    try:
        driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        try:
            driver.execute_cdp_cmd("Network.enable", {})
            yield driver
        finally:
            driver.quit()
    finally:
        shutil.rmtree(profile, ignore_errors=True)


def open_page(driver, url, scheme, size):
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    driver.get(url)


def check_console(driver, where):
    severe = [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]
    require(not severe, f"{where}: the console says: {severe[:1]}")


def check_network(driver, page):
    """Only this page's requests: Chromium's own start page is in the log too."""
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent" and message["params"]["documentURL"] == page:
            url = message["params"]["request"]["url"]
            require(url.startswith(LOCAL_URLS), f"the page asks the network for {url}")


def luminance(channels):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (c / 255 for c in channels)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first, second):
    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def check_colours(driver, scheme):
    colours = driver.execute_script(COLOURS)
    ratio = contrast(colours["text"], colours["background"])
    require(ratio >= LEAST_CONTRAST, f"{scheme}: the text's contrast is {ratio:.1f}, less than {LEAST_CONTRAST}")
    return colours["background"]


def line_of(kernel, step):
    site = next(site for site in kernel["sites"] if site["id"] == step["site"])
    return f"{pathlib.PurePosixPath(site['file']).name}:{site['line']}"


def check_step(driver, kernel, index, name):
    """Waits for the picture, since it follows the layout; returns it for comparison."""
    try:
        WebDriverWait(driver, PATIENCE_SECONDS).until(lambda d: d.execute_script(STEP_PICTURE))
    except WebDriverException:
        raise Failed(f"{name}: no picture of step {index + 1} appears") from None
    picture = driver.find_element(By.CSS_SELECTOR, "#view-0 .picture .step svg")
    require(picture.is_displayed(), f"{name}: the picture of step {index + 1} cannot be seen")
    sentence = " ".join(driver.find_element(By.CSS_SELECTOR, "#view-0 .sentence").text.split())
    line = line_of(kernel, kernel["steps"][index])
    require(line in sentence, f"{name}: the sentence of step {index + 1} does not name {line}: {sentence}")
    return driver.execute_script(STEP_PICTURE)


def move(driver, direction, name):
    button = driver.find_element(By.CSS_SELECTOR, f"#view-0 button[data-step='{direction}']")
    require(button.is_enabled(), f"{name}: the button for the {direction} step is off where there is one")
    button.click()


def first_different_step(kernel):
    steps = kernel["steps"]
    return next((i for i, step in enumerate(steps) if step != steps[0]), None)


def check_step_opened(driver, kernel, name):
    if kernel.get("steps"):
        check_step(driver, kernel, first_step(kernel), name)


def check_stepping(driver, kernel, name):
    if not kernel.get("steps"):
        return
    go_to(driver, 0)
    first = check_step(driver, kernel, 0, name)
    different = first_different_step(kernel)
    if different is None:
        return
    for _ in range(different):
        move(driver, "next", name)
    require(check_step(driver, kernel, different, name) != first,
            f"{name}: going to step {different + 1} does not change the picture")
    for _ in range(different):
        move(driver, "previous", name)
    require(check_step(driver, kernel, 0, name) == first,
            f"{name}: going back to step 1 does not bring its picture back")


def check_arrow_keys(driver, kernel, name):
    if len(kernel.get("steps", [])) < 2:
        return
    where = driver.find_element(By.CSS_SELECTOR, "#view-0 .stepper .where")
    button = driver.find_element(By.CSS_SELECTOR, "#view-0 button[data-step='next']")
    first = where.text
    button.send_keys(Keys.ARROW_RIGHT)
    require(where.text != first, f"{name}: the right arrow key does not go to the next step")
    button.send_keys(Keys.ARROW_LEFT)
    require(where.text == first, f"{name}: the left arrow key does not go back")


def check_sites(driver, kernel, name):
    """A click on a source line goes to its first step."""
    for site in kernel.get("sites", []):
        first = next((i for i, step in enumerate(kernel.get("steps", [])) if step["site"] == site["id"]), None)
        button = driver.find_element(By.CSS_SELECTOR, f"#view-0 button[data-site='{site['id']}']")
        require(button.is_enabled() == (first is not None),
                f"{name}: line {site['line']} can be clicked where it has no step, or cannot where it has one")
        if first is not None:
            button.click()
            check_step(driver, kernel, first, name)


def first_step(kernel):
    """Where the page opens: at the first error, if one is drawn, else where the kernel first differs from the one beside it."""
    return min((error["step"] for error in kernel.get("errors", []) if error["step"] is not None), default=kernel.get("opens_at", 0))


def go_to(driver, step):
    slider = "document.querySelector('#view-0 input[type=range]')"
    driver.execute_script(f"{slider}.value = {step + 1}; {slider}.dispatchEvent(new Event('input'));")


def check_what_is_wrong(driver, kernel, name):
    """An error is red in the picture of its step, a bank conflict in that of its own."""
    if not kernel.get("steps"):
        return
    for error in kernel.get("errors", []):
        if error["step"] is None:
            continue
        go_to(driver, error["step"])
        wrong = driver.execute_script(WRONG_IN_PICTURE)
        sentence = driver.find_element(By.CSS_SELECTOR, "#view-0 .sentence").text
        require(wrong["lanes"] > 0 and wrong["bytes"] > 0, f"{name}: neither lane nor bytes are red for: {error['message']}")
        require(error["message"] in sentence, f"{name}: the sentence under the step does not say: {error['message']}")
        other = error["other"] and f"{error['other']['file']}:{error['other']['line']}"
        require(not other or wrong["lanes"] > 1 or any(text.endswith(other[-12:]) for text in wrong["texts"]),
                f"{name}: the other party is not in the picture: {error['message']}")
    conflict = next((i for i, step in enumerate(kernel.get("steps", [])) if step["bank_conflicts"] > 0), None)
    if conflict is not None:
        go_to(driver, conflict)
        require(driver.execute_script(WRONG_IN_PICTURE)["banks"] > 0, f"{name}: the bank conflict of step {conflict + 1} is not drawn")
    require(conflict is not None or not any(site["bank_conflicts"] for site in kernel["sites"]),
            f"{name}: there are bank conflicts, and no step has one")
    go_to(driver, 0)


def check_other_side(driver, kernels, name):
    """The kernel beside it stands at a step that does the same, or says that it has none."""
    if len(kernels) < 2:
        return
    sides = driver.execute_script(CURRENT_SITES)
    require(sides[1]["kernel"] is not None, f"{name}: no second kernel beside it")
    if not all(kernels[int(side["kernel"])].get("steps") for side in sides):
        return
    first, second = (next(site for site in kernels[int(side["kernel"])]["sites"] if str(site["id"]) == side["site"]) for side in sides)
    require(first["operation"] == second["operation"] or "makes no" in sides[1]["words"],
            f"{name}: {first['operation']} on the left, {second['operation']} on the right")


def check_order(driver, kernels, name):
    if not any(kernel.get("steps") for kernel in kernels):
        return
    tops = driver.execute_script(TOPS)
    require(tops["picture"] < tops["table"], f"{name}: a table stands before the picture")
    require(tops["picture"] < DESKTOP[1], f"{name}: the picture begins {tops['picture']:.0f} pixels down")


def check_tables(driver, kernels, name):
    for box in driver.execute_script(SCROLLING):
        require(box["wider"] == box["says"], f"{name}: a table that is {'' if box['wider'] else 'not '}wider than the page says otherwise")
    for row in driver.execute_script(LEAST):
        for kernel, least in zip(kernels, row["least"]):
            adds = kernel["counters"]["atomics"] > 0 and kernel["counters"]["global_store_requests"] == 0
            require(not (least and adds and row["name"].startswith("global store")),
                    f"{name}: {row['name']} is the least where atomics do the work")


def check_errors(driver, kernel, name):
    errors = kernel.get("errors", [])
    if not errors:
        return
    wait = WebDriverWait(driver, PATIENCE_SECONDS)
    with contextlib.suppress(WebDriverException):
        wait.until(lambda d: all(card["drawn"] for card in d.execute_script(ERROR_CARDS)))
    cards = driver.execute_script(ERROR_CARDS)
    require(len(cards) == len(errors), f"{name}: {len(errors)} errors in the report, {len(cards)} on the page")
    for error, card in zip(errors, cards):
        require(card["height"] > 0 and card["drawn"], f"{name}: an error is not drawn: {error['message']}")
        require(error["message"] in card["words"],
                f"{name}: an error's message is missing: {error['message']}")
        for party in filter(None, (error["party"], error["other"])):
            where = f"{pathlib.PurePosixPath(party['file']).name}:{party['line']}"
            require(any(text.endswith(where) for text in card["drawn"]),
                    f"{name}: the drawing does not name {where} for: {error['message']}")


def check_timeline(driver, kernel, name):
    spans = kernel.get("timeline", {}).get("spans", [])
    if not spans:
        return
    wait = WebDriverWait(driver, PATIENCE_SECONDS)
    with contextlib.suppress(WebDriverException):
        wait.until(lambda d: d.execute_script(SPANS))
    drawn = driver.execute_script(SPANS)
    require([span["what"] for span in sorted(spans, key=lambda span: span["row"])] == drawn,
            f"{name}: the block over time shows {len(drawn)} of {len(spans)} spans, or others")


def select_kernel(driver, index, name):
    buttons = driver.find_elements(By.CSS_SELECTOR, f"[data-side='0'] button[data-kernel='{index}']")
    require(len(buttons) == 1, f"{name}: {len(buttons)} buttons for kernel {index}, expected 1")
    buttons[0].click()
    require(buttons[0].get_attribute("aria-selected") == "true", f"{name}: a click does not select the kernel")


def check_width(driver, name):
    width = driver.execute_script("return document.scrollingElement.scrollWidth")
    require(width <= PHONE[0], f"{name}: the page is {width} pixels wide on a screen of {PHONE[0]}")
    lowest = min(driver.execute_script(BUTTON_HEIGHTS), default=LEAST_BUTTON_HEIGHT)
    require(lowest >= LEAST_BUTTON_HEIGHT,
            f"{name}: a button is {lowest:.0f} pixels tall, less than {LEAST_BUTTON_HEIGHT}")


def save_screenshot(driver, folder, name):
    if folder is None:
        return
    folder.mkdir(parents=True, exist_ok=True)
    image = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True})["data"]
    (folder / f"{name}.png").write_bytes(base64.b64decode(image))


def check_kernels(driver, kernels, scheme, size, screenshots):
    form = "phone" if size == PHONE else "desktop"
    for index, kernel in enumerate(kernels):
        name = f"{scheme}, {form}, {kernel['kernel']}"
        if kernel.get("whose") == "ours":  # always on the other side
            require(driver.find_elements(By.CSS_SELECTOR, f"[data-side='1'] button[data-kernel='{index}']"),
                    f"{name}: our kernel does not stand beside the reader's")
            continue
        select_kernel(driver, index, name)
        if size == PHONE:
            check_width(driver, name)
        check_step_opened(driver, kernel, name)
        check_other_side(driver, kernels, name)
        check_stepping(driver, kernel, name)
        check_other_side(driver, kernels, name)
        check_what_is_wrong(driver, kernel, name)
        check_arrow_keys(driver, kernel, name)
        check_sites(driver, kernel, name)
        check_errors(driver, kernel, name)
        check_timeline(driver, kernel, name)
        if kernel.get("steps") or kernel.get("errors"):
            require(driver.execute_script(PICTURES) > 0, f"{name}: there is no picture")
        save_screenshot(driver, screenshots, f"{scheme}_{form}_{index}")


def check_page(driver, url, screenshots):
    backgrounds = {}
    for scheme in SCHEMES:
        for size in (DESKTOP, PHONE):
            open_page(driver, url, scheme, size)
            report = json.loads(driver.execute_script("return document.getElementById('xray').textContent"))
            backgrounds[scheme] = check_colours(driver, scheme)
            if size == DESKTOP:
                check_order(driver, report["kernels"], scheme)
            check_tables(driver, report["kernels"], scheme)
            check_kernels(driver, report["kernels"], scheme, size, screenshots)
            if size == PHONE:
                check_width(driver, scheme)
            check_console(driver, scheme)
    require(backgrounds["light"] != backgrounds["dark"], "light and dark have the same background")
    check_network(driver, url)
    steps = sum(len(kernel.get("steps", [])) for kernel in report["kernels"])
    errors = sum(len(kernel.get("errors", [])) for kernel in report["kernels"])
    return (f"{len(report['kernels'])} kernels, {steps} steps, {errors} errors: "
            "shown in light and dark, on desktop and phone")


def run(check_page, description):
    """The program of a test of one page."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path, metavar="DIR")
    arguments = parser.parse_args()
    try:
        require(arguments.page.is_file(), f"there is no page {arguments.page}")
        with chromium() as driver:
            print(check_page(driver, arguments.page.resolve().as_uri(), arguments.screenshots))
    except Failed as failure:
        print(failure)
        return 1
    except WebDriverException as failure:
        print(f"Chromium fails: {(failure.msg or type(failure).__name__).splitlines()[0]}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(run(check_page, __doc__))

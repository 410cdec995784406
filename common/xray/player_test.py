#!/usr/bin/python3
"""Opens a page of ./ladder xray LESSON --play in headless Chromium and checks what a reader relies
on, and the player's model of banks and sectors against the emulator's counts.

    player_test.py PAGE.html [--screenshots DIR]

Exit 0: all holds; exit 1: one sentence says what does not.
"""
import sys

from page_test import (DESKTOP, LEAST_BUTTON_HEIGHT, LEAST_CONTRAST, PATIENCE_SECONDS, SCHEMES,
                       check_console, check_network, contrast, open_page, require, run,
                       save_screenshot)
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

PHONE = (400, 740)

# The requests of all recordings that the model counts otherwise than the emulator.
MISCOUNTED = """
const wrong = [];
let requests = 0;
for (const [name, recording] of Object.entries(xrayRecordings)) {
  for (const [i, step] of (recording ? xrayPlayer.stepsOf(recording) : []).entries()) {
    // An access that ended the launch is drawn, but not counted.
    if (!step.space || step.errors.length > 0 || step.operation === 'shared atomic') continue;
    ++requests;
    const {offsets, bytes} = step, atomic = step.operation === 'global atomic';
    const sectors = xrayModel.sectors(offsets, bytes, atomic);
    const {wavefronts, conflicts} = xrayModel.wavefronts(offsets, bytes, step.matrix_load);
    const same = step.space === 'global' ? sectors === step.cost
                                         : wavefronts === step.cost && conflicts === step.conflicts;
    if (!same) wrong.push(`${name}, step ${i}: ${step.operation}, ${step.bytes} bytes`);
  }
}
return {wrong, requests};
"""
# The different costs of a recording's matrix loads, in wavefronts.
MATRIX_LOADS = """
const steps = xrayPlayer.stepsOf(xrayRecordings[arguments[0]]);
return [...new Set(steps.filter((step) => step.matrix_load).map((step) => step.cost))];
"""
OF_INDEX = """
const index = xrayBanks.parse(xrayBanks[arguments[0]]);
const [matrixLoad] = Object.values(xrayBanks.kAccesses);
return {fault: xrayBanks.faultOf(index), wavefronts: xrayBanks.cost(index, matrixLoad).wavefronts};
"""
TYPE = """
const banks = document.querySelector('xray-banks');
banks.input.value = arguments[0];
banks.input.dispatchEvent(new Event('input'));
return banks.verdict.textContent;
"""
STATE = """
const player = document.querySelectorAll('xray-player')[arguments[0]], root = player.shadowRoot;
const sides = [...root.querySelectorAll('.side')].map((side) => ({
  words: side.querySelector('.sentence').textContent,
  runs: [...side.querySelectorAll('pre .runs')].map((line) => line.textContent),
  pictures: side.querySelectorAll('svg').length,
  faults: side.querySelectorAll('.sentence .bad').length,
  rings: side.querySelectorAll('.ring').length}));
return {at: player.at, where: root.querySelector('.where').textContent, sides,
        live: root.querySelector('[aria-live]').textContent};
"""
STYLE = """
const root = document.querySelector('xray-player').shadowRoot, side = root.querySelector('.side');
const colour = (name) => getComputedStyle(side)[name].match(/[\\d.]+/g).slice(0, 3).map(Number);
const heights = [...root.querySelectorAll('button, select')].map((node) => node.clientHeight);
const parts = [...root.querySelectorAll('input, select, svg, section, pre')];
return {text: colour('color'), background: colour('backgroundColor'),
        least: Math.min(...heights.filter((height) => height > 0)),
        nameless: parts.filter((node) => !node.getAttribute('aria-label')).length,
        width: document.scrollingElement.scrollWidth};
"""
PLAYERS = """
const players = [...document.querySelectorAll('xray-player')];
return players.map((player) => player.getAttribute('names').split(' '));
"""
HAS_ERROR = """
return xrayPlayer.stepsOf(xrayRecordings[arguments[0]]).some((step) => step.errors.length > 0);
"""


def state(driver, number=0):
    return driver.execute_script(STATE, number)


def check_keys(driver, number, name):
    """One step, back, play and pause."""
    player = driver.find_elements(By.CSS_SELECTOR, "xray-player")[number]
    first = state(driver, number)
    player.send_keys(Keys.ARROW_RIGHT)
    second = state(driver, number)
    require(second["at"] == first["at"] + 1, f"{name}: the right arrow key does not go one step")
    require(second["where"] in second["live"], f"{name}: the step is not announced")
    player.send_keys(Keys.ARROW_LEFT)
    back = state(driver, number)
    require((back["at"], back["sides"]) == (first["at"], first["sides"]),
            f"{name}: the left arrow key does not bring the step back")
    player.send_keys(Keys.SPACE)
    wait = WebDriverWait(driver, PATIENCE_SECONDS)
    wait.until(lambda driver: state(driver, number)["at"] >= first["at"] + 2)
    player.send_keys(Keys.SPACE)
    paused = state(driver, number)["at"]
    driver.execute_async_script("setTimeout(arguments[0], 700);")
    require(state(driver, number)["at"] == paused, f"{name}: the space key does not pause")
    player.send_keys(Keys.HOME)
    require(state(driver, number)["at"] == 0, f"{name}: the Home key does not go to step 1")


def check_player(driver, number, names, name):
    sides = state(driver, number)["sides"]
    require(len(sides) == len(names), f"{name}: {len(sides)} recordings are shown")
    for each, side in zip(names, sides):
        require(side["pictures"] > 0 and side["words"], f"{name}: nothing is drawn of {each}")
        require(side["runs"], f"{name}: no line of {each} is marked")
    if driver.execute_script(HAS_ERROR, names[0]):
        # an operation without a request has no picture in which lanes could be marked
        is_marked = sides[0]["faults"] > 0 and (sides[0]["rings"] > 0 or sides[0]["pictures"] == 1)
        require(is_marked, f"{name}: it does not begin at the error")
    check_keys(driver, number, name)


def check_model(driver):
    counted = driver.execute_script(MISCOUNTED)
    wrong, requests = counted["wrong"], counted["requests"]
    require(not wrong, f"the model counts {len(wrong)} of {requests} requests otherwise than the "
                       f"emulator, first {wrong[:2]}")
    return requests


def check_index(driver, before, lesson):
    """The index costs what the emulator counted in this lesson and in the step before. Other words
    are answered by a sentence."""
    for name, which in ((before, "kStraight"), (lesson, "kSwizzled")):
        index = driver.execute_script(OF_INDEX, which)
        require(not index["fault"], f"{lesson}: {index['fault']}")
        counted = driver.execute_script(MATRIX_LOADS, name)
        # 07.08 loads its fragments by single words
        require(counted in ([], [index["wavefronts"]]),
                f"{name}: by the index a matrix load costs {index['wavefronts']} wavefronts, but "
                f"the emulator counted {counted}")
    for text, words in (("row * 64 + column / 8", "same index"), ("row * 64 + colum", "not known"),
                        ("row * 64 + (column", "is missing"), ("row % 0", "by 0"),
                        ("row * 64 + column", "bank conflicts")):
        said = driver.execute_script(TYPE, text)
        require(words in said, f"{lesson}: the index '{text}' is answered by: {said}")


def check_style(driver, scheme, size):
    found = driver.execute_script(STYLE)
    ratio = contrast(found["text"], found["background"])
    require(ratio >= LEAST_CONTRAST, f"{scheme}: the text's contrast is {ratio:.1f}")
    require(found["least"] >= LEAST_BUTTON_HEIGHT - 2, f"{scheme}: a button is too low")
    require(not found["nameless"], f"{scheme}: {found['nameless']} parts have no name")
    require(found["width"] <= size[0], f"{scheme}: the page is {found['width']} pixels wide on a "
                                       f"screen of {size[0]}")
    return found["background"]


def check_page(driver, url, screenshots):
    backgrounds = {}
    for scheme, size in ((scheme, size) for scheme in SCHEMES for size in (DESKTOP, PHONE)):
        open_page(driver, url, scheme, size)
        wait = WebDriverWait(driver, PATIENCE_SECONDS)
        wait.until(lambda driver: state(driver)["sides"][0]["words"])
        players = driver.execute_script(PLAYERS)
        backgrounds[scheme] = check_style(driver, scheme, size)
        save_screenshot(driver, screenshots, f"{scheme}_{size[0]}")
        for number, names in enumerate(players):
            where = f"{scheme}, {size[0]} pixels, {' '.join(names)}"
            check_player(driver, number, names, where)
        if driver.find_elements(By.CSS_SELECTOR, "xray-banks"):
            check_index(driver, *players[0])
            save_screenshot(driver, screenshots, f"{scheme}_{size[0]}_banks")
        check_console(driver, scheme)
    require(backgrounds["light"] != backgrounds["dark"], "light and dark have one background")
    requests = check_model(driver)
    check_network(driver, url)
    return (f"{len(players)} players, in light and dark, on desktop and phone; the model counts "
            f"{requests} requests as the emulator does")


if __name__ == "__main__":
    sys.exit(run(check_page, __doc__))

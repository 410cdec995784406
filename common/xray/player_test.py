#!/usr/bin/python3
"""Opens a page of ./ladder xray LESSON --play in headless Chromium and checks what a reader relies
on, and the player's model of banks and sectors against the emulator's counts.

    player_test.py PAGE.html [--screenshots DIR]

Exit 0: all holds; exit 1: one sentence says what does not.
"""
import argparse
import pathlib
import sys

from page_test import (DESKTOP, SCHEMES, Failed, check_console, check_network, chromium, contrast, open_page, require, save_screenshot)
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

PHONE = (400, 740)
LEAST_CONTRAST = 4.5
LEAST_BUTTON_HEIGHT = 40
PATIENCE_SECONDS = 10

# Every request of every recording, counted by the model: those that the emulator counted otherwise.
MISCOUNTED = """
const wrong = [];
let requests = 0;
for (const [name, recording] of Object.entries(xrayRecordings)) {
  for (const [i, step] of (recording ? xrayPlayer.stepsOf(recording) : []).entries()) {
    if (!step.space || step.errors.length > 0 || step.operation === "shared atomic") continue;
    ++requests;
    const atomic = step.operation === "global atomic";
    const shared = xrayModel.wavefronts(step.offsets, step.bytes, step.matrix_load);
    const same = step.space === "global" ? xrayModel.sectors(step.offsets, step.bytes, atomic) === step.cost :
        shared.wavefronts === step.cost && shared.conflicts === step.conflicts;
    if (!same) wrong.push(`${name}, step ${i}: ${step.operation}, ${step.bytes} bytes`);
  }
}
return {wrong, requests};
"""
# The matrix loads of a lesson, without where they begin: the lanes' offsets from the least one.
MATRIX_LOADS = """
const recording = xrayRecordings[arguments[0]], found = new Map();
for (const step of xrayPlayer.stepsOf(recording).filter((each) => each.matrix_load)) found.set(step.cost, (found.get(step.cost) || 0) + 1);
return Object.fromEntries(found);
"""
OF_INDEX = """
const index = xrayBanks.parse(arguments[0]);
return {fault: xrayBanks.faultOf(index), costs: Object.values(xrayBanks.kAccesses).map((access) => xrayBanks.cost(index, access)).map(
    ({wavefronts, conflicts, sectors}) => [wavefronts, conflicts, sectors])};
"""
STATE = """
const player = document.querySelectorAll('xray-player')[arguments[0]], root = player.shadowRoot;
return {at: player.at, where: root.querySelector('.where').textContent, live: root.querySelector('[aria-live]').textContent,
        sides: [...root.querySelectorAll('.side')].map((side) => ({
          words: side.querySelector('.sentence').textContent, runs: [...side.querySelectorAll('pre .runs')].map((line) => line.textContent),
          pictures: side.querySelectorAll('svg').length, faults: side.querySelectorAll('.sentence .bad').length,
          rings: side.querySelectorAll('.ring').length}))};
"""
STYLE = """
const root = document.querySelector('xray-player').shadowRoot, colour = (node, name) => getComputedStyle(node)[name].match(/[\\d.]+/g).slice(0, 3).map(Number);
const side = root.querySelector('.side');
return {text: colour(side, 'color'), background: colour(side, 'backgroundColor'),
        heights: [...root.querySelectorAll('button, select')].map((node) => node.getBoundingClientRect().height).filter((height) => height > 0),
        nameless: [...root.querySelectorAll('input, select, svg, section, pre')].filter((node) => !node.getAttribute('aria-label')).length};
"""


def state(driver, number=0):
    return driver.execute_script(STATE, number)


def check_steps(driver, number, name):
    """By keyboard: one step, back, play and pause."""
    player = driver.find_elements(By.CSS_SELECTOR, "xray-player")[number]
    first = state(driver, number)
    player.send_keys(Keys.ARROW_RIGHT)
    second = state(driver, number)
    require(second["at"] == first["at"] + 1, f"{name}: the right arrow key does not go one step")
    require(second["where"] in second["live"], f"{name}: the step is not announced: {second['live']}")
    player.send_keys(Keys.ARROW_LEFT)
    require(state(driver, number) == {**first, "live": state(driver, number)["live"]}, f"{name}: the left arrow key does not bring the step back")
    player.send_keys(Keys.SPACE)
    WebDriverWait(driver, PATIENCE_SECONDS).until(lambda d: state(d, number)["at"] >= first["at"] + 2)
    player.send_keys(Keys.SPACE)
    paused = state(driver, number)["at"]
    driver.execute_async_script("setTimeout(arguments[0], 700);")
    require(state(driver, number)["at"] == paused, f"{name}: the space key does not pause")
    player.send_keys(Keys.HOME)
    require(state(driver, number)["at"] == 0, f"{name}: the Home key does not go to the first step")


def check_player(driver, number, names, name):
    shown = state(driver, number)
    require(len(shown["sides"]) == len(names), f"{name}: {len(shown['sides'])} recordings are shown of {' '.join(names)}")
    for each, side in zip(names, shown["sides"]):
        require(side["pictures"] > 0 and side["words"], f"{name}: nothing is drawn of {each}")
        require(side["runs"], f"{name}: no line of {each} is marked")
    errors = driver.execute_script("return xrayRecordings[arguments[0]].errors.map((error) => error.message);", names[0])
    drawn = driver.execute_script("return xrayRecordings[arguments[0]].steps.some((step) => step[step.length - 1].errors);", names[0])
    if errors and drawn:
        require(shown["sides"][0]["faults"] > 0 and shown["sides"][0]["rings"] > 0, f"{name}: it does not begin at the error of {names[0]}")
    check_steps(driver, number, name)


def check_model(driver):
    counted = driver.execute_script(MISCOUNTED)
    require(not counted["wrong"], f"the model counts {len(counted['wrong'])} of {counted['requests']} requests otherwise than the emulator: {counted['wrong'][:2]}")
    return counted["requests"]


def check_index(driver, lesson):
    """The typed index costs what the emulator counted in this lesson and in the step before."""
    straight, swizzled = (driver.execute_script(OF_INDEX, driver.execute_script(f"return xrayBanks.{which};")) for which in ("kStraight", "kSwizzled"))
    before = driver.execute_script("return document.querySelector('xray-player').getAttribute('names').split(' ')[0];")
    for name, of_index in ((before, straight), (lesson, swizzled)):
        require(not of_index["fault"], f"{lesson}: {of_index['fault']}")
        counted = driver.execute_script(MATRIX_LOADS, name)
        require(not counted or list(counted) == [str(of_index["costs"][0][0])],
                f"{name}: a matrix load costs {of_index['costs'][0][0]} wavefronts by the index, and the emulator counted {counted}")
    field = driver.execute_script("return document.querySelector('xray-banks').input;")
    for text, words in (("row * 64 + column / 8", "same index"), ("row * 64 + colum", "not known"), ("row * 64 + (column", "is missing"), ("row % 0", "by 0")):
        driver.execute_script("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'));", field, text)
        said = driver.execute_script("return document.querySelector('xray-banks').verdict.textContent;")
        require(words in said, f"{lesson}: the index '{text}' is answered by: {said}")
    driver.execute_script("arguments[0].value = xrayBanks.kSwizzled; arguments[0].dispatchEvent(new Event('input'));", field)


def check_style(driver, scheme, size):
    found = driver.execute_script(STYLE)
    require(contrast(found["text"], found["background"]) >= LEAST_CONTRAST, f"{scheme}: the text's contrast is too low")
    require(min(found["heights"]) >= LEAST_BUTTON_HEIGHT, f"{scheme}: a button is {min(found['heights']):.0f} pixels tall")
    require(found["nameless"] == 0, f"{scheme}: {found['nameless']} parts have no name for a screen reader")
    width = driver.execute_script("return document.scrollingElement.scrollWidth")
    require(width <= size[0], f"{scheme}: the page is {width} pixels wide on a screen of {size[0]}")
    return found["background"]


def check_page(driver, url, screenshots):
    backgrounds = {}
    for scheme in SCHEMES:
        for size in (DESKTOP, PHONE):
            open_page(driver, url, scheme, size)
            WebDriverWait(driver, PATIENCE_SECONDS).until(lambda d: state(d)["sides"][0]["words"])
            players = driver.execute_script("return [...document.querySelectorAll('xray-player')].map((player) => player.getAttribute('names').split(' '));")
            require(players, "there is no player")
            backgrounds[scheme] = check_style(driver, scheme, size)
            save_screenshot(driver, screenshots, f"{scheme}_{size[0]}")
            for number, names in enumerate(players):
                check_player(driver, number, names, f"{scheme}, {size[0]} pixels, {' '.join(names)}")
            if driver.find_elements(By.CSS_SELECTOR, "xray-banks"):
                check_index(driver, players[0][-1])
                save_screenshot(driver, screenshots, f"{scheme}_{size[0]}_banks")
            check_console(driver, scheme)
    require(backgrounds["light"] != backgrounds["dark"], "light and dark have the same background")
    requests = check_model(driver)
    check_network(driver, url)
    return f"{len(players)} players: shown in light and dark, on desktop and phone; the model counts {requests} requests as the emulator"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
    sys.exit(main())

"""The pages in a real browser: Debian's chromium with its driver, or any other that Selenium finds by its path.

    apt-get install chromium chromium-driver

Where there is none the tests are skipped.
"""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from parasketch.serve.app import ServiceOptions
from parasketch.serve.limits import Limits

from .conftest import Service, running
from .test_judging import make_study

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
TEXT = "How do I become a good writer?"
CARDS = "#results li:not(.coming)"
AXE = (Path(__file__).parent / "axe" / "axe.min.js").read_text(encoding="utf-8")

pytestmark = pytest.mark.skipif(
    CHROMIUM is None or DRIVER is None, reason="no browser: apt-get install chromium chromium-driver"
)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    study = make_study(tmp_path_factory.mktemp("study") / "study.db")
    with running(ServiceOptions(limits=Limits(rate=0), study=study.path)) as service:
        service.token = study.tokens()[0]  # type: ignore[attr-defined]
        yield service


@pytest.fixture(scope="module")
def driver() -> Iterator["Chrome"]:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = webdriver.Chrome(options, webdriver.ChromeService(DRIVER))
    browser.set_script_timeout(60)
    yield browser
    browser.quit()


@pytest.fixture
def browser(driver: "Chrome") -> Iterator["Chrome"]:
    """One that is asked in the end whether anything went wrong on the page."""
    driver.set_window_size(1200, 1000)
    driver.get_log("browser")
    yield driver
    problems = [row for row in driver.get_log("browser") if row["level"] == "SEVERE"]
    assert not problems


def until(browser: "Chrome", true: Callable[[], Any]) -> Any:
    from selenium.common.exceptions import StaleElementReferenceException
    from selenium.webdriver.support.ui import WebDriverWait

    wait = WebDriverWait(browser, 60, poll_frequency=0.1, ignored_exceptions=[StaleElementReferenceException])
    return wait.until(lambda _: true())


def find(browser: "Chrome", selector: str) -> Any:
    return browser.find_element("css selector", selector)


def texts(browser: "Chrome", selector: str) -> list[str]:
    script = "return [...document.querySelectorAll(arguments[0])].map((each) => each.textContent)"
    return list(browser.execute_script(script, selector))


def explore(browser: "Chrome", pages: Service, state: str = "") -> None:
    browser.get("about:blank")
    browser.get(f"{pages.url}/#{state}")
    until(browser, lambda: texts(browser, "#model option"))


def set_range(browser: "Chrome", name: str, value: int) -> None:
    script = (
        "const e = document.getElementById(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event('input'))"
    )
    browser.execute_script(script, name, value)


def test_typing_shows_paraphrases_with_differences_and_the_tree(browser: "Chrome", pages: Service) -> None:
    explore(browser, pages)
    find(browser, "#text").send_keys(TEXT)
    until(browser, lambda: len(texts(browser, CARDS)) == 5 and texts(browser, ".branch"))
    until(browser, lambda: find(browser, "#status").text == "5 paraphrases.")
    assert "do I become a good writer?" in texts(browser, "#results li p")[1]
    assert texts(browser, "#results ins")
    assert texts(browser, "#results del")
    assert any("doubtful" in each for each in texts(browser, ".doubt"))
    assert texts(browser, ".branch b")[0].startswith("q1")


def test_a_branch_a_slider_and_the_like_box_steer_the_form(browser: "Chrome", pages: Service) -> None:
    explore(browser, pages, f"text={TEXT}")
    until(browser, lambda: texts(browser, ".branch"))
    branch = find(browser, ".branch")
    path = branch.get_attribute("data-path")
    branch.send_keys("\n")
    until(browser, lambda: f"form {path}" in texts(browser, "#results .about")[0])
    until(browser, lambda: find(browser, ".branch[aria-pressed=true]").get_attribute("data-path") == path)
    until(browser, lambda: texts(browser, "#codes li"))
    set_range(browser, "depth", 1)
    until(browser, lambda: "→" not in texts(browser, "#results .about")[0])
    set_range(browser, "n", 2)
    until(browser, lambda: len(texts(browser, CARDS)) == 2)
    set_range(browser, "depth", 3)
    find(browser, "#like").send_keys("Why not?")
    [sketch] = pages.post("/v1/sketch", {"text": "Why not?"}).json["sketches"]
    until(browser, lambda: "form " + " → ".join(map(str, sketch)) in texts(browser, "#results .about")[0])


def test_a_link_restores_the_view(browser: "Chrome", pages: Service) -> None:
    explore(browser, pages, f"text={TEXT}&n=3&depth=2&sketch=2&model=fake&beside=flat")
    until(browser, lambda: len(texts(browser, CARDS)) == 6)
    assert texts(browser, "#results h3") == ["fake", "flat"]
    one, other = browser.find_elements("css selector", "#results h3")
    assert one.location["y"] == other.location["y"], "side by side"
    assert find(browser, "#text").get_attribute("value") == TEXT
    assert texts(browser, "#results .about")[0].startswith("form 2 → 0")
    assert texts(browser, "#results .about")[3].startswith("form 2 ·")
    link = browser.current_url
    browser.get("about:blank")
    browser.get(link)
    until(browser, lambda: len(texts(browser, CARDS)) == 6)


def test_an_example_is_picked_and_older_requests_are_dropped(browser: "Chrome", pages: Service) -> None:
    explore(browser, pages)
    pages.model.gate.clear()
    find(browser, "#text").send_keys("an older text")
    until(browser, lambda: find(browser, "#status").text == "Working…")
    find(browser, "#examples button").click()
    pages.model.gate.set()
    until(browser, lambda: any("become a good writer" in each for each in texts(browser, "#results li p")))
    until(browser, lambda: texts(browser, ".branch"))
    assert not any("older" in each for each in texts(browser, "#results li p"))


def test_errors_of_the_server_are_shown(driver: "Chrome", pages: Service) -> None:
    explore(driver, pages, "text=refuse")
    until(driver, lambda: find(driver, "#status").text == "this text is refused")


def problems_of(browser: "Chrome") -> list[str]:
    """What axe-core finds wrong with the page for people who use it without eyes, without a mouse, or hardly see it."""
    browser.execute_script(AXE)
    found = browser.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
    return [f"{each['id']}: {node['html']}" for each in found["violations"] for node in each["nodes"]]


@contextlib.contextmanager
def emulated(browser: "Chrome", theme: str, *, phone: bool = False) -> Iterator[None]:
    """A reader who prefers dark or light, perhaps with a phone."""
    features = [
        {"name": "prefers-color-scheme", "value": theme},
        {"name": "prefers-reduced-motion", "value": "reduce"},  # colours are judged as they are in the end
    ]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    if phone:
        size = {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        yield
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@pytest.mark.parametrize(("theme", "phone"), [("light", False), ("dark", False), ("light", True), ("dark", True)])
def test_everybody_can_use_the_explorer(browser: "Chrome", pages: Service, theme: str, phone: bool) -> None:
    with emulated(browser, theme, phone=phone):
        explore(browser, pages, f"text={TEXT}&sketch=1&beside=flat")
        until(browser, lambda: texts(browser, "#codes li"))
        assert browser.execute_script("return matchMedia('(prefers-color-scheme: dark)').matches") == (theme == "dark")
        assert problems_of(browser) == []
        if phone:
            assert browser.execute_script("return document.documentElement.scrollWidth") <= 390


def test_dark_and_light_are_chosen_with_a_button_and_remembered(browser: "Chrome", pages: Service) -> None:
    with emulated(browser, "light"):
        explore(browser, pages)
        ground = "return getComputedStyle(document.body).backgroundColor"
        light = browser.execute_script(ground)
        find(browser, "#theme").click()
        dark = browser.execute_script(ground)
        browser.refresh()
        assert browser.execute_script(ground) == dark != light
        find(browser, "#theme").click()
        assert browser.execute_script(ground) == light
        browser.execute_script("localStorage.clear()")


def test_the_explorer_is_used_with_the_keyboard_alone(browser: "Chrome", pages: Service) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    def press(*keys: str) -> None:
        ActionChains(browser).send_keys(*keys).perform()

    def go_to(selector: str) -> None:
        for _ in range(60):
            if browser.execute_script("return document.activeElement.matches(arguments[0])", selector):
                return
            press(Keys.TAB)
        raise AssertionError(f"Tab does not lead to {selector}")

    explore(browser, pages)
    go_to("#text")
    press(TEXT)
    until(browser, lambda: texts(browser, ".branch"))
    go_to("#depth")
    press(Keys.ARROW_LEFT)
    until(browser, lambda: find(browser, "#status").text == "5 paraphrases." and texts(browser, ".branch"))
    assert find(browser, "#depth-value").text == "2"
    go_to(".branch")
    press(Keys.SPACE)
    until(browser, lambda: texts(browser, "#codes li"))
    assert browser.execute_script("return document.activeElement.className") == "branch", "the focus stays"


def test_the_first_paraphrase_is_shown_before_the_others(browser: "Chrome", pages: Service) -> None:
    explore(browser, pages)
    pages.model.second_gate.clear()
    try:
        find(browser, "#text").send_keys(TEXT)
        until(browser, lambda: texts(browser, CARDS) and texts(browser, CARDS)[0].startswith("quickly"))
        assert find(browser, "#status").text == "The first of 5, others follow…"
        assert len(texts(browser, "#results li.coming")) == 4
        assert problems_of(browser) == []
        find(browser, "#text").send_keys(" Really?")  # what is under way is dropped for it
        until(browser, lambda: texts(browser, CARDS) and "Really?" in texts(browser, CARDS)[0])
        until(browser, lambda: [TEXT] in pages.model.stopped)
    finally:
        pages.model.second_gate.set()
    until(browser, lambda: find(browser, "#status").text == "5 paraphrases.")
    assert "quickly" not in texts(browser, CARDS)[0]


def test_another_link_in_the_same_tab_is_another_view(browser: "Chrome", pages: Service) -> None:
    explore(browser, pages, f"text={TEXT}&n=3&beside=flat&like=Why%20not?")
    until(browser, lambda: len(texts(browser, CARDS)) == 6)
    browser.execute_script("location.hash = 'text=Can%20cats%20swim?&model=nobody'")
    until(browser, lambda: len(texts(browser, CARDS)) == 5 and "Can cats swim?" in texts(browser, CARDS)[0])
    values = [find(browser, each).get_attribute("value") for each in ("#like", "#beside", "#model", "#n")]
    assert values == ["", "", "fake", "5"]


def test_buttons_copy_a_paraphrase_and_the_link(browser: "Chrome", pages: Service) -> None:
    permissions = {"origin": pages.url, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]}
    browser.execute_cdp_cmd("Browser.grantPermissions", permissions)
    explore(browser, pages, f"text={TEXT}")
    until(browser, lambda: len(texts(browser, CARDS)) == 5)
    until(browser, lambda: find(browser, "#status").text == "5 paraphrases.")
    read = "navigator.clipboard.readText().then(arguments[0], (error) => arguments[0](String(error)))"
    find(browser, "#results li button").click()
    until(browser, lambda: browser.execute_async_script(read).startswith(TEXT))
    find(browser, "#link").click()
    until(browser, lambda: browser.execute_async_script(read) == browser.current_url)


@pytest.mark.parametrize(("theme", "phone"), [("light", False), ("dark", True)])
def test_the_service_is_explained_to_everybody(browser: "Chrome", pages: Service, theme: str, phone: bool) -> None:
    with emulated(browser, theme, phone=phone):
        browser.get(f"{pages.url}/docs")
        until(browser, lambda: "POST /v1/paraphrase" in texts(browser, "h2"))
        assert "Paraphrases of each text." in texts(browser, "#ParaphraseBody td")
        assert problems_of(browser) == []
        if phone:
            assert browser.execute_script("return document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize(("theme", "phone"), [("light", False), ("dark", True)])
def test_everybody_can_judge(browser: "Chrome", pages: Service, theme: str, phone: bool) -> None:
    with emulated(browser, theme, phone=phone):
        browser.get(f"{pages.url}/judge/{pages.token}")  # type: ignore[attr-defined]
        assert problems_of(browser) == []
        find(browser, "#begin").send_keys("\n")
        until(browser, lambda: find(browser, "#task").is_displayed())
        assert problems_of(browser) == []


def test_a_study_is_judged_with_the_keyboard(browser: "Chrome", pages: Service) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    url = f"{pages.url}/judge/{pages.token}"  # type: ignore[attr-defined]
    browser.get(url)
    find(browser, "#begin").send_keys(Keys.ENTER)
    for number in range(1, 11):
        until(browser, lambda number=number: find(browser, "#count").text == f"Pair {number} of 10")
        if number == 4:  # a rater who comes back goes on where they stopped
            browser.get(url)
            find(browser, "#begin").send_keys(Keys.ENTER)
            until(browser, lambda: find(browser, "#count").text == "Pair 4 of 10")
            ActionChains(browser).send_keys("12").perform()
            assert not find(browser, "#save").is_enabled()
            ActionChains(browser).send_keys(Keys.BACKSPACE, Keys.BACKSPACE).perform()
        ActionChains(browser).send_keys("1", "2", "1", Keys.ENTER).perform()
    until(browser, lambda: find(browser, "#finished").is_displayed())
    assert "Saved. 0 to go." in find(browser, "#status").text
    assert problems_of(browser) == []

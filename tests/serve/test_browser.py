"""The pages in a real browser: Debian's chromium with its driver, or any other that Selenium finds by its path.

    apt-get install chromium chromium-driver

Where there is none the tests are skipped.
"""

import shutil
from collections.abc import Callable, Iterator
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
    until(browser, lambda: len(texts(browser, "#results li")) == 5 and texts(browser, ".branch"))
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
    until(browser, lambda: len(texts(browser, "#results li")) == 2)
    set_range(browser, "depth", 3)
    find(browser, "#like").send_keys("Why not?")
    [sketch] = pages.post("/v1/sketch", {"text": "Why not?"}).json["sketches"]
    until(browser, lambda: "form " + " → ".join(map(str, sketch)) in texts(browser, "#results .about")[0])


def test_a_link_restores_the_view(browser: "Chrome", pages: Service) -> None:
    explore(browser, pages, f"text={TEXT}&n=3&depth=2&sketch=2&model=fake&beside=flat")
    until(browser, lambda: len(texts(browser, "#results li")) == 6)
    assert texts(browser, "#results h3") == ["fake", "flat"]
    assert find(browser, "#text").get_attribute("value") == TEXT
    assert texts(browser, "#results .about")[0].startswith("form 2 → 0")
    assert texts(browser, "#results .about")[3].startswith("form 2 ·")
    link = browser.current_url
    browser.get("about:blank")
    browser.get(link)
    until(browser, lambda: len(texts(browser, "#results li")) == 6)


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


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_phone_shows_all_of_it_and_colours_have_contrast(browser: "Chrome", pages: Service, theme: str) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": True}
    )
    try:
        explore(browser, pages, f"text={TEXT}")
        if browser.execute_script("return document.documentElement.dataset.theme") != theme:
            find(browser, "#theme").click()
            if browser.execute_script("return document.documentElement.dataset.theme") != theme:
                find(browser, "#theme").click()
        until(browser, lambda: texts(browser, ".branch"))
        assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
        assert browser.execute_script(CONTRAST) == []
    finally:
        browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_everything_has_a_name_for_screen_readers(browser: "Chrome", pages: Service) -> None:
    explore(browser, pages, f"text={TEXT}")
    until(browser, lambda: texts(browser, ".branch"))
    script = """return [...document.querySelectorAll('input, textarea, select, button')].filter((e) => !(
        e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim())).map((e) => e.outerHTML)"""
    assert browser.execute_script(script) == []
    headings = browser.execute_script(
        "return [...document.querySelectorAll('h1,h2,h3')].map((e) => e.tagName).join(' ')"
    )
    assert headings == "H1 H2 H2 H2"


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


CONTRAST = """
const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number);
const parse = (colour) => ({ rgb: numbers(colour).slice(0, 3), a: numbers(colour)[3] ?? 1 });
const light = (rgb) => rgb.map((c) => c / 255).map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const ground = (e) => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor);
  if (c.a === 1) return c.rgb; } return [255, 255, 255]; };
const bad = [];
for (const e of document.querySelectorAll('main *, header *')) {
  if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || !e.checkVisibility()) continue;
  const [a, b] = [light(parse(getComputedStyle(e).color).rgb), light(ground(e))].sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) bad.push(e.outerHTML.slice(0, 80));
}
return bad;
"""

"""The page needs nothing but itself, runs nothing, and can be read on a phone."""

from __future__ import annotations

import json
import os
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nbformat import v4
from runner_kit import make_project, run

from shellbench_lib.blocks import bullets, paragraph
from shellbench_lib.page import figure, render_page, safe_html

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND",
)  # fmt: skip
SVG = "http://www.w3.org/2000/svg"


class Reader(HTMLParser):
    """Collects tags, ids, links and whatever could load or run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.handlers: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in {"href", "src", "xlink:href", "action", "data", "srcset", "poster"}:
                self.targets.append(value)
            if name.startswith("on"):
                self.handlers.append(name)


def page_of(*cells):
    return render_page(v4.new_notebook(cells=list(cells)), subtitle="a & b")


def shown(mime: str, content: str):
    return v4.new_code_cell("show()", execution_count=1, outputs=[v4.new_output("display_data", {mime: content})])


def drawing(inside: str) -> str:
    return f'<svg xmlns="{SVG}" xmlns:xlink="http://www.w3.org/1999/xlink" width="10pt" height="10pt" viewBox="0 0 10 10">{inside}</svg>'


def test_headings_become_a_table_of_contents_with_ids_of_their_own():
    page = page_of(
        v4.new_markdown_cell("# Report & more"),
        v4.new_markdown_cell("## Same\n\n### Part `x`"),
        v4.new_markdown_cell("## Same"),
        v4.new_markdown_cell("```\n## no heading\n```"),
        shown("text/html", "<h3>From a cell</h3>"),
    )
    read = Reader(page)
    assert [name for name in read.ids if name] == ["report-more", "same", "part-x", "same-2", "from-a-cell"]
    assert set(read.targets) - {"data:,"} == {"#same", "#part-x", "#same-2", "#from-a-cell"}
    assert "<title>Report &amp; more: a &amp; b</title>" in page


def test_code_is_folded_away_and_escaped():
    page = page_of(v4.new_code_cell('print("</script><b>")', execution_count=1))
    assert re.search(r'<details class="code"><summary>Code</summary>', page)
    assert "</script>" not in page
    assert "&lt;b&gt;" in page


def test_a_page_has_no_script_and_loads_nothing():
    page = page_of(
        v4.new_markdown_cell("# A\n\n<script>alert(1)</script> <img src=x onerror=alert(1)> [x](javascript:alert(1)) ![y](http://example.org/y.png)"),
        shown("text/html", "<p onclick='a()'>kept</p><script src='https://example.org/x.js'></script><style>@import 'x'</style>"),
        shown("application/javascript", "alert(1)"),
        shown("image/svg+xml", drawing("<script>alert(1)</script><image href='https://example.org/a.png'/>")),
        v4.new_code_cell("x", execution_count=2, outputs=[v4.new_output("stream", name="stdout", text="<script>alert(1)</script>")]),
    )  # fmt: skip
    read = Reader(page)
    assert {"script", "iframe", "object", "link"} & set(read.tags) == {"link"}  # the empty icon
    assert read.handlers == []
    assert [target for target in read.targets if not target.startswith("#")] == ["data:,"]
    assert "Content-Security-Policy" in page
    assert "default-src 'none'" in page
    assert "kept" in page


@pytest.mark.parametrize(
    "text",
    [
        paragraph("a < b & 'c'", "d").html,
        bullets(["one", "two <three>"], numbered=True).html,
        '<div class="table-box"><table class="data"><thead><tr><th scope="col" class="number">n</th></tr></thead></table></div>',
        '<a href="#leaderboard">Leaderboard</a>',
        '<a href="analysis/leaderboard.csv">leaderboard.csv</a>',
        "",
    ],
)
def test_html_of_our_own_is_let_through_as_it_is(text):
    assert safe_html(text) == text


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("<p onclick='x()'>a</p>", "<p>a</p>"),
        ('<a href="javascript:x()">a</a>', "<a>a</a>"),
        ('<a href="https://example.org">a</a>', "<a>a</a>"),
        ('<a href="//example.org">a</a>', "<a>a</a>"),
        ('<a href="/etc/passwd">a</a>', "<a>a</a>"),
        ('<a href="../../x">a</a>', "<a>a</a>"),
        ('<p style="position:fixed">a</p>', "<p>a</p>"),
        ("<script>x()</script>a", "a"),
        ("<style>p {color: red}</style>a", "a"),
        ("<script>x()", ""),
        ('<iframe src="x"></iframe>a', "a"),
        ("<!-- a --><b>b</b>", "<b>b</b>"),
        ("<P>a</P>", "<p>a</p>"),
        ('<img src="x">', ""),
        ("<svg><script>x()</script></svg>", ""),
        ("a < b", "a &lt; b"),
    ],
)
def test_other_html_is_cleaned(text, clean):
    assert safe_html(text) == clean


@given(st.text(alphabet="<>/\"'=& abpscriptonlk\n", max_size=60))
def test_no_text_gets_a_script_or_a_handler_through(text):
    read = Reader(safe_html(text))
    assert "script" not in read.tags
    assert read.handlers == []


def test_two_figures_do_not_share_ids():
    svg = drawing(
        '<defs><clipPath id="c"><rect width="1" height="1"/></clipPath><path id="m" d="M0 0"/></defs>'
        '<g clip-path="url(#c)" style="fill: url(&quot;#c&quot;)"><use xlink:href="#m" x="1"/></g>'
    )
    page = page_of(v4.new_markdown_cell("## Scores"), shown("image/svg+xml", svg), shown("image/svg+xml", svg))
    read = Reader(page)
    assert [name for name in read.ids if name.startswith("f")] == ["f1-c", "f1-m", "f2-c", "f2-m"]
    assert page.count('href="#f1-m"') == page.count('href="#f2-m"') == 1
    assert page.count("url(#f1-c)") == 2
    assert 'aria-label="Figure 2: Scores"' in page
    assert 'viewBox="0 0 10 10"' in page


@pytest.mark.parametrize(
    "inside",
    [
        "<script>x()</script>",
        '<g onload="x()"/>',
        '<a href="https://example.org"><path d="M0 0"/></a>',
        '<use href="https://example.org/x.svg#y"/>',
        '<image href="https://example.org/x.png"/>',
        '<g style="fill: url(https://example.org/x#y)"/>',
        "<style>@import url(https://example.org/x.css);</style>",
        '<foreignObject><p xmlns="http://www.w3.org/1999/xhtml">x</p></foreignObject>',
        '<animate attributeName="href" to="https://example.org"/>',
        '<metadata><x xmlns="urn:x">https://example.org</x></metadata>',
    ],
)
def test_a_figure_only_draws(inside):
    cleaned = figure(drawing(inside + '<path d="M0 0"/>'), prefix="f1-", label="x")
    assert "example.org" not in cleaned
    read = Reader(cleaned)
    assert set(read.tags) <= {"svg", "g", "path", "use", "image"}
    assert (read.handlers, read.targets) == ([], [])


@pytest.mark.parametrize("svg", ["", "<svg", "<p>x</p>", "<!DOCTYPE svg [<!ENTITY x 'y'>]>" + drawing("&x;")])
def test_what_is_no_svg_is_a_sentence(svg):
    assert figure(svg, prefix="f1-", label="x") == "<p>A figure could not be shown: it is no well-formed SVG.</p>"


def test_a_label_is_escaped():
    assert 'aria-label="a &quot; &lt;b&gt;"' in figure(drawing(""), prefix="f1-", label='a " <b>')


@pytest.fixture
def browser(tmp_path):
    if not (CHROMIUM and DRIVER):
        if os.environ.get("SHELLBENCH_REQUIRE_BROWSER") == "1":
            pytest.fail("Debian's chromium and chromium-driver are required here and missing")
        pytest.skip("Debian's chromium and chromium-driver are not installed")
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = CHROMIUM
    for flag in (*FLAGS, f"--user-data-dir={tmp_path / 'profile'}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield driver
    driver.quit()


def requests_of(driver) -> tuple[list[str], list[str]]:
    """(addresses asked for, failures) of everything the browser has loaded."""
    asked, failed = [], []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] == "Network.requestWillBeSent":
            asked.append(message["params"]["request"]["url"])
        if message["method"] == "Network.loadingFailed":
            failed.append(message["params"]["errorText"])
    return asked, failed


def open_page(driver, path: Path, *, width: int) -> None:
    driver.execute_cdp_cmd("Network.enable", {})
    driver.execute_cdp_cmd(
        "Network.emulateNetworkConditions",
        {"offline": True, "latency": 0, "downloadThroughput": 0, "uploadThroughput": 0},
    )
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 844, "deviceScaleFactor": 2, "mobile": width < 500},
    )
    driver.get("about:blank")
    driver.get_log("performance")  # what the browser's own first page has loaded
    driver.get(path.as_uri())


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_in_a_browser_without_a_network(browser, tmp_path, monkeypatch, width):
    monkeypatch.chdir(make_project(tmp_path / "project", "good"))
    page = run("good") / "good.html"
    open_page(browser, page, width=width)
    asked, failed = requests_of(browser)
    assert [address for address in asked if not address.startswith("data:")] == [page.as_uri()]
    assert failed == []
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    wide, seen = browser.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert wide == seen <= width
    figures = browser.execute_script(
        "return [...document.querySelectorAll('figure svg')].map(e => { const r = e.getBoundingClientRect();"
        " return [r.left, r.right, r.height, e.checkVisibility()]; })"
    )
    assert len(figures) == 1
    for left, right, height, visible in figures:
        assert 0 <= left < right <= width
        assert right - left > 200
        assert height > 100
        assert visible
    boxes = browser.execute_script(
        "return [...document.querySelectorAll('.table-box')].map(e => [e.scrollWidth, e.clientWidth])"
    )
    assert all(inner > outer for inner, outer in boxes)  # the wide table scrolls inside its own box
    assert browser.execute_script("return [...document.querySelectorAll('details')].every(e => !e.open)")
    assert browser.execute_script("return document.querySelectorAll('script').length") == 0

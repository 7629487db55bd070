"""An executed notebook as one HTML page that needs nothing else: no script, no font, no image from anywhere.

The library's own HTML is let through where it consists of known tags and attributes only; anything else is cleaned.
Figures stand in the page as SVG, stripped of whatever could run or load, with ids of their own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from nbconvert.exporters.templateexporter import TemplateExporter
from nbconvert.filters import Highlight2HTML
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.preprocessors.sanitize import SanitizeHTML
from nbformat import NotebookNode
from traitlets import default

from shellbench_lib.normalise import INJECTED_TAG, PARAMETERS_TAG
from shellbench_lib.text import slug

TEMPLATES = Path(__file__).parent / "templates"
_TOC_LEVELS = (2, 3)
_LABELS = {PARAMETERS_TAG: "Default parameters", INJECTED_TAG: "Parameters"}
_SVG = "http://www.w3.org/2000/svg"
# Elements that only draw. Everything else (scripts, embedded HTML, links, animations, style sheets) is left out.
_DRAWING = frozenset(
    {
        "svg", "g", "defs", "title", "desc", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text",
        "tspan", "use", "symbol", "image", "clipPath", "mask", "pattern", "linearGradient", "radialGradient", "stop",
        "marker",
    }
)  # fmt: skip
_TAGS = (
    "a", "abbr", "b", "blockquote", "br", "caption", "code", "col", "colgroup", "dd", "details", "div", "dl", "dt",
    "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "kbd", "li", "ol", "p", "pre", "s", "section", "small", "span",
    "strong", "sub", "summary", "sup", "table", "tbody", "td", "tfoot", "th", "thead", "tr", "u", "ul",
)  # fmt: skip
_ATTRIBUTES = ("class", "id", "scope", "colspan", "rowspan", "title", "open")
# A place in the page, or a file beside it.
_OWN_TARGET = r"(?:\#[^\"<>]*|(?:[A-Za-z0-9_-][A-Za-z0-9._-]*/)*[A-Za-z0-9_-][A-Za-z0-9._-]*)"
_PLAIN_HTML = re.compile(
    rf"(?:[^<]++|<(?:{'|'.join(_TAGS)})(?: (?:(?:{'|'.join(_ATTRIBUTES)})=\"[^\"<>]*\"|href=\"{_OWN_TARGET}\"|open))*"
    rf" ?/?>|</(?:{'|'.join(_TAGS)})>)*+"
)
_DROPPED = re.compile(r"<(script|style|iframe|object|template|noscript)\b.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_HEADING = re.compile(r"<h([1-6])[^>]*>(.*?)</h\1>", re.DOTALL)
_TAG = re.compile(r"<[^>]*>")
_URL = re.compile(r"url\(([^)]*)")
_OWN_REFERENCE = re.compile(r"url\(\s*['\"]?#([^)'\"]*)['\"]?\s*\)")


@dataclass(frozen=True, slots=True)
class Heading:
    """One entry of the table of contents."""

    level: int
    anchor: str
    text: str


class PageExporter(TemplateExporter):
    """nbconvert with our template; it expects the cells as `render_page` prepares them."""

    output_mimetype = "text/html"

    @default("template_name")
    def _our_template(self) -> str:
        return "shellbench"

    @default("file_extension")
    def _html(self) -> str:
        return ".html"

    @default("extra_template_basedirs")
    def _our_templates(self) -> list[str]:
        return [str(TEMPLATES)]

    def default_filters(self) -> Iterator[tuple[str, Any]]:
        """Return nbconvert's filters and the one that colours code."""
        yield from super().default_filters()  # type: ignore[no-untyped-call]
        yield "highlight_code", Highlight2HTML(pygments_lexer="python", parent=self)


def render_page(notebook: NotebookNode, *, subtitle: str) -> str:
    """Return the page of a normalised, executed notebook.

    Args:
        notebook: its first heading is the page's title.
        subtitle: what the report is about, shown beside the title.
    """
    copy = deepcopy(notebook)
    headings = _Headings()
    figures = 0
    for cell in copy.cells:
        if cell.cell_type == "markdown":
            cell.metadata["page_html"] = headings.number(_markdown(cell.source))
            continue
        if cell.cell_type != "code":
            continue
        tags = cell.metadata.get("tags", [])
        cell.metadata["page_label"] = next((_LABELS[tag] for tag in tags if tag in _LABELS), "Code")
        for output in cell.outputs:
            if "image/svg+xml" in output.get("data", {}):
                figures += 1
                label = f"Figure {figures}: {headings.last}"
                output.metadata["page_html"] = figure(output.data["image/svg+xml"], prefix=f"f{figures}-", label=label)
            elif "text/html" in output.get("data", {}):
                output.metadata["page_html"] = headings.number(safe_html(output.data["text/html"]))
    title = next((heading.text for heading in headings.found if heading.level == 1), "Report")
    resources = {
        "page_title": f"{title}: {subtitle}",
        "page_contents": [heading for heading in headings.found if heading.level in _TOC_LEVELS],
    }
    page, _ = PageExporter().from_notebook_node(copy, resources)  # type: ignore[no-untyped-call]
    return str(page)


def safe_html(text: str) -> str:
    """Return HTML without anything that runs, loads or styles the page."""
    if _PLAIN_HTML.fullmatch(text):
        return text
    cleaner = SanitizeHTML(tags=list(_TAGS), attributes={"*": list(_ATTRIBUTES), "a": _own_anchor}, strip=True)
    return str(cleaner.sanitize_html_tags(_DROPPED.sub("", text)))


def figure(svg: str, *, prefix: str, label: str) -> str:
    """Return an SVG as an inline figure: drawing elements only, references only into itself, ids made unique.

    Args:
        svg: the drawing; where it is no well-formed SVG, a sentence stands in its place.
        prefix: goes before each id.
        label: what a screen reader says.
    """
    try:
        root = ET.fromstring(svg)  # noqa: S314 - no entities: a document type is refused below
    except ET.ParseError:
        root = None
    if root is None or root.tag != f"{{{_SVG}}}svg" or "<!ENTITY" in svg:
        return "<p>A figure could not be shown: it is no well-formed SVG.</p>"
    _keep_drawing(root)
    ids = {element.attrib["id"] for element in root.iter() if "id" in element.attrib}
    for element in root.iter():
        element.attrib = {
            _local(name): _OWN_REFERENCE.sub(rf"url(#{prefix}\1)", value) if "url(" in value else value
            for name, value in element.attrib.items()
            if _may_stay(name, value, ids)
        }
        if "id" in element.attrib:
            element.set("id", prefix + element.attrib["id"])
        if element.get("href", "").startswith("#"):
            element.set("href", f"#{prefix}{element.attrib['href'][1:]}")
        element.tag = _local(element.tag)
    root.attrib |= {"role": "img", "aria-label": label}
    return ET.tostring(root, encoding="unicode")


def _keep_drawing(element: ET.Element) -> None:
    for child in list(element):
        if isinstance(child.tag, str) and child.tag.startswith(f"{{{_SVG}}}") and _local(child.tag) in _DRAWING:
            _keep_drawing(child)
        else:
            element.remove(child)


def _may_stay(name: str, value: str, ids: set[str]) -> bool:
    local = _local(name)
    if local == "href":
        return (value[:1] == "#" and value[1:] in ids) or value.startswith(("data:image/png;", "data:image/jpeg;"))
    if name.startswith("{") or local.startswith("on") or local == "class":
        return False
    return all(target.strip("'\" ").startswith("#") for target in _URL.findall(value)) and "@import" not in value


def _local(name: str) -> str:
    return name.rpartition("}")[2]


def _own_anchor(_tag: str, name: str, value: str) -> bool:
    return name in _ATTRIBUTES or (name == "href" and re.fullmatch(_OWN_TARGET, value) is not None)


def _markdown(source: str) -> str:
    renderer = IPythonRenderer(escape=True, allow_harmful_protocols=False, exclude_anchor_links=True)
    return safe_html(MarkdownWithMath(renderer=renderer).render(source))


class _Headings:
    """Gives each heading an id of its own, in the order of the page."""

    def __init__(self) -> None:
        self.found: list[Heading] = []
        self._anchors: set[str] = set()

    @property
    def last(self) -> str:
        """The heading under which the page has arrived."""
        return self.found[-1].text if self.found else "Report"

    def number(self, text: str) -> str:
        """Return HTML with an id on each heading, and note the headings."""
        return _HEADING.sub(self._with_id, text)

    def _with_id(self, match: re.Match[str]) -> str:
        level, inner = int(match[1]), match[2]
        text = unescape(_TAG.sub("", inner)).strip()
        base = slug(text) or "section"
        anchor, number = base, 1
        while anchor in self._anchors:
            number += 1
            anchor = f"{base}-{number}"
        self._anchors.add(anchor)
        self.found.append(Heading(level, anchor, text))
        return f'<h{level} id="{anchor}">{inner}</h{level}>'

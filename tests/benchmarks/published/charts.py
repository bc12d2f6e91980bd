"""A writer of charts as SVG files that any browser shows, without scripts or external resources."""

import sys
from pathlib import Path
from xml.etree.ElementTree import Element

import pygal
from pygal.style import Style

from tests.benchmarks.published.result import Chart

# pygal installs an outdated plugin finder, which fails on Python 3.12 when pytest imports modules.
sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, pygal.PluginImportFixer)]

OWN = "ours"  # the beginning of our node's labels in the code
OURS, THEIRS = "#1a7f64", "#8a94a0"
_STYLE = Style(
    background="#ffffff",
    plot_background="#ffffff",
    font_family="sans-serif",
    label_font_size=13,
    major_label_font_size=13,
    value_font_size=13,
    value_colors=("#111111",),
    opacity=1,
)


def write_svg(directory: Path, chart: Chart) -> Path:
    """Write the chart's file. Equal figures give equal files. The bars of our node have their own color."""
    drawing = pygal.HorizontalBar(
        js=[],
        css=["file://style.css", "file://graph.css", "inline:.text-overlay text.value{text-anchor:start}"],
        print_values=True,
        print_values_position="top",
        show_legend=False,
        show_x_labels=False,
        show_x_guides=False,
        style=_STYLE,
        title=f"{chart.title}, {chart.unit} ({'less' if chart.is_less_better else 'more'} is better)",
        width=900,
        height=90 + 42 * len(chart.bars),
        range=(0, max(bar.value for bar in chart.bars) * 1.15),
    )
    drawing.uuid = chart.name
    drawing.add_xml_filter(_without_script)
    upwards = list(reversed(chart.bars))
    drawing.x_labels = [display_label(bar.label) for bar in upwards]
    values = [{"value": bar.value, "color": OURS if bar.label.startswith(OWN) else THEIRS} for bar in upwards]
    drawing.add(None, values, formatter=figure)
    path = directory / f"{chart.name}.svg"
    path.write_bytes(drawing.render())
    return path


def display_label(label: str) -> str:
    """Return a competitor's label as pages and charts show it."""
    return label.replace(OWN, "our node", 1) if label.startswith(OWN) else label


def figure(value: float) -> str:
    """Format a number with only meaningful digits: none after the point from 100 on, otherwise three in total."""
    return f"{value:,.0f}" if value >= 100 else f"{value:,.3g}"


def _without_script(root: Element) -> Element:
    """Remove the data that pygal would pass to its script, because charts contain no script."""
    for definitions in root.findall("defs"):
        for script in definitions.findall("script"):
            definitions.remove(script)
    return root

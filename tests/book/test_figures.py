"""The look of the figures: legible colours, axes in words a reader says."""

import matplotlib
import pytest
from matplotlib.figure import Figure

from tpbook.book import figures


def luminance(colour: str) -> float:
    """Relative luminance of an sRGB colour (WCAG 2.1)."""
    channels = matplotlib.colors.to_rgb(colour)
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear))


@pytest.mark.parametrize("colour", figures.COLOURS)
def test_colours_stand_out_on_white(colour):
    assert 1.05 / (luminance(colour) + 0.05) >= 3.0


def test_colours_differ():
    assert len(set(figures.COLOURS)) == len(figures.COLOURS)


def test_style_does_not_depend_on_what_was_set():
    with matplotlib.rc_context({"lines.linewidth": 17, "figure.dpi": 10}):
        figures.use_house_style()
        assert matplotlib.rcParams["lines.linewidth"] == figures.STYLE["lines.linewidth"]
        assert matplotlib.rcParams["figure.dpi"] == figures.STYLE["figure.dpi"]


def labels(axis) -> list[str]:
    axis.figure.draw_without_rendering()
    return [label.get_text() for label in axis.get_ticklabels() if label.get_text()]


def test_axes_speak_units():
    ax = Figure().subplots()
    ax.set(xscale="log", yscale="log", xlim=(2**10, 2**30), ylim=(1e-6, 1e-2))
    figures.bytes_axis(ax.xaxis)
    figures.seconds_axis(ax.yaxis)
    assert {"1 KiB", "32 KiB", "1 MiB", "1 GiB"} <= set(labels(ax.xaxis))
    assert {"10 µs", "1 ms"} <= set(labels(ax.yaxis))


def test_rates_and_degrees():
    ax = Figure().subplots()
    ax.set(xscale="log", xlim=(1, 8), ylim=(0, 4e11))
    figures.plain_axis(ax.xaxis, [1, 2, 4, 8])
    figures.rate_axis(ax.yaxis)
    assert labels(ax.xaxis) == ["1", "2", "4", "8"]
    assert {"0", "300 GB/s"} <= set(labels(ax.yaxis))


def test_direct_label_is_at_its_point():
    ax = Figure().subplots()
    label = figures.direct_label(ax, 2.0, 3.0, "ring")
    assert label.xy == (2.0, 3.0) and label.get_text() == "ring"

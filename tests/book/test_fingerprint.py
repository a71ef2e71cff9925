"""The fingerprint changes with the plotted data and with nothing else."""

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.offsetbox import AnchoredText

from tpbook.book.figures import STYLE
from tpbook.book.fingerprint import fingerprint

X = np.linspace(1.0, 9.0, 23)
Y = np.sin(X) + 2.0


def line(ax, x, y):
    ax.plot(x, y, label="series")


def scatter(ax, x, y):
    ax.scatter(x, y)


def bars(ax, x, y):
    ax.bar(x, y, width=0.1)


def fill(ax, x, y):
    ax.fill_between(x, y, 2 * y)


def error_bars(ax, x, y):
    ax.errorbar(x, np.ones_like(y), yerr=y)


def image(ax, x, y):
    ax.imshow(np.outer(x, y))


def mesh(ax, x, y):
    ax.pcolormesh(np.outer(x, y))


def reference(ax, x, y):
    ax.axhline(y[7])


def stems(ax, x, y):
    ax.vlines(x, 0, y)


def sizes(ax, x, y):
    ax.scatter(x, x, s=y, c=x)


def colours(ax, x, y):
    ax.scatter(x, x, c=y)


def annotation(ax, x, y):
    ax.annotate("here", (x[7], y[7]), arrowprops={"arrowstyle": "->"})


def slope(ax, x, y):
    ax.axline((0, 0), slope=y[7])


def steps(ax, x, y):
    ax.stairs(y)


DRAWERS = [
    line, scatter, bars, fill, error_bars, image, mesh, reference, stems, sizes, colours,
    annotation, slope, steps,
]  # fmt: skip


def drawn(draw, x=X, y=Y, **settings):
    with matplotlib.rc_context(settings):
        figure = Figure()
        draw(figure.subplots(), x, y)
    return fingerprint(figure)


@pytest.mark.parametrize("draw", DRAWERS, ids=lambda draw: draw.__name__)
@pytest.mark.parametrize("change", [1e-5, -1e-5, 0.1])
def test_one_changed_point_shows(draw, change):
    changed = Y.copy()
    changed[7] *= 1 + change
    assert drawn(draw, y=changed) != drawn(draw)


@pytest.mark.parametrize("draw", DRAWERS, ids=lambda draw: draw.__name__)
def test_rounding_noise_and_looks_do_not_show(draw):
    noisy = Y * (1 + np.where(np.arange(Y.size) % 2, 3e-16, -3e-16))
    assert drawn(draw, y=noisy) == drawn(draw)
    looks = {"font.size": 20, "figure.dpi": 50, "figure.figsize": (3, 9), "font.family": "serif"}
    assert drawn(draw, **looks) == drawn(draw)
    assert drawn(draw, **STYLE) == drawn(draw)


def test_decimal_ties_fall_one_way():
    # 0.1 + 0.2 and 0.3 differ in the last bit; so do these, around a tie of the sixth digit.
    ties = np.array([0.1234565, 2.0000005, 1.0000015])
    assert drawn(line, ties, ties) == drawn(line, ties * (1 + 2e-16), ties * (1 - 2e-16))


def test_noise_beside_large_values_is_zero():
    assert drawn(line, X, np.r_[1e-17, Y[1:]]) == drawn(line, X, np.r_[0.0, Y[1:]])
    assert drawn(line, X, np.r_[1e-3, Y[1:]]) != drawn(line, X, np.r_[0.0, Y[1:]])


@pytest.mark.parametrize(
    "change",
    [
        lambda ax: ax.set_xlabel("time"),
        lambda ax: ax.set_yscale("log"),
        lambda ax: ax.invert_yaxis(),
        lambda ax: ax.lines[0].set_drawstyle("steps-mid"),
        lambda ax: ax.set_title("title", loc="left"),
        lambda ax: ax.text(1, 2, "a word"),
        lambda ax: ax.legend(),
        lambda ax: ax.set_xticks([1, 2], ["A40", "H100"]),
        lambda ax: ax.lines[0].set_label("other"),
        lambda ax: ax.figure.suptitle("over all"),
        lambda ax: ax.figure.text(0.1, 0.1, "note"),
        lambda ax: ax.twinx().plot(X, Y),
        lambda ax: ax.inset_axes([0.5, 0.5, 0.3, 0.3]).plot(X, Y),
    ],
)
def test_words_and_scales_show(change):
    figure = Figure()
    ax = figure.subplots()
    line(ax, X, Y)
    before = fingerprint(figure)
    change(ax)
    assert fingerprint(figure) != before


@pytest.mark.parametrize(
    "draw",
    [
        lambda ax: ax.table([["1"]]),
        lambda ax: ax.quiver([1], [1], [1], [2]),
        lambda ax: ax.add_artist(AnchoredText("1", "upper left")),
        lambda ax: ax.figure.add_artist(Line2D([0, 1], [0, 1])),
    ],
    ids=["table", "arrows", "anchored text", "line beside the axes"],
)
def test_what_it_does_not_read_is_refused(draw):
    figure = Figure()
    draw(figure.subplots())
    with pytest.raises(ValueError, match="^a figure's fingerprint does not read"):
        fingerprint(figure)


def test_the_side_of_a_step_shows():
    before, after = (
        drawn(lambda ax, x, y: ax.step(x, y, where=where)) for where in ("pre", "post")
    )
    assert before != after


def test_categories_and_missing_values():
    named, other, gap = Figure(), Figure(), Figure()
    named.subplots().bar(["A40", "H100"], [1, 2])
    other.subplots().bar(["A40", "A100"], [1, 2])
    gap.subplots().plot([1, 2, 3], [1, np.nan, 3])
    assert "A40, H100" in fingerprint(named)
    assert fingerprint(named) != fingerprint(other)
    assert "n=3 [1, 3]" in fingerprint(gap)


def test_order_of_points_shows():
    assert drawn(line, X, Y) != drawn(line, X[::-1], Y[::-1])

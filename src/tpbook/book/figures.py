"""The look of every figure: one style, colours by meaning, axes in units a reader says aloud."""

import math

from tpbook.book.units import binary_bytes, si

# Okabe and Ito's palette, darkened where needed to stand out on white (at least 3:1).
COMPUTE = "#0072B2"
MEMORY = "#008A64"
NETWORK = "#D55E00"
LATENCY = "#A87400"
MEASURED = "#1F1F1F"
MODEL = "#8A3A8C"
RIVAL = "#3488C0"
MUTED = "#767676"
COLOURS = (COMPUTE, NETWORK, MEMORY, MODEL, LATENCY, RIVAL, MEASURED, MUTED)

STYLE = {
    # At 5.2 inches the text is still legible when a phone shrinks the figure to its width.
    "figure.figsize": (5.2, 3.4),
    "figure.dpi": 150,
    "figure.facecolor": "white",
    "figure.constrained_layout.use": True,
    "figure.max_open_warning": 0,
    "savefig.facecolor": "white",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10.5,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 10.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#444444",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E3E3E3",
    "grid.linewidth": 0.7,
    "xtick.labelsize": 9.5,
    "ytick.labelsize": 9.5,
    "lines.linewidth": 1.9,
    "lines.markersize": 5,
    "legend.fontsize": 9.5,
    "legend.frameon": False,
    "svg.hashsalt": "tpbook",
}


def use_house_style() -> None:
    """Set matplotlib's defaults to the style of the book, whatever they were before."""
    import matplotlib
    from cycler import cycler

    matplotlib.rcdefaults()
    matplotlib.rcParams.update(STYLE)
    matplotlib.rcParams["axes.prop_cycle"] = cycler(color=COLOURS)


def direct_label(axes, x, y, text: str, color: str = MEASURED, dx=5, dy=0, ha="left", va="center"):
    """Write a label beside the point (x, y) in data units, instead of a legend entry.

    dx, dy: offset in points. Returns the matplotlib annotation.
    """
    return axes.annotate(
        text,
        (x, y),
        xytext=(dx, dy),
        textcoords="offset points",
        color=color,
        ha=ha,
        va=va,
        fontsize=9.5,
        annotation_clip=False,
    )


def bytes_axis(axis, every: int = 5) -> None:
    """Label a logarithmic axis of bytes as 1 KiB, 32 KiB, ...: a tick each 2**every."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    axis.set_major_locator(LogLocator(base=2.0**every))
    axis.set_major_formatter(FuncFormatter(lambda value, position: binary_bytes(value)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())


def seconds_axis(axis) -> None:
    """Label an axis of seconds as 20 µs, 3 ms."""
    _si_axis(axis, "s")


def rate_axis(axis, unit: str = "B/s") -> None:
    """Label an axis of a rate, in B/s or the given base unit, as 300 GB/s."""
    _si_axis(axis, unit)


def plain_axis(axis, ticks) -> None:
    """Label the given positions, such as the degrees 1, 2, 4, 8, as plain numbers."""
    from matplotlib.ticker import NullLocator

    axis.set_major_locator(NullLocator())
    axis.set_ticks(list(ticks), [f"{tick:g}" for tick in ticks])
    axis.set_minor_locator(NullLocator())


def _si_axis(axis, unit: str) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    def label(value, position):
        # A linear axis has ticks such as 3 * 0.1, so digits beyond six are noise.
        return "0" if value == 0 or not math.isfinite(value) else si(value, unit, digits=6)

    axis.set_major_formatter(FuncFormatter(label))
    axis.set_minor_formatter(NullFormatter())

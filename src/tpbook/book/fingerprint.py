"""A figure's fingerprint: the plotted data as text, so that nbval re-checks every figure.

nbval ignores image bytes, which change with fonts and library versions anyway. This text depends
only on what is plotted: labels, scales and six significant digits of every coordinate.
"""

import hashlib

import numpy as np

DIGITS = 6
NEGLIGIBLE = 1e-9


def fingerprint(figure) -> str:
    """The plotted data of a matplotlib figure as a few lines of text.

    figure: matplotlib Figure; pyplot is not needed. Values below 1e-9 of the largest in their
    series count as zero, so that rounding noise does not show.
    Raises ValueError for a part whose data it does not read, such as a table drawn in axes.
    """
    _refuse_unread(figure)
    lines = ["figure" + _quoted(figure.get_suptitle())]
    lines += [f"  text{_quoted(text.get_text())}" for text in _free_texts(figure)]
    lines += _legends(figure.legends)
    for number, axes in enumerate(_all_axes(figure)):
        lines.append(f"axes {number}: x {_axis(axes.xaxis)}; y {_axis(axes.yaxis)}")
        lines += [f"  {line}" for line in _contents(axes)]
    return "\n".join(lines)


def install() -> None:
    """Make the fingerprint the text/plain form of every figure in the running IPython."""
    from IPython import get_ipython
    from matplotlib.figure import Figure

    shell = get_ipython()
    if shell is not None:
        formatter = shell.display_formatter.formatters["text/plain"]
        formatter.for_type(Figure, lambda figure, printer, cycle: printer.text(fingerprint(figure)))


def _refuse_unread(figure) -> None:
    unread = [*figure.artists, *figure.lines, *figure.patches, *figure.images]
    for axes in _all_axes(figure):
        unread += [*axes.artists, *axes.tables]
        unread += [each for each in axes.collections if hasattr(each, "set_UVC")]
    for artist in unread:
        raise ValueError(
            f"a figure's fingerprint does not read {_kind(artist)}: "
            "draw it with lines, collections, patches or text in axes"
        )


def _all_axes(figure):
    for axes in figure.axes:
        yield axes
        yield from (child for child in axes.child_axes if child not in figure.axes)


def _free_texts(figure):
    # The supertitle is one of figure.texts, and axes labels are reported with their axes.
    return [text for text in figure.texts if text.get_text() != figure.get_suptitle()]


def _axis(axis) -> str:
    from matplotlib.ticker import FixedLocator

    parts = [repr(axis.label.get_text()), axis.get_scale()]
    # An image turns its axis by itself, and its extent says so.
    if axis.get_inverted() and not axis.axes.images:
        parts.append("inverted")
    categories = getattr(axis.get_units(), "_mapping", None)
    if categories:
        parts.append("of " + ", ".join(categories))
    elif isinstance(axis.get_major_locator(), FixedLocator):
        places = axis.get_major_locator().locs
        names = axis.get_major_formatter().format_ticks(places)
        parts.append("at " + ", ".join(f"{_number(x)} {name!r}" for x, name in zip(places, names)))
    return " ".join(parts)


def _contents(axes) -> list[str]:
    lines = [f"title{_quoted(axes.get_title(loc))}" for loc in ("left", "center", "right")]
    lines = [line for line in lines if line != "title"]
    if getattr(axes, "_colorbar", None) is not None:
        return lines + ["colour bar"]  # drawn from an image that is reported with its own axes
    for line in axes.lines:
        lines.append(_series("line", line, _line_columns(line)))
    for collection in axes.collections:
        lines.append(_series(_kind(collection), collection, _collection_columns(collection)))
    for patch in axes.patches:
        lines.append(_series(_kind(patch), patch, _patch_columns(patch)))
    for image in axes.images:
        columns = {"value": image.get_array(), "extent": image.get_extent()}
        lines.append(_series("image", image, columns))
    for text in axes.texts:
        x, y = getattr(text, "xy", text.get_position())
        lines.append(f"text{_quoted(text.get_text())} at {_number(x)}, {_number(y)}")
    if axes.get_legend() is not None:
        lines += _legends([axes.get_legend()])
    return lines


def _legends(legends) -> list[str]:
    entries = [[text.get_text() for text in legend.get_texts()] for legend in legends]
    return ["legend " + "; ".join(repr(text) for text in texts) for texts in entries]


def _line_columns(line) -> dict:
    if hasattr(line, "get_slope"):
        return {"through": line.get_xy1(), "slope": line.get_slope() or line.get_xy2()}
    columns = {"x": line.get_xdata(orig=False), "y": line.get_ydata(orig=False)}
    if line.get_drawstyle() != "default":
        # Which side of a point its step lies on is data too: the corners of the drawn path.
        from matplotlib.cbook import STEP_LOOKUP_MAP

        columns = dict(zip("xy", STEP_LOOKUP_MAP[line.get_drawstyle()](*columns.values())))
    return columns


def _collection_columns(collection) -> dict:
    columns = {}
    if _kind(collection) == "QuadMesh":
        vertices = collection.get_coordinates().reshape(-1, 2)
    elif _kind(collection) == "PathCollection":
        vertices = collection.get_offsets()
        if collection.get_sizes().size > 1:  # a single size is a matter of style
            columns["size"] = collection.get_sizes()
    else:
        paths = [path.vertices for path in collection.get_paths()]
        vertices = np.concatenate(paths) if paths else np.empty((0, 2))
    columns = {"x": np.asarray(vertices)[:, 0], "y": np.asarray(vertices)[:, 1], **columns}
    if collection.get_array() is not None:
        columns["value"] = collection.get_array()
    return columns


def _patch_columns(patch) -> dict:
    if hasattr(patch, "_posA_posB") and patch._posA_posB is not None:  # an arrow between points
        vertices = np.asarray(patch._posA_posB)
    else:
        vertices = patch.get_patch_transform().transform(patch.get_path().vertices)
    return {"x": vertices[:, 0], "y": vertices[:, 1]}


def _series(kind: str, artist, columns: dict) -> str:
    label = str(artist.get_label())
    name = "" if label.startswith("_") else f" {label!r}"
    return f"{kind}{name}: " + ", ".join(_column(key, value) for key, value in columns.items())


def _column(name: str, values) -> str:
    values = np.ma.filled(np.ma.asarray(values, dtype=float), np.nan).ravel()
    finite = np.abs(values[np.isfinite(values)])
    if finite.size:
        values = np.where(np.abs(values) < NEGLIGIBLE * finite.max(), 0.0, values)
    digits = ",".join(_number(value) for value in values)
    digest = hashlib.sha256(digits.encode()).hexdigest()[:10]
    if not finite.size:
        return f"{name} n={values.size} {digest}"
    low, high = np.nanmin(values), np.nanmax(values)
    return f"{name} n={values.size} [{_number(low)}, {_number(high)}] {digest}"


def _number(value) -> str:
    # Rounding to twelve digits first makes decimal ties fall the same way on every machine.
    return f"{float(f'{float(value):.12g}') + 0.0:.{DIGITS}g}"


def _kind(artist) -> str:
    return type(artist).__name__


def _quoted(text: str) -> str:
    return f" {text!r}" if text else ""

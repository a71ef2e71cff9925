"""How the command prints its results for a person: one short table each."""

from textwrap import fill

from tpbook.book.units import si

WIDTH = 79


def system_line(row: dict) -> str:
    """One system: id, devices, how its tables came about, title."""
    kind = "composed" if row["composed"] else "measured"
    tables = ", ".join(row["tables"])
    head = f"{row['id']:20} {row['devices']} x {row['accelerator']:15} {kind}: {tables}"
    return f"{head}\n{'':20} {row['title']}"


def calibration_table(found) -> str:
    """A calibration: every parameter with its 95 % interval, then where it holds."""
    lines = [f"{found.name} ({found.basis}, {found.rows} rows)"]
    for name, (low, high) in found.intervals.items():
        unit = "" if name.startswith("eta") else "s"
        value = _value(getattr(found.parameters, name), unit)
        lines.append(f"  {name:13} {value:>9}   {_value(low, unit)} to {_value(high, unit)}")
    fitted, out = f"{found.fitted_error:.1%}", f"{found.noise:.1%}"
    lines.append(
        f"  mean error where fitted {fitted}, 90 % of the errors where left out below {out}"
    )
    ranges = ("p", found.degrees), ("batch", found.batches), ("prompt", found.prompts)
    ranges += (("output", found.outputs),)
    held = ", ".join(f"{name} {_range(ends)}" for name, ends in ranges)
    low, high = (si(size, "B") for size in found.messages)
    lines.append(_wrapped(f"  holds for {held}, messages {low} to {high}"))
    return "\n".join(lines)


def prediction_table(found) -> str:
    """A prediction: four values with 90 % intervals, the shares, then what to beware of."""
    lengths = f"{found.prompt_tokens} tokens in, {found.output_tokens} out"
    lines = [f"{found.model} on {found.p} x {found.accelerator}, batch {found.batch}, {lengths}"]
    lines.append(f"calibrated on {found.basis}")
    for label, unit in (("ttft", "s"), ("tpot", "s"), ("latency", "s"), ("throughput", "token/s")):
        estimate = getattr(found, label)
        line = f"  {label:11} {_value(estimate.value, unit):>14}"
        if estimate.low is None:
            line += "   no interval"
        else:
            line += f"   {_value(estimate.low, unit)} to {_value(estimate.high, unit)}"
        lines.append(line)
    lines.append("shares of the latency:")
    for name, share in sorted(found.shares.items(), key=lambda each: -each[1]):
        lines.append(f"  {name:20} {share:6.1%}")
    said = [found.slower] if found.slower else []
    said += [f"warning: {warning}" for warning in found.warnings]
    said += [f"note: {note}" for note in found.notes]
    return "\n".join(lines + [_wrapped(line) for line in said])


def accuracy_line(id: str, found: dict) -> str:
    """One test: id, number of times, its figure against the bar, and whether that is met."""
    kind = next(name for name in ("mape", "median", "coverage") if name in found)
    bar = found["bar"]
    limit = f"{bar[0]:.0%} to {bar[1]:.0%}" if isinstance(bar, list) else f"at most {bar:.1%}"
    verdict = "met" if found["met"] else "not met"
    parts = found.get("families", found["sets"])
    if not found["met"] and all("met" in part for part in parts):
        verdict += f", but in {sum(part['met'] for part in parts)} of {len(parts)}"
    figure = f"{kind} {found[kind]:.1%}, bias {found['bias']:+.1%}"
    return f"{id:18} n {found['n']:5}  {figure}  ({limit}: {verdict})"


def _wrapped(line: str) -> str:
    return fill(line, WIDTH, subsequent_indent="    ", break_on_hyphens=False)


def _value(value: float, unit: str) -> str:
    if unit == "s":
        return si(value, "s") if value else "0 s"
    return f"{float(f'{value:.3g}'):g} {unit}".strip()


def _range(ends: tuple) -> str:
    low, high = ends
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"

"""Where a prediction should not be trusted: one sentence for each reason."""

from tpbook.capacity import USABLE_SHARE, bytes_needed
from tpbook.geometry import Model
from tpbook.serving_calibration import Calibration
from tpbook.serving_work import Machine, model_work

# Devices that the networks of the catalogue's servers join; only a torus reaches further.
SERVER = 8


def outside(
    calibration: Calibration,
    geometry: Model,
    device: Machine,
    card: str,
    p: int,
    batch: int,
    prompt: int,
    output: int,
) -> tuple[str, ...]:
    """A sentence for each way in which a question leaves the calibration or the machine.

    Arguments as predict.predict takes them, checked by it.
    """
    found = _domain(calibration, geometry, card, p, batch, prompt, output)
    return found + _server(device, p) + _memory(geometry, device, p, batch, prompt + output)


def _server(device: Machine, p: int) -> tuple[str, ...]:
    network = device.network
    if p <= SERVER or network is None or network.topology == "torus" or p in dict(device.measured):
        return ()
    return (
        f"p = {p} is more than the {SERVER} devices of one server: the rate within it is assumed "
        "to hold between servers",
    )


def _domain(calibration, geometry, card, p, batch, prompt, output) -> tuple[str, ...]:
    """What leaves the calibrated ranges, accelerator or model."""
    if calibration.basis == "assumed":
        return ("nothing was calibrated: utilisations and overheads are assumed, no interval",)
    found = []
    for name, value, (low, high) in (
        ("p", p, calibration.degrees),
        ("batch", batch, calibration.batches),
        ("prompt", prompt, calibration.prompts),
        ("context", prompt + output, _total(calibration)),
    ):
        if not low <= value <= high:
            found.append(f"{name} = {value} lies outside the calibrated {low:g} to {high:g}")
    work = model_work(geometry)
    message = batch * work.hidden * work.element_bytes
    low, high = calibration.messages
    if p > 1 and not (low <= message and message * prompt <= high):
        found.append(
            f"messages of {message:.3g} to {message * prompt:.3g} B leave the calibrated "
            f"{low:.3g} to {high:.3g} B"
        )
    if card != calibration.accelerator:
        found.append(f"carried over from {calibration.accelerator}: interval widened")
    if geometry.id != calibration.model:
        found.append(f"calibrated on another model, {calibration.model}")
    return tuple(found)


def _total(calibration: Calibration) -> tuple[float, float]:
    ranges = calibration.prompts, calibration.outputs
    return sum(low for low, _ in ranges), sum(high for _, high in ranges)


def _memory(geometry: Model, device: Machine, p: int, batch: int, tokens: int) -> tuple[str, ...]:
    need = bytes_needed(geometry, p, batch, tokens)
    have = USABLE_SHARE * device.memory_bytes
    if need < have:
        return ()
    sizes = f"weights and KV cache need {need / 1e9:.3g} GB of {have / 1e9:.3g} GB per device"
    return (f"does not fit: {sizes}; engines would queue or preempt sequences",)

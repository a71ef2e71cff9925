"""What the loader makes of a system folder: one record, with how each value is known."""

from dataclasses import dataclass

import pandas as pd


@dataclass(frozen=True)
class Known:
    """A value with how it is known: stated, measured, inferred or assumed, and from what."""

    value: float | str
    status: str
    reason: str


@dataclass(frozen=True)
class Method:
    """A way in which times were taken; statistic is the one that estimates the network best."""

    id: str
    statistic: str
    how: str
    includes: str


@dataclass(frozen=True)
class System:
    """One measured or composed system.

    bandwidth: line rate of one device in B/s per direction. methods: by id, the main one first.
    device_count: devices of the system under study; machine_device_count: of the whole machine.
    composition: for a composed system, what its step table was put together from.
    allreduce, steps, serving, gpu_metrics: the tables of the folder, None where it has none.
    """

    id: str
    title: str
    accelerator: str
    model: str | None
    device_count: int
    machine_device_count: int
    fabric: str
    bandwidth: Known
    topology: Known
    software: dict[str, str]
    dtype: str
    composed: bool
    methods: dict[str, Method]
    dropped: tuple[str, ...]
    known_limits: tuple[str, ...]
    sources: tuple[dict[str, str], ...]
    composition: tuple[str, ...]
    allreduce: pd.DataFrame | None
    steps: pd.DataFrame | None
    serving: pd.DataFrame | None
    gpu_metrics: pd.DataFrame | None

    @property
    def main_method(self) -> str | None:
        """The method that a chapter takes unless it says otherwise; None where there is none."""
        return next(iter(self.methods), None)

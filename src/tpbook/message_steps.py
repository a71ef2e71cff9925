"""What a smooth law cannot follow in measured all-reduce times: protocol steps and waiting."""

from typing import NamedTuple

import numpy as np

from tpbook import checks

WINDOW = 3
TOLERANCE = 0.2


class Step(NamedTuple):
    """A jump between two neighbouring sizes: messages in B, times in s."""

    message_before: float
    message_after: float
    time_before: float
    time_after: float


def protocol_steps(message, time) -> list[Step]:
    """The jumps between neighbouring sizes that no law with a latency and a bandwidth makes.

    With T = alpha + M/beta the time never grows faster than the message. A step is where even
    the fastest of the next three sizes took more than 1.2 times as long as the slowest of the
    three before, on top of the ratio of the two messages. Steps that touch are joined.
    message: B, 1-D. time: s, same length. Raises ValueError for values that are not positive.
    """
    message, time = _sorted(message, time)
    found: list[list[int]] = []
    for after in range(1, len(message)):
        slowest = time[max(0, after - WINDOW) : after].max()
        fastest = time[after : after + WINDOW].min()
        if fastest / slowest > (1 + TOLERANCE) * message[after] / message[after - 1]:
            if found and found[-1][1] == after - 1:
                found[-1][1] = after
            else:
                found.append([after - 1, after])
    return [
        Step(*(float(x) for x in (message[i], message[j], time[i], time[j]))) for i, j in found
    ]


def lower_envelope(message, time) -> tuple[np.ndarray, np.ndarray]:
    """The points that no larger message undercuts: T_i = min over M_j >= M_i of T_j.

    Kernel time includes the wait for the slowest rank, so eager tables of small messages have a
    fast branch and a slow one; this keeps the fast one. A real non-monotone stretch is lost too.
    Arguments and errors as in protocol_steps. Returns (message, time), sorted.
    """
    message, time = _sorted(message, time)
    floor = np.minimum.accumulate(time[::-1])[::-1]
    kept = time <= floor
    return message[kept], time[kept]


def _sorted(message, time) -> tuple[np.ndarray, np.ndarray]:
    message, time = np.asarray(message, float), np.asarray(time, float)
    checks.positive(message=message, time=time)
    if message.shape != time.shape or message.ndim != 1:
        raise ValueError(f"message and time must match, got {message.shape} and {time.shape}")
    order = np.argsort(message, kind="stable")
    return message[order], time[order]

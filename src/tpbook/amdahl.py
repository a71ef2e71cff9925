"""The classic laws of parallel speed-up, before communication has a term of its own."""

from tpbook import checks
from tpbook.equation import equation


@equation("eq-speedup", symbol="speedup")
def speedup(time_one, time):
    """Speed-up S = T_1 / T_p.

    time_one, time: seconds on one and on p ranks. Raises ValueError unless both are positive.
    """
    checks.positive(time_one=time_one, time=time)
    return time_one / time


@equation("eq-efficiency", symbol="efficiency")
def parallel_efficiency(p, time_one, time):
    """Parallel efficiency E = T_1 / (p T_p).

    p: degree. time_one, time: s. Raises ValueError for p < 1 or a time that is not positive.
    """
    checks.degree(p=p)
    return speedup(time_one, time) / p


@equation("eq-amdahl", symbol="speedup")
def amdahl_speedup(p, serial_fraction):
    """Amdahl's speed-up 1 / (f + (1-f)/p).

    p: degree. serial_fraction: f between 0 and 1.
    Raises ValueError for a value out of range. Source: Amdahl 1967.
    """
    checks.degree(p=p)
    checks.fraction(serial_fraction=serial_fraction)
    return 1 / (serial_fraction + (1 - serial_fraction) / p)


@equation("eq-amdahl-time", symbol="time")
def amdahl_time(p, time_one, serial_fraction):
    """Amdahl's time T_1 (f + (1-f)/p).

    p: degree. time_one: s. serial_fraction: 1; a fitted one may leave the range 0 to 1, which
    says that the law does not hold, so it is not refused here.
    Raises ValueError for p < 1, a time that is not positive or a fraction that is no number.
    """
    checks.degree(p=p)
    checks.positive(time_one=time_one)
    checks.number(serial_fraction=serial_fraction)
    return time_one * (serial_fraction + (1 - serial_fraction) / p)


@equation("eq-gustafson", symbol="speedup")
def gustafson_speedup(p, serial_fraction):
    """Gustafson's scaled speed-up p - f (p-1), with f the serial share of the parallel run.

    p: degree. serial_fraction: f between 0 and 1.
    Raises ValueError for a value out of range. Source: Gustafson 1988.
    """
    checks.degree(p=p)
    checks.fraction(serial_fraction=serial_fraction)
    return p - serial_fraction * (p - 1)


@equation("eq-karp-flatt", symbol="effective_fraction")
def karp_flatt(p, speedup):
    """Karp-Flatt's experimentally determined serial fraction (1/S - 1/p) / (1 - 1/p).

    p: degree above 1. speedup: S. Negative when the speed-up exceeds p.
    Raises ValueError for p <= 1 or a speed-up that is not positive.
    Source: Karp and Flatt 1990.
    """
    checks.several(p=p)
    checks.positive(speedup=speedup)
    return (1 / speedup - 1 / p) / (1 - 1 / p)


def amdahl_extrapolation(p, q, time_one, time):
    """Amdahl's time at q, with the serial fraction that the times on 1 and p ranks give (s).

    p: degree above 1, the fitted one. q: degree at which the law is read. time_one, time: s on
    one and on p ranks. It composes eq-karp-flatt and eq-amdahl-time. The law does not change
    when ranks come in groups, so times on g and p g ranks give the time on q g ranks as well.
    Raises ValueError for p <= 1, q < 1 or a time that is not positive.
    """
    return amdahl_time(q, time_one, karp_flatt(p, speedup(time_one, time)))


@equation("eq-usl", symbol="speedup")
def usl_speedup(p, contention, coherency):
    """The universal scalability law p / (1 + sigma (p-1) + kappa p (p-1)).

    p: degree. contention, coherency: sigma, kappa >= 0.
    Raises ValueError for a value out of range. Source: Gunther 2008.
    """
    checks.degree(p=p)
    checks.nonnegative(contention=contention, coherency=coherency)
    return p / (1 + contention * (p - 1) + coherency * p * (p - 1))

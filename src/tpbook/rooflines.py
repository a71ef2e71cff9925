"""The compute roofline, the two gaps under it (utilisation, start-up), and its smooth form."""

from tpbook import checks
from tpbook.equation import equation
from tpbook.symbolic import maximum, minimum, power_norm


@equation("eq-intensity", symbol="intensity")
def arithmetic_intensity(flops, traffic):
    """Arithmetic intensity I = F / Q.

    flops: operations of the kernel (FLOP). traffic: bytes moved to and from memory (B).
    Raises ValueError for a value that is not positive. Source: Williams 2009.
    """
    checks.positive(flops=flops, traffic=traffic)
    return flops / traffic


@equation("eq-roofline", symbol="rate")
def roofline(intensity, peak, memory_bandwidth):
    """Attainable compute rate min(pi, beta_m I) under the hard roof.

    intensity: FLOP/B. peak: dense FLOP/s. memory_bandwidth: B/s.
    Raises ValueError for a value that is not positive. Source: Williams 2009.
    """
    checks.positive(intensity=intensity, peak=peak, memory_bandwidth=memory_bandwidth)
    return minimum(peak, memory_bandwidth * intensity)


@equation("eq-smooth-roofline", symbol="rate")
def smooth_roofline(intensity, peak, memory_bandwidth):
    """Compute rate 1 / (1/pi + 1/(beta_m I)) when memory and compute times add.

    intensity: FLOP/B. peak: dense FLOP/s. memory_bandwidth: B/s.
    Raises ValueError for a value that is not positive.
    """
    checks.positive(intensity=intensity, peak=peak, memory_bandwidth=memory_bandwidth)
    return 1 / (1 / peak + 1 / (memory_bandwidth * intensity))


@equation("eq-ridge", symbol="ridge_intensity")
def ridge_intensity(peak, memory_bandwidth):
    """Intensity pi / beta_m at which the two roofs meet (FLOP/B).

    peak: dense FLOP/s. memory_bandwidth: B/s.
    Raises ValueError for a value that is not positive. Source: Williams 2009.
    """
    checks.positive(peak=peak, memory_bandwidth=memory_bandwidth)
    return peak / memory_bandwidth


@equation("eq-ridge-batch", symbol="ridge_batch", carries="FLOP^-1")
def ridge_batch(peak, memory_bandwidth, element_bytes):
    """Batch pi b / (2 beta_m) at which a decode GEMM of intensity 2B/b reaches the ridge.

    peak: dense FLOP/s. memory_bandwidth: B/s. element_bytes: bytes of one weight (B).
    Raises ValueError for a value that is not positive.
    """
    checks.positive(peak=peak, memory_bandwidth=memory_bandwidth, element_bytes=element_bytes)
    return peak * element_bytes / (2 * memory_bandwidth)


@equation("eq-ideal-time", symbol="ideal_time")
def ideal_time(flops, traffic, peak, memory_bandwidth):
    """Roofline time max(F/pi, Q/beta_m) of a kernel that overlaps memory and compute fully.

    flops: FLOP. traffic: B. peak: dense FLOP/s. memory_bandwidth: B/s.
    Raises ValueError for a rate that is not positive or a negative amount of work.
    """
    checks.nonnegative(flops=flops, traffic=traffic)
    checks.positive(peak=peak, memory_bandwidth=memory_bandwidth)
    return maximum(flops / peak, traffic / memory_bandwidth)


@equation("eq-utilisation", symbol="eta")
def utilisation(ideal_time, kernel_time):
    """Utilisation eta: roofline time over measured time.

    ideal_time, kernel_time: seconds. Raises ValueError for a time that is not positive.
    """
    checks.positive(ideal_time=ideal_time, kernel_time=kernel_time)
    return ideal_time / kernel_time


@equation("eq-hard-kernel", symbol="kernel_time")
def hard_kernel_time(flops, traffic, peak, memory_bandwidth, eta):
    """Kernel time max(F/pi, Q/beta_m) / eta: the hard roof with a constant utilisation.

    flops: FLOP. traffic: B. peak: dense FLOP/s. memory_bandwidth: B/s. eta: 1.
    Raises ValueError for a rate or utilisation that is not positive.
    """
    checks.positive(eta=eta)
    return ideal_time(flops, traffic, peak, memory_bandwidth) / eta


@equation("eq-smooth-kernel", symbol="kernel_time")
def smooth_kernel_time(flops, traffic, peak, memory_bandwidth, startup):
    """Kernel time t0 + F/pi + Q/beta_m: a start-up time plus the smooth roof.

    The rates are the kernel's own effective ones when the law is fitted. The form is that of
    Hockney's message law: a start-up, then amounts over rates.
    flops: FLOP. traffic: B. peak: FLOP/s. memory_bandwidth: B/s. startup: s.
    Raises ValueError for a rate that is not positive or a negative start-up.
    """
    checks.nonnegative(flops=flops, traffic=traffic, startup=startup)
    checks.positive(peak=peak, memory_bandwidth=memory_bandwidth)
    return startup + flops / peak + traffic / memory_bandwidth


@equation("eq-norm-kernel", symbol="kernel_time")
def norm_kernel_time(flops, traffic, peak, memory_bandwidth, startup, exponent):
    """Kernel time t0 + ((F/pi)^nu + (Q/beta_m)^nu)^(1/nu), between the smooth and the hard roof.

    exponent: nu >= 1; 1 gives the smooth sum, infinity the hard maximum. Other arguments as in
    smooth_kernel_time. Raises ValueError for an exponent below 1.
    """
    checks.nonnegative(flops=flops, traffic=traffic, startup=startup)
    checks.positive(peak=peak, memory_bandwidth=memory_bandwidth)
    checks.degree(exponent=exponent)
    return startup + power_norm(flops / peak, traffic / memory_bandwidth, exponent)


@equation("eq-half-traffic", symbol="half_traffic")
def half_traffic(startup, memory_bandwidth):
    """Bytes t0 beta_m at which a memory-bound kernel reaches half its bandwidth.

    startup: s. memory_bandwidth: B/s. Raises ValueError for a negative or zero rate.
    """
    checks.nonnegative(startup=startup)
    checks.positive(memory_bandwidth=memory_bandwidth)
    return startup * memory_bandwidth

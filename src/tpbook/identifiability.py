"""Which parameters a set of timed totals determines, and how much its noise is amplified.

A total is linear in 1/eta, alpha and 1/beta, so the questions are those of linear algebra: the
rank and the null space of the matrix of derivatives, and the size of its inverse.
"""

import numpy as np
import sympy

from tpbook import checks
from tpbook.collectives import ring_allreduce_time
from tpbook.symbolic import sqrt


def design_matrix(predictions, unknowns) -> sympy.Matrix:
    """Derivatives of predicted times by the unknowns: one row per time, one column per unknown.

    predictions: SymPy expressions (s). unknowns: SymPy symbols in which they are linear.
    Raises ValueError for a prediction that is not linear, naming it.
    """
    unknowns = list(unknowns)
    matrix = sympy.Matrix(list(predictions)).jacobian(unknowns).applyfunc(sympy.simplify)
    for prediction, row in zip(predictions, matrix.tolist()):
        if set(unknowns) & set().union(*(entry.free_symbols for entry in row)):
            raise ValueError(
                f"prediction {prediction} is not linear in {unknowns}: "
                "take reciprocals such as 1/eta and 1/beta as the unknowns"
            )
    return matrix


def left_open(matrix: sympy.Matrix, unknowns) -> list:
    """The unknowns that a design does not determine: those that enter its null space.

    matrix: of design_matrix. unknowns: one per column. A change along a null vector leaves every
    total as it is. Raises ValueError for another number of unknowns than columns.
    """
    unknowns = list(unknowns)
    if len(unknowns) != matrix.cols:
        raise ValueError(f"unknowns must be {matrix.cols}, one per column, got {unknowns}")
    null_space = matrix.nullspace()
    return [u for i, u in enumerate(unknowns) if any(vector[i] != 0 for vector in null_space)]


def relative_design(matrix, parameters) -> np.ndarray:
    """Matrix S_ij = D_ij theta_j / T_i: percent of total i per percent of parameter j.

    matrix: D, the numbers of a design matrix, one row per total. parameters: theta, one per
    column. The totals are T = D theta, so every row of S sums to one and units are gone.
    Raises ValueError for a parameter or a total that is not positive.
    """
    checks.positive(parameters=parameters)
    parts = np.asarray(matrix, dtype=float) * np.asarray(parameters, dtype=float)
    totals = parts.sum(axis=1, keepdims=True)
    checks.positive(totals=totals)
    return parts / totals


def condition_number(matrix) -> float:
    """Largest over smallest singular value; infinite where the rank is below the columns."""
    matrix = np.asarray(matrix, dtype=float)
    if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        return float("inf")
    return float(np.linalg.cond(matrix))


def error_amplification(relative) -> np.ndarray:
    """Standard error of each parameter per unit of noise: sqrt(diag((S' S)^-1)), least squares.

    relative: S of relative_design. Noise and errors are relative, the noise independent and
    equal for every total. Raises ValueError when the totals do not determine the parameters.
    """
    relative = np.asarray(relative, dtype=float)
    rank, columns = np.linalg.matrix_rank(relative), relative.shape[1]
    if rank < columns:
        raise ValueError(
            f"relative has rank {rank} for {columns} parameters: add totals that separate them"
        )
    # The pseudo-inverse avoids squaring the condition number.
    return np.linalg.norm(np.linalg.pinv(relative), axis=1)


def difference_amplification(p, q, message, alpha, beta):
    """Relative error of 1/beta from two all-reduce times per unit of their noise.

    1/beta is recovered from the difference of the times at p and q, in which one latency per
    collective cancels: sqrt(T_p^2 + T_q^2) / (T_q - T_p).
    p, q: degrees above 1, q > p. message: B. alpha: s per collective. beta: B/s per direction.
    Raises ValueError for a degree of 1 or less, q <= p or a message that is not positive.
    """
    checks.several(p=p, q=q)
    checks.positive(message=message, **{"q - p": q - p})
    first, second = (ring_allreduce_time(k, message, alpha, beta) for k in (p, q))
    return sqrt(first**2 + second**2) / (second - first)

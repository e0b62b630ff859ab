"""Choosing independent rows and columns that stay well conditioned at several configurations at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TIE = 1e-6  # remainders this close count as equal: mirrored joints tie only to rounding, and must not swap for it


def select_columns(matrices: Sequence[Array], classes: Sequence[Sequence[int]], rank: int, least: float) -> list[int]:
    """Up to `rank` columns that are independent in every matrix, earlier classes exhausted before later ones.

    Pivoted Gram-Schmidt run on all matrices together: each step takes the column whose remainder, the smallest over the
    matrices, is largest (first of equals, so the order of a class breaks ties).  Columns whose remainder is below
    `least` are dependent.  Since columns form a matroid, taking classes in order gives as many of the early classes as
    possible.
    """
    remainders = [np.array(matrix, dtype=np.float64) for matrix in matrices]
    chosen: list[int] = []
    for members in classes:
        left = list(members)
        while left and len(chosen) < rank:
            norms = np.min([np.linalg.norm(R[:, left], axis=0) for R in remainders], axis=0)
            best = int(np.argmax(norms > (1 - TIE) * norms.max(initial=0.0)))  # the first of those that tie
            if norms[best] < least:
                break
            column = left.pop(best)
            chosen.append(column)
            for k, R in enumerate(remainders):
                direction = R[:, column] / np.linalg.norm(R[:, column])
                once = R - np.outer(direction, direction @ R)
                remainders[k] = once - np.outer(
                    direction, direction @ once
                )  # twice: digits are lost in small remainders
    return chosen

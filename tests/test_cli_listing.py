"""The readable program means what the kernel computes: it is run again, line by line, and compared with CasADi."""

import math
import re

import casadi as cs
import numpy as np

from robocompiler.cli.listing import instructions, kernel_text
from robocompiler.symbolic.kernel import Argument, Kernel

_TOKEN = re.compile(r"\s*(\d+\.?\d*(?:e[-+]?\d+)?|\w+(?:\[\d+\])?|[-+*/()])")


class Reader:
    """A recursive-descent reader of the listing's arithmetic, sharing nothing with the printer."""

    def __init__(self, text: str, known: dict[str, float]) -> None:
        self.tokens = _TOKEN.findall(text)
        assert "".join(self.tokens) == text.replace(" ", "")
        self.known = known

    def sum(self) -> float:
        value = self.product()
        while self.tokens and self.tokens[0] in "+-":
            value = value + self.product() if self.tokens.pop(0) == "+" else value - self.product()
        return value

    def product(self) -> float:
        value = self.atom()
        while self.tokens and self.tokens[0] in "*/":
            value = value * self.atom() if self.tokens.pop(0) == "*" else value / self.atom()
        return value

    def atom(self) -> float:
        token = self.tokens.pop(0)
        if token == "-":
            return -self.atom()
        if token == "(":
            value = self.sum()
            assert self.tokens.pop(0) == ")"
            return value
        if self.tokens[:1] == ["("]:
            self.tokens.pop(0)
            value = float(getattr(math, token)(self.sum()))
            assert self.tokens.pop(0) == ")"
            return value
        return self.known[token] if token in self.known else float(token)


def make() -> Kernel:
    q, p = cs.SX.sym("q", 3), cs.SX.sym("p", 1)
    out = cs.vertcat(cs.sin(q[0]) * q[1] - 0.25, -(q[2] + p) / q[1], 3.0, q[2], cs.exp(-q[0]) * cs.sin(q[0]))
    return Kernel(
        "probe",
        "A kernel with operations, constants and moves.",
        (Argument("q", 3, "coordinates"), Argument("p", 1)),
        (Argument("r", 5, "rows"),),
        cs.Function("probe", [q, p], [out]),
    )


def test_the_lines_compute_the_kernel() -> None:
    kernel = make()
    q, p = [0.3, -1.7, 2.2], [0.9]
    known = {**{f"q[{i}]": x for i, x in enumerate(q)}, "p[0]": p[0]}
    for line in instructions(kernel):
        target, text = line.split(" = ")
        assert target not in known
        known[target] = Reader(text, known).sum()
    result = [known[f"r[{i}]"] for i in range(5)]
    np.testing.assert_allclose(result, np.array(kernel.function(q, p)).ravel(), rtol=1e-15)
    assert len(result) == 5


def test_an_entry_is_explained_by_its_name_in_the_model() -> None:
    text = kernel_text(make(), {"q": ("hip", "knee", "ankle"), "p": ("payload",)})
    assert text.startswith("kernel probe\n    A kernel with operations, constants and moves.\n")
    assert "    in   q[3]  coordinates\n    in   p[1]\n    out  r[5]  rows\n" in text
    assert "    q[1] is knee\n" in text
    assert "    p[0] is payload\n" in text
    assert "    r[2] = 3.0\n" in text

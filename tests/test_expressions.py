"""Expressions: precedence, names, bounds, and refusal of everything else."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robocompiler.errors import ModelError
from robocompiler.records.expression_folding import fold_constants, real_value
from robocompiler.records.expression_parser import parse_expression
from robocompiler.records.expressions import FUNCTIONS, Apply, Constant, Symbol, evaluate, names


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0), ("-1", -1.0), ("+1", 1.0), ("1e-8", 1e-8), (".5", 0.5), ("5.", 5.0), ("010", 10.0),
        ("1E+3", 1000.0),
        ("1 - 2 - 3", -4.0), ("1 - (2 - 3)", 2.0), ("2 + 3*4", 14.0), ("12/3/2", 2.0), ("12/3*2", 8.0),
        ("-2**2", -4.0), ("2**-1", 0.5), ("2**3**2", 512.0), ("(-2)**2", 4.0), ("--3", 3.0), ("2*-3", -6.0),
        ("pi/2", math.pi / 2), ("atan2(1, -1)", math.atan2(1, -1)), ("hypot(3, 4)", 5.0),
        ("min(1, 2) + max(3, 4)", 5.0),
        ("sign(-3)", -1.0), ("abs(-3)", 3.0), ("sqrt(2)", math.sqrt(2)), (" ( 1 )\n+ 1 ", 2.0),
    ],
)  # fmt: skip
def test_value(text, value):
    assert evaluate(parse_expression(text), {}) == value
    assert fold_constants(parse_expression(text)) == Constant(value)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_function_is_reachable_and_checks_its_arity(function):
    arguments = ["0.5"] * FUNCTIONS[function]
    assert isinstance(parse_expression(f"{function}({', '.join(arguments)})"), Apply)
    with pytest.raises(ModelError, match=r"takes \d argument"):
        parse_expression(f"{function}({', '.join([*arguments, '1'])})")
    with pytest.raises(ModelError, match="is a function"):
        parse_expression(function)


def test_names_and_backticks():
    tree = parse_expression("a - 0.3*`left-knee`**2 + `j:x` * `two words`")
    assert names(tree) == {"a", "left-knee", "j:x", "two words"}
    assert parse_expression("a - b") == Apply("-", (Symbol("a"), Symbol("b")))


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("", "the end"), ("1 +", "the end"), ("(1", "expected ')'"), ("1)", "unexpected ')' at column 2"),
        ("2 a", "write * for a product"), ("a(1)", "unknown function 'a'"), ("2(3)", "write *"),
        ("a^2", "write **"), ("a // b", "expected a number"), ("a % b", "not part of an expression"),
        ("a.b", "backticks"), ("a[0]", "not part of"), ("a if b else c", "unexpected"), ("lambda: 0", "not part of"),
        ("__import__('os')", "not part of"), ("'text'", "not part of"), ("a = 1", "not part of"),
        ("`a", "not closed"), ("``", "empty"), ("`a;b`", "not allowed"), ("1e999", "too large"), ("sin()", "expected"),
        ("a < b", "not part of"), ("\N{GREEK SMALL LETTER ALPHA}", "not part of"), ("1_0", "unexpected"),
        ("(" * 41 + "1" + ")" * 41, "nested more than 40"), ("-" * 41 + "1", "nested more than 40"),
        ("2" + "**2" * 41, "nested more than 40"), ("a" + "+a" * 101, "more than 100 levels"),
        ("1" * 4001, "at most 4000"),
    ],
)  # fmt: skip
def test_refused(text, fragment):
    with pytest.raises(ModelError, match=re.escape(fragment)) as caught:
        parse_expression(text)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize(
    "text", ["1/0", "sqrt(-1)", "(-1)**0.5", "log(0)", "exp(1000)", "10.0**400", "asin(2)", "a*(0/0)"]
)
def test_constants_without_a_finite_real_value_are_refused(text):
    with pytest.raises(ModelError, match="no finite real value"):
        fold_constants(parse_expression(text))


def test_folding_keeps_names_and_folds_the_rest():
    assert fold_constants(parse_expression("2*3*a + sin(0)")) == Apply(
        "+", (Apply("*", (Constant(6.0), Symbol("a"))), Constant(0.0))
    )
    with pytest.raises(ModelError):
        real_value(parse_expression("abs((-p)**0.5)"), {"p": 1.0})


@given(st.text(alphabet="ab1.e+-*/(),`: pisn\n", max_size=60) | st.text(max_size=60))
def test_any_text_gives_a_tree_or_a_model_error(text):
    try:
        fold_constants(parse_expression(text))
    except ModelError as error:
        assert error.problems[0].message


_leaf = st.sampled_from(["a", "`b-c`", "pi", "2", "0.25"])
_text = st.recursive(
    _leaf, lambda s: st.tuples(s, st.sampled_from("+-*"), s).map(lambda t: f"({t[0]}{t[1]}{t[2]})"), max_leaves=12
)


@given(_text)
def test_agrees_with_the_arithmetic_of_python(text):
    value = evaluate(parse_expression(text), {"a": 1.5, "b-c": -0.75})
    expected = _python_value(text.replace("`b-c`", "(0-0.75)").replace("pi", repr(math.pi)).replace("a", "1.5"))
    assert value == expected


def _python_value(text: str) -> float:
    """The value of a bracketed text of + - * by Python's own grammar, walked node by node."""
    import ast

    operations = {ast.Add: lambda x, y: x + y, ast.Sub: lambda x, y: x - y, ast.Mult: lambda x, y: x * y}

    def walk(node: ast.expr) -> float:
        if isinstance(node, ast.Constant):
            return float(node.value)
        assert isinstance(node, ast.BinOp)
        return operations[type(node.op)](walk(node.left), walk(node.right))

    return walk(ast.parse(text, mode="eval").body)

"""3-vectors and 3x3 matrices as tuples over any number type."""

from __future__ import annotations

from robocompiler.oracle.arithmetic import Arithmetic, Number

Vector = tuple[Number, Number, Number]
Matrix = tuple[Vector, Vector, Vector]


def dot(a: Vector, b: Vector) -> Number:
    """a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def cross(a: Vector, b: Vector) -> Vector:
    """a x b."""
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def add(a: Vector, b: Vector) -> Vector:
    """a + b."""
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


def subtract(a: Vector, b: Vector) -> Vector:
    """a - b."""
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


def scale(s: Number, a: Vector) -> Vector:
    """s a."""
    return (s * a[0], s * a[1], s * a[2])


def negative(a: Vector) -> Vector:
    """-a."""
    return (-a[0], -a[1], -a[2])


def unit(a: Vector, arithmetic: Arithmetic) -> Vector:
    """a over its norm."""
    return scale(1 / arithmetic.sqrt(dot(a, a)), a)


def transpose(R: Matrix) -> Matrix:
    """R^T."""
    return (
        (R[0][0], R[1][0], R[2][0]),
        (R[0][1], R[1][1], R[2][1]),
        (R[0][2], R[1][2], R[2][2]),
    )


def apply(R: Matrix, a: Vector) -> Vector:
    """R a."""
    return (dot(R[0], a), dot(R[1], a), dot(R[2], a))


def apply_transposed(R: Matrix, a: Vector) -> Vector:
    """R^T a."""
    return add(add(scale(a[0], R[0]), scale(a[1], R[1])), scale(a[2], R[2]))


def multiply(A: Matrix, B: Matrix) -> Matrix:
    """A B."""
    T = transpose(B)
    return (
        (dot(A[0], T[0]), dot(A[0], T[1]), dot(A[0], T[2])),
        (dot(A[1], T[0]), dot(A[1], T[1]), dot(A[1], T[2])),
        (dot(A[2], T[0]), dot(A[2], T[1]), dot(A[2], T[2])),
    )


def skew_part(R: Matrix) -> Vector:
    """The vector of (R - R^T) / 2: sin(angle) times the axis of a rotation."""
    return ((R[2][1] - R[1][2]) / 2, (R[0][2] - R[2][0]) / 2, (R[1][0] - R[0][1]) / 2)


def trace(R: Matrix) -> Number:
    """Sum of the diagonal."""
    return R[0][0] + R[1][1] + R[2][2]


def identity(arithmetic: Arithmetic) -> Matrix:
    """The unit matrix."""
    one, zero = arithmetic.number(1.0), arithmetic.number(0.0)
    return ((one, zero, zero), (zero, one, zero), (zero, zero, one))


def orthonormal(R: Matrix, rounds: int = 3) -> Matrix:
    """The rotation nearest to a nearly orthonormal R: R <- R (3 I - R^T R) / 2, which converges quadratically."""
    for _ in range(rounds):
        G = multiply(transpose(R), R)
        H: Matrix = (
            ((3 - G[0][0]) / 2, -G[0][1] / 2, -G[0][2] / 2),
            (-G[1][0] / 2, (3 - G[1][1]) / 2, -G[1][2] / 2),
            (-G[2][0] / 2, -G[2][1] / 2, (3 - G[2][2]) / 2),
        )
        R = multiply(R, H)
    return R


def about(n: Vector, angle: Number, arithmetic: Arithmetic) -> Matrix:
    """Rotation by `angle` about the unit vector n (Rodrigues)."""
    s, c = arithmetic.sin(angle), arithmetic.cos(angle)
    v = 1 - c
    x, y, z = n
    return (
        (c + v * x * x, v * x * y - s * z, v * x * z + s * y),
        (v * x * y + s * z, c + v * y * y, v * y * z - s * x),
        (v * x * z - s * y, v * y * z + s * x, c + v * z * z),
    )


def by_quaternion(quaternion: tuple[Number, Number, Number, Number], arithmetic: Arithmetic) -> Matrix:
    """Rotation of (w, x, y, z), normalised first.

    Source: R = I + 2 w [e]x + 2 [e]x^2 with e the vector part.
    """
    norm = arithmetic.sqrt(sum(component * component for component in quaternion))
    w, x, y, z = (component / norm for component in quaternion)
    columns = []
    for base in identity(arithmetic):
        once = cross((x, y, z), base)
        columns.append(add(base, scale(2, add(scale(w, once), cross((x, y, z), once)))))
    return transpose((columns[0], columns[1], columns[2]))


def quaternion_of(R: Matrix, arithmetic: Arithmetic) -> tuple[Number, Number, Number, Number]:
    """(w, x, y, z) of a rotation, w >= 0, from its largest component."""
    t = trace(R)
    squares = (1 + t, 1 + 2 * R[0][0] - t, 1 + 2 * R[1][1] - t, 1 + 2 * R[2][2] - t)  # four times w^2, x^2, y^2, z^2
    products = (
        (squares[0], R[2][1] - R[1][2], R[0][2] - R[2][0], R[1][0] - R[0][1]),
        (R[2][1] - R[1][2], squares[1], R[0][1] + R[1][0], R[0][2] + R[2][0]),
        (R[0][2] - R[2][0], R[0][1] + R[1][0], squares[2], R[1][2] + R[2][1]),
        (R[1][0] - R[0][1], R[0][2] + R[2][0], R[1][2] + R[2][1], squares[3]),
    )
    k = max(range(4), key=lambda index: squares[index])
    factor = 1 / (2 * arithmetic.sqrt(squares[k]))
    if products[k][0] < 0:
        factor = -factor
    w, x, y, z = (factor * value for value in products[k])
    return (w, x, y, z)


def perpendiculars(n: Vector, arithmetic: Arithmetic) -> tuple[Vector, Vector]:
    """e1, e2 with (e1, e2, n) a right-handed orthonormal triad."""
    least = min(range(3), key=lambda index: abs(n[index]))
    e1 = unit(cross(n, identity(arithmetic)[least]), arithmetic)
    return e1, cross(n, e1)


def plane_axes(n: Vector, arithmetic: Arithmetic) -> tuple[Vector, Vector]:
    """e1, e2 of a planar joint: x and y carried by the shortest turn z -> n, after half a turn about x if n_z < 0."""
    flip = -1 if n[2] < 0 else 1
    x, y, z = n[0], flip * n[1], flip * n[2]
    e1 = (1 - x * x / (1 + z), -x * y / (1 + z), -x)
    e2 = (-x * y / (1 + z), 1 - y * y / (1 + z), -y)
    zero = arithmetic.number(0.0)
    return (e1[0] + zero, flip * e1[1], flip * e1[2]), (e2[0] + zero, flip * e2[1], flip * e2[2])

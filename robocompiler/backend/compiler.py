"""Which C compiler is used, and with which flags.

Floating-point policy.  A build must give the same numbers on every machine, so: no `-ffast-math`, no `-march=native`,
and `-ffp-contract=off`, which keeps the compiler from fusing `a * b + c` into one rounding on processors that can.
The price is small (the kernels are bound by dependencies rather than by multiplications); the gain is that a desk
computer, a robot's ARM board and CasADi's interpreter agree.  A user who prefers fused arithmetic passes it in `flags`.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from robocompiler.errors import CompileError

OPTIMISATION: tuple[str, ...] = ("-O2", "-fPIC", "-ffp-contract=off")
STRICT: tuple[str, ...] = (
    "-std=c99",
    "-pedantic",
    "-Wall",
    "-Wextra",
    "-Wshadow",
    "-Wconversion",
    "-Wdouble-promotion",
    "-Wmissing-prototypes",
    "-Wstrict-prototypes",
    "-Wundef",
    "-Wcast-qual",
    "-Werror",
)
_CANDIDATES = ("cc", "gcc", "clang")
_MEND = "install gcc or clang (Debian and Ubuntu: apt install gcc), or name one with --cc or in the variable CC"


@dataclass(frozen=True)
class Toolchain:
    """A C compiler that has been run once and works.

    Attributes:
        command: the argument list that starts it, e.g. ("gcc",) or ("zig", "cc").
        version: first line of its `--version`.
        target: its target triple (`-dumpmachine`), or "unknown" if it does not say.
        flags: compile flags, strict warnings included.
        fingerprint: digest of the compiler's executable file ("" if it cannot be read), which tells apart two builds
            of one version.
    """

    command: tuple[str, ...]
    version: str
    target: str
    flags: tuple[str, ...] = OPTIMISATION + STRICT
    fingerprint: str = ""

    @property
    def undefined_check(self) -> tuple[str, ...]:
        """Linker flags that refuse undefined symbols; Apple's and Microsoft's linkers refuse them by themselves."""
        own_way = ("darwin", "apple", "macos", "mingw", "windows", "cygwin")
        return () if any(word in self.target for word in own_way) else ("-Wl,--no-undefined",)


def find_toolchain(
    cc: str | None = None,
    *,
    extra_flags: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
    timeout: float = 60.0,
) -> Toolchain:
    """Find the C compiler: `cc` if given, else the variable CC, else cc, gcc or clang on the PATH.

    `cc` and CC are split as a shell would ("zig cc" works); nothing is passed to a shell.  `extra_flags` follow the
    default ones.  `environment` stands for `os.environ`; `timeout` (s) bounds the compiler's answer to `--version`.
    CompileError if there is none, or it cannot be run, fails or hangs; a broken choice is never replaced by another.
    """
    environment = os.environ if environment is None else environment
    command = _choose(cc, environment)
    version = _ask(command, "--version", environment, timeout)
    try:
        target = _ask(command, "-dumpmachine", environment, timeout)
    except CompileError:
        target = "unknown"  # some compilers do not know the option; the target only refines the cache key
    flags = OPTIMISATION + STRICT + _quirks(command) + extra_flags
    return Toolchain(command, version, target, flags, _fingerprint(command[0], environment))


def _choose(cc: str | None, environment: Mapping[str, str]) -> tuple[str, ...]:
    for origin, text in (("--cc", cc), ("the variable CC", environment.get("CC"))):
        if text is None or (not text.strip() and origin != "--cc"):
            continue
        try:
            command = tuple(shlex.split(text))
        except ValueError as error:
            raise CompileError(f"cannot read the compiler named by {origin} ({text!r}): {error}") from None
        if not command:
            raise CompileError(f"{origin} names no compiler; {_MEND}")
        if shutil.which(command[0], path=environment.get("PATH")) is None:
            kind = "is not executable" if Path(command[0]).exists() and "/" in command[0] else "was not found"
            raise CompileError(f"the C compiler {command[0]!r}, named by {origin}, {kind}; {_MEND}", command)
        return command
    for name in _CANDIDATES:
        if shutil.which(name, path=environment.get("PATH")) is not None:
            return (name,)
    looked = ", ".join(_CANDIDATES)
    raise CompileError(f"no C compiler found: --cc and CC are not set, and the PATH has none of {looked}; {_MEND}")


def _ask(command: tuple[str, ...], option: str, environment: Mapping[str, str], timeout: float) -> str:
    """First line that the compiler prints for `option`."""
    full = (*command, option)
    shown = shlex.join(full)
    try:
        answer = subprocess.run(
            full,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
            env={**environment, "LC_ALL": "C"},
        )
    except subprocess.TimeoutExpired:
        raise CompileError(f"the C compiler did not answer within {timeout:g} s: {shown}", full) from None
    except OSError as error:
        raise CompileError(f"the C compiler cannot be run ({error.strerror}): {shown}; {_MEND}", full) from None
    lines = answer.stdout.strip().splitlines()
    if answer.returncode != 0 or not lines:
        said = (answer.stderr.strip() or answer.stdout.strip() or "it said nothing").splitlines()[0]
        raise CompileError(f"the C compiler failed (exit {answer.returncode}): {shown}: {said}", full)
    return lines[0].strip()


def _quirks(command: tuple[str, ...]) -> tuple[str, ...]:
    """Flags that one compiler driver needs: zig instruments undefined behaviour unless told not to."""
    words = {Path(word).name for word in command}
    return ("-fno-sanitize=undefined",) if words & {"zig", "ziglang"} else ()


def _fingerprint(program: str, environment: Mapping[str, str]) -> str:
    path = shutil.which(program, path=environment.get("PATH"))
    try:
        with Path(path or program).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""

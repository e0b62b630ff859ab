"""Which C compiler is used, and with which flags.

Floating-point policy.  By default the host's libraries are built for the host's processor (`-march=native`) and with
fused multiply-adds (`-ffp-contract=fast`): a third fewer instructions, and one rounding where `a * b + c` had two.  So
results agree with those of another processor, and with CasADi's interpreter, to rounding and not bit by bit.  Nothing
relies on the separate rounding: the reduction of angles subtracts products that are exact, and square roots are taken
of sums of squares only; the laws of drives, which users write, are not fused (`emit.py`).  `portable` keeps to the
architecture's base and to one rounding per operation (`-ffp-contract=off`): the same numbers on every machine with IEEE
arithmetic and libm, and libraries that may be carried.  Cross compilers build so too, and compilers for systems
that do not tell what their processor has.

Never `-ffast-math` or parts of it that let values differ: NaN and infinity must be seen by the comparisons that refuse
them, and the sign of zero chooses the branch of atan2.  docs/flags.md tells what other flags bring.
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

from robocompiler.backend.processor import NATIVE, UNKNOWN, Processor, builds_for_host, chooses_processor, processor_of
from robocompiler.errors import CompileError

OPTIMISATION: tuple[str, ...] = ("-O2", "-fPIC")
PORTABLE: tuple[str, ...] = ("-ffp-contract=off",)
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
        processor: what `flags` let the compiler use.
    """

    command: tuple[str, ...]
    version: str
    target: str
    flags: tuple[str, ...] = OPTIMISATION + STRICT + PORTABLE
    fingerprint: str = ""
    processor: Processor = UNKNOWN

    @property
    def undefined_check(self) -> tuple[str, ...]:
        """Linker flags that refuse undefined symbols; Apple's and Microsoft's linkers refuse them by themselves."""
        own_way = ("darwin", "apple", "macos", "mingw", "windows", "cygwin")
        return () if any(word in self.target for word in own_way) else ("-Wl,--no-undefined",)


def find_toolchain(
    cc: str | None = None,
    *,
    portable: bool = False,
    extra_flags: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
    timeout: float = 60.0,
) -> Toolchain:
    """Find the C compiler: `cc` if given, else the variable CC, else cc, gcc or clang on the PATH.

    `cc` and CC are split as a shell would ("zig cc" works); nothing is passed to a shell.  `portable`: for any
    processor of the architecture; else for this one, where the compiler builds for this machine and knows its
    processor.  `extra_flags` follow the default ones.  `environment` stands for `os.environ`; `timeout` (s) bounds each
    of the compiler's answers.
    CompileError if there is none, or it cannot be run, fails or hangs; a broken choice is never replaced by another.
    """
    environment = os.environ if environment is None else environment
    command = _choose(cc, environment)
    version = _ask(command, "--version", environment, timeout)
    try:
        target = _ask(command, "-dumpmachine", environment, timeout)
    except CompileError:
        target = "unknown"  # some compilers do not know the option; the target only refines the cache key
    native = () if portable or not builds_for_host(command, target) else NATIVE
    for own in (*native, PORTABLE + _base(command)):
        flags = OPTIMISATION + STRICT + _quirks(command) + own + extra_flags
        macros = _macros(command, flags, environment, timeout)
        if macros:  # it knows these flags; if not even the last ones, compiling tells what is wrong
            break
    fingerprint = _fingerprint(command[0], environment)
    return Toolchain(command, version, target, flags, fingerprint, processor_of(target, macros))


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


def _run(full: tuple[str, ...], environment: Mapping[str, str], timeout: float) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        full,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
        env={**environment, "LC_ALL": "C"},
    )


def _macros(command: tuple[str, ...], flags: tuple[str, ...], environment: Mapping[str, str], timeout: float) -> str:
    """The compiler's predefined macros under `flags`; "" if it does not know one of the flags, or tells no macros."""
    full = (*command, *flags, "-dM", "-E", "-x", "c", os.devnull)
    try:
        answer = _run(full, environment, timeout)
    except subprocess.TimeoutExpired:
        raise _no_answer(full, timeout) from None
    except OSError:
        return ""
    return answer.stdout if answer.returncode == 0 else ""


def _no_answer(full: tuple[str, ...], timeout: float) -> CompileError:
    return CompileError(f"the C compiler did not answer within {timeout:g} s: {shlex.join(full)}", full)


def _ask(command: tuple[str, ...], option: str, environment: Mapping[str, str], timeout: float) -> str:
    """First line that the compiler prints for `option`."""
    full = (*command, option)
    shown = shlex.join(full)
    try:
        answer = _run(full, environment, timeout)
    except subprocess.TimeoutExpired:
        raise _no_answer(full, timeout) from None
    except OSError as error:
        raise CompileError(f"the C compiler cannot be run ({error.strerror}): {shown}; {_MEND}", full) from None
    lines = answer.stdout.strip().splitlines()
    if answer.returncode != 0 or not lines:
        said = (answer.stderr.strip() or answer.stdout.strip() or "it said nothing").splitlines()[0]
        raise CompileError(f"the C compiler failed (exit {answer.returncode}): {shown}: {said}", full)
    return lines[0].strip()


def _quirks(command: tuple[str, ...]) -> tuple[str, ...]:
    """Flags that one compiler driver needs: zig instruments undefined behaviour unless told not to."""
    return ("-fno-sanitize=undefined",) if _is_zig(command) else ()


def _base(command: tuple[str, ...]) -> tuple[str, ...]:
    """Flags of a portable build for the architecture's base: zig builds for the host's processor unless told not to."""
    return ("-mcpu=baseline",) if _is_zig(command) and not chooses_processor(command) else ()


def _is_zig(command: tuple[str, ...]) -> bool:
    return bool({Path(word).name for word in command} & {"zig", "ziglang"})


def _fingerprint(program: str, environment: Mapping[str, str]) -> str:
    path = shutil.which(program, path=environment.get("PATH"))
    try:
        with Path(path or program).open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return ""

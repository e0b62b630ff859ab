"""Native builds: the flags for the host's processor, and the instruction sets that any set of flags allows.

The compiler itself is asked, by its predefined macros: they tell which processor and which instruction sets
`-march=native` comes to here, whatever flags follow it.
"""

from __future__ import annotations

import hashlib
import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass

NATIVE: tuple[tuple[str, ...], ...] = (  # the first that the compiler knows; older clang knows the second only, on ARM
    ("-march=native", "-ffp-contract=fast"),
    ("-mcpu=native", "-ffp-contract=fast"),
)
_MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
_CHOSEN = re.compile(r"--?target\b|-(march|mcpu|mtune|m32|mx32)\b")  # of a command that has a processor already
_MACRO = re.compile(r"^#define (\w+)", re.MULTILINE)

# Predefined macro: word in /proc/cpuinfo.  All that compilers use by themselves for plain C; sets for system software
# (key protection, random numbers, saving of registers) are left out.
_X86 = {
    "SSE3": "pni", "SSSE3": "ssse3", "SSE4_1": "sse4_1", "SSE4_2": "sse4_2", "SSE4A": "sse4a", "POPCNT": "popcnt",
    "LZCNT": "abm", "BMI": "bmi1", "BMI2": "bmi2", "TBM": "tbm", "MOVBE": "movbe", "ADX": "adx",
    "PRFCHW": "3dnowprefetch", "AVX": "avx", "AVX2": "avx2", "FMA": "fma", "FMA4": "fma4", "XOP": "xop", "F16C": "f16c",
    "AES": "aes", "PCLMUL": "pclmulqdq", "VAES": "vaes", "VPCLMULQDQ": "vpclmulqdq", "GFNI": "gfni",
    "SHA": "sha_ni", "AVXVNNI": "avx_vnni", "AVX512F": "avx512f", "AVX512CD": "avx512cd", "AVX512DQ": "avx512dq",
    "AVX512BW": "avx512bw", "AVX512VL": "avx512vl", "AVX512ER": "avx512er", "AVX512PF": "avx512pf",
    "AVX512IFMA": "avx512ifma", "AVX512VBMI": "avx512vbmi", "AVX512VBMI2": "avx512_vbmi2", "AVX512VNNI": "avx512_vnni",
    "AVX512BITALG": "avx512_bitalg", "AVX512VPOPCNTDQ": "avx512_vpopcntdq", "AVX512BF16": "avx512_bf16",
    "AVX512FP16": "avx512_fp16",
}  # fmt: skip
_ARM = {
    "CRC32": "crc32", "ATOMICS": "atomics", "QRDMX": "asimdrdm", "FP16_SCALAR_ARITHMETIC": "fphp",
    "FP16_VECTOR_ARITHMETIC": "asimdhp", "FP16_FML": "asimdfhm", "DOTPROD": "asimddp", "COMPLEX": "fcma",
    "JCVT": "jscvt", "FRINT": "frint", "RCPC": "lrcpc", "BF16": "bf16", "MATMUL_INT8": "i8mm", "AES": "aes",
    "SHA2": "sha2", "SHA3": "sha3", "SVE": "sve", "SVE2": "sve2",
}  # fmt: skip
_WORDS = {
    "x86_64": {f"__{name}__": word for name, word in _X86.items()},
    "aarch64": {f"__ARM_FEATURE_{name}": word for name, word in _ARM.items()},
}


@dataclass(frozen=True)
class Processor:
    """What a compiler with certain flags may use.

    instructions: the sets beyond the architecture's base, in the words of /proc/cpuinfo; digest: SHA-256 of the
    predefined macros, "" if the compiler does not tell them.
    """

    instructions: tuple[str, ...] = ()
    digest: str = ""


UNKNOWN = Processor()


def machine_of(target: str) -> str:
    """'x86_64' or 'aarch64' for a target triple (or a machine's name), '' for all others."""
    return _MACHINES.get(target.partition("-")[0].lower(), "")


def builds_for_host(command: Sequence[str], target: str) -> bool:
    """Whether code of this compiler runs here, so that it may be built for the host's processor.

    Only under Linux, where loading can compare what a library needs with what the processor has; a command that names
    a target or a processor has chosen one already.
    """
    if platform.system() != "Linux" or "linux" not in target or "android" in target:
        return False
    machine = machine_of(target)
    return bool(machine) and machine == machine_of(platform.machine()) and not chooses_processor(command)


def chooses_processor(command: Sequence[str]) -> bool:
    """Whether a compiler command names a target or a processor."""
    return any(_CHOSEN.match(word) for word in command)


def processor_of(target: str, macros: str) -> Processor:
    """The processor behind a compiler's predefined macros, as `cc FLAGS -dM -E` prints them, "" if it fails."""
    defined = set(_MACRO.findall(macros))
    if not defined:
        return UNKNOWN
    words = _WORDS.get(machine_of(target), {})
    sets = sorted({word for macro, word in words.items() if macro in defined})
    lines = "\n".join(sorted(macros.splitlines()))
    return Processor(tuple(sets), hashlib.sha256(lines.encode()).hexdigest())

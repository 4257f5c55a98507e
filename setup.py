"""Builds the optional C kernels; everything else about the package is in pyproject.toml.

One source is compiled once for each instruction set, and the best that a machine has is chosen
when the extension is loaded. Where nothing can be compiled the install succeeds, says so in one
line, and the torch formulas serve.
"""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

HERE = "src/untrue/kernels"
# Exactly IEEE arithmetic, but for products that are added without rounding in between: the kernel
# rounds by adding and taking away a large number, and tells nan from numbers.
FLAGS = ["-std=c11", "-O3", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math"]
AVX512 = ["-mavx512f", "-mavx512dq", "-mavx512vl", "-mavx512bw", "-mprefer-vector-width=512"]
INSTRUCTION_SETS = {"baseline": [], "avx2": ["-mavx2", "-mfma"], "avx512": ["-mfma", *AVX512]}


class BuildKernels(build_ext):
    """Compiles the kernel for every instruction set that the compiler knows."""

    def build_extension(self, ext: Extension) -> None:
        try:
            if sys.platform == "win32":
                raise OSError("they need a compiler with GNU C's vectors, and POSIX threads")
            self._build(ext)
        except Exception as problem:  # noqa: BLE001 - whatever it is, the package works without
            reason = " ".join(str(problem).split()) or type(problem).__name__
            print(
                f"untrue: the C kernels were not built ({reason}); the losses use the torch "
                "formulas: same results, slower.",
                file=sys.stderr,
            )

    def _build(self, ext: Extension) -> None:
        extra = os.environ.get("UNTRUE_CFLAGS", "").split()
        objects, macros = [], list(ext.define_macros)
        for name, flags in INSTRUCTION_SETS.items():
            if name != "baseline" and platform.machine() not in ("x86_64", "AMD64", "i686"):
                continue
            try:
                objects += self._compile(["kernel.c"], name, [("ISA", name)], flags + extra)
            except Exception:  # an older compiler, or one for several machines at once
                if name == "baseline":
                    raise
            else:
                macros.append((f"HAS_{name.upper()}", "1"))
        objects += self._compile(["threads.c", "dispatch.c", "module.c"], "rest", macros, extra)
        path = Path(self.get_ext_fullpath(ext.name))
        path.parent.mkdir(parents=True, exist_ok=True)
        self.compiler.link_shared_object(
            objects, str(path), libraries=["m"], extra_postargs=["-pthread", *extra]
        )

    def _compile(
        self, names: list[str], part: str, macros: list[tuple[str, str]], flags: list[str]
    ) -> list[str]:
        objects: list[str] = self.compiler.compile(
            [f"{HERE}/{name}" for name in names],
            output_dir=f"{self.build_temp}/{part}",
            macros=macros,
            extra_postargs=[*FLAGS, "-pthread", *flags],
        )
        return objects


class Wheel(bdist_wheel):
    """One wheel for every Python from 3.11, as the extension asks for no more than that."""

    def finalize_options(self) -> None:
        self.py_limited_api = "cp311"
        super().finalize_options()


setup(
    ext_modules=[
        Extension(
            "untrue.kernels._kernels",
            [f"{HERE}/module.c"],
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildKernels, "bdist_wheel": Wheel},
)

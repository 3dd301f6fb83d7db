"""Functions that kernels call, compiled as parts of the kernels that call them.

Numba optimises every function together with all that it calls and makes machine code of it, and
does so again in every caller, up to the outermost: a function ten calls deep is optimised ten
times. A *part* is optimised alone. The outermost kernel, the *whole*, links all parts in, optimises
them together and makes the machine code. Nobody else can call its copies of the parts (internal
linkage), so that LLVM inlines what is called once: steps are a quarter to a third faster by that.

This uses Numba's inner doors: a pipeline of its own (`pipeline_class`, which Numba documents) and
code libraries (which it does not): that of a part makes no machine code when it is finalised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from llvmlite.binding import Linkage, parse_assembly
from numba._dynfunc import make_function
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import LoweringPass, register_pass
from numba.core.typed_passes import NativeLowering


class _PartLibrary(JITCodeLibrary):
    """Code to be linked into that of a caller."""

    #: it is to be merged into its callers before they are optimised
    inlined = False

    def finalize(self) -> None:
        """Optimise what is its own, then link in what it calls."""
        called = dict.fromkeys(self._linking_libraries)
        merged = [each for each in called if getattr(each, "inlined", False)]
        self._link(merged)
        if not self.inlined:
            passes, builder = self._codegen._module_pass_manager()
            passes.run(self._final_module, builder)
        self._link(each for each in called if each not in merged)
        self._finalize_dynamic_globals()
        self._finalized = True

    def _link(self, libraries: Iterable[Any]) -> None:
        for library in libraries:
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)


@register_pass(mutates_CFG=False, analysis_only=False)
class _MakeKnown(LoweringPass):
    """Make a part known to those that call it, as Numba does with what it has compiled."""

    _name = "marsyard_make_part_known"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        made, library = state["cr"], state.library
        descriptor = made.fndesc
        # callers find the part by this object; there is nothing behind it for Python to call
        key = make_function(
            descriptor.lookup_module(), descriptor.qualname, "", 0, made.env, (library,)
        )
        state.targetctx.insert_user_function(key, descriptor, [library])
        state.reload_init.extend(library._reload_init)
        state["cr"] = made._replace(cfunc=key)
        return True


class PartCompiler(Compiler):
    """Numba's compiler up to the code of a part."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        flags = self.state.flags
        flags.no_compile = True
        self.state.library = _PartLibrary(self.state.targetctx.codegen(), "part")
        self.state.library.inlined = flags.forceinline

    def define_pipelines(self) -> list[Any]:
        (manager,) = super().define_pipelines()
        manager.add_pass_after(_MakeKnown, NativeLowering)
        manager.finalize()
        return [manager]


class _WholeLibrary(JITCodeLibrary):
    """Code with all its parts, which nobody else calls.

    Numba keeps a kernel's LLVM code beside its machine code, for callers that would link it in, and
    reads it whenever the kernel is loaded. Here only the names that it defines are kept, which
    Numba asks for when it loads them: a short run starts a tenth of a second earlier.
    """

    def serialize_using_object_code(self) -> tuple[str, str, tuple[bytes, bytes]]:
        """What the cache keeps: machine code and names."""
        self._ensure_finalized()
        code = self._final_module
        functions = (f'define void @"{n}"() {{ ret void }}' for n in _exported(code.functions))
        variables = (f'@"{n}" = global i8 0' for n in _exported(code.global_variables))
        names = parse_assembly("\n".join((*functions, *variables))).as_bitcode()
        return self.name, "object", (self._get_compiled_object(), names)

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage is Linkage.linkonce_odr:
                function.linkage = Linkage.internal
        super()._optimize_final_module()


def _exported(values: Iterable[Any]) -> Iterator[str]:
    """Names of the functions or variables that a module defines for others."""
    hidden = (Linkage.internal, Linkage.private)
    return (v.name for v in values if not v.is_declaration and v.linkage not in hidden)


class WholeCompiler(Compiler):
    """Numba's compiler for what Python calls, or what is called by address."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.state.library = _WholeLibrary(self.state.targetctx.codegen(), "whole")
        self.state.library.enable_object_caching()

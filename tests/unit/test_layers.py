"""What packages of marsyard take from each other: public names, of packages before them.

Imports inside functions count, too. Those for type checkers alone may point anywhere, since nothing
is loaded by them, but not at private names.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import marsyard
from marsyard.interaction import about

ROOT = Path(marsyard.__file__).parent

#: top-level packages and modules, each may import from those before it
ORDER = (
    # shared by all
    "renamed", "lazy", "errors", "units", "fields", "cards", "cores", "executors", "files",
    "file_mistakes", "exit_rule", "wheel_surface", "parts", "compile_watch", "compile_progress",
    "kernel_cache", "jit", "linear_algebra", "c_calls", "aside", "ports", "plugins", "run_folder",
    "rotations",
    # what there is
    "library", "robot", "ground", "control", "interaction.about", "scenario", "interaction",
    # what moves it
    "simulation",
    # what is kept and looked at
    "drawing", "web", "results",
    # the modules as black boxes, and one run with all of this
    "modules", "convergence", "run_record", "run_report", "single_run",
    # many runs, and what is said without one
    "study", "analysis", "comparison", "operations", "campaign", "gym", "fmi",
    # the doors
    "runner", "cli", "__main__",
)  # fmt: skip


@cache
def sources() -> list[tuple[str, Path, ast.Module]]:
    """Top-level package or module, file and syntax tree of every module."""
    found = []
    for path in sorted(ROOT.rglob("*.py")):
        package = package_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
        found.append((package, path, ast.parse(path.read_text(encoding="utf-8"))))
    return found


def package_of(name: str) -> str:
    """The package or module of `ORDER` that a dotted name belongs to: the first part, but for what
    laws say of themselves (`about`) and what scenarios may say to them (`options`)."""
    first, *rest = name.split(".")
    told = first == "interaction" and not {"about", "options"}.isdisjoint(rest)
    return "interaction.about" if told else first


def imported(tree: ast.AST, types: bool = True) -> Iterator[tuple[int, str]]:
    """Line and dotted name, without 'marsyard.', of all that a tree imports from marsyard; without
    `types` what only type checkers see is left out."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if not types and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            left += node.orelse
            continue
        left += ast.iter_child_nodes(node)
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            if name.startswith("marsyard."):
                yield node.lineno, name.removeprefix("marsyard.")


def is_private(part: str) -> bool:
    return part.startswith("_") and not part.startswith("__")


def private_part(name: str) -> str:
    """The name up to its first private part; empty if it has none."""
    parts = name.split(".")
    ends = [k for k, part in enumerate(parts, 1) if is_private(part)]
    return ".".join(parts[: ends[0]]) if ends else ""


def test_no_package_imports_private_names_of_another() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for package, path, tree in sources()
        for line, name in imported(tree)
        if private_part(name) and package_of(name) != package
    ]
    assert not wrong, "\n".join(wrong)


def test_every_package_has_a_place() -> None:
    found = {package for package, _, _ in sources()}
    assert found == {*ORDER, "__init__"}


def test_packages_import_only_from_those_before_them() -> None:
    wrong = []
    for package, path, tree in sources():
        if package == "__init__":  # the names of the package itself load when they are used
            continue
        for line, name in imported(tree, types=False):
            first = package_of(name)
            # names of marsyard itself come last of all, except for its version
            place = ORDER.index(first) if first in ORDER else len(ORDER)
            if first != "__version__" and place > ORDER.index(package):
                wrong.append(f"{path.relative_to(ROOT)}:{line} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_names_that_load_when_used_are_no_modules() -> None:
    """A module of such a name would take its place as soon as something imports it."""
    for package, path, tree in sources():
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_HOME":
                names = set(ast.literal_eval(node.value))
                modules = {each.stem for each in path.parent.iterdir()}
                assert not names & modules, f"{package}: {path.relative_to(ROOT)}"


#: a law's folder that the engine may import from: the solver of its rows
ENGINES_OWN = ("interaction.nonsmooth",)
#: names of laws that are words of the engine, too: what laws record, and the package
WORDS = {"columns", "mujoco"}


def in_words(name: str) -> str:
    """'CompliantLaw' and 'compliant_law' as '_compliant_law_'."""
    return f"_{re.sub('(?<=[a-z])(?=[A-Z])', '_', name).lower()}_"


def identifiers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Line and name of all variables, attributes, arguments, functions and classes."""
    for node in ast.walk(tree):
        for field in ("id", "attr", "arg", "name"):
            name = getattr(node, field, None)
            if isinstance(name, str) and not isinstance(node, ast.alias):
                yield getattr(node, "lineno", 0), name


def test_the_engine_names_no_law() -> None:
    """No law's name as a value or in the name of something, and nothing of a law's folder."""
    kinds = (*about.KINDS, about.ROBOT)
    names = {name for kind in kinds for name in about.laws(kind)} - {about.NONE.name}
    folders = [f"interaction.{p.parent.name}." for p in ROOT.glob("interaction/*/about.py")]
    wrong = []
    for package, path, tree in sources():
        if package != "simulation":
            continue
        wrong += [
            f"{path.name}:{node.lineno} names '{node.value}'"
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and node.value in names
        ]
        wrong += [
            f"{path.name}:{line} names {name}"
            for line, name in identifiers(tree)
            if any(f"_{law}_" in in_words(name) for law in names - WORDS)
        ]
        wrong += [
            f"{path.name}:{line} imports {name}"
            for line, name in imported(tree)
            if name.startswith(tuple(folders)) and not name.startswith(ENGINES_OWN)
        ]
    assert not wrong, "\n".join(wrong)


#: private names of other packages' objects that are used for want of public ones, by file
OF_OTHERS = {
    # numba's: its cache, and libraries compiled in parts
    "jit.py": {"_cache"},
    "kernel_cache.py": {"_cache", "_load_index", "_source_stamp"},
    "parts.py": {"_get_module_for_linking", "_module_pass_manager", "_reload_init"},
    # the addresses of mujoco's structures, which the compiled step works on
    "simulation/mujoco_c.py": {"_address"},
    "simulation/simulation.py": {"_address"},
    # viser's connections and controls, behind our own gate
    "operations/live/view.py": {"_client_connect_cb", "_client_disconnect_cb"},
    "web/viser_filter.py": {"_handle_incoming_message", "_websock_server"},
    "web/viser_messages.py": {"_impl"},
    "web/viser_site.py": {"_gui_input_handle_from_uuid", "_live_connections", "_websock_server"},
    # Python's
    "executors.py": {"_exit"},
    "web/viser_events.py": {"_get_running_loop"},
}
#: public in spite of their names
OF_TUPLES = {"_asdict", "_fields", "_make", "_replace"}


def private_uses(tree: ast.AST) -> Iterator[ast.Attribute]:
    """Private attributes of anything but the own object or class."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            if ast.unparse(node.value) not in ("self", "cls", "super()"):
                yield node


def private_definitions(tree: ast.AST) -> set[str]:
    """Private names that a file gives to functions, and to attributes of its own objects."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            if ast.unparse(node.value) == "self":
                found.add(node.attr)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found.add(node.target.id)
    return found


def test_private_attributes_are_used_where_they_are_defined() -> None:
    """In the same file, e.g. by a class that copies itself."""
    wrong, needed = [], {file: set[str]() for file in OF_OTHERS}
    for _, path, tree in sources():
        file, own = path.relative_to(ROOT).as_posix(), private_definitions(tree) | OF_TUPLES
        for node in private_uses(tree):
            if node.attr in OF_OTHERS.get(file, ()):
                needed[file].add(node.attr)
            elif node.attr not in own:
                wrong.append(f"{file}:{node.lineno} uses {ast.unparse(node)}")
    assert not wrong, "\n".join(wrong)
    assert needed == OF_OTHERS

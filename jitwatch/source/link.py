"""Joins the analysed files: helpers' roles into their callers, launches onto their kernels."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from jitwatch.source.model import (
    SILENT,
    BoundLaunch,
    Contiguity,
    Kernel,
    Key,
    Launch,
    Module,
    Parameter,
    Pass,
    Project,
    Role,
)

ROUNDS = 4
"""Helpers calling helpers: roles are handed up that many levels."""


def link(modules: Iterable[Module]) -> Project:
    """Return the index over all modules."""
    by_path = {module.path: module for module in modules}
    index = Index(by_path)
    linked = _propagate(by_path, index)
    kernels = {
        path: tuple(linked[kernel.key] for kernel in module.kernels) for path, module in by_path.items()
    }
    launches: dict[Key, list[BoundLaunch]] = defaultdict(list)
    for module in by_path.values():
        for launch in module.launches:
            for kernel in index.resolve(launch.target, module):
                launches[kernel.key].append(bind(launch, kernel))
    called = {
        target.key
        for module in by_path.values()
        for _, name in module.calls
        for target in index.resolve(name, module)
    }
    helpers = frozenset(
        kernel.key
        for module in by_path.values()
        for kernel in module.kernels
        if kernel.key not in launches and (kernel.key in called or not kernel.is_entry)
    )
    bound = {key: tuple(each) for key, each in launches.items()}
    return Project(by_path, kernels, bound, helpers, _fed(by_path, index, linked))


class Index:
    """Kernels by name, and which of them a name means in a module."""

    def __init__(self, modules: Mapping[str, Module]) -> None:
        self._by_name: dict[str, list[Kernel]] = defaultdict(list)
        for module in modules.values():
            for kernel in module.kernels:
                self._by_name[kernel.name].append(kernel)
        self._aliases = {
            (module.path, alias): name for module in modules.values() for alias, name in module.aliases
        }
        self._alias_names = {alias: name for module in modules.values() for alias, name in module.aliases}
        self._imports = {module.path: dict(module.imports) for module in modules.values()}

    def resolve(self, written: str, module: Module) -> list[Kernel]:
        """Return the kernels that a name written in a module can mean."""
        owner, _, name = written.rpartition(".")
        origin = self._imports[module.path].get(name if not owner else owner.partition(".")[0], "")
        if not owner and origin:
            name = origin.rpartition(".")[2]
        name = self._aliases.get((module.path, name), name)
        if name not in self._by_name:
            name = self._alias_names.get(name, name)
        found = self._by_name.get(name, [])
        local = [kernel for kernel in found if kernel.path == module.path]
        if local and not (origin and not owner):
            return _of_class(local, owner)
        package = (origin if owner else origin.rpartition(".")[0]).rpartition(".")[2]
        if not origin:
            return _of_class(found, owner) if owner and len(found) == 1 else []
        return [kernel for kernel in found if _stem(kernel.path) == package] or (
            found if len(found) == 1 else []
        )


def _of_class(kernels: list[Kernel], owner: str) -> list[Kernel]:
    """Prefer the kernels of the class that a launch names."""
    last = owner.rpartition(".")[2]
    return [kernel for kernel in kernels if kernel.qualname == f"{last}.{kernel.name}"] or kernels


def _stem(path: str) -> str:
    return path.replace("\\", "/").rpartition("/")[2].removesuffix(".py")


def bind(launch: Launch, kernel: Kernel) -> BoundLaunch:
    """Lay the arguments of a launch over the parameters of its kernel."""
    names = [parameter.name for parameter in kernel.parameters]
    arguments = dict(zip(names, launch.positional, strict=False))
    options = {}
    for name, value in launch.keywords:
        if name in names:
            arguments[name] = value
        else:
            options[name] = value
    return BoundLaunch(launch, arguments, options)


def _propagate(modules: Mapping[str, Module], index: Index) -> dict[Key, Kernel]:
    """Add to each parameter the roles that it has in the functions it is handed to."""
    linked = {kernel.key: kernel for module in modules.values() for kernel in module.kernels}
    for _ in range(ROUNDS):
        changed = {}
        for kernel in linked.values():
            if any(parameter.passes for parameter in kernel.parameters):
                module = modules[kernel.path]
                parameters = tuple(_with_passes(each, module, index, linked) for each in kernel.parameters)
                if parameters != kernel.parameters:
                    changed[kernel.key] = replace(kernel, parameters=parameters)
        if not changed:
            break
        linked |= changed
    return linked


def _with_passes(
    parameter: Parameter, module: Module, index: Index, linked: Mapping[Key, Kernel]
) -> Parameter:
    roles, contiguity = parameter.roles, parameter.contiguity
    for handed in parameter.passes:
        targets = [target for _, target in _targets([handed], module, index, linked)]
        if not targets:
            roles |= Role.PASSED
        for target in targets:
            roles |= target.roles & ~SILENT
            contiguity |= target.contiguity if handed.direct and not handed.followed else Contiguity.NONE
    return replace(parameter, roles=roles, contiguity=contiguity)


def _fed(
    modules: Mapping[str, Module], index: Index, linked: Mapping[Key, Kernel]
) -> dict[tuple[Key, str], tuple[tuple[Kernel, str], ...]]:
    """Map constexpr parameters of helpers to the constexprs of their callers that they take unchanged."""
    found: dict[tuple[Key, str], tuple[tuple[Kernel, str], ...]] = defaultdict(tuple)
    for caller in linked.values():
        for given in caller.parameters:
            handed = [each for each in given.passes if each.direct and given.is_constexpr]
            for kernel, target in _targets(handed, modules[caller.path], index, linked):
                if target.is_constexpr:
                    found[kernel.key, target.name] += ((caller, given.name),)
    return dict(found)


def _targets(
    handed: Iterable[Pass], module: Module, index: Index, linked: Mapping[Key, Kernel]
) -> Iterator[tuple[Kernel, Parameter]]:
    """Yield the functions and the parameters that get some arguments."""
    for each in handed:
        for kernel in index.resolve(each.function, module):
            for parameter in linked[kernel.key].parameters:
                if parameter.index == each.position or (each.keyword and parameter.name == each.keyword):
                    yield kernel, parameter

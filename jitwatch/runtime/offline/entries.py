"""Where Python code begins to run without the mode: new threads, and what torch calls while it handles a call.

A mode belongs to a thread, and is off while a torch function runs. A custom backward, a tensor hook or the body
of a custom operator is the program's own code inside such a function, so the mode is put back around it.
"""

from __future__ import annotations

import functools
import threading
from typing import Any, Callable

import torch
from torch.autograd.function import BackwardCFunction

from .mode import OfflineMode
from .patches import Patches
from .tensors import place_of, put, tensors_in


def keep_mode(mode: OfflineMode, patches: Patches) -> None:
    """Have the mode on wherever the program's own code runs."""
    _in_threads(mode, patches)
    _in_backward(mode, patches)
    _in_hooks(mode, patches)
    _in_module_hooks(mode, patches)
    _in_saved_tensors_hooks(mode, patches)
    _in_custom_operators(mode, patches)


def _with_mode(mode: OfflineMode, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with mode.active():
            return function(*args, **kwargs)

    return run


def _in_threads(mode: OfflineMode, patches: Patches) -> None:
    start = threading.Thread.start

    def start_with_mode(self: threading.Thread) -> None:
        self.run = _with_mode(mode, self.run)  # type: ignore[method-assign]
        start(self)

    patches.set(threading.Thread, "start", start_with_mode)


def _in_backward(mode: OfflineMode, patches: Patches) -> None:
    """The engine makes the gradients that a custom backward is given; they are where its outputs were."""

    def wrapped(apply: Callable[..., Any]) -> Callable[..., Any]:
        def apply_with_mode(self: Any, *args: Any) -> Any:
            place = getattr(self, "_jitwatch_place", None)
            if place is not None:
                for gradient in tensors_in(args):
                    put(gradient, place)
            with mode.active():
                return apply(self, *args)

        return apply_with_mode

    for name in ("apply", "apply_boxed"):
        if name in vars(BackwardCFunction):
            patches.set(BackwardCFunction, name, wrapped(vars(BackwardCFunction)[name]))
    _remember_places(patches)


def _remember_places(patches: Patches) -> None:
    original = torch.autograd.Function.apply.__func__

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(cls, *args, **kwargs)
        with torch._C.DisableTorchFunction():
            for output in tensors_in((result,)):
                place = place_of(output)
                if place is not None and isinstance(output.grad_fn, BackwardCFunction):
                    output.grad_fn._jitwatch_place = place
        return result

    patches.set(torch.autograd.Function, "apply", classmethod(apply))


def _in_hooks(mode: OfflineMode, patches: Patches) -> None:
    register = torch.Tensor.register_hook

    def register_with_mode(self: Any, hook: Callable[[Any], Any]) -> Any:
        with torch._C.DisableTorchFunction():
            place = place_of(self)

        def run(gradient: Any) -> Any:
            if place is not None:
                put(gradient, place)
            with mode.active():
                return hook(gradient)

        return register(self, run)

    patches.set(torch.Tensor, "register_hook", register_with_mode)
    later = getattr(torch.Tensor, "register_post_accumulate_grad_hook", None)
    if later is not None:
        patches.set(
            torch.Tensor,
            "register_post_accumulate_grad_hook",
            lambda self, hook: later(self, _with_mode(mode, hook)),
        )


def _in_module_hooks(mode: OfflineMode, patches: Patches) -> None:
    """``register_full_backward_hook``: the gradients are where the module is."""
    construct = torch.utils.hooks.BackwardHook.__init__

    def wrapped(hook: Callable[..., Any]) -> Callable[..., Any]:
        def run(module: Any, *gradients: Any) -> Any:
            with torch._C.DisableTorchFunction():
                places = (place_of(parameter) for parameter in module.parameters())
                place = next((place for place in places if place is not None), None)
                for gradient in tensors_in(gradients):
                    if place is not None:
                        put(gradient, place)
            with mode.active():
                return hook(module, *gradients)

        return run

    def construct_with_mode(self: Any, module: Any, hooks: Any, pre_hooks: Any) -> None:
        construct(self, module, [wrapped(hook) for hook in hooks], [wrapped(hook) for hook in pre_hooks])

    patches.set(torch.utils.hooks.BackwardHook, "__init__", construct_with_mode)


def _in_saved_tensors_hooks(mode: OfflineMode, patches: Patches) -> None:
    """Checkpointing runs a forward pass again when the backward pass asks for what was saved."""
    hooks = torch.autograd.graph.saved_tensors_hooks
    construct = hooks.__init__

    def construct_with_mode(self: Any, pack: Callable[..., Any], unpack: Callable[..., Any]) -> None:
        construct(self, _with_mode(mode, pack), _with_mode(mode, unpack))

    patches.set(hooks, "__init__", construct_with_mode)


def _in_custom_operators(mode: OfflineMode, patches: Patches) -> None:
    implement = torch.library.Library.impl

    def implement_with_mode(self: Any, name: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(function, type(implement)):  # a plain Python function, not torch.library's fallthrough
            function = _with_mode(mode, function)
        return implement(self, name, function, *args, **kwargs)

    patches.set(torch.library.Library, "impl", implement_with_mode)

"""Which remedies the user named."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from jitwatch.errors import JitwatchError
from jitwatch.specialization import Remedy

SPELLINGS = {
    **{remedy.value: remedy for remedy in Remedy},
    "alignment": Remedy.ALIGNMENT,
    "specialize": Remedy.SPECIALIZE,
    "runtime": Remedy.RUNTIME,
}


@dataclass(frozen=True)
class Wanted:
    """Parameters and remedies to verify; nothing named means what the plan or the source suggests."""

    remedies: tuple[tuple[str, Remedy | None], ...] = ()
    """Name of a parameter and the remedy for it; None: every sensible one."""
    kernels: frozenset[str] = field(default=frozenset())
    """Names of kernels, qualified or not; empty: all."""

    def takes_kernel(self, name: str) -> bool:
        """Whether a kernel is among those named."""
        return not self.kernels or name in self.kernels or name.rpartition(".")[2] in self.kernels

    def of(self, parameter: str, sensible: Iterable[Remedy]) -> list[Remedy]:
        """Remedies named for a parameter."""
        found: list[Remedy] = []
        for name, remedy in self.remedies:
            if name == parameter:
                found += [remedy] if remedy else sensible
        return list(dict.fromkeys(found))

    def missing(self, parameters: Collection[str]) -> list[str]:
        """Parameters named that no verified kernel has."""
        return [name for name, _ in self.remedies if name not in parameters]


def parse_remedies(texts: Iterable[str]) -> tuple[tuple[str, Remedy | None], ...]:
    """Read ``n`` or ``n=do_not_specialize``. Raises JitwatchError."""
    return tuple(map(_parse_remedy, texts))


def _parse_remedy(text: str) -> tuple[str, Remedy | None]:
    name, equals, spelled = text.partition("=")
    if not equals:
        return name.strip(), None
    if spelled.strip() not in SPELLINGS:
        raise JitwatchError(
            f"--remedy {text}: no remedy is called {spelled.strip()!r}; "
            f"choose one of {', '.join(remedy.value for remedy in Remedy)}"
        )
    return name.strip(), SPELLINGS[spelled.strip()]

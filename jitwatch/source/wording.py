"""Words that several rules share: where a value comes from, what a parameter does."""

from __future__ import annotations

from jitwatch.source.lengths import ON_ALIGNMENT, OPT_OUT, Judgement
from jitwatch.source.model import SILENT, Cardinality, Contiguity, Kernel, Origin, Parameter, Role, Span
from jitwatch.source.remedies import costs_width

USED = ~(SILENT | Role.POINTER)

_USES = (
    (Role.SHAPE, "shapes a tensor or an unrolled loop"),
    (Role.DESCRIPTOR, "is a size of a block pointer or descriptor"),
    (Role.LOOP, "counts a loop"),
    (Role.STRIDE, "multiplies an index"),
    (Role.ADDRESS, "moves an address"),
    (Role.COMPARED, "bounds a mask"),
    (Role.DIVISOR, "divides an index"),
    (Role.VALUE, "enters the arithmetic"),
)


def origin(judgement: Judgement) -> str:
    """Say in parentheses where a length comes from."""
    value = judgement.value
    if judgement.settled:
        return f" (`{_short(judgement.settled.text)}` in a heuristic)"
    if judgement.replaced:
        return " (the kernel loads one of its own in its place on some paths)"
    if value is None:
        return " (by its name)"
    root = value.hops[-1] if value.hops else ""
    if not root or root.startswith(f"{value.text} = "):
        return f" (`{_short(root or value.text)}`)"
    if root.startswith("argument "):
        _, name, _, owner = root.split(" ", 3)
        return f" (argument `{name}` of `{owner}`)" if name == value.text else f" (`{_short(value.text)}`)"
    return f" (`{_short(value.text)}`, by `{_short(root)}`)"


def what(judgement: Judgement, follows: str = "a length") -> str:
    """Say what a specialised argument is: a length, or what follows one."""
    return "the stride of a table's rows" if judgement.origin is Origin.ROW else follows


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def uses(parameter: Parameter) -> str:
    """Say what a kernel does with a parameter, shortly."""
    said = [text for role, text in _USES if role in parameter.roles]
    return " and ".join(said[:2]) or "is handed to other functions"


def spread(cardinality: Cardinality) -> str:
    """Say how many values there can be."""
    return {
        Cardinality.UNBOUNDED: "any value",
        Cardinality.LOG2: "a power of two",
        Cardinality.FEW: "a few values",
        Cardinality.ONE: "one value",
    }[cardinality]


def entry_span(kernel: Kernel, keyword: str, parameter: Parameter) -> Span:
    """Where a decorator's list names a parameter; the parameter itself when it does not."""
    for decorator in kernel.decorators:
        listing = decorator.listing(keyword)
        for entry in listing.entries if listing else ():
            if entry.name == parameter.name or entry.position == parameter.index:
                return entry.span
    return parameter.span


def opt_out_advice(parameter: Parameter) -> str:
    """Say how to take a run-time length out of the key."""
    advice = f'do_not_specialize=["{parameter.name}"]'
    if parameter.roles & USED == Role.COMPARED:
        return f"{advice}, or let the grid carry the count and drop the argument"
    return advice


def demotion_advice(kernel: Kernel, parameter: Parameter) -> str:
    """Say what to do about a length that is a constexpr, given what the kernel does with it."""
    demoted = f'drop tl.constexpr and add do_not_specialize=["{parameter.name}"]'
    if Role.SHAPE in parameter.roles:
        return (
            "it shapes a tensor or an unrolled loop: loop over fixed tiles, or pass a power of two as the constexpr "
            "and the length as a run-time bound"
        )
    if costs_width(kernel, parameter):
        return (
            "drop tl.constexpr and leave it specialised: it bounds the axis contiguous in memory, whose vectorised "
            "loads need its divisibility"
        )
    if Role.DIVISOR in parameter.roles:
        return f"{demoted}; as a divisor it is cheaper constant, so keep it if this program only ever sees one value"
    return demoted


def feeding_advice(kernel: Kernel, parameter: Parameter, judgement: Judgement) -> str:
    """Say what to do about a constexpr that is computed from a length."""
    if judgement.cardinality is Cardinality.LOG2:
        return "bound it, as min(1024, next_power_of_2(...)) does, or warm every power of two up before traffic comes"
    return demotion_advice(kernel, parameter)


def compiles(cardinality: Cardinality) -> str:
    """Say how many compiles a value in the key means."""
    if cardinality is Cardinality.LOG2:
        return "a compile for each power of two"
    return "it can take any value, each a compile"


def need(parameter: Parameter) -> str:
    """Say why an access needs the divisibility of a parameter."""
    if Contiguity.MASK in parameter.contiguity:
        return "bounds the axis contiguous in memory"
    if Contiguity.STRIDE in parameter.contiguity:
        return "sets where each row starts"
    return "sets where the access starts"


def streams(kernel: Kernel) -> str:
    """Name the tensors that a kernel accesses along memory."""
    names = [f"`{name}`" for name in kernel.streams[:3]]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def opted_out_beside(kernel: Kernel) -> str:
    """Name the first parameter that the kernel opts out."""
    return next(parameter.name for keyword in (OPT_OUT, ON_ALIGNMENT) for parameter in kernel.listed(keyword))


def keep_advice(parameter: Parameter) -> str:
    """Say what to write instead of an opt-out that costs vector width."""
    if Contiguity.MASK in parameter.contiguity:
        return (
            "take it out of the list: it makes three variants and no more; or add an EVEN heuristic that drops the "
            "mask where the length is a multiple of the block"
        )
    return "take it out of the list, or pass it divided by 16 where it is always a multiple, and multiply in the kernel"

"""One run of the linter: paths or sources in, findings and problems out."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from jitwatch.fix.text import settle, with_parentheses
from jitwatch.lint.analysis import Progress, analyse, check_syntax, internal_error
from jitwatch.lint.cache import Cache, digest, dumps
from jitwatch.lint.config import Configuration
from jitwatch.lint.discovery import Problem, discover
from jitwatch.lint.evidence import Recording, with_evidence
from jitwatch.lint.finding import Finding
from jitwatch.lint.registry import all_rules
from jitwatch.lint.rule import Rule
from jitwatch.lint.sources import Sources, launched_names, mentions_kernels, read_sources
from jitwatch.lint.suppressions import apply_suppressions, find_suppressions
from jitwatch.source.model import Module, Project


@dataclass(frozen=True)
class Outcome:
    """What a run came to."""

    findings: tuple[Finding, ...] = ()
    """By file and place; suppressed ones among them, marked."""
    problems: tuple[Problem, ...] = ()
    """Files that could not be linted."""
    read: frozenset[str] = frozenset()
    """Python files that were looked at."""
    kernels_in: Mapping[str, int] = field(default_factory=dict)
    """Number of kernels by file, where there are any."""
    notebooks: int = 0
    """Notebooks left out."""
    sources: Mapping[str, bytes] = field(default_factory=dict)
    """Contents of the files that were parsed."""
    project: Project | None = None
    """What the files say, when ``Options.keep_project`` asks for it."""

    @property
    def shown(self) -> tuple[Finding, ...]:
        """Findings that no comment suppresses."""
        return tuple(finding for finding in self.findings if not finding.suppressed)

    @property
    def kernels(self) -> int:
        """Number of kernels."""
        return sum(self.kernels_in.values())


@dataclass(frozen=True)
class Options:
    """How to run, apart from what to look for."""

    cache: Cache | None = None
    jobs: int | None = None
    """Worker processes; None: one a core."""
    force_exclude: bool = False
    progress: Progress | None = None
    recording: Recording | None = None
    """A profiled run to hold the findings against."""
    overlay: Mapping[str, bytes] = field(default_factory=dict)
    """Contents that take the place of those on disk."""
    keep_project: bool = False
    """Whoever applies fixes needs the kernels and launches, too."""
    report: Collection[str] | None = None
    """Files whose findings are wanted; None: of all. Planning the edits of every finding in vLLM takes twice as long
    as finding them."""


def lint_paths(paths: Iterable[str], configuration: Configuration, options: Options | None = None) -> Outcome:
    """Lint files and folders."""
    options = options or Options()
    found = discover(paths, configuration, force_exclude=options.force_exclude)
    sources = read_sources(_context(configuration) | found.files, configuration)
    for path in options.overlay.keys() & sources.read:
        named, decorators = found.files.get(path, False), configuration.decorators(path)
        sources.add(path, options.overlay[path], named=named, decorators=decorators)
    outcome = _only(found.files, _lint(sources, configuration, options))
    return replace(outcome, problems=(*outcome.problems, *found.problems), notebooks=found.notebooks)


def lint_text(
    path: str, source: bytes, configuration: Configuration, options: Options | None = None
) -> Outcome:
    """Lint a text as if it stood in the file ``path``."""
    return lint_texts({path: source}, (), configuration, options)


def lint_texts(
    texts: Mapping[str, bytes],
    folders: Iterable[str],
    configuration: Configuration,
    options: Options | None = None,
) -> Outcome:
    """Lint texts as if they stood in the files of these names, among the files of ``folders``."""
    around = _context(configuration) | dict.fromkeys(discover(folders, configuration).files, False)
    read = {path: named for path, named in around.items() if path not in texts}
    sources = read_sources(read, configuration)
    for path, text in texts.items():
        sources.add(path, text, named=True, decorators=configuration.decorators(path))
    return _only(texts, _lint(sources, configuration, options or Options()))


def lint_sources(
    files: Mapping[str, bytes], configuration: Configuration, options: Options | None = None
) -> Outcome:
    """Lint contents, as if they stood in files of these names."""
    sources = Sources(screened=dict(files), read=set(files))
    return _lint(sources, configuration, options or Options())


def _context(configuration: Configuration) -> dict[str, bool]:
    """Files to look at, though not to report on, for the launches and kernels of those that are linted."""
    settings = configuration.of(".")
    folders = [os.path.join(settings.root, path) for path in settings.context]
    folders += configuration.overrides.context
    return dict.fromkeys(discover(folders, configuration).files, False)


def _only(files: Collection[str], outcome: Outcome) -> Outcome:
    """Leave out what an outcome says about other files."""
    return replace(
        outcome,
        findings=tuple(finding for finding in outcome.findings if finding.path in files),
        problems=tuple(problem for problem in outcome.problems if problem.path in files),
        read=outcome.read.intersection(files),
        kernels_in={path: number for path, number in outcome.kernels_in.items() if path in files},
    )


def _lint(sources: Sources, configuration: Configuration, options: Options) -> Outcome:
    """Answer from the cache when nothing has changed since a run over the same files."""
    cache = options.cache
    partial = options.keep_project or options.report is not None
    if cache is None or options.recording is not None or partial:
        return _run(sources, configuration, options)
    name = digest("run", *sorted(sources.screened), *sorted(sources.others))
    content = _content(sources, configuration)
    stored = cache.load(name, content)
    if stored is None:
        outcome = _run(sources, configuration, options)
        kept = (outcome.findings, outcome.problems[len(sources.problems) :], outcome.kernels_in)
        cache.store(name, content, dumps(kept))
        return outcome
    findings, problems, kernels_in = stored
    return Outcome(
        findings=findings,
        problems=(*sources.problems, *problems),
        read=frozenset(sources.read),
        kernels_in=kernels_in,
        sources={**sources.screened, **sources.others},
    )


def _content(sources: Sources, configuration: Configuration) -> bytes:
    """Digest of all that the findings depend on."""
    parts: list[bytes | str] = []
    for path, source in sorted({**sources.screened, **sources.others}.items()):
        settings = configuration.of_file(path)
        codes = " ".join(sorted(settings.codes_for(path)))
        parts += [path, source, codes, repr(configuration.decorators(path))]
    return digest(*parts)


def _run(sources: Sources, configuration: Configuration, options: Options) -> Outcome:
    from jitwatch.source import link

    parsed = {
        path: source
        for path, source in sources.screened.items()
        if mentions_kernels(source, configuration.decorators(path)) or b"](" in source
    }
    modules, problems = analyse(parsed, configuration, options.cache, options.jobs, options.progress)
    for path in sources.screened.keys() - parsed.keys():
        if problem := check_syntax(path, sources.screened[path]):
            problems.append(problem)
    launchers = _launchers(sources, modules)
    more, more_problems = analyse(launchers, configuration, options.cache, options.jobs)
    modules |= more
    project = link([modules[path] for path in sorted(modules)])
    unparsed = {problem.path for problem in problems + more_problems}
    contents = {
        path: source for path, source in {**sources.screened, **launchers}.items() if path not in unparsed
    }
    findings, failures = _check(modules, project, contents, configuration, options)
    return Outcome(
        findings=tuple(findings),
        problems=(*sources.problems, *sorted(problems + more_problems), *failures),
        read=frozenset(sources.read),
        kernels_in={path: len(module.kernels) for path, module in modules.items() if module.kernels},
        sources=contents,
        project=project if options.keep_project else None,
    )


def _launchers(sources: Sources, modules: Mapping[str, Module]) -> dict[str, bytes]:
    """Those of the other files that subscript and call a name that is a kernel's."""
    kernels = {kernel.name.encode() for module in modules.values() for kernel in module.kernels}
    return {
        path: source
        for path, source in sources.others.items()
        if not kernels.isdisjoint(launched_names(source))
    }


def _check(
    modules: Mapping[str, Module],
    project: Project,
    contents: Mapping[str, bytes],
    configuration: Configuration,
    options: Options,
) -> tuple[list[Finding], list[Problem]]:
    """Run the rules, then lay the suppressing comments and the run over what they found."""
    recording = options.recording
    codes = {path: configuration.of_file(path).codes_for(path) for path in contents}
    found: dict[str, set[Finding]] = {path: set() for path in contents}
    problems = _apply_rules(modules.values(), codes, found, lambda rule, module: rule.check(module, project))
    if recording is not None:
        problems |= _apply_rules(
            modules.values(),
            codes,
            found,
            lambda rule, module: rule.check_run(module, project, recording, tuple(found[module.path])),
        )
    findings: list[Finding] = []
    for path, source in contents.items():
        if options.report is not None and path not in options.report:
            continue
        settled = (_settled(finding, source, project, contents) for finding in found[path])
        findings += _suppress(path, source, sorted(settled), codes[path])
    ordered = sorted(findings) if recording is None else with_evidence(findings, recording)
    return ordered, list(problems.values())


def _settled(finding: Finding, source: bytes, project: Project, contents: Mapping[str, bytes]) -> Finding:
    """Turn what a rule proposes into edits of the files as they are."""
    if finding.change is not None:
        from jitwatch.fix.plan import with_edits

        return with_edits(finding, project, contents)
    return replace(
        finding, edits=tuple(settle(source, with_parentheses(source, edit)) for edit in finding.edits)
    )


def _apply_rules(
    modules: Iterable[Module],
    codes: Mapping[str, frozenset[str]],
    found: Mapping[str, set[Finding]],
    check: Callable[[Rule, Module], Iterator[Finding]],
) -> dict[str, Problem]:
    """Add to ``found`` what the selected rules find; returns the mistakes of rules, each said once."""
    problems: dict[str, Problem] = {}
    for module in modules:
        for code in sorted(codes[module.path]):
            try:
                for finding in check(all_rules()[code], module):
                    if code in codes[finding.path]:
                        found[finding.path].add(finding)
            except Exception as error:  # noqa: BLE001 (one rule's mistake must not silence the others)
                message = f"{code}: {internal_error(error)}"
                problems.setdefault(message, Problem(module.path, None, None, message))
    return problems


def _suppress(path: str, source: bytes, findings: list[Finding], codes: frozenset[str]) -> list[Finding]:
    rules = all_rules()
    suppressions = find_suppressions(source, rules)
    if not suppressions:
        return findings
    findings, suppressions = apply_suppressions(findings, suppressions)
    for code in sorted(codes):
        about_comments = list(rules[code].check_suppressions(path, suppressions, codes))
        # A comment may excuse another comment, but not itself.
        findings += apply_suppressions(about_comments, [s for s in suppressions if code in s.codes])[0]
    return findings

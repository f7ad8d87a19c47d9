"""The language server: the linter beside an editor's buffers, on disk or not.

``buffers``      lints what is open, among the files of the workspace
``index``        what was analysed, kept in memory from one change to the next
``text``         places of a file as the protocol counts them
``snapshot``     the buffers at one moment, and what a lint of them came to
``diagnostics``  findings as diagnostics
``actions``      findings as quick fixes, and the comment that leaves one where it is
``fixall``       all safe fixes of a file at once
``parameters``   the kernel's parameter at a place: declared, used, named in a list or fed by a launch
``splits``       the specialization classes that a parameter's values fall into
``explain``      a parameter in words, for a hover
``session``      when to lint, what to tell the editor, what to answer
``serve``        connects a session to an editor

``buffers``, ``index``, ``parameters``, ``splits`` and ``explain`` know nothing of the protocol, for which
pygls is there (the extra ``lsp``).
"""

from __future__ import annotations

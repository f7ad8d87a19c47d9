"""Keep recompiles out for good: the pytest plugin.

``no_recompiles``  a fixture: ``with no_recompiles:`` lets no launch inside miss; never entered, it guards the test
``jitwatch``       a fixture: what happened, how many variants, a sweep over lengths
``max_recompiles`` a marker: at most so many

A test that uses one of them starts as if no other test had launched its kernels (``memory``), so that its verdict
depends neither on the order of the tests nor on how they are spread over workers.

pytest loads ``plugin`` into every session, so it imports nothing: the modules beside it are imported when a test
asks for them.
"""

from __future__ import annotations

from jitwatch.testing.errors import RecompileError

__all__ = ["RecompileError"]

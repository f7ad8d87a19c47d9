"""The parent's side of `jitwatch profile`: prepare a run, start the command, stay its parent. Imports no Triton."""

"""The `warplens` command: `main` finds the verbs, one module each, with `add_parser` and `run`."""

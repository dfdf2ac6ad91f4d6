"""Types of the results of all commands, one module per command.

A result is a frozen `msgspec.Struct`. It holds numbers, names and nested structs, and no behaviour: `meta`
computes it, `reporting` renders it, and its JSON and JSON schema follow from its fields.
"""

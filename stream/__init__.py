"""The service: wires source, state, mechanism and sink together and runs them.

`MAY_IMPORT` in tests/test_layers.py says which packages may import which: this one imports
`ktsafe`, `state` and `connectors`; of ours only `protection` and `assess` import it.
"""

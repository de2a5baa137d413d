"""The service: wires source, state, mechanism and sink together and runs them."""

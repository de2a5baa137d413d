"""Commands that assess releases, and the demo.

Options are documented by their own help: after a change `make reference`.
"""

"""Defects of the product, written by hand, and what must find them: `make planted`.

Each room has a file of them. A defect is a piece of the product's text that occurs once, what
stands in its place, what that would do, and the tests that are asked. It is found by its text,
so it stays where code is moved; where code is changed, `test_planted.py` asks for a new text.
"""

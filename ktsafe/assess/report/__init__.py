"""The report: a release's promise, its worth, and its least protected people.

Templates and style lie beside these modules. Pages run no script and load nothing
(tests/ktsafe/assess/report/test_pages.py).
"""

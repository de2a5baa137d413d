"""The report: a release's promise, its worth, and its least protected people.

Looks may be changed freely, in the templates and the style beside these modules; pages run no
script and load nothing (tests/ktsafe/assess/report/test_pages.py).
"""

"""What a sequence remembers: tables, pages, the true graph, changes.

What is kept here lies in the states of services: another meaning or layout needs a conversion in
`lab/convert`.
"""

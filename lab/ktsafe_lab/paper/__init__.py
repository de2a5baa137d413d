"""The paper's own strategies, under the paper's names, to compare with.

They do what the text of "kt-Safety: Graph Release via k-Anonymity and t-Closeness" says. Where the
text is unsafe they are unsafe; `lab/paper-map.md` lists what was read how, and what is refuted.
"""

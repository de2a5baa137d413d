"""What is planted can be planted: each defect still has its place, and tests that are asked."""

import ast
from collections import Counter

from tests.planted.defects import ROOT, defects, place, planted, product


def test_each_defect_applies_to_the_code():
    """Its old text occurs once, the new one is Python, its tests are there; no id comes twice."""
    texts = product()
    everything = list(defects())
    contracts = "".join(p.read_text("utf-8") for p in (ROOT / "lab").rglob("*_contract.py"))
    assert len(everything) > 50
    assert [name for name, n in Counter(d.id for d in everything).items() if n > 1] == []
    for defect in everything:
        path = place(defect, texts)
        changed = planted(defect, texts[path])
        assert changed != texts[path], defect.id
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(texts[path])), defect.id
        file, _, name = defect.test.partition("::")
        assert name, defect.id
        within, _, function = name.split("[")[0].rpartition("::")
        text = (ROOT / file).read_text("utf-8") + (contracts if within else "")
        assert f"def {function}(" in text, (defect.id, defect.test)

"""What the page on the library shows is what its examples print."""

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "library.md"


def test_the_examples_print_what_the_page_shows():
    """Every example, one after the other, to the letter."""
    fences = str.maketrans({"`": None})
    text = PAGE.read_text(encoding="utf-8").replace("```python", "").translate(fences)
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    test = parser.get_doctest(text, {}, PAGE.name, str(PAGE), 0)
    assert test.examples
    said: list[str] = []
    assert runner.run(test, out=said.append).failed == 0, "".join(said)

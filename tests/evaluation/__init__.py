"""The paper's evaluation, run again: `make paper`. The page it writes is docs/evaluation.md."""

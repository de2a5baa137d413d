"""The paper's evaluation, run again (`make paper`), and what others publish (`make peers`)."""

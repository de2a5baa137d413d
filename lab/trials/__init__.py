"""Long runs against real data and a real broker: `make trials DATA=folder`. No part of the suite.

Each trial prints what it saw and fails loudly; smaller versions of the same checks are tests.
"""

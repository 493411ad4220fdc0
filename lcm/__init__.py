"""Long Context Manager: the memory under coding agents."""

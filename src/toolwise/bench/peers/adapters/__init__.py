"""One script per rival, run by the rival's own Python: none imports toolwise, and toolwise imports none."""

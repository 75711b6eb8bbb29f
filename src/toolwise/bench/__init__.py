"""Systems x data sets -> results: what is measured, how, and how it is shown."""

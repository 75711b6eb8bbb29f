"""Text -> unit vectors, by a packaged static table or models of the user's choice."""

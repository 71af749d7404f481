"""Results for users: text for the terminal, pages for the browser, plain data for programs."""

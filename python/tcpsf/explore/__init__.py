"""The playground of `tcpsf explore`: a page that simulates in the browser."""

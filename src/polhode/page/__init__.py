"""The page that shows motions: its content, its file, its server, and where it is displayed."""

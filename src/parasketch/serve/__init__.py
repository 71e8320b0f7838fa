"""The HTTP side: a REST service, the explorer and the pages on which people judge systems (extra `serve`)."""

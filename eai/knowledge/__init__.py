"""Knowledge bases, their documents, versions and chunks, and who may see them."""

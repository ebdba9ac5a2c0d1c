"""From a document to its versions, passages and generations, and to the answers that cited it."""

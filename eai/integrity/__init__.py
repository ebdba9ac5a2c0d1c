"""Whether what is stored agrees with itself: rows, index, audit and ledger, compared tenant by tenant."""

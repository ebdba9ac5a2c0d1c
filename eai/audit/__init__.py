"""Who did what, in a chain per tenant that anybody can check without trusting the database."""

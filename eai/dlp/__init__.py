"""What texts hold that may not go everywhere: found on normalised text, judged by each tenant's rules."""

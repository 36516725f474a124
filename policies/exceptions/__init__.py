"""What breaks a clause and is accepted all the same: waivers that expire, and baselines of what was known before."""

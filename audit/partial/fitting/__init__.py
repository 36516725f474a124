"""Margin fitting: people spread over leaves of known sizes, with the greatest entropy, and the rows that this keeps."""

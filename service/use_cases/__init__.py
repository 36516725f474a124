"""What can be done with the service: one function a use case, whoever asks for it."""

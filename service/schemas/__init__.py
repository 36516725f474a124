"""What goes into the service and comes out of it: the bodies of requests and answers."""

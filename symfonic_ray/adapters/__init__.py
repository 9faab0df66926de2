"""One file for each foreign kind of model or agent; each imports its library only when it is used."""

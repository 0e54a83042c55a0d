"""The room of a person's commands: what can be typed while a run goes on, and what each comes to. Pure."""

"""NetworkX's backend "gstream": its functions, answered by our algorithms where the definitions are the same."""

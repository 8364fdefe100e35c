package seeded

var wrong int = "a word"

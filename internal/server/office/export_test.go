package office

// TextWithin is Text that unpacks at most so many bytes.
var TextWithin = text

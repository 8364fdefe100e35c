package main

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// asSentence makes one of a usage text.
func asSentence(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	if s == "" {
		return ""
	}
	return string(unicode.ToUpper(first)) + s[size:] + "."
}

// paragraphs sets a description: text, and below it examples, which are indented.
func paragraphs(description string) string {
	var b strings.Builder
	for part := range strings.SplitSeq(description, "\n\n") {
		switch {
		case part == "":
		case strings.HasPrefix(part, "   "):
			b.WriteString(".Bd -literal -offset indent\n")
			for line := range strings.SplitSeq(part, "\n") {
				b.WriteString(protect(roff(strings.TrimPrefix(line, "   "))) + "\n")
			}
			b.WriteString(".Ed\n")
		default:
			b.WriteString(".Pp\n" + running(part))
		}
	}
	return b.String()
}

// endOfSentence is followed by a new line in mdoc.
var endOfSentence = regexp.MustCompile(`(?:[a-z0-9)*]|[A-Z]{2})[.!?]$`) //nolint:gochecknoglobals // a constant that Go cannot write

// running sets text in lines of at most 78 bytes, and sentences on lines of their own.
func running(text string) string {
	var b strings.Builder
	line := ""
	end := func() {
		if line != "" {
			b.WriteString(protect(line) + "\n")
		}
		line = ""
	}
	for _, word := range strings.Fields(text) {
		set := strings.NewReplacer(`\`, `\e`, "()", `\&()`).Replace(word) // () would be a function of C
		if strings.HasPrefix(strings.TrimLeft(word, `("`), "-") {         // an option, and no hyphen
			set = roff(word)
		}
		if line != "" && len(line)+1+len(set) > 78 {
			end()
		}
		line = strings.TrimPrefix(line+" "+set, " ")
		if endOfSentence.MatchString(word) {
			end()
		}
	}
	end()
	return b.String()
}

// roff spells s so that troff prints it as it is.
func roff(s string) string {
	return strings.NewReplacer(`\`, `\e`, "-", `\-`, "~", `\(ti`, "^", `\(ha`).Replace(s)
}

// protect keeps a line of text from being a request.
func protect(line string) string {
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		return `\&` + line
	}
	return line
}

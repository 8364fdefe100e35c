package hostile

import "strings"

// splitWords reads words separated by commas, a comma inside escaped by a backslash.
// An empty s has no words.
func splitWords(s string) []string {
	if s == "" {
		return nil
	}
	words := splitRaw(s, ',', -1)
	for i := range words {
		words[i] = unescape(words[i])
	}
	return words
}

// joinWords is the inverse of splitWords.
func joinWords(words []string) string {
	escaped := make([]string, len(words))
	for i, w := range words {
		escaped[i] = strings.NewReplacer(`\`, `\\`, ",", `\,`).Replace(w)
	}
	return strings.Join(escaped, ",")
}

// parseMetadata reads key1=value1,key2=value2, comma and equals sign escaped by a
// backslash. It reports false when an entry has no equals sign or no key.
func parseMetadata(s string) (map[string]string, bool) {
	entries := map[string]string{}
	if s == "" {
		return entries, true
	}
	for _, entry := range splitRaw(s, ',', -1) {
		pair := splitRaw(entry, '=', 2)
		if len(pair) != 2 || pair[0] == "" {
			return nil, false
		}
		entries[unescape(pair[0])] = unescape(pair[1])
	}
	return entries, true
}

// splitRaw splits s at each sep that is not escaped, into at most limit parts (all
// when it is negative), and leaves the escapes in.
func splitRaw(s string, sep byte, limit int) []string {
	var parts []string
	start := 0
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == sep && len(parts)+1 != limit:
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

// unescape takes the backslash off a comma, an equals sign and a backslash.
func unescape(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\,`, ",", `\=`, "=").Replace(s)
}

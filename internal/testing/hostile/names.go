package hostile

import "strings"

// OddNames returns names that documents and folders of a real archive may bear and
// that a file system has to make something of. Two of them are equal.
func OddNames() []string {
	return []string{
		"Rechnung 1234-5",       // no extension
		"Rechnung 1234-5",       // once more
		"RECHNUNG 1234-5",       // differs in case only
		"",                      // empty
		" ", " leading", "end ", // blanks
		".", "..", "...", ".git", // dots
		"/", "a/b", "../../etc/passwd", "C:\\Temp\\x.pdf", "a\\b",
		"nul\x00byte", "line\nfeed", "tab\there", "bell\a", "esc\x1b[31mred", "cr\rlf\n",
		"inboxes", ".archivefs", // what the file system itself uses
		"-rf", "--help", "$(reboot)", "`id`", "'\"", "a*b?c[d]", "%s%n", "~", "#1", "a&b;c|d",
		"x=y,z\\,w",                 // separators of keywords and metadata
		"Gr\u00f6\u00dfe.pdf",       // composed (NFC)
		"Gro\u0308\u00dfe.pdf",      // decomposed (NFD)
		"invoice\u202efdp.exe",      // right-to-left override
		"\u2066isolate\u2069",       // isolates
		"zero\u200bwidth\ufeff",     // invisible
		"line\u2028separator\u0085", // line ends of Unicode
		"\ufffd replaced",           // what invalid UTF-8 became
		"\U0001f4c4 page.pdf",       // beyond the basic plane
		"Thumbs.db", ".DS_Store",    // junk to a client, documents here
		"~$Brief.docx", "scan.part", // likewise
		"CON", "x.pdf.", "a:b", // odd elsewhere
		"2018", "1e9", "null", "true", // look like other JSON values
		strings.Repeat("n", 255), strings.Repeat("n", 300) + ".pdf",
		strings.Repeat("\u00e4", 128) + ".pdf", // 260 bytes, 132 characters
		strings.Repeat("long/", 400),
	}
}

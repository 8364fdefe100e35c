package text

import (
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// HTML returns the text of an HTML page, a line for each paragraph, and the addresses of its pictures.
func HTML(page string) (text string, pictures []string) {
	tokens := html.NewTokenizer(strings.NewReader(page))
	w := &lines{}
	hidden := 0 // the nesting of elements that are not shown
	for {
		kind := tokens.Next()
		switch kind {
		case html.ErrorToken: // the end
			return w.end(), pictures
		case html.TextToken:
			if hidden == 0 {
				w.words(string(tokens.Text()))
			}
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			token := tokens.Token()
			switch {
			case token.DataAtom == atom.Body: // </head> is optional
				hidden = 0
			case unseen(token.DataAtom) && kind == html.StartTagToken:
				hidden++
			case unseen(token.DataAtom) && kind == html.EndTagToken:
				hidden = max(0, hidden-1)
			case token.DataAtom == atom.Img && hidden == 0:
				picture, alternative := picture(token)
				pictures = append(pictures, picture)
				w.words(alternative)
			default:
				w.tag(token.DataAtom, kind)
			}
		}
	}
}

// unseen reports whether the content of an element is not shown.
func unseen(element atom.Atom) bool {
	switch element {
	case atom.Head, atom.Script, atom.Style, atom.Template, atom.Noscript:
		return true
	}
	return false
}

// picture returns the address and the alternative text of a picture.
func picture(token html.Token) (address, alternative string) {
	for _, a := range token.Attr {
		switch a.Key {
		case "src":
			address = a.Val
		case "alt":
			alternative = a.Val
		}
	}
	return address, alternative
}

// lines writes words with one blank between them, in lines.
type lines struct {
	b     strings.Builder
	blank bool // before the next word
	empty int  // line ends since the last word
}

func (w *lines) words(s string) {
	for len(s) > 0 {
		n := strings.IndexAny(s, " \t\r\n\f")
		switch {
		case n == 0:
			w.blank, s = true, s[1:]
			continue
		case n < 0:
			n = len(s)
		}
		if w.blank && w.empty == 0 && w.b.Len() > 0 {
			w.b.WriteByte(' ')
		}
		w.b.WriteString(s[:n])
		w.blank, w.empty, s = false, 0, s[n:]
	}
}

// newline ends the line, unless there are already that many line ends.
func (w *lines) newline(most int) {
	if w.b.Len() > 0 && w.empty < most {
		w.b.WriteByte('\n')
		w.empty++
	}
	w.blank = false
}

// tag writes the line breaks and marks of an element.
func (w *lines) tag(element atom.Atom, kind html.TokenType) {
	switch element {
	case atom.Br:
		w.newline(2)
	case atom.P, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Blockquote, atom.Table, atom.Ul, atom.Ol, atom.Pre:
		w.newline(1)
		w.newline(2)
	case atom.Li:
		w.newline(1)
		if kind == html.StartTagToken {
			w.words("* ")
		}
	case atom.Td, atom.Th:
		if kind == html.EndTagToken {
			w.words("\t")
		}
	case atom.Div, atom.Tr, atom.Hr, atom.Dt, atom.Dd, atom.Title, atom.Section, atom.Article, atom.Header, atom.Footer, atom.Form, atom.Option:
		w.newline(1)
	}
}

func (w *lines) end() string {
	text := strings.TrimRight(w.b.String(), "\n")
	if text != "" {
		text += "\n"
	}
	return text
}

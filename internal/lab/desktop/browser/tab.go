//go:build linux

package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/audits"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/archivefs/archivefs/internal/lab/desktop/screen"
)

// Keys that have no letter.
const (
	TabKey = "\t"
	Enter  = "\r"
	Space  = " "
	Escape = "\x1b"
)

// Tab is a page in a window.
type Tab struct {
	screen *screen.Screen
	ctx    context.Context // of chromedp, which keeps the page there
	close  context.CancelFunc

	mu         sync.Mutex
	host       string   // guarded by mu: of the page
	complaints []string // guarded by mu
}

// Tab opens a window with no page yet. A stranger has cookies of his own.
func (b *Browser) Tab(stranger bool) (*Tab, error) {
	t := &Tab{screen: b.screen}
	options := []chromedp.ContextOption{chromedp.WithListener(t.note)}
	if stranger {
		options = append(options, chromedp.WithNewBrowserContext())
	}
	t.ctx, t.close = chromedp.NewContext(b.ctx, options...)
	_, noted := chromedp.Call(t.ctx, audits.Enable, struct{}{})
	_, focused := chromedp.Call(t.ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}) // whichever window is in front
	_, hidden := chromedp.Call(t.ctx, emulation.SetScrollbarsHidden, emulation.SetScrollbarsHiddenParams{Hidden: true})             // a picture of the whole page needs none
	if err := errors.Join(noted, focused, hidden); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// Close closes the window.
func (t *Tab) Close() { t.close() }

// note notes what is wrong.
func (t *Tab) note(event any) {
	what, host := complaint(event)
	t.mu.Lock()
	defer t.mu.Unlock()
	if what != "" && (host == "" || host != t.host) {
		t.complaints = append(t.complaints, what)
	}
}

// complaint is what an event says is wrong, empty for nothing. A request is wrong unless its host is the page's.
func complaint(event any) (what, host string) {
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if u, err := url.Parse(e.Request.URL); err == nil {
			host = u.Host
		}
		return "a request to " + e.Request.URL, host
	case *log.EventEntryAdded:
		return fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL), ""
	case *runtime.EventConsoleAPICalled:
		return fmt.Sprintf("the console: %s", e.Type), ""
	case *runtime.EventExceptionThrown:
		return e.ExceptionDetails.Text, ""
	case *audits.EventIssueAdded:
		details, _ := json.Marshal(e.Issue.Details) // its code says most
		return fmt.Sprintf("%s %s", e.Issue.Code, details), ""
	}
	return "", ""
}

// Complaints are what was noted since they were last taken.
func (t *Tab) Complaints() (all []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, t.complaints = t.complaints, nil
	return all
}

// Open opens an address and returns the status of the answer.
func (t *Tab) Open(address string) (status int, err error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, err
	}
	t.mu.Lock()
	t.host = u.Host
	t.mu.Unlock()
	r, err := chromedp.Run(t.ctx, chromedp.NavigateResponse(address))
	if err != nil {
		return 0, err
	}
	return int(r.Status), nil
}

// Press presses a key.
func (t *Tab) Press(key string) error { return chromedp.Do(t.ctx, chromedp.KeyEvent(key)) }

// Look makes the page as wide as that, in CSS pixels, with light or dark colours.
func (t *Tab) Look(width int64, dark bool) error {
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	_, err := chromedp.Call(t.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	if err != nil {
		return err
	}
	return chromedp.Do(t.ctx, chromedp.EmulateViewport(width, 640))
}

// Eval is what an expression of JavaScript says about the page.
func Eval[T any](t *Tab, expression string) (T, error) {
	return chromedp.Run(t.ctx, chromedp.Evaluate[T](expression))
}

// Node is something of the page, as a screen reader gets it.
type Node struct {
	Role, Name, Description, Value string
	Properties                     map[string]string
}

// Tree are the nodes of the page that a screen reader gets, from the top.
func (t *Tab) Tree() ([]Node, error) {
	tree, err := chromedp.Call(t.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	var all []Node
	for _, n := range tree.Nodes {
		if n.Ignored {
			continue
		}
		node := Node{Role: text(n.Role), Name: text(n.Name), Description: text(n.Description), Value: text(n.Value), Properties: map[string]string{}}
		for _, p := range n.Properties {
			node.Properties[string(p.Name)] = text(p.Value)
		}
		all = append(all, node)
	}
	return all, err
}

// text is a value of the tree, in words.
func text(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	var s string
	if json.Unmarshal(v.Value, &s) == nil {
		return s
	}
	return string(v.Value)
}

// Focused is the role and the name of what has the focus, in words.
func (t *Tab) Focused() (string, error) {
	all, err := t.Tree()
	for _, n := range all {
		if n.Properties["focused"] == "true" && n.Role != "RootWebArea" {
			return strings.TrimSpace(n.Role + " " + n.Name), err
		}
	}
	return "", err
}

//go:embed contrast.js
var contrast string

// Faint are the texts of the page that have less contrast than WCAG 2.2 wants (AA, 1.4.3).
func (t *Tab) Faint() ([]string, error) { return Eval[[]string](t, contrast) }

// Picture writes the whole page to a file, as a PNG of few colours.
func (t *Tab) Picture(file string) error {
	picture, err := chromedp.Run(t.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, picture, 0o600); err != nil {
		return err
	}
	quoted := "'" + strings.ReplaceAll(file, "'", `'\''`) + "'"
	_, err = t.screen.Run(t.ctx, "pngquant --force --speed 3 --output "+quoted+" 64 "+quoted)
	return err
}

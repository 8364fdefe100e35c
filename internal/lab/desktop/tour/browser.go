//go:build linux

package tour

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/desktop/browser"
	"github.com/archivefs/archivefs/internal/lab/desktop/office"
	"github.com/archivefs/archivefs/internal/lab/desktop/screen"
)

// reader is who looks at the page of archivefs uploads show, and what the page says to them.
type reader struct {
	language, name string
	dark           bool

	title, waiting, traffic                     string // headings
	well, nothingFailed, nothingWaits, oneWaits string
	oneFailed, isSent, retried, discarded       string
	retry, save, discard                        string // buttons
	ask, sure, discardNow, keep                 string // the question
	spent, noMount, over                        string
	skip                                        string // the first link
	invoice, draft, film                        string // documents
}

var readers = []reader{
	{
		language: "en", name: "English",
		title: "Uploads to the archive", waiting: "On their way", traffic: "Traffic",
		well: "All is well", nothingFailed: "Nothing failed.", nothingWaits: "Nothing waits.", oneWaits: "1 file is on its way.",
		oneFailed: "1 file was not archived", isSent: "% sent", retried: "It is sent again.", discarded: "It is discarded.",
		retry: "Try again", save: "Save a copy", discard: "Discard …",
		ask: "Discard this file?", sure: "I do not need this file any more.", discardNow: "Discard for good", keep: "Keep it, and go back",
		spent: "works once, in one browser", noMount: "The mount cannot be asked.", over: "This page has ended.",
		skip: "To what failed", invoice: "Invoice.pdf", draft: "Draft.pdf", film: "Film.mp4",
	},
	{
		language: "de", name: "German", dark: true,
		title: "Dateien auf dem Weg ins Archiv", waiting: "Unterwegs", traffic: "Datenverkehr",
		well: "Alles in Ordnung", nothingFailed: "Nichts ist fehlgeschlagen.", nothingWaits: "Nichts wartet.", oneWaits: "1 Datei ist unterwegs.",
		oneFailed: "1 Datei wurde nicht archiviert", isSent: "% gesendet", retried: "Sie wird noch einmal gesendet.", discarded: "Sie ist verworfen.",
		retry: "Noch einmal versuchen", save: "Kopie sichern", discard: "Verwerfen …",
		ask: "Diese Datei verwerfen?", sure: "Ich brauche diese Datei nicht mehr.", discardNow: "Endgültig verwerfen", keep: "Behalten und zurück",
		spent: "gilt einmal, in einem Browser", noMount: "Das eingehängte Archiv kann nicht gefragt werden.", over: "Diese Seite ist beendet.",
		skip: "Zu den Fehlern", invoice: "Rechnung.pdf", draft: "Entwurf.pdf", film: "Aufzeichnung.mp4",
	},
}

// widths of the page, in CSS pixels.
const (
	wide   = 860
	narrow = 360 // of a telephone
)

// why is why the service refuses a document.
const why = "this folder takes no documents before Monday"

// chromium reads the page of archivefs uploads show, once in each language.
func chromium(g *guide) {
	for i := range readers {
		p := &page{guide: g, reader: &readers[i], content: office.Page("Invoice")}
		p.first = p.start()
		p.steps()
		p.stop()
	}
}

// page is the page in a browser.
type page struct {
	*guide
	*reader
	browser *browser.Browser
	tab     *browser.Tab
	show    *machine.Process // the command that serves the page
	address string           // with the token
	opened  string           // the address without it, once the page is open
	first   error            // why it did not start
	content []byte           // of the documents that are refused
	taken   string           // file of the picture of this step; empty for one of its end
}

// start starts a mount of its own, the command and the browser.
func (p *page) start() (err error) {
	if err = p.office.Remount(p.ctx); err != nil {
		return err
	}
	log := "show-" + p.language
	if p.show, err = p.screen.Launch(p.ctx, log, fmt.Sprintf("exec %q uploads show --no-browser %q", p.office.Program(), p.office.Mount)); err != nil {
		return err
	}
	err = screen.Until(p.ctx, "the address of the page", func() (bool, error) {
		text, err := os.ReadFile(filepath.Join(p.screen.Logs(), log+".log")) //nolint:gosec // a file of this session
		p.address = strings.TrimSpace(string(text))
		return err == nil && strings.HasSuffix(string(text), "\n"), nil
	})
	if err != nil {
		return err
	}
	if p.browser, err = browser.Start(p.ctx, p.screen, p.language); err != nil {
		return err
	}
	if p.tab, err = p.browser.Tab(false); err != nil {
		return err
	}
	p.Version, p.shot = p.browser.Version+", at the page of `archivefs uploads show`", p.picture
	return p.tab.Look(wide, p.dark)
}

func (p *page) stop() {
	p.shot = nil
	if p.browser != nil {
		p.browser.Stop()
	}
	if p.show != nil {
		p.show.Stop()
	}
}

// picture is the picture of a step: of its end, or of an earlier moment.
func (p *page) picture(file string) error {
	if p.taken == "" {
		return p.tab.Picture(file)
	}
	taken := p.taken
	p.taken = ""
	return os.Rename(taken, file)
}

// moment takes the picture of the step now.
func (p *page) moment() {
	if p.err == nil {
		p.taken = filepath.Join(p.pictures, "moment.png")
		p.fail(p.tab.Picture(p.taken))
	}
}

// steps are what is done with the page.
func (p *page) steps() {
	p.open()
	p.refusal()
	p.screenReader()
	p.saveCopy()
	p.keepIt()
	p.retryInVain()
	p.retryWell()
	p.discardIt()
	p.progress()
	p.narrow()
	p.mountEnds()
	p.commandEnds()
}

// step is a step with the page, about which neither the browser nor the page complains.
func (p *page) step(title, expected string, do func() string) {
	p.guide.step(title+", in "+p.name, expected, func() string {
		p.fail(p.first)
		p.home()
		if p.err != nil {
			return ""
		}
		said := do()
		if c := p.tab.Complaints(); len(c) > 0 {
			p.err = errors.Join(p.err, fmt.Errorf("complaints: %q", c))
		}
		return said
	})
}

// home opens the page again where a step that failed has left it.
func (p *page) home() {
	if at := eval[string](p, "location.pathname"); p.err == nil && p.opened != "" && at != "/" {
		_, err := p.tab.Open(p.opened)
		p.fail(err)
	}
}

// says waits until the page says something. A page that is just being left says nothing.
func (p *page) says(words ...string) {
	for _, w := range words {
		if p.err != nil {
			return
		}
		shown := ""
		p.until(fmt.Sprintf("%q on the page", w), func() (bool, error) {
			text, err := browser.Eval[string](p.tab, "document.body.innerText")
			if err == nil {
				shown = text
			}
			return strings.Contains(shown, w), nil
		})
		if p.err != nil {
			p.err = fmt.Errorf("%w; it says: %s", p.err, shown)
		}
	}
}

// eval is what an expression says about the page.
func eval[T any](p *page, expression string) (value T) {
	if p.err == nil {
		var err error
		value, err = browser.Eval[T](p.tab, expression)
		p.fail(err)
	}
	return value
}

// tree is the page as a screen reader gets it.
func (p *page) tree() []browser.Node {
	if p.err != nil {
		return nil
	}
	all, err := p.tab.Tree()
	p.fail(err)
	return all
}

// focusIs waits until something has the focus.
func (p *page) focusIs(want string) {
	p.until("the focus at "+want, func() (bool, error) {
		at, err := p.tab.Focused()
		return err == nil && strings.HasPrefix(at, want), nil
	})
}

func (p *page) press(keys ...string) {
	for _, k := range keys {
		if p.err == nil {
			p.fail(p.tab.Press(k))
		}
	}
}

// tabTo goes to something with the Tab key alone.
func (p *page) tabTo(want string) {
	var passed []string
	for range 40 {
		p.press(browser.TabKey)
		if p.err != nil {
			return
		}
		at, err := p.tab.Focused()
		if p.fail(err); p.err != nil || strings.HasPrefix(at, want) {
			return
		}
		passed = append(passed, at)
	}
	p.fail(fmt.Errorf("the key Tab does not lead to %s, but to %q", want, passed))
}

// refusedCopy copies a document that the service refuses.
func (p *page) refusedCopy(name string) {
	p.office.Wire.Refuse(http.StatusUnprocessableEntity, why)
	defer p.office.Wire.Accept()
	p.write(name, p.content)
	p.refused(fmt.Sprintf("cp %q %q", p.own(name), p.in(letters...)))
}

func (p *page) open() {
	p.step("Open the page", "it is in the reader's language; its address does not open it for anybody else", func() string {
		status, err := p.tab.Open(p.address)
		if p.fail(err); p.err == nil && status != http.StatusOK {
			p.fail(fmt.Errorf("the page opens with %d", status))
		}
		p.says(p.well, p.nothingFailed, p.nothingWaits, p.traffic)
		if title := eval[string](p, "document.title"); p.err == nil && !strings.HasPrefix(title, p.title) {
			p.fail(fmt.Errorf("the title is %q", title))
		}
		p.opened, _, _ = strings.Cut(p.address, "?")
		if at := eval[string](p, "location.href"); p.err == nil && at != p.opened {
			p.fail(fmt.Errorf("the address is %q, with the token", at))
		}
		p.stranger(p.address)
		p.stranger(p.opened)
		p.stranger(p.opened + "state")
		return "it is; another browser gets 403 Forbidden"
	})
}

// stranger opens an address without the cookie.
func (p *page) stranger(address string) {
	if p.err != nil {
		return
	}
	tab, err := p.browser.Tab(true)
	if err != nil {
		p.fail(err)
		return
	}
	defer tab.Close()
	status, err := tab.Open(address)
	p.fail(err)
	text, err := browser.Eval[string](tab, "document.body.innerText")
	p.fail(err)
	if p.err == nil && (status != http.StatusForbidden || !strings.Contains(text, p.spent)) {
		p.fail(fmt.Errorf("a stranger gets %d: %s", status, text))
	}
}

func (p *page) refusal() {
	p.step("A document is refused", "the page shows it and says why, without being loaded again; the focus stays", func() string {
		loaded := eval[float64](p, "performance.timeOrigin")
		eval[bool](p, "spoken = document.querySelector('[role=status]'), true")
		p.tabTo("link " + p.skip)
		p.refusedCopy(p.invoice)
		p.says(p.oneFailed, p.invoice, why, p.retry, p.save, p.discard)
		p.sameLoad(loaded)
		p.focusIs("link " + p.skip)
		if live := eval[bool](p, "spoken.isConnected && spoken.innerText.includes('"+p.oneFailed+"')"); p.err == nil && !live {
			p.fail(errors.New("a screen reader does not speak of it"))
		}
		return why
	})
}

// sameLoad fails when the page was loaded again.
func (p *page) sameLoad(loaded float64) {
	if now := eval[float64](p, "performance.timeOrigin"); p.err == nil && now != loaded {
		p.fail(errors.New("the page was loaded again"))
	}
}

func (p *page) screenReader() {
	p.step("Read it with a screen reader", "all that can be used has a name; changes are spoken; all text has the contrast of WCAG AA", func() string {
		count := map[string]int{}
		for _, n := range p.tree() {
			count[n.Role]++
			switch n.Role {
			case "button", "link", "checkbox", "progressbar", "image", "img", "region", "heading", "RootWebArea":
				if n.Name == "" {
					p.fail(fmt.Errorf("a %s without a name", n.Role))
				}
			}
			if n.Role == "button" && n.Description != p.invoice {
				p.fail(fmt.Errorf("the button %q says %q of its file", n.Name, n.Description))
			}
		}
		for _, role := range []string{"banner", "main", "contentinfo", "status", "list", "listitem", "button", "heading"} {
			if p.err == nil && count[role] == 0 {
				p.fail(fmt.Errorf("there is no %s, but %v", role, count))
			}
		}
		if plots := count["img"] + count["image"]; p.err == nil && plots != 1 {
			p.fail(fmt.Errorf("there is not one plot, but %v", count))
		}
		p.clear()
		return fmt.Sprintf("%d buttons, %d headings, %d regions, 1 plot", count["button"], count["heading"], count["region"])
	})
}

// clear fails when a text of the page has too little contrast, with light or dark colours.
func (p *page) clear() {
	for _, dark := range []bool{!p.dark, p.dark} {
		if p.err != nil {
			return
		}
		p.fail(p.tab.Look(wide, dark))
		faint, err := p.tab.Faint()
		if p.fail(err); len(faint) > 0 {
			p.fail(fmt.Errorf("too little contrast, dark %t: %q", dark, faint))
		}
	}
}

func (p *page) saveCopy() {
	p.step("Save a copy", "the copy has the bytes of the document", func() string {
		p.tabTo("button " + p.save)
		p.press(browser.Enter)
		saved := filepath.Join(p.browser.Downloads(), p.invoice)
		p.until("a copy", func() (bool, error) {
			got, err := os.ReadFile(saved) //nolint:gosec // a file of this session
			return err == nil && bytes.Equal(got, p.content), nil
		})
		p.focusIs("button " + p.save)
		return "it has"
	})
}

func (p *page) keepIt() {
	p.step("Discard it, and think again", "there is a question, and Escape keeps the document", func() string {
		p.tabTo("button " + p.discard)
		p.press(browser.Enter)
		p.says(p.ask, p.invoice, why, p.keep)
		p.focusIs("checkbox " + p.sure)
		p.tabTo("button " + p.discardNow)
		p.press(browser.Enter) // without the check mark, the browser says that it is missing
		p.says(p.ask)
		p.clear()
		p.moment()
		p.press(browser.Escape)
		p.says(p.oneFailed, p.invoice)
		p.focusIs("button " + p.discard)
		return "it is kept, and the focus is where it was"
	})
}

func (p *page) retryInVain() {
	p.step("Try again, while the service refuses", "it is tried, and refused again", func() string {
		p.office.Wire.Refuse(http.StatusUnprocessableEntity, why)
		defer p.office.Wire.Accept()
		p.tabTo("button " + p.retry)
		p.press(browser.Enter)
		p.says(p.retried)
		p.focusIs("status")
		p.until("another upload", func() (bool, error) { return p.office.Wire.Total().Count("POST /file-upload") == 1, nil })
		p.says(p.oneFailed, why)
		return "it is"
	})
}

func (p *page) retryWell() {
	p.step("Try again, with the keyboard alone", "the document is archived, which the page shows without being loaded again", func() string {
		p.office.Wire.Hold(1)
		defer p.office.Wire.Hold(0)
		p.tabTo("button " + p.retry)
		p.press(browser.Enter)
		p.says(p.retried, p.nothingFailed, p.oneWaits)
		p.focusIs("status")
		loaded := eval[float64](p, "performance.timeOrigin")
		p.office.Wire.Hold(0)
		p.archived(p.invoice, p.content, letters...)
		p.says(p.well, p.nothingWaits)
		p.sameLoad(loaded)
		p.focusIs("status")
		p.uploads(1)
		return "it is"
	})
}

func (p *page) discardIt() {
	p.step("Discard a document", "after a question it is gone, from this machine and from the page", func() string {
		p.refusedCopy(p.draft)
		p.says(p.oneFailed, p.draft)
		p.tabTo("button " + p.discard)
		p.press(browser.Enter)
		p.says(p.ask, p.draft)
		p.focusIs("checkbox " + p.sure)
		p.press(browser.Space)
		p.tabTo("button " + p.discardNow)
		p.press(browser.Enter)
		p.says(p.discarded, p.nothingFailed)
		p.focusIs("status")
		if slices.Contains(p.documents(letters...), p.draft) {
			p.fail(errors.New("the archive has it"))
		}
		if list := p.run(fmt.Sprintf("%q uploads list %q", p.office.Program(), p.office.Mount)); p.err == nil && strings.Contains(list, p.draft) {
			p.fail(fmt.Errorf("the mount has it: %s", list))
		}
		return "it is"
	})
}

func (p *page) progress() {
	const size = 48 << 20
	p.step("A slow upload", "its progress is shown and grows; a button keeps the focus; at the end the focus is at the list", func() string {
		content := bytes.Repeat([]byte("archivefs\n"), size/10)
		p.office.Wire.Hold(size / 6)
		defer p.office.Wire.Hold(0)
		p.write(p.film, content)
		p.launch(fmt.Sprintf("cp %q %q", p.own(p.film), p.in(letters...)))
		p.says(p.oneWaits, p.isSent)
		begun := p.bar(0)
		p.tabTo("button " + p.save)
		eval[bool](p, "focused = document.activeElement, true")
		p.office.Wire.Hold(size * 2 / 3)
		p.bar(begun)
		if same := eval[bool](p, "document.activeElement === focused"); p.err == nil && !same {
			p.fail(errors.New("the focus went to a new button, of which a screen reader speaks again"))
		}
		p.moment()
		p.office.Wire.Hold(0)
		p.archived(p.film, content, letters...)
		p.says(p.nothingWaits)
		p.focusIs("heading " + p.waiting)
		return "it does"
	})
}

// bar waits until the progress of the upload is above a percentage, and returns it.
func (p *page) bar(above float64) (now float64) {
	p.until(fmt.Sprintf("a progress of more than %v %%", above), func() (bool, error) {
		var err error
		now, err = browser.Eval[float64](p.tab, "document.querySelector('progress')?.value ?? -1")
		return now > above, err
	})
	for _, n := range p.tree() {
		if n.Role == "progressbar" || n.Role == "progressIndicator" {
			return now
		}
	}
	p.fail(errors.New("a screen reader gets no progress"))
	return now
}

func (p *page) narrow() {
	p.step("On a narrow screen", "nothing is wider than the screen, not even with a long name; it is refused, and discarded", func() string {
		name := strings.Repeat("Aktenzeichen", 10) + ".pdf"
		p.refusedCopy(name)
		p.fail(p.tab.Look(narrow, p.dark))
		p.says(p.oneFailed, name)
		p.fits()
		p.tabTo("button " + p.discard)
		p.press(browser.Enter)
		p.says(p.ask)
		p.fits()
		p.moment()
		p.press(browser.Space)
		p.tabTo("button " + p.discardNow)
		p.press(browser.Enter)
		p.says(p.discarded)
		p.fits()
		return "nothing is"
	})
}

// fits fails when the page is wider than the screen.
func (p *page) fits() {
	if w := eval[int](p, "document.documentElement.scrollWidth"); p.err == nil && w > narrow {
		p.fail(fmt.Errorf("the page is %d pixels wide", w))
	}
}

func (p *page) mountEnds() {
	p.step("The mount ends", "the page says so, and offers nothing", func() string {
		p.fail(p.tab.Look(wide, p.dark))
		p.run(fmt.Sprintf("%q unmount %q", p.office.Program(), p.office.Mount))
		p.says(p.noMount)
		for _, n := range p.tree() {
			if n.Role == "button" {
				p.fail(fmt.Errorf("there is a button %q", n.Name))
			}
		}
		return p.noMount
	})
}

func (p *page) commandEnds() {
	p.guide.step("The command ends, in "+p.name, "the page says so", func() string {
		if p.fail(p.first); p.err != nil {
			return ""
		}
		p.show.Stop()
		p.says(p.over)
		alert := slices.ContainsFunc(p.tree(), func(n browser.Node) bool { return n.Role == "alert" })
		if p.err == nil && !alert {
			p.fail(errors.New("it is not an alert"))
		}
		return p.over // the browser complains that nobody listens
	})
}

//go:build linux

package trial

const draft = "Dear Sir\n"

var (
	letter  = Tree{"letter.txt": draft}
	changed = Tree{"letter.txt": "new " + draft}
	nothing = Tree{}
)

// editors are the programs that people write with.
func editors() []*Trial {
	return []*Trial{
		{Program: "emacs-nox", Does: "new file, save, exit", After: letter, Script: `
drive emacs -nw -Q letter.txt -- 'see:New file' 'type:Dear Sir' 'type:^X^S' 'see:Wrote' 'not:Warning' 'type:^X^C'
`},
		{Program: "emacs-nox", Does: "new file, save, write on, save again", After: Tree{"letter.txt": "Dear Sir more\n"}, Otherwise: letter, Allowed: Place.young, Script: `
may drive emacs -nw -Q letter.txt -- 'see:New file' 'type:Dear Sir' 'type:^X^S' 'see:Wrote' 'type: more^X^S' \
  'either:$ grep -q more letter.txt:not permitted|Permission denied|yes or no|read-only' 'not:Warning' 'type:^X^C'
`},
		{Program: "emacs-nox", Does: "change a document, with its backup", Before: letter, After: changed, Allowed: Place.changeable, Script: `
may drive emacs -nw -Q letter.txt -- 'see:Dear Sir|numPages' 'type:new ^X^S' 'either:Wrote:Opening output file|Write error|Permission denied|yes or no|read-only' 'not:Warning' 'type:^X^C'
`},
		{Program: "emacs-nox", Does: "autosave after typing, then it is killed", After: nothing, Script: `
drive emacs -nw -Q letter.txt -- 'see:New file' "type:$(printf 'half a thought %.0s' {1..30})" 'until:test -s "#letter.txt#"' 'signal:KILL' || test $? -eq 137
`},
		{Program: "emacs-nox", Does: "autosave, then save and exit", Script: `
drive emacs -nw -Q letter.txt -- 'see:New file' "type:$(printf 'a whole thought %.0s' {1..30})" 'until:test -s "#letter.txt#"' 'type:^X^S' 'see:Wrote' 'type:^X^C'
`, After: Tree{"letter.txt": repeat("a whole thought ", 30) + "\n"}},
		{Program: "emacs-nox", Does: "open a document, type, do not save (lock file)", Before: letter, Script: `
drive emacs -nw -Q letter.txt -- 'see:Dear Sir|numPages' 'type:new ' 'either:\*\*-:read-only' 'signal:KILL' || case $? in 3 | 137) ;; *) exit 1 ;; esac
`},
		{Program: "vim", Does: "new file, :wq", After: letter, Script: `
drive vim -u NONE letter.txt -- 'see:New' 'type:iDear Sir^[:wq^M'
`},
		{Program: "vim", Does: "new file, :w, write on, :wq", After: Tree{"letter.txt": "Dear Sir\nmore\n"}, Otherwise: letter, Allowed: Place.young, Script: `
may drive vim -u NONE letter.txt -- 'see:New' 'type:iDear Sir^[:w^M' 'see:written' 'type:omore^[:wq!^M' 'either:2 lines, 14 bytes:E[0-9]+:^M^[:q!^M'
`},
		{Program: "vim", Does: "change a document, with :set backup", Before: letter, After: changed, Allowed: Place.changeable, Script: `
may drive vim -u NONE --cmd 'set backup backupskip=' letter.txt -- 'see:Dear Sir|numPages' 'type:inew ^[:wq!^M' 'either:bytes written:E[0-9]+:^M^[:q!^M'
`},
		{Program: "vim", Does: "change a document, backupcopy=yes", Before: letter, After: changed, Allowed: Place.changeable, Script: `
may drive vim -u NONE --cmd 'set writebackup backupcopy=yes backupskip=' letter.txt -- 'see:Dear Sir|numPages' 'type:inew ^[:wq!^M' 'either:bytes written:E[0-9]+:^M^[:q!^M'
`},
		{Program: "vim", Does: "two at once on one new file: the second writes nothing", After: letter, Script: `
drive vim -u NONE letter.txt -- 'see:New' 'type:iDear Sir^[' 'until:test -e .letter.txt.swp && touch "$W/typed"' 'until:test -e "$W/second"' 'type::wq^M' &
until test -e "$W/typed"; do sleep 0.1; done
drive vim -u NONE letter.txt -- 'see:dit anyway|ENTER' 'type:e' 'until:test -e .letter.txt.swo' 'type:ihalf a thought^[:q!^M'
touch "$W/second"
wait $!
`},
		{Program: "vim", Does: "a long text, then it is killed (swap file)", After: nothing, Fails: true, Script: `
drive vim -u NONE letter.txt -- 'see:New' "type:i$(printf 'half a thought %.0s' {1..40})^[" 'until:test -e .letter.txt.swp' 'signal:KILL' || test $? -eq 137
`},
		{Program: "nano", Does: "new file, save, exit", After: letter, Script: `
drive nano --ignorercfiles letter.txt -- 'see:New File' 'see:Write Out' 'type:Dear Sir' 'see:^Dear Sir|\nDear Sir' 'type:^O' 'see:File Name to Write' 'type:^M' 'see:Wrote' 'type:^X'
`},
		{Program: "nano", Does: "change a document, with -B (backup)", Before: letter, After: changed, Allowed: Place.changeable, Script: `
may drive nano --ignorercfiles -B letter.txt -- 'see:Dear Sir|numPages' 'type:new ^O' 'see:File Name to Write' 'type:^M' 'either:Wrote:Error writing|not permitted|Cannot|Continue' 'type:^X'
`},
		{Program: "nano", Does: "the terminal is closed (emergency save)", After: nothing, Script: `
drive nano --ignorercfiles letter.txt -- 'see:New File' 'type:half a thought' 'see:half a thought' 'signal:HUP' || test $? -le 130
`},
		{Program: "joe", Does: "new file, ^K X", After: letter, Script: `
drive joe letter.txt -- 'see:letter.txt' 'type:Dear Sir^M^KX' || test $? -eq 0
`},
		{Program: "joe", Does: "change a document, with its backup", Before: letter, After: changed, Allowed: Place.changeable, Script: `
may drive joe letter.txt -- 'see:Dear Sir|numPages' 'type:new ^KX' 'either:saved:rror|ouldn.t|not permitted|not changed'
`},
		{Program: "joe", Does: "the terminal is closed (DEADJOE)", After: nothing, Script: `
drive joe letter.txt -- 'see:letter.txt' 'type:half a thought' 'see:half a thought' 'signal:HUP' || test $? -le 130
test -s DEADJOE
`},
		{Program: "mcedit", Does: "new file, F2, exit", After: Tree{"letter.txt": "Dear Sir\n"}, Script: `
drive mcedit letter.txt -- 'see:letter.txt' 'type:Dear Sir^M' 'type:^[[[B' 'see:Confirm save' 'type:^M' 'until:test -s letter.txt' 'leave:^[[21~'
`},
	}
}

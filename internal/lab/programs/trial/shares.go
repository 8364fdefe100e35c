//go:build linux

package trial

import "github.com/archivefs/archivefs/internal/lab/programs/site"

// shares are clients of Samba.
func shares() []*Trial {
	const client = `
smb() { smbclient -N -U% -p "${SMB##*:}" //127.0.0.1/archive -D "$AT" -c "$1"; }
`
	const explorer = "Windows Explorer, by what it sends: MS-SMB2 and docs/office"
	return []*Trial{
		{Program: "smbclient", Does: "put", After: letter, Script: client + `
printf 'Dear Sir\n' >"$W/letter.txt"
smb "put $W/letter.txt letter.txt"
`},
		{Program: "smbclient", Does: "New folder, its name, and a file in it", After: Tree{"Reminders/letter.txt": draft}, Otherwise: Tree{"New folder/": ""}, Allowed: Place.graced, Script: client + `
printf 'Dear Sir\n' >"$W/letter.txt"
smb 'mkdir "New folder"'
named() { smb 'rename "New folder" Reminders' | tee "$W/said"; ! grep -q NT_STATUS "$W/said"; }
may named
test "$OUTCOME" = refused || smb "cd Reminders; put $W/letter.txt letter.txt"
`},
		{
			Program: "python3-impacket", Does: "copies a file of which it announces no length, and vanishes", After: nothing, Fails: true,
			Limit: "a server does not tell that its client has vanished: see OFFICE.md", Script: `
big 1 >"$W/big.csv"
lab share "$AT/big.csv" "$W/big.csv" silently || true
`,
		},
		{Program: "Explorer", Does: "copies a file: its length first, then its bytes", Source: explorer, After: Tree{"big.csv": string(site.Table(1))}, Script: `
big 1 >"$W/big.csv"
lab share "$AT/big.csv" "$W/big.csv" whole
`},
		{Program: "Explorer", Does: "copies a file and vanishes", Source: explorer, After: nothing, Fails: true, Script: `
big 1 >"$W/big.csv"
lab share "$AT/big.csv" "$W/big.csv" vanishing || true
`},
		{
			Program: "scanner", Does: "makes a lock directory, scans, removes the lock, twice",
			Source: "Xerox Document Centre 440, handbook: NAME.LCK, NAME.XSM/00000001.TIF", After: Tree{"scan.XSM/00000001.txt": "page 1\n", "scan.XSM/00000002.txt": "page 2\n"},
			Script: client + `
echo page 1 >"$W/1" && echo page 2 >"$W/2"
job() {
  smb 'mkdir scan.LCK' | tee "$W/said"; ! grep -q NT_STATUS "$W/said" || return 1
  smb 'mkdir scan.XSM' >/dev/null || true # it may be there
  smb "cd scan.XSM; put $W/$1 0000000$1.txt"
  smb 'rmdir scan.LCK' | tee "$W/said"; ! grep -q NT_STATUS "$W/said"
}
job 1
job 2
`,
		},
		{Program: "scanner", Does: "tests the folder: writes a file, removes it", Source: "test button of devices that scan to a share", After: nothing, Otherwise: Tree{"test.txt": "test\n"}, Allowed: Place.graced, Script: client + `
echo test >"$W/test.txt"
smb "put $W/test.txt test.txt"
removed() { smb 'del test.txt' | tee "$W/said"; ! grep -q NT_STATUS "$W/said"; }
may removed
`},
	}
}

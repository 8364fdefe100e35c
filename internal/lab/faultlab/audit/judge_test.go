package audit

import (
	"crypto/sha256"
	"slices"
	"testing"
)

// letter is a file that was archived in order; tests break one thing about it.
func letter() *Outcome {
	f := File{What: "write 1", Folder: "Eingang", Name: "a.txt", Content: []byte("a letter"), Closing: true, Told: OK, Time: 5}
	return &Outcome{
		Sync: true, Files: []File{f},
		Archive: []Document{{Folder: "Eingang", Name: "a.txt", Sum: f.sum()}},
		Passed:  []Passed{{Sum: f.sum(), Time: 3}},
	}
}

// kept is an upload that failed with these bytes.
func kept(content string) Kept {
	return Kept{ID: "1", Name: "a.txt", State: "failed", Reason: "refused", Content: []byte(content)}
}

// replacing is a content that replaces another one of an inbox document.
func replacing(old, content string, told Told) File {
	return File{
		What: "replace with " + content, Folder: "Eingang", Name: "a.txt", Content: []byte(content), Closing: true, Told: told,
		Replacement: true, Replaces: sum(old),
	}
}

func sum(content string) Sum { return sha256.Sum256([]byte(content)) }

func TestJudge(t *testing.T) {
	tests := map[string]struct {
		change func(*Outcome)
		want   []Kind
	}{
		"all in order": {func(*Outcome) {}, nil},
		"answered 0 and not archived": {func(o *Outcome) {
			o.Archive = nil
		}, []Kind{Missing}},
		"answered 0 and kept as failed": {func(o *Outcome) {
			o.Archive, o.Kept = nil, []Kept{kept("a letter")}
		}, []Kind{Missing}},
		"archived elsewhere": {func(o *Outcome) {
			o.Archive[0].Folder = "Ausgang"
		}, []Kind{Missing}},
		"accepted asynchronously and gone": {func(o *Outcome) {
			o.Sync, o.Archive = false, nil
		}, []Kind{Lost}},
		"accepted asynchronously and kept as failed": {func(o *Outcome) {
			o.Sync, o.Archive, o.Kept = false, nil, []Kept{kept("a letter")}
		}, nil},
		"kept without a reason": {func(o *Outcome) {
			o.Sync, o.Archive, o.Kept = false, nil, []Kept{kept("a letter")}
			o.Kept[0].Reason = ""
		}, []Kind{Lost}},
		"kept with other bytes": {func(o *Outcome) {
			o.Sync, o.Archive, o.Kept = false, nil, []Kept{kept("a lett")}
		}, []Kind{Lost}},
		"pending for ever": {func(o *Outcome) {
			o.Sync, o.Kept = false, []Kept{kept("a letter")}
			o.Kept[0].State = "pending"
		}, []Kind{Lost}},
		"archived twice": {func(o *Outcome) {
			o.Archive = append(o.Archive, o.Archive[0])
		}, []Kind{Doubled}},
		"archived, kept as failed asynchronously, and sent again": {func(o *Outcome) {
			o.Sync, o.Kept = false, []Kept{kept("a letter")}
			o.Retried = append(slices.Clone(o.Archive), o.Archive[0])
		}, []Kind{Doubled}},
		"archived when it was sent again": {func(o *Outcome) {
			o.Sync, o.Kept = false, []Kept{kept("a letter")}
			o.Retried, o.Archive = o.Archive, nil
		}, nil},
		"half a file sent again": {func(o *Outcome) {
			o.Files[0].Told, o.Kept = Nothing, []Kept{kept("a let")}
			o.Retried = append(slices.Clone(o.Archive), Document{Folder: "Eingang", Name: "a.txt", Sum: sum("a let")})
		}, []Kind{Wrong}},
		"half a file archived": {func(o *Outcome) {
			o.Files[0].Told, o.Archive[0].Sum = Nothing, sum("a let")
		}, []Kind{Wrong}},
		"archived without a close": {func(o *Outcome) {
			o.Files[0].Told, o.Files[0].Closing = Nothing, false
		}, []Kind{Wrong}},
		"a temporary file archived": {func(o *Outcome) {
			o.Files[0].Stays = true
		}, []Kind{Wrong}},
		"refused and kept": {func(o *Outcome) {
			o.Files[0].Told, o.Files[0].Refused, o.Archive, o.Kept = Failed, true, nil, []Kept{kept("a letter")}
		}, nil},
		"refused and gone": {func(o *Outcome) {
			o.Files[0].Told, o.Files[0].Refused, o.Archive = Failed, true, nil
		}, []Kind{Lost}},
		"refused and gone on a full disk": {func(o *Outcome) {
			o.Files[0].Told, o.Files[0].Refused, o.Archive, o.DiskFailed = Failed, true, nil, true
		}, nil},
		"refused and sent before": {func(o *Outcome) {
			o.Files[0].Told = Failed
		}, nil},
		"refused and sent later": {func(o *Outcome) {
			o.Files[0].Told, o.Passed[0].Time = Failed, 6
		}, []Kind{Late}},
		"refused and sent when a person retried it": {func(o *Outcome) {
			o.Files[0].Told, o.Files[0].Retried, o.Passed[0].Time = Failed, 6, 7
		}, nil},
		"refused and sent before a person retried it": {func(o *Outcome) {
			o.Files[0].Told, o.Files[0].Retried, o.Passed[0].Time = Failed, 7, 6
		}, []Kind{Late}},
		"refused, retried and gone": {func(o *Outcome) {
			o.Files[0].Told, o.Files[0].Refused, o.Files[0].Retried, o.Archive = Failed, true, 6, nil
		}, []Kind{Lost}},
		"retried and archived twice": {func(o *Outcome) {
			o.Files[0].Told, o.Files[0].Retried, o.Passed[0].Time = Failed, 6, 7
			o.Archive = append(o.Archive, o.Archive[0])
		}, []Kind{Doubled}},
		"synced and gone": {func(o *Outcome) {
			o.Files[0].Told, o.Files[0].Accepted, o.Archive = Nothing, []Range{{0, 8}}, nil
		}, []Kind{Lost}},
		"a synced half that is kept": {func(o *Outcome) {
			o.Files[0].Told, o.Files[0].Accepted, o.Archive, o.Kept = Nothing, []Range{{0, 4}}, nil, []Kept{kept("a lexxx")}
		}, nil},
		"a synced half that is kept elsewhere in the file": {func(o *Outcome) {
			o.Files[0].Told, o.Files[0].Accepted, o.Archive, o.Kept = Nothing, []Range{{4, 8}}, nil, []Kept{kept("tter")}
		}, []Kind{Lost}},
		"a local file that is there": {func(o *Outcome) {
			o.Files[0].Stays, o.Archive, o.Local = true, nil, []Local{{Name: "a.txt", Content: []byte("a letter")}}
		}, nil},
		"a local file that is gone": {func(o *Outcome) {
			o.Files[0].Stays, o.Archive = true, nil
		}, []Kind{Lost}},
		"an inbox document that is gone": {func(o *Outcome) {
			o.Files[0].Old, o.Files[0].Told, o.Archive = true, Nothing, nil
		}, []Kind{Lost}},
		"an inbox document that was replaced": {func(o *Outcome) {
			o.Files[0].Old = true
			o.Files = append(o.Files, File{
				What: "replace 2", Folder: "Eingang", Name: "a.txt", Content: []byte("new"), Closing: true, Told: OK,
				Replacement: true, Replaces: sum("a letter"),
			})
			o.Archive[0].Sum = sum("new")
		}, nil},
		"a file that was truncated before it was sent": {func(o *Outcome) {
			o.Files = append(o.Files, File{
				What: "replace 2", Folder: "Eingang", Name: "a.txt", Content: []byte("new"), Opening: true,
				Replacement: true, Replaces: sum("a letter"),
			})
			o.Sync, o.Archive = false, nil
		}, nil},
		"an inbox document that was truncated and not closed": {func(o *Outcome) {
			o.Files[0].Old, o.Files[0].Told, o.Archive = true, Nothing, nil
			o.Files = append(o.Files, File{
				What: "replace 2", Folder: "Eingang", Name: "a.txt", Content: []byte("new"), Opening: true,
				Replacement: true, Replaces: sum("a letter"),
			})
		}, []Kind{Lost}},
		"a replacement that nobody was told of, and gone with what it replaced": {func(o *Outcome) {
			o.Files[0].Old, o.Files[0].Told, o.Archive = true, Nothing, nil
			o.Files = append(o.Files, replacing("a letter", "new", Nothing))
		}, []Kind{Lost}},
		"an older content than one that was accepted": {func(o *Outcome) {
			o.Files[0].Old, o.Files[0].Told = true, Nothing
			o.Files = append(o.Files, replacing("a letter", "new", OK), replacing("new", "newer", Nothing))
		}, []Kind{Missing}},
		"the content that was accepted last": {func(o *Outcome) {
			o.Files[0].Old, o.Files[0].Told, o.Archive[0].Sum = true, Nothing, sum("new")
			o.Files = append(o.Files, replacing("a letter", "new", OK), replacing("new", "newer", Nothing))
		}, nil},
		"an older content than one that is kept as failed": {func(o *Outcome) {
			o.Files[0].Old, o.Files[0].Told, o.Sync, o.Kept = true, Nothing, false, []Kept{kept("new")}
			o.Files = append(o.Files, replacing("a letter", "new", OK), replacing("new", "newer", Nothing))
		}, nil},
		"an older content than one that was truncated before it was sent": {func(o *Outcome) {
			o.Files[0].Old, o.Files[0].Told, o.Sync = true, Nothing, false
			o.Files = append(o.Files, replacing("a letter", "new", OK), replacing("new", "newer", Nothing))
			o.Files[2].Opening = true
		}, nil},
		"archived elsewhere, asynchronously": {func(o *Outcome) {
			o.Sync, o.Archive[0].Folder = false, "Ausgang"
		}, []Kind{Missing}},
		"archived under another name, asynchronously": {func(o *Outcome) {
			o.Sync, o.Archive[0].Name = false, "draft.txt"
		}, []Kind{Missing}},
		"archived under another name, asynchronously, and kept because nobody could tell": {func(o *Outcome) {
			o.Sync, o.Archive[0].Name, o.Kept = false, "draft.txt", []Kept{kept("a letter")}
		}, nil},
		"archived where nobody can tell": {func(o *Outcome) {
			o.Sync, o.Archive[0].Name, o.Files[0].Folder = false, "draft.txt", ""
		}, nil},
		"accepted asynchronously and a local file for ever": {func(o *Outcome) {
			o.Sync, o.Archive, o.Local = false, nil, []Local{{Name: "a.txt.part", Content: []byte("a letter")}}
		}, []Kind{Lost}},
		"archived with its keyword": {func(o *Outcome) {
			o.Files[0].Keyword, o.Archive[0].Keywords = "k1", []string{"k0", "k1"}
		}, nil},
		"archived without its keyword": {func(o *Outcome) {
			o.Files[0].Keyword, o.Archive[0].Keywords = "k1", []string{"k0"}
		}, []Kind{Missing}},
		"removed before it was sent": {func(o *Outcome) {
			o.Sync, o.Files[0].Removed, o.Archive, o.Passed = false, 6, nil, nil
		}, nil},
		"removed, nobody knows whether": {func(o *Outcome) {
			o.Sync, o.Files[0].Leaving, o.Archive = false, true, nil
		}, nil},
		"removed when nobody could tell whether it was archived": {func(o *Outcome) {
			o.Sync, o.Files[0].Removed = false, 6
		}, nil},
		"removed and sent after that": {func(o *Outcome) {
			o.Sync, o.Files[0].Removed, o.Passed[0].Time = false, 6, 7
		}, []Kind{Wrong}},
		"removed and kept": {func(o *Outcome) {
			o.Sync, o.Files[0].Removed, o.Archive, o.Kept = false, 6, nil, []Kept{kept("a letter")}
		}, []Kind{Unexplained}},
		"an inbox document in two places": {func(o *Outcome) {
			o.Files[0].Old, o.Archive = true, append(o.Archive, Document{Folder: "Inbox", Name: "a.txt", Sum: sum("a letter")})
		}, []Kind{Doubled}},
		"a folder made twice": {func(o *Outcome) {
			o.Folders, o.Made = []Folder{{Paths: []string{"Neu"}, Told: OK}}, []string{"Neu", "Neu"}
		}, []Kind{Doubled}},
		"a folder that is missing": {func(o *Outcome) {
			o.Folders = []Folder{{Paths: []string{"Neu"}, Told: OK}}
		}, []Kind{Missing}},
		"a folder that is kept as failed": {func(o *Outcome) {
			o.Sync, o.Folders = false, []Folder{{Paths: []string{"Neu"}, Told: OK}}
			o.Kept = []Kept{{ID: "2", Name: "Neu", State: "failed", Reason: "refused", Directory: true}}
		}, nil},
		"a folder that nobody was told of": {func(o *Outcome) {
			o.Folders, o.Made = []Folder{{Paths: []string{"Neu"}}, {Paths: []string{"Alt"}}}, []string{"Neu"}
		}, nil},
		"a folder under its earlier name": {func(o *Outcome) {
			o.Folders, o.Made, o.Others = []Folder{{Paths: []string{"Neu"}}}, []string{"Neu", "Alt", "Eingang"}, []string{"Eingang"}
		}, []Kind{Left}},
		"a folder in one of two places": {func(o *Outcome) {
			o.Folders, o.Made = []Folder{{Paths: []string{"Alt", "Neu"}, Told: OK}}, []string{"Neu"}
		}, nil},
		"a folder in both of two places": {func(o *Outcome) {
			o.Folders, o.Made = []Folder{{Paths: []string{"Alt", "Neu"}, Told: OK}}, []string{"Alt", "Neu"}
		}, []Kind{Doubled}},
		"a folder that may have taken the place of another one, and did not": {func(o *Outcome) {
			o.Folders = []Folder{{Paths: []string{"Neu", "Alt"}}, {Paths: []string{"Neu"}, Told: OK}}
			o.Made = []string{"Neu", "Alt"}
		}, nil},
		"a folder that may have taken the place of another one, and is there twice": {func(o *Outcome) {
			o.Folders = []Folder{{Paths: []string{"Neu", "Alt"}}, {Paths: []string{"Neu"}, Told: OK}}
			o.Made = []string{"Neu", "Alt", "Alt"}
		}, []Kind{Doubled}},
		"a folder that may be removed": {func(o *Outcome) {
			o.Folders = []Folder{{Paths: []string{"Neu"}, Told: OK, Absent: true}}
		}, nil},
		"in the second of two places": {func(o *Outcome) {
			o.Files[0].Places = []Place{{"Ausgang", "a.txt"}, {"Eingang", "a.txt"}}
		}, nil},
		"in none of two places": {func(o *Outcome) {
			o.Files[0].Places = []Place{{"Ausgang", "a.txt"}, {"Eingang", "b.txt"}}
		}, []Kind{Missing}},
		"accepted in a time of grace and kept as failed": {func(o *Outcome) {
			o.Files[0].Waits, o.Archive, o.Kept = true, nil, []Kept{kept("a letter")}
		}, nil},
		"accepted in a time of grace and gone": {func(o *Outcome) {
			o.Files[0].Waits, o.Archive = true, nil
		}, []Kind{Lost}},
		"sent in its time of grace": {func(o *Outcome) {
			o.Files[0].Rests, o.Files[0].Until = true, 4
		}, []Kind{Early}},
		"sent after its time of grace": {func(o *Outcome) {
			o.Files[0].Rests, o.Files[0].Until = true, 2
		}, nil},
		"written over and sent after that": {func(o *Outcome) {
			o.Files[0].Absent, o.Files[0].Over, o.Archive = true, 2, nil
		}, []Kind{Wrong}},
		"removed and archived": {func(o *Outcome) {
			o.Files[0].Absent, o.Files[0].Removed = true, 6
		}, []Kind{Wrong}},
		"may be removed and is gone": {func(o *Outcome) {
			o.Files[0].Absent, o.Files[0].Places, o.Archive = true, []Place{{"Eingang", "a.txt"}}, nil
		}, nil},
		"may stay and is kept here": {func(o *Outcome) {
			o.Files[0].Waits, o.Files[0].MayStay, o.Archive = true, true, nil
			o.Local = []Local{{Name: "a.txt.part", Content: []byte("a letter")}}
		}, nil},
		"renamed over a document that is still there": {func(o *Outcome) {
			o.Files = append(o.Files, File{What: "scan", Content: []byte("old"), Old: true, Told: OK})
			o.Files[0].Replacement, o.Files[0].Replaces, o.Files[0].Took = true, sum("old"), true
			o.Archive = append(o.Archive, Document{Folder: "Eingang", Name: "b.txt", Sum: sum("old")})
		}, []Kind{Doubled}},
		"renamed over a document that is still there, and kept as failed": {func(o *Outcome) {
			o.Files = append(o.Files, File{What: "scan", Content: []byte("old"), Old: true, Told: OK})
			o.Files[0].Replacement, o.Files[0].Replaces, o.Files[0].Took = true, sum("old"), true
			o.Archive = append(o.Archive, Document{Folder: "Eingang", Name: "b.txt", Sum: sum("old")})
			o.Sync, o.Kept = false, []Kept{kept("a letter")}
		}, nil},
		"a read of other bytes": {func(o *Outcome) {
			o.Reads = []Read{{What: "read 3", Got: sum("x"), Want: []Sum{sum("a letter"), sum("y")}}}
		}, []Kind{Wrong}},
		"a broken upload that a crash explains": {func(o *Outcome) {
			o.Files = append(o.Files, File{What: "killed 2", Content: []byte("never")})
			o.Kept = []Kept{{ID: "2", State: "failed", Reason: "broken record", Broken: true}}
		}, nil},
		"a broken upload of a rename over a document that was not answered": {func(o *Outcome) {
			o.Files[0].Replacement, o.Files[0].MayStay = true, true
			o.Kept = []Kept{{ID: "2", State: "failed", Reason: "broken record", Broken: true}}
		}, nil},
		"a broken upload of a file that could not be written": {func(o *Outcome) {
			o.Files = append(o.Files, File{What: "write 2", Content: []byte("never"), Told: Failed})
			o.Kept = []Kept{{ID: "2", State: "failed", Reason: "broken record", Broken: true}}
		}, nil},
		"a broken upload of a file that was synced": {func(o *Outcome) {
			f := File{What: "hanging 2", Content: []byte("half"), Accepted: []Range{{0, 2}}}
			o.Files = append(o.Files, f)
			o.Kept = []Kept{{ID: "2", State: "failed", Reason: "broken record", Broken: true, Content: []byte("ha")}}
		}, []Kind{Unexplained}},
		"kept although it is archived": {func(o *Outcome) {
			o.Kept = []Kept{kept("a letter")}
		}, []Kind{Unexplained}},
		"kept although it is archived, after the disk had failed": {func(o *Outcome) {
			o.Kept, o.DiskFailed = []Kept{kept("a letter")}, true
		}, nil},
		"kept although it is archived, asynchronously": {func(o *Outcome) {
			o.Sync, o.Kept = false, []Kept{kept("a letter")}
		}, nil},
		"a broken upload that nothing explains": {func(o *Outcome) {
			o.Kept = []Kept{{ID: "2", State: "failed", Reason: "broken record", Broken: true}}
		}, []Kind{Unexplained}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := letter()
			test.change(o)
			var got []Kind
			for _, v := range Judge(o) {
				got = append(got, v.Kind)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("found %q, want %q: %v", got, test.want, Judge(o))
			}
		})
	}
}

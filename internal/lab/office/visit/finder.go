//go:build linux

package visit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/office/host"
	"github.com/archivefs/archivefs/internal/lab/office/windows"
)

// errorsJoinMissing adds what is missing of want.
func errorsJoinMissing(err error, got, want []string) error {
	for _, w := range want {
		if err == nil && !slices.Contains(got, w) {
			err = fmt.Errorf("%q lacks %q", got, w)
		}
	}
	return err
}

// finder does what people do with the Finder of macOS.
func (v *visit) finder() {
	mac := v.mac
	v.chapter("Finder")
	v.step("Open the share", "it is opened with the extensions of macOS", v.apple)
	info := "AFP\x00\x00\x00\x01\x00" + strings.Repeat("\x00", 8) + "TEXTttxt" + strings.Repeat("\x00", 36) // 60 bytes, with type and creator
	resource := "\x00\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x1e" + strings.Repeat("\x00", 200<<10)
	for _, dir := range []string{letters, inbox} {
		path, content := dir+"From a Mac.txt", text("From a Mac, in "+dir, 150<<10)
		tags := path + ":com.apple.metadata\uf022_kMDItemUserTags"
		v.step("Copy a file into "+strings.TrimSuffix(dir, "/"), "archived once; its tags, its resource fork and its type stay on the machine, and can be read",
			mac.copyIn(path, content), mac.write(tags, "bplist00 red"), mac.write(path+":AFP_Resource", resource), mac.write(path+":AFP_AfpInfo", info),
			v.becomes(path, content), mac.reads(path, content), mac.reads(tags, "bplist00 red"), mac.reads(path+":AFP_Resource", resource), mac.reads(path+":AFP_AfpInfo", info),
			mac.hasStreams(path, ":AFP_AfpInfo:$DATA", ":AFP_Resource:$DATA"))
		for _, name := range []string{".DS_Store", "._From a Mac.txt"} {
			v.step(name+" in "+strings.TrimSuffix(dir, "/"), "it stays on the machine", mac.write(dir+name, local(name)), v.stays)
		}
	}
	v.step("Rename it", "it has the new name in the archive; the type is still there", mac.rename(letters+"From a Mac.txt", letters+"Of a Mac.txt", false),
		v.leaves(letters+"From a Mac.txt", text("From a Mac, in "+letters, 150<<10)), v.becomes(letters+"Of a Mac.txt", text("From a Mac, in "+letters, 150<<10)),
		mac.reads(letters+"Of a Mac.txt:AFP_AfpInfo", info))
	v.step("Save as TextEdit does", "the new text is stored once; nothing of the exchange stays", mac.write(inbox+".dat.nosync0a1b.Cd2eF3", "From TextEdit.\n"),
		mac.rename(inbox+".dat.nosync0a1b.Cd2eF3", inbox+"TextEdit.txt", true), v.becomes(inbox+"TextEdit.txt", "From TextEdit.\n"))
}

// apple opens the share with the create context of macOS.
func (v *visit) apple(ctx context.Context) (string, error) {
	ask := make([]byte, 24)
	binary.LittleEndian.PutUint32(ask, 1)     // kAAPL_SERVER_QUERY
	binary.LittleEndian.PutUint64(ask[8:], 7) // capabilities of server and volume, and the model
	binary.LittleEndian.PutUint64(ask[16:], 7)
	how := windows.How{Access: windows.Read, Share: windows.ShareAll, Options: windows.Directory, Disposition: windows.OpenOnly, Context: "AAPL", Data: ask}
	if err := v.mac.with("", how, func(*windows.Handle) error { return nil }); err != nil {
		return "", err
	}
	return v.mac.shows("", []string{host.Mandator, "inboxes"}, ".archivefs")(ctx)
}

// together is what several clients do at once.
func (v *visit) together() {
	pc, next := v.pc, v.next
	v.chapter("Several clients")
	v.step("One copies a file in, another looks", "it is shown, and reads as it was written",
		pc.copyIn(letters+"Shared.txt", "For all.\n"), next.shows(letters, []string{"Shared.txt"}), next.reads(letters+"Shared.txt", "For all.\n"), v.becomes(letters+"Shared.txt", "For all.\n"))
	v.step("One renames it, another looks", "it has the new name for both", pc.rename(letters+"Shared.txt", letters+"Common.txt", false), v.leaves(letters+"Shared.txt", "For all.\n"),
		next.shows(letters, []string{"Common.txt"}, "Shared.txt"), v.becomes(letters+"Common.txt", "For all.\n"))
	v.step("One has a file open for itself", "another is told of the sharing violation", v.exclusive)
	v.step("One writes, another reads meanwhile", "what was written is read", v.meanwhile)
	v.step("Both copy the same name into an inbox", "the second is told that the name is taken; the first is stored once",
		pc.copyIn(inbox+"Both.txt", "The first.\n"), refused(next.copyIn(inbox+"Both.txt", "The second.\n"), "STATUS_OBJECT_NAME_COLLISION"), v.becomes(inbox+"Both.txt", "The first.\n"))
	v.step("Another user of the service adds a document", "a client that waits for changes of the folder hears of it", v.notified)
}

// exclusive opens a file for one client alone.
func (v *visit) exclusive(ctx context.Context) (string, error) {
	how := windows.How{Access: windows.Read, Share: windows.Exclusive, Options: windows.File, Disposition: windows.OpenOnly}
	seen := ""
	err := v.pc.with(letters+"Common.txt", how, func(*windows.Handle) (err error) {
		seen, err = refused(v.next.reads(letters+"Common.txt", "For all.\n"), sharing)(ctx)
		return err
	})
	if err == nil {
		_, err = v.next.reads(letters+"Common.txt", "For all.\n")(ctx)
	}
	return seen + ", and not after its close", err
}

// meanwhile reads what another client is writing.
func (v *visit) meanwhile(ctx context.Context) (string, error) {
	path, content := inbox+"Meanwhile.txt", text("Meanwhile", 100<<10)
	how := windows.How{Access: windows.Read | windows.Write, Share: windows.ShareAll, Options: windows.File, Disposition: windows.Create}
	err := v.pc.with(path, how, func(f *windows.Handle) error {
		if _, err := f.WriteAt([]byte(content), 0); err != nil {
			return err
		}
		_, err := v.next.reads(path, content)(ctx)
		return err
	})
	if err != nil {
		return "", err
	}
	_, err = v.becomes(path, content)(ctx)
	return "it is, before its close", err
}

// notified waits for a document that somebody else adds to the archive.
func (v *visit) notified(ctx context.Context) (string, error) {
	c, err := windows.Connect(ctx, v.host.SMB(), host.Share, "", "") // waiting takes a client of its own
	if err != nil {
		return "", err
	}
	how := windows.How{Access: windows.Read, Share: windows.ShareAll, Options: windows.Directory, Disposition: windows.OpenOnly}
	folder, err := c.Open(host.Offers, how)
	if err != nil {
		return "", errors.Join(err, c.Close())
	}
	if _, err := c.List(host.Offers); err != nil { // which the mount watches from now on
		return "", errors.Join(err, c.Close())
	}
	heard := make(chan error, 1)
	var names []string
	go func() {
		for !slices.Contains(names, "Of another.txt") {
			more, err := folder.Notify()
			if err != nil {
				heard <- err
				return
			}
			names = append(names, more...)
		}
		heard <- nil
	}()
	if err := v.host.Add(ctx, offers+"Of another.txt", []byte("Of another user.\n")); err != nil {
		return "", errors.Join(err, c.Close())
	}
	err = <-heard // the client gives up after two minutes
	v.want[at(offers+"Of another.txt", "Of another user.\n")]++
	return "it does", errors.Join(err, c.Close())
}

//go:build linux

package visit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/office/host"
	"github.com/archivefs/archivefs/internal/lab/office/windows"
)

// Where the visit works.
const (
	letters = host.Letters + "/"
	offers  = host.Offers + "/"
	inbox   = host.Inbox + "/"
)

// explorer does what people do with the Explorer of Windows.
func (v *visit) explorer() {
	pc := v.pc
	v.chapter("Explorer")
	v.step("Open the share", "the mandators and the inboxes are shown; the control directory is not", pc.shows("", []string{host.Mandator, "inboxes"}, ".archivefs"))
	v.step("Ask for an oplock and for a lease", "neither is granted", v.noOplock)
	letter := text("A letter", 300<<10)
	v.step("Drag a file into a folder", "archived once, when its time of grace has ended", pc.copyIn(letters+"Letter.txt", letter), v.becomes(letters+"Letter.txt", letter))
	scan := text("A scan", 200<<10)
	v.step("Drag a file into an inbox", "stored once, when its time of grace has ended", pc.copyIn(inbox+"Scan.txt", scan), v.becomes(inbox+"Scan.txt", scan))
	v.step("Copy it out again", "the copy has the same bytes", pc.reads(letters+"Letter.txt", letter))
	v.step("Show its properties", "size, streams, security and the free space are told", pc.asks(letters+"Letter.txt"), pc.asks(letters), pc.asks(inbox+"Scan.txt"))
	v.step("Preview it", "the first 64 KiB are read", v.preview(letters+"Letter.txt", letter))
	v.step("New > Text Document, in a folder, then write to it", "nothing is archived before it holds something; then once",
		pc.create(letters+"New.txt"), v.stays, pc.change(letters+"New.txt", "Written later.\n"), v.becomes(letters+"New.txt", "Written later.\n"))
	v.step("New > Text Document, in an inbox, rename it, then write to it", "stored once, under its last name",
		pc.create(inbox+"New.txt"), v.stays, pc.rename(inbox+"New.txt", inbox+"Note.txt", false), pc.change(inbox+"Note.txt", "A note.\n"), v.becomes(inbox+"Note.txt", "A note.\n"))
	v.step("Rename an archived document", "it has the new name in the archive",
		pc.rename(letters+"Letter.txt", letters+"Reply.txt", false), v.leaves(letters+"Letter.txt", letter), v.becomes(letters+"Reply.txt", letter))
	v.step("Rename a document of an inbox", "it has the new name in the archive",
		pc.rename(inbox+"Scan.txt", inbox+"Scan of today.txt", false), v.leaves(inbox+"Scan.txt", scan), v.becomes(inbox+"Scan of today.txt", scan))
	v.step("Make a folder and copy a file into it", "both are in the archive", pc.newFolder(letters+"2026"), pc.copyIn(letters+"2026/In it.txt", "In it.\n"), v.is(letters+"2026/In it.txt", "In it.\n"))
	v.step("Overwrite an archived document", "access is denied; the archive has the old bytes", refused(pc.write(letters+"Reply.txt", "Other bytes.\n"), denied), v.stays)
	v.step("Write into an archived document", "access is denied; the archive has the old bytes", refused(pc.change(letters+"Reply.txt", "Other bytes.\n"), denied), v.stays)
	v.step("Rename over an archived document", "access is denied; both are as they were",
		pc.copyIn(letters+"Other.txt", "Another.\n"), v.becomes(letters+"Other.txt", "Another.\n"),
		refused(pc.rename(letters+"Other.txt", letters+"Reply.txt", true), denied), v.stays)
	v.step("Delete an archived document", "access is denied; it stays", refused(pc.remove(letters+"Reply.txt"), denied), v.stays, pc.shows(letters, []string{"Reply.txt"}))
	v.step("Delete a file of an inbox before it is sent", "it is gone, and was never sent",
		pc.copyIn(inbox+"Mistake.txt", "A mistake.\n"), pc.remove(inbox+"Mistake.txt"), pc.shows(inbox, nil, "Mistake.txt"), v.stays)
	v.step("Delete a document of an inbox", "access is denied, without --allow-delete", refused(pc.remove(inbox+"Scan of today.txt"), denied), v.stays)
	v.step("Drag from the inbox to a folder at once", "archived there once; the inbox has it no more",
		pc.copyIn(inbox+"Quick.txt", "Moved at once.\n"), pc.rename(inbox+"Quick.txt", letters+"Quick.txt", false), v.becomes(letters+"Quick.txt", "Moved at once.\n"))
	v.step("Drag from the inbox to a folder later", "it is archived there, and not sent again",
		pc.rename(inbox+"Scan of today.txt", letters+"Scan of today.txt", false), v.leaves(inbox+"Scan of today.txt", scan), v.becomes(letters+"Scan of today.txt", scan))
	v.step("Drag from a folder to another", "the archive has it there; or it is refused, and stays", v.moves(letters+"Quick.txt", offers+"Quick.txt", "Moved at once.\n"))
}

// noOplock asks for an oplock and for a lease.
func (v *visit) noOplock(ctx context.Context) (string, error) {
	lease := make([]byte, 32) // the key, the state and nothing else ([MS-SMB2] 2.2.13.2.8)
	copy(lease, "a key of a lease")
	binary.LittleEndian.PutUint32(lease[16:], 7)                                               // read, handle and write
	for oplock, how := range map[int]windows.How{9: {}, 255: {Context: "RqLs", Data: lease}} { // batch, and lease
		how.Access, how.Share, how.Options, how.Disposition, how.Oplock = windows.Read, windows.ShareAll, windows.File, windows.OpenOnly, oplock
		f, err := v.pc.Open(letters+"Old letter.txt", how)
		if err != nil {
			return "", err
		}
		if err := f.Close(); err != nil || f.Oplock != 0 {
			return "", errors.Join(err, fmt.Errorf("%d was granted", f.Oplock))
		}
	}
	return "none was", nil
}

// preview reads the beginning of a file.
func (v *visit) preview(path, content string) deed {
	return func(ctx context.Context) (string, error) {
		how := windows.How{Access: windows.Read, Share: windows.ShareAll, Options: windows.File, Disposition: windows.OpenOnly}
		return "they are", v.pc.with(path, how, func(f *windows.Handle) error {
			got, err := f.Read(0, 64<<10)
			if err == nil && !strings.HasPrefix(content, string(got)) || len(got) != 64<<10 {
				err = errors.Join(err, fmt.Errorf("it reads %d other bytes", len(got)))
			}
			return err
		})
	}
}

// newFolder makes a folder.
func (h *hand) newFolder(path string) deed {
	how := windows.How{Access: windows.Read, Share: windows.ShareAll, Options: windows.Directory, Disposition: windows.Create}
	return plain(func() error { return h.with(path, how, func(*windows.Handle) error { return nil }) })
}

// is waits for a document outside the folders that are compared.
func (v *visit) is(path, content string) deed {
	return func(ctx context.Context) (string, error) {
		v.send(path, content)
		d := at(path, content)
		return "the archive has it once, with the same bytes", host.Until(ctx, path, func() (bool, error) {
			all, err := v.host.Documents(ctx, d.folder)
			if err != nil || len(all) != 1 || all[0].Name != d.name {
				return false, errors.Join(err, fmt.Errorf("there is %v", all))
			}
			got, err := v.host.Content(ctx, all[0].ID)
			return string(got) == content, err
		})
	}
}

// moves moves an archived document, which the service may not be able to do.
func (v *visit) moves(from, to, content string) deed {
	return func(ctx context.Context) (string, error) {
		_, err := v.pc.rename(from, to, false)(ctx)
		switch {
		case errors.Is(err, denied):
			_, err = v.stays(ctx)
			return "refused: " + string(denied), err
		case err != nil:
			return "", err
		}
		v.want[at(from, content)]--
		v.want[at(to, content)]++
		return "the archive has it there", v.matches(ctx)
	}
}

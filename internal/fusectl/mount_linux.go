package fusectl

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Options are those of a mount (mount.fuse3(8)).
type Options struct {
	Source, Subtype string
	AllowOther      bool
	// MaxRead is how many bytes the kernel reads at once.
	MaxRead int
	// More are passed as they are.
	More []string
}

// Mount mounts at dir and returns the descriptor of the mount's connection: with mount(2), and
// where that is refused through the helper.
func Mount(dir string, o *Options) (int, error) {
	fd, err := mountDirect(dir, o)
	if err == nil {
		return fd, nil
	}
	fd, herr := mountByHelper(dir, o)
	if errors.Is(herr, ErrNoHelper) && os.Geteuid() == 0 {
		herr = errors.Join(err, herr)
	}
	return fd, herr
}

func maxRead(o *Options) string { return fmt.Sprintf("max_read=%d", o.MaxRead) }

// mountFlags are the options that mount(2) takes as flags, and fsmount(2) as the same numbers but for nosymfollow.
var mountFlags = map[string]struct{ set, clear uintptr }{
	"dev": {clear: unix.MS_NODEV}, "nodev": {set: unix.MS_NODEV},
	"suid": {clear: unix.MS_NOSUID}, "nosuid": {set: unix.MS_NOSUID},
	"exec": {clear: unix.MS_NOEXEC}, "noexec": {set: unix.MS_NOEXEC},
	"nosymfollow": {set: unix.MS_NOSYMFOLLOW},
	"rw":          {clear: unix.MS_RDONLY}, "ro": {set: unix.MS_RDONLY},
}

// direct returns the options as mount(2) takes them, and a new descriptor that they name.
func (o *Options) direct() (fd int, flags uintptr, options []string, err error) {
	fd, err = unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, 0, nil, fmt.Errorf("open /dev/fuse: %w", err)
	}
	flags = uintptr(unix.MS_NOSUID | unix.MS_NODEV)
	options = []string{
		fmt.Sprintf("fd=%d", fd), fmt.Sprintf("rootmode=%o", unix.S_IFDIR),
		fmt.Sprintf("user_id=%d", os.Geteuid()), fmt.Sprintf("group_id=%d", os.Getegid()), maxRead(o),
	}
	for _, option := range o.More {
		if flag, ok := mountFlags[option]; ok {
			flags = flags&^flag.clear | flag.set
		} else {
			options = append(options, option)
		}
	}
	if o.AllowOther {
		options = append(options, "allow_other")
	}
	return fd, flags, options, nil
}

func mountDirect(dir string, o *Options) (int, error) {
	fd, flags, options, err := o.direct()
	if err != nil {
		return -1, err
	}
	if err := unix.Mount(o.Source, dir, "fuse."+o.Subtype, flags, strings.Join(options, ",")); err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// MountInstead mounts in the place of a mount at dir whose connection has ended, so that there is always
// one: the new one beneath it, before it is detached. That takes root and Linux 6.5.
func MountInstead(dir string, o *Options) (int, error) {
	fd, flags, options, err := o.direct()
	if err != nil {
		return -1, err
	}
	options = append(options, "source="+o.Source, "subtype="+o.Subtype)
	if flags&unix.MS_RDONLY != 0 {
		options = append(options, "ro") // of the file system; the flag is that of the mount
	}
	if flags&unix.MS_NOSYMFOLLOW != 0 {
		flags ^= unix.MS_NOSYMFOLLOW | unix.MOUNT_ATTR_NOSYMFOLLOW
	}
	if err = mountBeneath(dir, flags, options); err == nil {
		err = Detach(dir)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// moveBeneath is MOVE_MOUNT_BENEATH of move_mount(2).
const moveBeneath = 0x200

func mountBeneath(dir string, flags uintptr, options []string) error {
	fs, err := unix.Fsopen("fuse", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fs) //nolint:errcheck // the mount stays
	for _, option := range options {
		if key, value, ok := strings.Cut(option, "="); ok {
			err = errors.Join(err, unix.FsconfigSetString(fs, key, strings.Trim(value, `"`))) // labels are in quotes
		} else {
			err = errors.Join(err, unix.FsconfigSetFlag(fs, key))
		}
	}
	if err == nil {
		err = unix.FsconfigCreate(fs)
	}
	if err != nil {
		return err
	}
	mount, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, int(flags))
	if err != nil {
		return err
	}
	defer unix.Close(mount) //nolint:errcheck // which ends it unless it was moved
	return unix.MoveMount(mount, "", unix.AT_FDCWD, dir, unix.MOVE_MOUNT_F_EMPTY_PATH|moveBeneath)
}

// helper is the program that mounts and unmounts for those who may not (fusermount3(1)).
func helper() (string, error) {
	for _, name := range []string{"fusermount3", "/bin/fusermount3", "fusermount", "/bin/fusermount"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", ErrNoHelper
}

// mountByHelper has the helper mount, which sends the descriptor back.
func mountByHelper(dir string, o *Options) (int, error) {
	path, err := helper()
	if err != nil {
		return -1, err
	}
	options := append([]string{}, o.More...)
	if o.AllowOther {
		options = append(options, "allow_other")
	}
	options = append(options, "fsname="+o.Source, "subtype="+o.Subtype, maxRead(o))
	for i, option := range options {
		options[i] = strings.NewReplacer(`\`, `\\`, `,`, `\,`).Replace(option)
	}
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, os.NewSyscallError("socketpair", err)
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "ours"), os.NewFile(uintptr(pair[1]), "theirs")
	defer ours.Close()                                                     //nolint:errcheck // what came through it counts
	cmd := exec.Command(path, "-o", strings.Join(options, ","), "--", dir) //nolint:gosec,noctx // the user names the directory
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env, cmd.ExtraFiles = []string{"_FUSE_COMMFD=3"}, []*os.File{theirs}
	err = cmd.Run()
	_ = theirs.Close()
	if err != nil {
		return -1, fmt.Errorf("fusermount3: %w", err)
	}
	return receive(int(ours.Fd()))
}

// receive takes the descriptor that was sent to a socket.
func receive(socket int) (int, error) {
	control := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := unix.Recvmsg(socket, make([]byte, 4), control, unix.MSG_CMSG_CLOEXEC)
	if err != nil {
		return -1, os.NewSyscallError("recvmsg", err)
	}
	messages, err := unix.ParseSocketControlMessage(control[:n])
	if err != nil {
		return -1, err
	}
	for i := range messages {
		if fds, err := unix.ParseUnixRights(&messages[i]); err == nil && len(fds) == 1 {
			return fds[0], nil
		}
	}
	return -1, errors.New("fusermount3 sent no descriptor")
}

// Unmount has the helper unmount (fusermount3(1)), which takes more options.
func Unmount(dir string, options ...string) error {
	path, err := helper()
	if err != nil {
		return err
	}
	args := append(append([]string{"-u"}, options...), "--", dir)
	said, err := exec.Command(path, args...).CombinedOutput() //nolint:gosec,noctx // the user named the directory
	if err != nil {
		return fmt.Errorf("%w: %s", err, strings.Join(strings.Fields(string(said)), " "))
	}
	return nil
}

// Detach takes a mount out of sight, also while files of it are open.
func Detach(dir string) error {
	err := unix.Unmount(dir, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if errors.Is(err, syscall.EPERM) {
		err = Unmount(dir, "-z")
	}
	return err
}

// dir is where the kernel's list of connections is mounted, if it is.
const dir = "/sys/fs/fuse/connections"

// Connection is a connection in the kernel's list. It stays that one when it has ended and its number is another one's.
type Connection struct{ abort int }

// Find returns the connection of the mounts of a device, by the device's minor number, which the caller
// closes. The number may be another one's since it was learned: so look once more after Find.
func Find(minor uint32) (Connection, error) {
	path := strconv.FormatUint(uint64(minor), 10) + "/abort"
	fd, err := openAt(unix.AT_FDCWD, dir+"/"+path)
	if errors.Is(err, os.ErrNotExist) {
		if list, lerr := open(); lerr == nil {
			defer unix.Close(list) //nolint:errcheck // nothing was written to it
			fd, err = openAt(list, path)
		}
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return Connection{}, ErrNone
	case err != nil:
		return Connection{}, fmt.Errorf("abort a FUSE connection: %w", err)
	}
	return Connection{abort: fd}, nil
}

// Abort ends every request of the connection with an error, and every later one. Who mounted may do so,
// and root. It does nothing once the connection has ended.
func (c Connection) Abort() error {
	if _, err := unix.Write(c.abort, []byte("1")); err != nil {
		return fmt.Errorf("abort a FUSE connection: %w", err)
	}
	return nil
}

// Close lets go of the connection, which goes on.
func (c Connection) Close() { _ = unix.Close(c.abort) } // what counts was written

// open opens the list where it is not mounted, which takes root. Nobody else sees that.
func open() (int, error) {
	fs, err := unix.Fsopen("fusectl", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fs) //nolint:errcheck // the mount stays
	if err := unix.FsconfigCreate(fs); err != nil {
		return -1, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
}

func openAt(at int, path string) (int, error) {
	return unix.Openat(at, path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
}

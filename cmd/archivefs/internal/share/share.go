// Package share has the command share: what other servers of this machine need to export a mounted
// archive. It prints, and changes nothing.
package share

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os/user"
	"regexp"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/samba"
)

// Command is the command share, with those below it.
func Command() *cli.Command {
	return &cli.Command{
		Name:  "share",
		Usage: "print what a server needs that exports a mounted archive",
		Description: "docs/OFFICE.md goes through all of it, from an empty machine to a share for Windows, Macs\n" +
			"and scanners.",
		Subcommands: []*cli.Command{sambaCommand()},
	}
}

func sambaCommand() *cli.Command {
	return &cli.Command{
		Name:      "samba",
		Usage:     "print what Samba needs to export the archive of PROFILE",
		ArgsUsage: "PROFILE",
		Description: "The first command writes a section for /etc/samba/smb.conf, which names it by include = FILE. The\n" +
			"second writes a drop-in for the unit that mounts the profile: the options that a share needs and\n" +
			"the configuration does not set, and what lets clients go on after the archive was mounted again.\n\n" +
			"   archivefs share samba office >/etc/samba/office.conf\n" +
			"   archivefs share samba --unit office >/etc/systemd/system/archivefs@office.service.d/samba.conf\n\n" +
			"All users of the share use one mount, with the credentials of the profile: the archive sees one\n" +
			"user. If the profile has map-users, they use one mount, each with credentials of his own, and the\n" +
			"archive sees who it was. With --each everybody has a mount of his own, of the profile\n" +
			"PROFILE-USER.",
		Flags: []cli.Flag{
			command.ConfigFlag(),
			&cli.StringFlag{Name: "name", DefaultText: "PROFILE", Usage: "the `NAME` of the share"},
			&cli.StringFlag{Name: "as", Value: "archive", Usage: "the `USER` of this machine to whom the files belong; nobody logs in as this user"},
			&cli.StringFlag{Name: "allow", DefaultText: "all users of Samba", Usage: "let in only these `USERS`, as valid users of smb.conf has them: anna, @office"},
			&cli.BoolFlag{Name: "each", Usage: "a mount for each user"},
			&cli.BoolFlag{Name: "unit", Usage: "print the drop-in for archivefs@PROFILE.service instead"},
		},
		Action: printSamba,
	}
}

// streams is where Samba keeps what belongs to files, and not to documents: a file for each share.
const streams = "/var/lib/samba/archivefs-%s.tdb"

// harmless are names that need no quotes in smb.conf, in a unit and in a path.
var harmless = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

func printSamba(c *cli.Context) error {
	profile := c.Args().First()
	if c.NArg() != 1 || profile == "" {
		return config.Usagef("samba needs one PROFILE, and was given %d operands", c.NArg())
	}
	files, err := settings.ReadConfig(c)
	if err != nil {
		return err
	}
	name, as := cmp.Or(c.String("name"), profile), c.String("as")
	for option, value := range map[string]string{"name": name, "as": as} {
		if !harmless.MatchString(value) {
			return config.WrongOption(option, "%q has other characters than letters, digits, dots, dashes and underscores", value)
		}
	}
	if strings.ContainsAny(c.String("allow"), "\n\r") {
		return config.WrongOption("allow", "it is more than a line")
	}
	set := config.Merge(files.Layers(profile), settings.Alternatives)
	s := samba.Share{Name: name, User: as, Allowed: c.String("allow"), Streams: fmt.Sprintf(streams, name)}
	switch {
	case c.Bool("each") && c.Bool("unit"):
		return config.WrongTogether("%s and %s exclude each other", "each", "unit")
	case c.Bool("each"):
		s.User, s.Path = "", "/mnt/"+profile+"-%u"
		s.Before = "/usr/bin/systemctl start archivefs@" + profile + "-%u"
	case !files.Has(profile):
		return settings.NoProfile(files, profile, "")
	default:
		s.Path = cmp.Or(settings.PlaceOf(files, profile), "/mnt/"+profile)
		if set["map-users"].Text != "" {
			s.User = "" // Samba acts as the user of the client, whom the mount tells from others
		}
	}
	if c.Bool("unit") {
		return printUnit(c.App.Writer, &s, set)
	}
	_, err = fmt.Fprintf(c.App.Writer, "# The archive of the profile %s for Windows, Macs and scanners, by: archivefs share samba\n"+
		"# Where SELinux enforces its rules, root permits it: setsebool -P samba_share_fusefs on\n%s", profile, s.Section())
	return err
}

// option is an option that a share needs, and its value.
type option struct{ name, value string }

// environment is the line of a unit, below a comment, with those options that the configuration does not set:
// the environment would count more. It is empty without any.
func environment(comment string, set config.Layer, options ...option) string {
	var text strings.Builder
	for _, o := range options {
		if _, chosen := set[o.name]; !chosen {
			text.WriteString(" " + settings.VariableOf(o.name) + "=" + o.value)
		}
	}
	if text.String() == "" {
		return ""
	}
	return "# " + comment + "\nEnvironment=" + strings.TrimPrefix(text.String(), " ") + "\n"
}

// printUnit prints the drop-in for the unit that mounts the archive, with what its configuration does not set.
func printUnit(out io.Writer, s *samba.Share, set config.Layer) error {
	entrance := environment("Names that Windows cannot open are shown in another form.", set, option{"windows-names", "true"})
	if s.User != "" {
		owner, err := user.Lookup(s.User)
		if _, ok := errors.AsType[user.UnknownUserError](err); ok {
			return fmt.Errorf("there is no user %s on this machine; as root, useradd --system --user-group %s makes one, or name another with --as", s.User, s.User)
		}
		if err != nil {
			return err
		}
		entrance += environment("Samba, which is another user, may enter, and the files belong to that user.", set,
			option{"allow-other", "true"}, option{"uid", owner.Uid}, option{"gid", owner.Gid}, option{"umask", "007"})
	}
	scanners := environment("Scanners write page by page, and under the same names every day.", set,
		option{"grace", "10s"}, option{"inbox-collision", "number"})
	_, err := fmt.Fprintf(out, `# For the unit that mounts the archive of a share, by: archivefs share samba --unit
[Unit]
Before=smbd.service

[Service]
%[1]s%[2]s# Clients are connected to the mount that there was before. They connect again at once.
ExecStartPost=-+/usr/bin/smbcontrol smbd close-share %[3]s
# A share that has clients is in the mount, so it is closed after the end of the mount, which is no
# failure. Closed before, it would close half-written files as if they were complete.
ExecStop=
ExecStop=-/usr/bin/archivefs unmount --default-mountpoint=/mnt/%%i %%i
ExecStopPost=-+/usr/bin/smbcontrol smbd close-share %[3]s
`, entrance, scanners, s.Name)
	return err
}

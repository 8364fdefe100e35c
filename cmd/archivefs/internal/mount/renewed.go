package mount

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
)

// An API key alone says neither whose it is nor which archive it opens, and no operation of the service does. So a
// renewed key is recognised by what the service shows for it: what was listed with the key before. Another user has
// other inboxes, another archive other documents.

// sampled is how many documents are asked for. Most must be the same: a few may have another name by now.
const sampled = 8

// strangerError says why credentials may be somebody else's.
type strangerError string

func (e strangerError) Error() string { return string(e) }

// compare returns a strangerError unless the service shows what is in known, to the same user. Any other error says that it
// is away or refuses the credentials.
func compare(ctx context.Context, service fs.Archive, known *cache.Known) error {
	top, _, topKnown := known.Folders().Load(0)
	boxes, _, boxesKnown := known.Inboxes().Load(struct{}{})
	docs := known.Sample(sampled)
	if !topKnown || !boxesKnown || len(docs) == 0 {
		return strangerError("too few listings are kept to compare it: of the top, the inboxes and a folder with documents")
	}
	topNow, err := service.Children(ctx, 0)
	if err != nil {
		return err
	}
	boxesNow, err := service.Inboxes(ctx)
	switch {
	case unheard(err):
		return err
	case err != nil:
		return strangerError("the service does not show the inboxes: " + err.Error())
	case !slices.Equal(roots(topNow, boxesNow), roots(top, boxes)):
		return strangerError("the service shows other mandators or inboxes")
	}
	same, others := 0, 0
	for i := range docs {
		now, err := service.Data(ctx, docs[i].ID)
		switch was := &docs[i]; {
		case unheard(err):
			return err
		case err == nil && now.ID == was.ID && now.Name == was.Name && now.Created.Equal(was.Created):
			same++
		case archive.KindOf(err) == archive.KindNotFound && was.Archived.IsZero(): // it has left its inbox since
		default:
			others++
		}
	}
	if same <= others {
		return strangerError("the service shows other documents")
	}
	return nil
}

// unheard reports whether an error says nothing of the archive. That the service fails may be about a document.
func unheard(err error) bool {
	kind := archive.KindOf(err)
	return err != nil && (archive.Away(err) && kind != archive.KindServer || kind == archive.KindUnauthorized)
}

// roots are the mandators and the inboxes.
func roots(top archive.Structure, boxes archive.Inboxes) (all []string) {
	for _, f := range top.Folders {
		all = append(all, fmt.Sprintf("%d %q", f.ID, f.Name))
	}
	for _, box := range boxes.Inboxes {
		all = append(all, fmt.Sprintf("%d %q of user %d", box.Folder.ID, box.Folder.Name, box.UserID))
	}
	slices.Sort(all)
	return all
}

// openEarlier opens the state directories that belong to an earlier API key of the same user; nil if there are none.
func (s *session) openEarlier(ctx context.Context, identity string) (*config.Dirs, error) {
	for _, b := range config.Earlier(s.settings.StateDir, s.settings.Profile, identity) {
		d, err := takeOver(ctx, s.stderr, b.Open)
		if err == nil {
			if err = s.goOn(ctx, s.client, d, &b, s.settings.Client.Credentials, identity); err == nil {
				return d, nil
			}
			err = errors.Join(err, d.Close())
		}
		var used *config.InUseError
		var stranger strangerError
		switch isUsed := errors.As(err, &used); {
		case isUsed && used.Mountpoint != "" && !used.Ending, errors.As(err, &stranger):
			s.warn("%s belongs to another API key (%s) and stays as it is: %v; %s", b.State, b.Caller(), err, mounted.ByWord(&b))
		case isUsed:
			return nil, err
		default:
			return nil, s.unreachable(err, fmt.Sprintf("what belongs to an earlier API key (%s) stays in %s until the service shows whose this one is", b.Caller(), b.State))
		}
	}
	return nil, nil
}

// goOn gives state directories to other credentials, those of service, if these are of the same user. A key that is given
// beside a user or a Cloud-ID was not renewed: a service may ignore those, and then shows the same with them.
func (s *session) goOn(ctx context.Context, service fs.Archive, d *config.Dirs, was *config.Bound, cred apiclient.Credentials, identity string) error {
	next, key := config.Bound{Identity: identity}, apiclient.Credentials{APIKey: cred.APIKey}.Identity()
	if was.Caller() == key && next.Caller() == cred.Identity() {
		return strangerError("that key is still given, beside " + next.Caller())
	}
	known := s.known
	if known == nil { // before the mount
		var err error
		if known, err = cache.OpenKnown(filepath.Join(d.Cache, "known.db"), s.log); err != nil {
			return strangerError("nothing is kept to compare it with: " + err.Error())
		}
		defer known.Close() //nolint:errcheck // it was only read
	}
	if err := compare(ctx, service, known); err != nil {
		return err
	}
	if err := d.Rebind(identity); err != nil {
		return err
	}
	s.identity, s.renewed = identity, time.Now()
	s.log.Infof("the API key was renewed: what waits, is kept and is cached under the one before (%s) goes on, in %s", was.Caller(), d.State)
	return nil
}

// setCredentials gives a mount other credentials, of the same user.
func (s *session) setCredentials(ctx context.Context, cfg apiclient.Config, identity string) error {
	if identity != s.identity {
		was, next := config.Bound{Identity: s.identity}, config.Bound{Identity: identity}
		if !was.ByKey() {
			return fmt.Errorf("they belong to %s, and only others of %s can take the place of those there are", next.Caller(), was.Caller())
		}
		if own, err := config.LookDirs(s.settings.StateDir, identity); err == nil && own.Made {
			return fmt.Errorf("there is a state directory of the new ones, %s: unmount, and mount with them", own.State)
		}
		cfg.Log = s.log
		client, err := apiclient.New(cfg)
		if err != nil {
			return err
		}
		defer client.Close()
		if err := s.goOn(ctx, client, s.dirs, &was, cfg.Credentials, identity); err != nil {
			return fmt.Errorf("it is not certain that they are of the same user: %w; %s", err, mounted.ByWord(&was))
		}
		s.fs.Renewed(s.renewed)
	}
	return s.client.SetCredentials(cfg.Credentials)
}

// learnInboxes keeps a listing of the inboxes, by which a renewed key will be recognised, if nobody has looked at them.
func (s *session) learnInboxes(ctx context.Context) {
	own := config.Bound{Identity: s.identity}
	if _, _, known := s.known.Inboxes().Load(struct{}{}); known || !own.ByKey() || s.fs.Away() != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, awayPatience)
	defer cancel()
	if boxes, err := s.client.Inboxes(ctx); err == nil {
		s.known.Inboxes().Save(struct{}{}, boxes, time.Now())
	}
}

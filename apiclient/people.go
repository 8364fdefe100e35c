package apiclient

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

// People are the credentials of users of this machine. A request on behalf of one of them
// (Config.Person) is sent with these, any other with the client's own.
type People struct {
	Of map[uint32]Person // by number
	// Others is everybody else, nil to refuse them.
	Others *Person
}

// Person is a user of this machine.
type Person struct {
	Name string // on this machine, for messages
	// Own: the client's own credentials are this user's, too.
	Own         bool
	Credentials Credentials
}

// people are People in the form in which requests use them: nil stands for the client's own
// credentials.
type people struct {
	of      map[uint32]*caller
	others  *caller
	refuses bool // everybody else is refused
	names   map[string]*caller
	// ids names the credentials of each caller; no later People have the same names.
	ids map[*caller]string
}

// SetPeople sets the credentials of people for further requests; nil for none. If the service refused
// some of them, it is asked again.
func (c *Client) SetPeople(all *People) error {
	if all == nil {
		c.sender.people.Store(nil)
		return nil
	}
	p := &people{of: make(map[uint32]*caller, len(all.Of)), refuses: all.Others == nil, names: map[string]*caller{}, ids: map[*caller]string{}}
	generation, same := c.generations.Add(1), map[Credentials]*caller{}
	add := func(who Person) (*caller, error) {
		name := archive.Printable(who.Name)
		if who.Own {
			p.names[name] = nil
			return nil, nil
		}
		if err := who.Credentials.Validate(); err != nil {
			return nil, fmt.Errorf("the user %s: %w", name, err)
		}
		as := newCaller(who.Credentials)
		as.person = name
		p.ids[as] = fmt.Sprintf("%d.%d", generation, len(same))
		if first := same[who.Credentials]; first != nil {
			as.lockout, p.ids[as] = first.lockout, p.ids[first]
		} else {
			same[who.Credentials] = as
		}
		p.names[name] = as
		return as, nil
	}
	var err error
	for uid, who := range all.Of {
		if p.of[uid], err = add(who); err != nil {
			return err
		}
	}
	if all.Others != nil {
		if p.others, err = add(*all.Others); err != nil {
			return err
		}
	}
	c.sender.people.Store(p)
	return nil
}

// errStranger is the cause of an error for somebody who is not among the People.
var errStranger = errors.New("there are no credentials for this user")

// get returns the credentials of a user, nil for the client's own. A nil p has no others.
func (p *people) get(uid uint32) (*caller, error) {
	if p == nil {
		return nil, nil
	}
	as, ok := p.of[uid]
	switch {
	case ok:
		return as, nil
	case p.refuses:
		return nil, errStranger
	}
	return p.others, nil
}

// callerOf returns the credentials of a request on somebody's behalf.
func (s *sender) callerOf(who person, op Operation) (*caller, error) {
	if p := s.people.Load(); p != nil && who.some {
		as, err := p.get(who.uid)
		if err != nil {
			return nil, &archive.Error{
				Op: op.doing, Kind: archive.KindUnauthorized, Unsent: true, Person: strconv.FormatUint(uint64(who.uid), 10), Err: err,
			}
		}
		if as != nil {
			return as, nil
		}
	}
	return s.caller.Load(), nil
}

// Whose names the credentials of a user of this machine: the same name is of the same credentials,
// until the next SetPeople. It is empty for the client's own. There is an error for somebody who has
// none.
func (c *Client) Whose(uid uint32) (string, error) {
	p := c.sender.people.Load()
	as, err := p.get(uid)
	if as == nil || err != nil {
		return "", err
	}
	return p.ids[as], nil
}

// Mapped returns how many people have credentials of their own, and the names of those whose the
// service refused when it last answered a request of theirs.
func (c *Client) Mapped() (people int, refused []string) {
	p := c.sender.people.Load()
	if p == nil {
		return 0, nil
	}
	for name, as := range p.names {
		if as != nil && as.lockout.refused() {
			refused = append(refused, name)
		}
	}
	slices.SortFunc(refused, strings.Compare)
	for _, as := range p.of {
		if as != nil {
			people++
		}
	}
	return people, refused
}

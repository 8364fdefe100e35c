package rights

import "context"

// whose is the key of what As and Nobody add to a context.
type whose struct{}

// asked is on whose behalf requests with a context are made.
type asked struct {
	uid  uint32
	some bool
}

// As returns a context for requests on behalf of a user.
func As(ctx context.Context, uid uint32) context.Context {
	return context.WithValue(ctx, whose{}, asked{uid, true})
}

// Nobody returns a context for requests on nobody's behalf: what they bring is for everybody.
func Nobody(ctx context.Context) context.Context { return context.WithValue(ctx, whose{}, asked{}) }

// Of returns the user that As named; set is false if neither As nor Nobody said anything.
func Of(ctx context.Context) (uid uint32, some, set bool) {
	a, set := ctx.Value(whose{}).(asked)
	return a.uid, a.some, set
}

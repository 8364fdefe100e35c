package apiclient

import (
	"fmt"
	"net/http"
)

// maxRedirects is how often an answer may point elsewhere within the origin.
const maxRedirects = 5

// redirectError is a redirect that is not followed.
type redirectError struct{ reason string }

func (e *redirectError) Error() string { return e.reason }

// checkRedirect follows GET and HEAD within the origin only: any other redirect would
// carry the keys along, or repeat a change. A refused redirect of a change is returned
// as the answer itself.
func checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	if first.Method != http.MethodGet && first.Method != http.MethodHead {
		return http.ErrUseLastResponse
	}
	if from, to := origin(first.URL), origin(next.URL); from != to {
		return &redirectError{fmt.Sprintf("the service redirects to another origin, %s, which is not followed: "+
			"it would be sent the credentials; if it is the right one, make it the base URL", to)}
	}
	if len(via) > maxRedirects {
		return &redirectError{fmt.Sprintf("more than %d redirects", maxRedirects)}
	}
	return nil
}

package hostile

import "net/http"

// refusal judges the credentials of r. It returns why they are refused, empty when
// they are not, and whether the request breaks the specification: a mix of the sets, or
// one header twice, is wrong at every deployment.
func (c Credentials) refusal(r *http.Request) (why string, violation bool) {
	for _, name := range []string{"Api-Key", "Cloud-Id", "Authorization"} {
		if len(r.Header.Values(name)) > 1 {
			return "header " + name + " is sent twice", true
		}
	}
	cloud, key := r.Header.Get("Cloud-ID"), r.Header.Get("API-Key")
	user, password, basic := r.BasicAuth()
	switch {
	case cloud != "" && r.Header.Get("Authorization") != "":
		return "credentials of set A and set B are mixed", true
	case c == Credentials{}:
		return "", false
	case key == "":
		return "the API key is missing", false
	case cloud != c.CloudID || basic != (c.User != "" || c.Password != ""):
		return "credentials of another set are expected", false
	case key != c.APIKey || user != c.User || password != c.Password:
		return "the credentials are wrong", false
	}
	return "", false
}

package blob

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// defaultTimeout is how long a request to a store may make too little progress before it is
// repeated.
const defaultTimeout = 20 * time.Second

// Address is the location of a bucket. It contains no secrets.
type Address struct {
	Bucket string
	// Prefix begins the names of all objects; it is empty or ends with a slash.
	Prefix string
	// Endpoint is the address of the S3 service, with its scheme.
	Endpoint *url.URL
	Region   string
	// PathStyle says whether the bucket is in the path of a request or before the host name; nil:
	// as usual at the endpoint.
	PathStyle *bool
	// Timeout is how long a request may make too little progress.
	Timeout time.Duration
}

// ParseAddress reads
// s3://BUCKET[/PREFIX][?endpoint=URL&region=NAME&path-style=BOOL&timeout=DURATION]. Without a
// region it takes that of the environment, like other programs for S3.
func ParseAddress(text string) (Address, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "s3" || u.Host == "" {
		return Address{}, errors.New("not the address of a bucket; write for example s3://archive?endpoint=https://s3.example.com&region=eu-central-1")
	}
	if u.User != nil {
		return Address{}, errors.New("credentials have no place in the address, where others could read them; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	}
	a := Address{Bucket: u.Host, Region: region(), Timeout: defaultTimeout}
	if prefix := strings.Trim(u.Path, "/"); prefix != "" {
		a.Prefix = prefix + "/"
	}
	values, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return Address{}, fmt.Errorf("after the question mark: %w", err)
	}
	for name, given := range values {
		if err := a.set(name, given[len(given)-1]); err != nil {
			return Address{}, err
		}
	}
	if a.Endpoint == nil {
		a.Endpoint = &url.URL{Scheme: "https", Host: "s3.amazonaws.com"}
	}
	return a, nil
}

// region is the region in the configuration of programs for S3.
func region() string {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION"} {
		if value := os.Getenv(name); value != "" {
			return value
		}
	}
	return "us-east-1"
}

// set reads the parameters after the question mark.
func (a *Address) set(name, value string) (err error) {
	switch name {
	case "endpoint":
		if a.Endpoint, err = endpoint(value); err != nil {
			return err
		}
	case "region":
		if a.Region = value; value == "" {
			return errors.New("region is empty")
		}
	case "path-style":
		on, err := strconv.ParseBool(value)
		if err != nil {
			return fmt.Errorf("path-style is true or false, not %q", value)
		}
		a.PathStyle = &on
	case "timeout":
		if a.Timeout, err = time.ParseDuration(value); err != nil || a.Timeout <= 0 {
			return fmt.Errorf("timeout is a duration such as 20s, not %q", value)
		}
	default:
		return fmt.Errorf("%q is none of endpoint, region, path-style, timeout", name)
	}
	return nil
}

func endpoint(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return nil, errors.New("endpoint is the address of the S3 service, such as https://s3.example.com, without a path")
	}
	return &url.URL{Scheme: u.Scheme, Host: u.Host}, nil
}

// Name is the bucket and its prefix.
func (a Address) Name() string { return "s3://" + strings.TrimSuffix(a.Bucket+"/"+a.Prefix, "/") }

// String is the bucket and its endpoint, for people.
func (a Address) String() string { return fmt.Sprintf("%s at %s", a.Name(), a.Endpoint) }

package apiclient

import (
	"context"

	"github.com/archivefs/archivefs/archive"
)

// Metadata returns a document's external metadata, in the service's order.
func (c *Client) Metadata(ctx context.Context, doc archive.ID) ([]archive.KeyValue, error) {
	if err := requireID(OpMetadata, doc); err != nil {
		return nil, err
	}
	text, err := c.whole(ctx, get(OpMetadata, documentPath(doc, "metadata"), nil).about(doc), smallLimit)
	if err != nil {
		return nil, err
	}
	var entries pairs
	if err := decodeWhole(OpMetadata, text, &entries); err != nil {
		return nil, err
	}
	return entries, nil
}

// SetMetadata sets the given entries of a document's external metadata; the others stay
// as they are.
func (c *Client) SetMetadata(ctx context.Context, doc archive.ID, entries []archive.KeyValue) error {
	if err := requireID(OpMetadataSet, doc); err != nil {
		return err
	}
	if err := requireText(OpMetadataSet, texts(entries)...); err != nil {
		return err
	}
	values := make(map[string]string, len(entries))
	for _, e := range entries {
		values[e.Key] = e.Value
	}
	r, err := postJSON(OpMetadataSet, documentPath(doc, "metadata"), values)
	if err != nil {
		return err
	}
	return c.acknowledge(ctx, r.about(doc))
}

// SetKeywords makes keywords the keywords of a document, in place of those it has.
func (c *Client) SetKeywords(ctx context.Context, doc archive.ID, keywords []string) error {
	if err := requireID(OpKeywordsSet, doc); err != nil {
		return err
	}
	if err := requireText(OpKeywordsSet, keywords...); err != nil {
		return err
	}
	if keywords == nil {
		keywords = []string{} // null would be no array
	}
	r, err := postJSON(OpKeywordsSet, documentPath(doc, "keywords"), keywords)
	if err != nil {
		return err
	}
	return c.acknowledge(ctx, r.about(doc))
}
